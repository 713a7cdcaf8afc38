"""No statement looks at more rows than it returns: each goes over an index, and sorts nothing."""

import re
from collections.abc import Iterator
from importlib import resources

import apsw
import pytest

from pausemesh.stores.statements import migrations, statement

PARAMETER = re.compile(r":\w+")
SORTS_SEQS = "list_events_of_correlation"  # the streams of a correlation have no common order in any index
SMALL_TABLES = {"list_migrations", "list_schema_objects"}
LOOKS_AT_ALL = {"count_events"}  # asked by who checks the whole file


def names_of_statements() -> list[str]:
    folder = resources.files("pausemesh.stores") / "sql" / "sqlite"
    names = [file.name.removesuffix(".sql") for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(name for name in names if statement("sqlite", name).startswith(("SELECT", "INSERT", "UPDATE")))


@pytest.fixture
def database() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    for migration in migrations("sqlite"):
        connection.execute(migration.sql)
    yield connection
    connection.close()


def plan_of(database: apsw.Connection, sql: str) -> list[str]:
    bindings = (None,) * len(set(PARAMETER.findall(sql)))
    return [str(row[3]) for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", bindings).fetchall()]


@pytest.mark.parametrize("name", sorted(set(names_of_statements()) - SMALL_TABLES - LOOKS_AT_ALL))
def test_every_statement_searches_an_index(database: apsw.Connection, name: str) -> None:
    steps = plan_of(database, statement("sqlite", name))
    assert [step for step in steps if step.startswith("SCAN")] == []
    assert [step for step in steps if "TEMP B-TREE" in step and name != SORTS_SEQS] == []


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("find_head", "PRIMARY KEY (scope=? AND stream=?)"),
        ("list_events", "(scope=? AND stream=?)"),
        ("list_by_correlation", "heads_by_correlation (scope=? AND correlation=? AND stream>?)"),
        ("list_open_by_status", "heads_open (scope=? AND kind=? AND (created_at,stream)>(?,?))"),
        ("list_due", "heads_due (due_at<?)"),
        ("list_audit_rows", "PRIMARY KEY (scope=? AND (at,id)>(?,?))"),
        ("list_events_after", "INTEGER PRIMARY KEY (rowid>?)"),
        ("list_events_of_scope", "INTEGER PRIMARY KEY (rowid>?)"),
        ("list_names_of_heads", "PRIMARY KEY ((scope,stream)>(?,?))"),
        ("list_names_of_events", "COVERING INDEX sqlite_autoindex_events_1 ((scope,stream)>(?,?))"),
        ("take_next_claim", "heads_queued (scope=? AND queue=?)"),
    ],
)
def test_a_list_starts_where_its_cursor_stands(database: apsw.Connection, name: str, index: str) -> None:
    assert any(step.endswith(index) for step in plan_of(database, statement("sqlite", name)))


def test_the_feed_of_a_correlation_sorts_seqs_from_indexes_alone(database: apsw.Connection) -> None:
    steps = plan_of(database, statement("sqlite", SORTS_SEQS))
    assert sum("COVERING INDEX" in step for step in steps) == 2
    assert sum("TEMP B-TREE" in step for step in steps) == 1


def test_a_statement_that_scans_would_be_seen(database: apsw.Connection) -> None:
    steps = plan_of(database, "SELECT stream FROM heads WHERE status = :status ORDER BY updated_at")
    assert any(step.startswith("SCAN") for step in steps)
    assert any("TEMP B-TREE" in step for step in steps)
