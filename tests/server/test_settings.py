"""Settings are checked when they are given, and one definition is all there is."""

import dataclasses
import re
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from pausemesh.server.settings import Settings, SettingsError, refuse_own_secret

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"port": -1}, "PAUSEMESH_PORT"),
        ({"port": 65_536}, "PAUSEMESH_PORT"),
        ({"lifetime_seconds": 29}, "PAUSEMESH_LIFETIME_SECONDS"),
        ({"lifetime_seconds": 100, "max_lifetime_seconds": 99}, "PAUSEMESH_LIFETIME_SECONDS"),
        ({"max_lifetime_seconds": 10**12}, "PAUSEMESH_MAX_LIFETIME_SECONDS"),
        ({"max_payload_bytes": 1_023}, "PAUSEMESH_MAX_PAYLOAD_BYTES"),
        ({"max_payload_bytes": 10_485_761}, "PAUSEMESH_MAX_PAYLOAD_BYTES"),
        ({"mutations_per_minute": 0}, "PAUSEMESH_MUTATIONS_PER_MINUTE"),
        ({"host": ""}, "PAUSEMESH_HOST"),
        ({"host": "a\nb"}, "PAUSEMESH_HOST"),
        ({"database_path": ""}, "PAUSEMESH_DATABASE_PATH"),
        ({"database_schema": "Mesh"}, "PAUSEMESH_DATABASE_SCHEMA"),
        ({"database_schema": "pg_mesh"}, "PAUSEMESH_DATABASE_SCHEMA"),
        ({"public_url": "ftp://x"}, "PAUSEMESH_PUBLIC_URL"),
        ({"secret_keys": "x" * 32, "secret_keys_file": "y"}, "PAUSEMESH_SECRET_KEYS"),
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_named_in_one_line(given: dict[str, object], named: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**given)  # type: ignore[arg-type]
    assert str(caught.value).startswith(named)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_only_this_machine_reaches_a_loopback_address(host: str) -> None:
    assert Settings(host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.com", "localhost.example.com"])  # noqa: S104 - not bound here
def test_any_other_address_reaches_further(host: str) -> None:
    assert not Settings(host=host).is_loopback


def test_the_policy_is_what_the_settings_say(tmp_path: Path) -> None:
    settings = Settings(
        database_path=str(tmp_path / "a.db"), lifetime_seconds=60, max_lifetime_seconds=120, max_payload_bytes=2_048
    )
    policy = settings.policy()
    assert (policy.lifetime, policy.max_lifetime) == (timedelta(seconds=60), timedelta(seconds=120))
    assert policy.json_limits.max_bytes == 2_048
    assert policy.cursor_keys == (settings.secrets()[0].encode(),)


def test_a_secret_is_made_once_beside_the_database_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(database_path=str(tmp_path / "new" / "a.db"))
    first = settings.secrets()
    path = tmp_path / "new" / "a.db.secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert settings.secrets() == first
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_secret_of_ones_own_counts_where_none_is_set(tmp_path: Path) -> None:
    settings = Settings(database_path=str(tmp_path / "a.db"))
    assert settings.secrets(lambda: "x" * 32) == ("x" * 32,)
    with pytest.raises(SettingsError, match="PAUSEMESH_SECRET_KEYS or its file must be set"):
        settings.policy(refuse_own_secret)
    assert Settings(secret_keys="y" * 32).secrets(refuse_own_secret) == ("y" * 32,)
    assert [*tmp_path.iterdir()] == []


def test_what_is_kept_in_memory_leaves_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(database_path=":memory:")
    assert settings.is_in_memory
    assert settings.secrets() != settings.secrets()
    assert not list(tmp_path.iterdir())


def test_secrets_come_from_the_setting_or_from_a_file_newest_first(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text(f"{'a' * 32},\n{'b' * 40}\n", encoding="utf-8")
    assert Settings(secret_keys_file=str(tmp_path / "secrets")).secrets() == ("a" * 32, "b" * 40)
    assert Settings(secret_keys=f"{'c' * 32}, {'d' * 32}").secrets() == ("c" * 32, "d" * 32)


@pytest.mark.parametrize("text", ["", ",", "short", f"{'a' * 32},short"])
def test_secrets_that_are_none_or_short_stop_the_start(text: str) -> None:
    with pytest.raises(SettingsError, match="PAUSEMESH_SECRET_KEYS"):
        Settings(secret_keys=text).secrets()


def test_a_secret_that_cannot_be_read_or_made_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="PAUSEMESH_SECRET_KEYS_FILE cannot be read"):
        Settings(secret_keys_file=str(tmp_path / "none")).secrets()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SettingsError, match="beside the database"):
        Settings(database_path=str(tmp_path / "file" / "a.db")).secrets()


def test_the_example_lists_every_setting_with_its_default() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    listed = {match[1]: match[2] for line in lines if (match := re.match(r"(?:# )?PAUSEMESH_(\w+)=(.*)", line))}
    fields = {field.name.upper(): field.default for field in dataclasses.fields(Settings)}
    addresses = {"DATABASE_URL", "DATABASE_URL_FILE", "MIGRATION_DATABASE_URL", "MIGRATION_DATABASE_URL_FILE"}
    assert listed.keys() == fields.keys() | addresses | {"CONFIG_PATH"}
    for name, default in fields.items():
        assert default is None or listed[name] == str(default)
