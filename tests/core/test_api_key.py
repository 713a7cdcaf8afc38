"""What happens to an API key with each command in each state, and how it is stored."""

import dataclasses
from datetime import timedelta

import pytest

from pausemesh.core.api_key import (
    ApiKey,
    Command,
    Create,
    Created,
    Event,
    Revoke,
    Revoked,
    decide,
    event_members,
    event_type,
    evolve,
    is_key_text,
    key_id_of,
    opens,
    read_event,
    replay,
)
from pausemesh.core.errors import ApiKeyNotFound, StoreCorrupt, UnknownSchemaVersion
from pausemesh.core.principal import BY_SYSTEM, Actor, ActorKind, Principal, Role
from pausemesh.core.stored_event import read_stored_event, write_stored_event
from pausemesh.core.tokens import KEY_PREFIX, format_token, hash_token
from pausemesh.testing.given import START, Scenario, stamp

TEXT = format_token(bytes(range(32)), KEY_PREFIX)
OTHER_TEXT = format_token(bytes(32), KEY_PREFIX)
KEY_HASH = hash_token(TEXT)
KEY_ID = "k_iim5tqe34gmyv4yrl3aczsgffq"
ROOT = Actor(kind=ActorKind.OPERATOR, id="root")
DAY = timedelta(days=1)
CREATED = Created(role=Role.EDITOR, scope="trips", key_hash=KEY_HASH, expires_at=START + DAY, label="the desk", by=ROOT)
PLAIN = Created(role=Role.AGENT, scope="default", key_hash=KEY_HASH, by=BY_SYSTEM)
REVOKED = Revoked(by=ROOT)


def given(*events: Event) -> Scenario[ApiKey, Command, Event]:
    return Scenario(lambda state, command, _now: decide(state, command), evolve, *events)


def test_a_key_has_the_form_of_a_token_behind_a_prefix_of_its_own() -> None:
    assert TEXT == "pmk_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP"
    assert is_key_text(TEXT)
    for other in (format_token(bytes(range(32))), TEXT[:-1], TEXT + "a", "pmk_", TEXT[:-1] + "Q", None, 5):
        assert not is_key_text(other)


def test_its_id_follows_from_its_text() -> None:
    assert key_id_of(KEY_HASH) == KEY_ID
    assert key_id_of(hash_token(OTHER_TEXT)) != KEY_ID


def test_a_key_is_created_and_what_is_there_already_stays() -> None:
    assert given().when(Create(created=CREATED)) == (CREATED,)
    assert given(CREATED).when(Create(created=PLAIN)) == ()
    key = replay(stamp([CREATED]))
    assert (key.id, key.role, key.scope, key.label) == (KEY_ID, Role.EDITOR, "trips", "the desk")
    assert (key.created_at, key.expires_at, key.revoked_at) == (START, START + DAY, None)
    assert (key.by, key.version, key.key_hash) == (ROOT, 1, KEY_HASH)
    assert key.principal() == Principal(id=f"key:{KEY_ID}", role=Role.EDITOR, scope="trips")


def test_a_key_is_revoked_once_and_for_good() -> None:
    assert given(CREATED).when(Revoke(by=ROOT)) == (REVOKED,)
    assert given(CREATED, REVOKED).when(Revoke(by=BY_SYSTEM)) == ()
    assert given(CREATED, REVOKED).when(Create(created=CREATED)) == ()
    key = replay(stamp([CREATED, REVOKED]))
    assert (key.revoked_at, key.version, key.by) == (START + timedelta(seconds=1), 2, ROOT)


def test_what_was_never_created_cannot_be_revoked() -> None:
    assert given().refused(Revoke(by=ROOT), ApiKeyNotFound).code == "NOT_FOUND"


def test_a_key_opens_with_its_own_text_until_the_instant_of_its_expiry() -> None:
    key = replay(stamp([CREATED]))
    assert opens(key, TEXT, START + DAY - timedelta(milliseconds=1))
    assert not opens(key, TEXT, START + DAY)
    assert not opens(key, OTHER_TEXT, START)


def test_a_key_without_an_expiry_opens_until_it_is_revoked() -> None:
    assert opens(replay(stamp([PLAIN])), TEXT, START + 10_000 * DAY)
    both: list[Event] = [PLAIN, REVOKED]
    assert not opens(replay(stamp(both)), TEXT, START)


@pytest.mark.parametrize("events", [[], [REVOKED]])
def test_an_impossible_stream_is_refused(events: list[Event]) -> None:
    with pytest.raises(StoreCorrupt):
        replay(stamp(events))


def test_a_gap_in_a_stream_is_refused() -> None:
    history: list[Event] = [CREATED, REVOKED]
    first, second = stamp(history)
    with pytest.raises(StoreCorrupt, match="Version 2"):
        replay([first, dataclasses.replace(second, version=3)])


@pytest.mark.parametrize("event", [CREATED, PLAIN, REVOKED])
def test_events_read_back_as_they_were_stored(event: Event) -> None:
    data = write_stored_event(KEY_ID, 1, event_members(event))
    assert read_event(event_type(event), KEY_ID, read_stored_event(data, KEY_ID, 1)) == event
    assert event_type(event) == ("key.revoked" if event is REVOKED else "key.created")


def test_only_the_digest_of_its_text_is_stored() -> None:
    data = write_stored_event(KEY_ID, 1, event_members(CREATED))
    assert KEY_HASH.hex().encode() in data
    assert TEXT.encode() not in data
    assert TEXT.removeprefix(KEY_PREFIX).encode() not in data


def test_an_unknown_type_of_event_is_refused() -> None:
    with pytest.raises(UnknownSchemaVersion):
        read_event("key.dreamt", KEY_ID, {})


GOOD = {"role": "admin", "scope": "s", "keyHash": KEY_HASH.hex(), "by": {"kind": "system"}}


@pytest.mark.parametrize(
    "members",
    [
        {},
        {**GOOD, "role": "king"},
        {**GOOD, "keyHash": "xy"},
        {**GOOD, "keyHash": bytes(32).hex()},
        {**GOOD, "expiresAt": "soon"},
        {**GOOD, "label": 5},
        {**GOOD, "by": {"kind": "ghost"}},
    ],
)
def test_a_creation_that_cannot_be_read_is_refused(members: dict[str, object]) -> None:
    with pytest.raises(StoreCorrupt, match=r"key\.created"):
        read_event("key.created", KEY_ID, members)  # type: ignore[arg-type]


def test_a_revocation_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(StoreCorrupt, match=r"key\.revoked"):
        read_event("key.revoked", KEY_ID, {})


def test_no_representation_shows_the_digest() -> None:
    shown = repr(replay(stamp([CREATED]))) + repr(CREATED) + repr(Create(created=CREATED))
    assert "key_hash" not in shown
    assert repr(KEY_HASH) not in shown
