"""The server that tests bring with them starts, dies, comes back and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from pausemesh.testing.postgres import (
    URL_VARIABLE,
    PostgresServer,
    binaries_for_tests,
    server_for_tests,
)
from pausemesh.testing.postgres_address import PostgresAddress, schema_of_its_own
from pausemesh.testing.postgres_binaries import installed_binaries
from pausemesh.testing.postgres_watcher import processes_in

STARTER = """
import sys
from pausemesh.testing.postgres import PostgresServer
server = PostgresServer.start()
{then}
print(server.data, flush=True)
{end}
"""


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    with PostgresServer.start(binaries=binaries_for_tests(), durable=True) as server:
        yield server


@pytest.fixture
def own(durable: PostgresServer) -> PostgresServer:
    """A server to kill, which holds a seven in a table."""
    durable.kill()
    durable.start_again()
    durable.execute("DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 7 AS n")
    return durable


def test_a_killed_server_leaves_no_process_and_comes_back_with_its_data(own: PostgresServer) -> None:
    url, pids = own.url, [process.pid for process in processes_in(own.data)]
    own.kill()
    assert processes_in(own.data) == []
    assert [pid for pid in pids if psutil.pid_exists(pid) and not is_dead(pid)] == []
    with pytest.raises(psycopg.OperationalError):
        own.execute("SELECT 1")
    own.start_again()
    assert own.url == url
    assert own.execute("SELECT n FROM kept") == [(7,)]


def is_dead(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_stopped_server_comes_back_with_its_data(own: PostgresServer) -> None:
    own.stop()
    with pytest.raises(RuntimeError, match="not running"):
        _ = own.pid
    own.start_again()
    assert own.execute("SELECT n FROM kept") == [(7,)]


def test_a_paused_server_answers_nothing_until_it_is_resumed(own: PostgresServer) -> None:
    with psycopg.connect(own.url, autocommit=True) as connection:
        own.pause()
        connection.pgconn.send_query(b"SELECT 1")
        connection.pgconn.flush()
        states = {process.status() for process in processes_in(own.data)}
        own.resume()
        assert states == {psutil.STATUS_STOPPED}
        result = connection.pgconn.get_result()
        assert result is not None
        assert result.get_value(0, 0) == b"1"
        assert connection.pgconn.get_result() is None


def test_a_paused_server_can_be_killed(own: PostgresServer) -> None:
    own.pause()
    own.kill()
    own.start_again()
    assert own.execute("SELECT 1") == [(1,)]


def test_a_synchronous_standby_has_what_its_primary_acknowledged_and_can_take_over(own: PostgresServer) -> None:
    with own.standby("second") as standby:
        own.execute("ALTER SYSTEM SET synchronous_standby_names = 'second'")
        own.execute("SELECT pg_reload_conf()")
        wait_until_it_counts(own)
        own.execute("UPDATE kept SET n = 8")
        own.kill()
        assert standby.execute("SELECT pg_is_in_recovery()") == [(True,)]
        standby.promote()
        assert standby.execute("INSERT INTO kept VALUES (9); SELECT n FROM kept ORDER BY n") == [(8,), (9,)]
    own.start_again()
    own.execute("SET synchronous_commit = local; DROP TABLE kept")
    own.execute("ALTER SYSTEM RESET synchronous_standby_names")


def wait_until_it_counts(own: PostgresServer) -> None:
    """The server takes a setting over at some moment after it was told to."""
    while own.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
        pass


def test_a_server_is_durable_where_that_is_asked_for(own: PostgresServer) -> None:
    assert own.execute("SHOW fsync") == [("on",)]


def test_a_setting_of_the_caller_wins_over_ours() -> None:
    with PostgresServer.start(settings={"max_connections": "17"}) as server:
        assert server.execute("SHOW max_connections") == [("17",)]
        assert server.execute("SHOW fsync") == [("off",)]


def test_a_server_that_cannot_start_tells_why_and_leaves_nothing(own: PostgresServer) -> None:
    with pytest.raises(RuntimeError, match="no_such_setting"):
        PostgresServer.start(binaries=own.binaries, settings={"no_such_setting": "on"})
    with pytest.raises(RuntimeError, match="not in standby mode"):
        own.promote()


def test_a_closed_server_has_no_folder_and_may_be_closed_again() -> None:
    server = PostgresServer.start()
    server.close()
    server.close()
    assert not server.data.parent.exists()


@pytest.mark.parametrize("then", ["", "server.pause()"])
def test_a_server_does_not_outlive_a_killed_process(then: str) -> None:
    program = STARTER.format(then=then, end="sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        assert starter.stderr is not None
        data = Path(starter.stdout.readline().decode().strip())
        assert processes_in(data)
        starter.send_signal(signal.SIGKILL)
        assert starter.stderr.read() == b""  # the watcher holds it open until it is done
        assert processes_in(data) == []
        assert not data.parent.exists()


def test_a_server_does_not_outlive_a_process_that_forgot_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTER.format(then="", end="")], capture_output=True, text=True, check=True
    )
    data = Path(done.stdout.strip())
    assert processes_in(data) == []
    assert not data.parent.exists()


def test_a_given_server_is_used_instead(postgres_server: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL_VARIABLE, postgres_server.url)
    with server_for_tests() as server:
        assert not isinstance(server, PostgresServer)
        assert server.url == postgres_server.url
        assert server.execute("SELECT 1") == [(1,)]


def test_the_address_of_another_role_or_database_is_quoted_and_leads_to_the_same_server() -> None:
    address = PostgresAddress("postgresql://root:pw@127.0.0.1:5432/own?sslmode=disable")
    assert address.url_of("a@b", "p/ß") == "postgresql://a%40b:p%2F%C3%9F@127.0.0.1:5432/own?sslmode=disable"
    assert address.url_of(database="x y/z") == "postgresql://root:pw@127.0.0.1:5432/x%20y%2Fz?sslmode=disable"
    assert address.url_of("me", database="d") == "postgresql://me@127.0.0.1:5432/d?sslmode=disable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to hand the programs to another account")
def test_root_starts_programs_that_lie_where_nobody_else_can_read_them(tmp_path: Path) -> None:
    package = installed_binaries().parents[1]
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(package.with_name(name), closed / name)
    program = STARTER.format(then="print(server.execute('SELECT 1'), server.binaries)", end="")
    environment = {**os.environ, "PYTHONPATH": str(closed)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    said, binaries = done.stdout.splitlines()[0].rsplit(" ", 1)
    assert said == "[(1,)]"
    assert not Path(binaries).is_relative_to(closed)
    assert not Path(binaries).exists()


def test_a_new_role_can_log_in(postgres_server: PostgresAddress, schema: str) -> None:
    url = postgres_server.new_role(f"{schema}_someone")
    assert PostgresAddress(url).execute("SELECT current_user") == [(f"{schema}_someone",)]


def test_a_schema_goes_with_its_tables_and_roles(postgres_server: PostgresAddress) -> None:
    with schema_of_its_own(postgres_server) as name:
        postgres_server.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.t (); CREATE ROLE {name}_reader")
        postgres_server.execute(f"GRANT USAGE ON SCHEMA {name} TO {name}_reader")
    left = postgres_server.execute("SELECT nspname FROM pg_namespace UNION SELECT rolname FROM pg_roles")
    assert [found for (found,) in left if found.startswith(name)] == []


def test_the_version_is_a_number(postgres_server: PostgresAddress) -> None:
    assert postgres_server.version >= 140000
