"""Which migrations a database has, and which it still needs.

Pure; the stores read the ledger and run the scripts.
"""

from collections.abc import Sequence

from pausemesh.core.errors import SchemaChanged, SchemaNewer
from pausemesh.stores.statements import Migration


def pending(known: Sequence[Migration], applied: Sequence[tuple[int, str]]) -> Sequence[Migration]:
    """Return the migrations that a database lacks.

    Args:
        known: all that this release carries, numbered from 1 without a gap.
        applied: the ledger: numbers and checksums, by number.

    Raises:
        SchemaNewer: the ledger has a migration that this release does not carry.
        SchemaChanged: one that was applied differs from the one that is carried, or the ledger has a gap.
    """
    if applied and applied[-1][0] > len(known):
        raise SchemaNewer(f"It has schema {applied[-1][0]}, this release has {len(known)}.")
    carried = [(migration.number, migration.checksum) for migration in known]
    for expected, actual in zip(carried, applied, strict=False):
        if expected != actual:
            raise SchemaChanged(f"It differs in number {expected[0]}.")
    return known[len(applied) :]
