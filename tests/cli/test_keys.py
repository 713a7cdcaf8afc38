"""Keys are made, shown and revoked from a terminal."""

from pathlib import Path

import pytest

import pausemesh
from tests.cli.conftest import Run


def test_a_made_key_is_printed_alone_and_opens_the_database_it_was_made_in(run: Run, database: Path) -> None:
    done = run("keys", "create", "--role", "editor", "--scope", "trips")
    assert (done.code, done.err) == (0, "")
    key = done.out.removesuffix("\n")
    with pausemesh.open_sync(database) as mesh:
        caller = mesh.authenticate(key)
        assert caller is not None
        assert (caller.role, caller.scope) == (pausemesh.Role.EDITOR, "trips")
        (kept,) = mesh.keys()
        assert kept.by.id is not None
        assert kept.by.id.startswith("local:")


def test_the_database_is_made_with_its_folder_where_nothing_names_one(run: Run, folder: Path) -> None:
    assert run("keys", "create", "--role", "agent").code == 0
    assert (folder / "data" / "pausemesh.db").is_file()
    assert run("keys", "list", "--json").json["keys"][0]["role"] == "agent"


def test_it_is_the_database_of_the_file_that_a_server_reads_its_settings_from(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAUSEMESH_CONFIG_PATH", "mesh.toml")
    for spelling in ("database_path", "database-path"):
        (folder / "mesh.toml").write_text(f'port = 9000\n{spelling} = "{spelling}.db"\n', encoding="utf-8")
        assert run("keys", "create", "--role", "agent").code == 0
        assert (folder / f"{spelling}.db").is_file()
    for content, path in (("port = 9000\nhost = 7", "data/pausemesh.db"), ("database_path = 5", "at 5.")):
        (folder / "mesh.toml").write_text(content, encoding="utf-8")
        assert path in run("inbox").err
    for content in ("port = ", "\udcff", "database_path = []", 'database_path = ""', 'database_path = ":memory:"'):
        (folder / "mesh.toml").write_bytes(content.encode("utf-8", "surrogateescape"))
        assert run("inbox").code == 1
    monkeypatch.setenv("PAUSEMESH_CONFIG_PATH", "missing.toml")
    assert "PAUSEMESH_CONFIG_PATH" in run("inbox").err


@pytest.mark.parametrize("value", ["", ":memory:"])
def test_what_is_no_file_to_a_server_is_none_to_a_command(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("PAUSEMESH_DATABASE_PATH", value)
    for words in ("inbox", "verify", "keys list", "keys create --role agent"):
        done = run(*words.split())
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1), words
        assert "PAUSEMESH_DATABASE_PATH" in done.err
    assert [*folder.iterdir()] == []


def test_a_flag_names_another_database_than_the_environment(run: Run, database: Path, folder: Path) -> None:
    assert run("keys", "create", "--role", "agent", "--database-path", "deep/other.db").code == 0
    assert (folder / "deep" / "other.db").is_file()
    assert not database.exists()


def test_a_key_as_json_has_its_text_and_its_end(run: Run, database: Path) -> None:
    done = run("keys", "create", "--role", "viewer", "--expires-days", "30", "--label", "wall", "--json")
    assert done.json.keys() == {"id", "key", "role", "scope", "expiresAt"}
    with pausemesh.open_sync(database) as mesh:
        (key,) = mesh.keys()
    assert (done.json["id"], done.json["role"], done.json["scope"]) == (key.id, "viewer", "default")
    assert key.expires_at is not None
    assert (key.expires_at - key.created_at).days in {29, 30}
    assert key.label == "wall"


@pytest.mark.parametrize("words", [("--role", "king"), (), ("--role", "agent", "--expires-days", "x")])
def test_bad_words_make_no_key(run: Run, database: Path, words: tuple[str, ...]) -> None:
    assert run("keys", "create", *words).code == 1
    assert not database.exists()


@pytest.mark.parametrize("words", [("--expires-days", "0"), ("--expires-days", "3651"), ("--scope", ".x")])
def test_what_a_key_cannot_have_is_said_in_one_line(run: Run, database: Path, words: tuple[str, ...]) -> None:
    done = run("keys", "create", "--role", "agent", *words)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)


def test_the_list_never_has_a_keys_text(run: Run, database: Path) -> None:
    made = run("keys", "create", "--role", "admin", "--label", "ops \u202etxt").out.strip()
    shown = run("keys", "list")
    assert shown.code == 0
    assert r"ops \u202etxt" in shown.out
    as_json = run("keys", "list", "--json")
    (key,) = as_json.json["keys"]
    assert (key["label"], key["status"], key["revokedAt"]) == ("ops \u202etxt", "active", None)
    assert made not in shown.out + as_json.out


def test_an_empty_list_says_so(run: Run, database: Path) -> None:
    with pausemesh.open_sync(database):
        pass
    assert "no API key" in run("keys", "list").out
    assert run("keys", "list", "--json").json == {"keys": []}


def test_a_key_is_revoked_by_its_id_once(run: Run, database: Path) -> None:
    made = run("keys", "create", "--role", "agent", "--scope", "trips", "--json").json
    done = run("keys", "revoke", made["id"])
    assert (done.code, made["id"] in done.out) == (0, True)
    again = run("keys", "revoke", made["id"], "--json")
    assert (again.code, again.json["status"]) == (0, "revoked")
    with pausemesh.open_sync(database) as mesh:
        assert mesh.authenticate(made["key"]) is None


def test_a_key_whose_text_was_found_somewhere_is_revoked_by_it(run: Run, database: Path) -> None:
    text = run("keys", "create", "--role", "agent").out.strip()
    done = run("keys", "revoke", text)
    assert done.code == 0
    assert text not in done.out + done.err


def test_an_unknown_key_is_not_found(run: Run, database: Path) -> None:
    run("keys", "create", "--role", "agent")
    for key_id in ("k_unknown", "", "a/b"):
        done = run("keys", "revoke", key_id)
        assert (done.code, done.out) == (3, "")
    assert run("keys", "revoke", "k_unknown", "--json").problem["code"] == "NOT_FOUND"


OF_A_DATABASE_THAT_IS_THERE = (
    "keys list",
    "keys revoke k_1",
    "inbox",
    "show q_1",
    "answer q_1 --json 1",
    "cancel q_1",
    "verify",
    "rebuild",
)


@pytest.mark.parametrize("words", OF_A_DATABASE_THAT_IS_THERE)
def test_only_making_a_key_makes_a_database(run: Run, database: Path, words: str) -> None:
    done = run(*words.split())
    assert (done.code, done.out) == (7, "")
    assert str(database) in done.err
    assert not database.exists()


@pytest.mark.parametrize("words", OF_A_DATABASE_THAT_IS_THERE)
def test_only_making_a_key_makes_a_database_of_an_empty_file(run: Run, database: Path, words: str) -> None:
    database.touch()
    done = run(*words.split())
    assert (done.code, done.out) == (7, "")
    assert "SCHEMA_MISSING" in done.err
    assert database.read_bytes() == b""
    assert run("keys", "create", "--role", "agent").code == 0


def test_a_folder_that_cannot_be_made_is_named(run: Run, folder: Path) -> None:
    (folder / "file").touch()
    done = run("keys", "create", "--role", "agent", "--database-path", "file/q.db")
    assert (done.code, done.out) == (7, "")
    assert "The folder cannot be made" in done.err
