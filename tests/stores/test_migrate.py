"""The ledger decides which migrations a database still needs."""

import hashlib

import pytest

from pausemesh.core.errors import SchemaChanged, SchemaNewer
from pausemesh.stores.migrate import pending
from pausemesh.stores.statements import Migration, migrations

KNOWN = tuple(
    Migration(number, f"step_{number}", f"SELECT {number};", hashlib.sha256(b"%d" % number).hexdigest())
    for number in (1, 2, 3)
)


def ledger_up_to(number: int) -> list[tuple[int, str]]:
    return [(migration.number, migration.checksum) for migration in KNOWN[:number]]


@pytest.mark.parametrize("applied", [0, 1, 2, 3])
def test_what_was_not_applied_is_pending_in_order(applied: int) -> None:
    assert pending(KNOWN, ledger_up_to(applied)) == KNOWN[applied:]


def test_a_migration_that_differs_from_the_applied_one_is_refused() -> None:
    with pytest.raises(SchemaChanged):
        pending(KNOWN, [*ledger_up_to(1), (2, "other")])


def test_a_ledger_with_a_gap_is_refused() -> None:
    with pytest.raises(SchemaChanged):
        pending(KNOWN, [ledger_up_to(2)[1]])


def test_a_ledger_of_a_newer_release_is_refused_though_all_that_is_known_fits() -> None:
    with pytest.raises(SchemaNewer):
        pending(KNOWN, [*ledger_up_to(3), (4, "newer")])


def test_the_carried_migrations_are_numbered_without_a_gap() -> None:
    carried = migrations("sqlite")
    assert [migration.number for migration in carried] == list(range(1, len(carried) + 1))
    assert [migration.checksum for migration in carried] == [
        hashlib.sha256(migration.sql.encode()).hexdigest() for migration in carried
    ]
