"""What a host decides about continuations once, for all of them."""

import dataclasses
from datetime import timedelta

from pausemesh.core import limits
from pausemesh.core.limits import JsonLimits


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How long questions live, how large values may be, and who checks answers.

    Attributes:
        lifetime: of a question that names no expiry.
        max_lifetime: the latest expiry that a question may name, counted from its creation.
        json_limits: bounds of payloads, metadata, answers, arguments and results.
        check_answers: whether an answer must match the declared response schema; off where the host checks.
        cursor_keys: authenticate the cursors of lists and the positions of streams; the first one signs, all are
            accepted. Share secret ones between replicas that serve strangers.
    """

    lifetime: timedelta = timedelta(seconds=limits.LIFETIME_SECONDS)
    max_lifetime: timedelta = timedelta(seconds=limits.LIFETIME_MAX_SECONDS)
    json_limits: JsonLimits = dataclasses.field(default_factory=JsonLimits)
    check_answers: bool = True
    cursor_keys: tuple[bytes, ...] = dataclasses.field(default=(b"pausemesh-cursor-v1",), repr=False)

    def __post_init__(self) -> None:
        ceiling = timedelta(seconds=limits.LIFETIME_CEILING_SECONDS)
        if not timedelta(0) < self.lifetime <= self.max_lifetime <= ceiling:
            message = "lifetime must be positive and not beyond max_lifetime, which is at most a hundred years"
            raise ValueError(message)
        if not self.cursor_keys or not all(isinstance(key, bytes) for key in self.cursor_keys):
            message = "cursor_keys must be one or more, in bytes"
            raise ValueError(message)
