"""What is known of a call whose reply was lost."""

import contextlib
from collections.abc import Iterator

from pausemesh.core.errors import OutcomeUnknown, StoreUnavailable


@contextlib.contextmanager
def still_in_doubt() -> Iterator[None]:
    """Around what settles a lost reply: where the store cannot be asked, nothing is settled.

    Raises:
        OutcomeUnknown: the store is unavailable for this try, which says nothing about the one before.
    """
    try:
        yield
    except StoreUnavailable as error:
        raise OutcomeUnknown from error
