"""Ids, times, texts, tokens, cursors, roles and policies."""

import base64
import enum
import hashlib
import hmac
import pickle
import string
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from pausemesh.core.canonical import canonical_bytes
from pausemesh.core.cursor import read_cursor, write_cursor
from pausemesh.core.document import Document
from pausemesh.core.errors import (
    ClaimDone,
    ClaimHeld,
    ContinuationExpired,
    Forbidden,
    InvalidCursor,
    InvalidJson,
    InvalidRequest,
    PauseMeshError,
    PayloadTooLarge,
    StreamTooLong,
    VersionConflict,
)
from pausemesh.core.issue import Issue, RecordedOutcome
from pausemesh.core.limits import JsonLimits
from pausemesh.core.policy import Policy
from pausemesh.core.principal import (
    BY_SYSTEM,
    ActorKind,
    Principal,
    Role,
    require_admin,
    require_may_answer,
    require_may_create,
    require_may_govern,
)
from pausemesh.core.tokens import KEY_PREFIX, PREFIX, format_token, hash_token, is_well_formed, same_hash
from pausemesh.core.values import (
    JsonValue,
    check_aware,
    check_foreign_id,
    check_own_id,
    check_text,
    time_from_text,
    time_to_text,
)

TOKEN_CHARACTERS = string.ascii_letters + string.digits


@pytest.mark.parametrize("good", ["a", "Z9", "a b", "trip-42:flight", "a@b.c~d_e", "x" * 200])
def test_an_id_of_ours_is_kept_as_it_is(good: str) -> None:
    assert check_own_id(good, "/id") == good


@pytest.mark.parametrize(
    "bad", ["", " a", "a ", "-a", ".a", "a/b", "a\n", "a\x00", "ä", "😀", "x" * 201, "x" * 199 + " ", None, 5, b"a"]
)
def test_anything_else_is_no_id_of_ours(bad: object) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_own_id(bad, "/id")
    assert [(issue.path, issue.reason) for issue in refusal.value.issues] == [("/id", "id")]


def test_ids_of_others_are_1_to_200_characters_without_control_characters() -> None:
    for good in ("ä/😀 ", " ", "x" * 200):
        assert check_foreign_id(good, "/c") == good
    for bad in ("", "x" * 201, "a\x00", "a\x1f", "a\x7f", "a\x9f", "a\ud800", None, 7):
        with pytest.raises(InvalidRequest):
            check_foreign_id(bad, "/c")
    assert check_text("", "/t", 3) == ""


def test_times_are_utc_in_whole_milliseconds() -> None:
    east = datetime(2030, 1, 1, 2, 0, 0, 1_999, tzinfo=timezone(timedelta(hours=2)))
    assert check_aware(east, "/t") == datetime(2030, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC)
    assert time_to_text(east) == "2030-01-01T00:00:00.001Z"
    assert time_from_text("2030-01-01T00:00:00.001Z") == check_aware(east, "/t")


def test_times_do_not_depend_on_where_the_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        at = datetime(2030, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC)
        assert time_to_text(at) == "2030-01-01T00:00:00.999Z"
        assert check_aware(at, "/t").isoformat() == "2030-01-01T00:00:00.999000+00:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_cursor_has_at_most_2048_characters() -> None:
    longest = "x" * 1_518
    cursor = write_cursor([b"k"], ["default"], longest)
    assert len(cursor) == 2_048
    assert read_cursor([b"k"], ["default"], cursor) == longest
    with pytest.raises(InvalidCursor):
        read_cursor([b"k"], ["default"], write_cursor([b"k"], ["default"], longest + "x"))


def test_a_document_is_made_within_the_limits_given() -> None:
    with pytest.raises(InvalidJson):
        Document.of([1, 2], JsonLimits(max_values=2))


@pytest.mark.parametrize("bad", [datetime(2030, 1, 1), "2030-01-01T00:00:00Z", 5, None])  # noqa: DTZ001 - the subject
def test_a_time_without_a_zone_is_refused(bad: object) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_aware(bad, "/t")
    assert refusal.value.issues[0].path == "/t"


@pytest.mark.parametrize("bad", ["2030-01-01T00:00:00", "2030-01-01T00:00:00+00:00", "soon"])
def test_a_stored_time_has_a_zulu_zone(bad: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        time_from_text(bad)


def test_a_token_has_a_prefix_256_bits_and_a_checksum() -> None:
    token = format_token(bytes(range(32)))
    assert (len(token), token[:4], is_well_formed(token)) == (53, "pmr_", True)
    assert set(token[4:]) <= set(TOKEN_CHARACTERS)
    assert len({format_token(bytes([n]) * 32) for n in range(256)}) == 256
    assert format_token(b"\xff" * 32) != format_token(b"\xff" * 31 + b"\xfe")
    assert token == "pmr_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP"
    assert hash_token(token).hex() == "0f15a6a63c8afbfa51dd7a92cab6a28a6f1f936ddbd01c8a77b9adf9ae06afc0"
    with pytest.raises(ValueError, match="32 bytes"):
        format_token(b"short")


@for_all(st.integers(4, 52), st.sampled_from(TOKEN_CHARACTERS))
def test_one_changed_character_makes_a_token_ill_formed(place: int, character: str) -> None:
    token = format_token(bytes(range(32)))
    changed = token[:place] + character + token[place + 1 :]
    assert is_well_formed(changed) is (changed == token)


@pytest.mark.parametrize(
    "bad", [None, 5, "", "pmr_", "pmr_" + "a" * 48, "pmk_" + "a" * 49, "pmr_" + "ä" * 49, "x" * 10_000]
)
def test_anything_else_is_no_token(bad: object) -> None:
    assert not is_well_formed(bad)


@for_all(st.binary(min_size=32, max_size=32), st.sampled_from([PREFIX, KEY_PREFIX]))
def test_a_token_is_well_formed_behind_its_own_prefix_alone(entropy: bytes, prefix: str) -> None:
    token = format_token(entropy, prefix)
    assert is_well_formed(token, prefix)
    assert not is_well_formed(token, KEY_PREFIX if prefix == PREFIX else PREFIX)
    assert not is_well_formed(token.removeprefix(prefix), prefix)


def test_hashes_are_the_same_or_not_and_an_absent_one_equals_nothing() -> None:
    assert same_hash(b"a" * 32, b"a" * 32)
    for one, other in ((b"a" * 32, b"b" * 32), (None, None), (None, b""), (b"", None), (b"", b""), (b"a", None)):
        assert not same_hash(one, other)


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
POSITIONS = st.none() | st.integers(0, 10**9) | st.lists(TEXTS, max_size=3)


@for_all(POSITIONS)
def test_a_cursor_gives_its_position_back(position: object) -> None:
    assert read_cursor([b"k"], ["default"], write_cursor([b"k"], ["default"], position)) == position  # type: ignore[arg-type]


@for_all(st.data())
def test_one_changed_character_makes_a_cursor_invalid(data: st.DataObject) -> None:
    cursor = write_cursor([b"k"], ["default"], [1, "q_1"])
    place = data.draw(st.integers(0, len(cursor) - 1))
    character = data.draw(st.sampled_from(TOKEN_CHARACTERS + "-_=. é"))
    changed = cursor[:place] + character + cursor[place + 1 :]
    if changed != cursor:
        with pytest.raises(InvalidCursor):
            read_cursor([b"k"], ["default"], changed)


def test_a_cursor_has_one_spelling() -> None:
    cursor = write_cursor([b"k"], ["default"], 1)
    assert len(cursor) % 4 == 3
    spare = {character: cursor[:-1] + character for character in TOKEN_CHARACTERS}
    decoded = base64.urlsafe_b64decode(cursor + "=")
    same = [one for one in spare.values() if base64.urlsafe_b64decode(one + "=") == decoded]
    assert len(same) > 1
    for other in same:
        if other != cursor:
            with pytest.raises(InvalidCursor):
                read_cursor([b"k"], ["default"], other)


@pytest.mark.parametrize("bad", ["", "x", "=", "A" * 22, "A" * 2_048, "A" * 2_049, 5, None])
def test_what_was_never_issued_is_no_cursor(bad: object) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor([b"k"], ["default"], bad)  # type: ignore[arg-type]


def test_a_cursor_belongs_to_its_list_and_its_key() -> None:
    cursor = write_cursor([b"k"], ["default"], 1)
    others: list[tuple[bytes, JsonValue]] = [(b"k", ["other"]), (b"l", ["default"])]
    for key, listing in others:
        with pytest.raises(InvalidCursor):
            read_cursor([key], listing, cursor)


def test_the_first_key_signs_a_cursor_and_all_are_accepted() -> None:
    listing: JsonValue = ["default"]
    assert write_cursor([b"new", b"old"], listing, 1) == write_cursor([b"new"], listing, 1)
    assert read_cursor([b"new", b"old"], listing, write_cursor([b"old"], listing, 1)) == 1


def allowed(check: object, role: Role, *more: object) -> bool:
    try:
        check(Principal(id="ana", role=role), *more)  # type: ignore[operator]
    except Forbidden:
        return False
    return True


def test_roles_may_what_the_table_says() -> None:
    table = {
        role: (
            allowed(require_may_create, role),
            allowed(require_may_answer, role),
            allowed(require_may_govern, role, Principal(id="ana", role=role).actor()),
            allowed(require_may_govern, role, Principal(id="ben", role=role).actor()),
            allowed(require_may_govern, role, BY_SYSTEM),
            allowed(require_admin, role),
        )
        for role in Role
    }
    assert table == {
        Role.AGENT: (True, False, True, False, False, False),
        Role.MESSENGER: (False, False, False, False, False, False),
        Role.VIEWER: (False, False, False, False, False, False),
        Role.EDITOR: (True, True, True, True, True, False),
        Role.ADMIN: (True, True, True, True, True, True),
    }


def test_an_agent_governs_only_what_an_agent_of_its_name_created() -> None:
    editor = Principal(id="ana", role=Role.EDITOR).actor()
    assert not allowed(require_may_govern, Role.AGENT, editor)


def test_a_principals_role_is_a_role_however_it_is_written() -> None:
    assert Principal(id="bot", role="agent").role is Role.AGENT  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"id": ""}, "/id"),
        ({"id": 5}, "/id"),
        ({"id": "x" * 201}, "/id"),
        ({"role": "boss"}, "/role"),
        ({"role": None}, "/role"),
        ({"role": [["deep"]]}, "/role"),
        ({"scope": ""}, "/scope"),
        ({"scope": 5}, "/scope"),
    ],
)
def test_a_principal_that_is_none_is_refused(members: dict[str, object], path: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        Principal(**{"id": "ana", "role": Role.EDITOR, **members})  # type: ignore[arg-type]
    assert refusal.value.issues[0].path == path


class Word(enum.StrEnum):
    HELLO = "hello"


def test_text_of_a_subclass_is_kept_as_plain_text() -> None:
    for checked in (
        check_text(Word.HELLO, "/t", 9),
        check_own_id(Word.HELLO, "/t"),
        check_foreign_id(Word.HELLO, "/t"),
    ):
        assert type(checked) is str


@pytest.mark.parametrize("edge", ["9999-12-31T23:00:00-05:00", "0001-01-01T01:00:00+05:00"])
def test_a_time_that_is_no_time_in_utc_is_refused(edge: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        check_aware(datetime.fromisoformat(edge), "/t")
    assert refusal.value.issues[0].message == "must be within the years 1 to 9999 of UTC"


def test_every_error_travels_between_processes_whole() -> None:
    recorded = RecordedOutcome(status="resumed", version=2, decided_at=datetime(2030, 1, 1, tzinfo=UTC))
    for error in (
        VersionConflict(expected=1, actual=2, recorded=recorded),
        ClaimHeld(lease_until=datetime(2030, 1, 1, tzinfo=UTC), fence=3),
        ContinuationExpired(expires_at=None, recorded=recorded),
        PayloadTooLarge(limit=5),
        StreamTooLong(limit=5),
        ClaimDone(result={"a": 1}),
        InvalidRequest("why", issues=[Issue("/a", "r", "m")]),
    ):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_forged_cursor_with_a_body_that_is_no_json_is_invalid() -> None:
    listing: JsonValue = ["default"]
    for body in (b"not json", b"\xff", b""):
        tag = hmac.digest(b"k", canonical_bytes(listing) + b"\n" + body, hashlib.sha256)[:16]
        forged = base64.urlsafe_b64encode(tag + body).decode().rstrip("=")
        with pytest.raises(InvalidCursor):
            read_cursor([b"k"], listing, forged)


def test_an_event_remembers_an_agent_as_an_agent_and_a_person_as_an_operator() -> None:
    assert Principal(id="a", role=Role.AGENT).actor().kind is ActorKind.AGENT
    assert Principal(id="e", role=Role.EDITOR).actor().kind is ActorKind.OPERATOR
    assert Principal(id="e", role=Role.EDITOR).actor().id == "e"


def test_a_policy_has_a_positive_lifetime_within_its_maximum() -> None:
    day = timedelta(days=1)
    assert Policy(lifetime=day, max_lifetime=day).lifetime == day
    century = timedelta(seconds=3_155_760_000)
    assert Policy(max_lifetime=century).max_lifetime == century
    for lifetime, most in ((timedelta(0), day), (-day, day), (2 * day, day), (day, timedelta.max)):
        with pytest.raises(ValueError, match="lifetime"):
            Policy(lifetime=lifetime, max_lifetime=most)
    for keys in ((), b"key", ("key",)):
        with pytest.raises(ValueError, match="cursor_keys"):
            Policy(cursor_keys=keys)  # type: ignore[arg-type]
    assert "pausemesh-cursor" not in repr(Policy())


def test_limits_are_positive_integers() -> None:
    assert JsonLimits(max_bytes=1, max_depth=1, max_values=1, max_key_characters=1).max_depth == 1
    for bad in (0, -1, True, 1.5, "9"):
        with pytest.raises(ValueError, match="max_depth"):
            JsonLimits(max_depth=bad)  # type: ignore[arg-type]
    assert JsonLimits(max_depth=256).max_depth == 256
    with pytest.raises(ValueError, match="256"):
        JsonLimits(max_depth=257)


def test_a_document_is_equal_by_value_and_gives_fresh_copies() -> None:
    one, other = Document.of({"a": 1, "b": [2]}), Document.of({"b": [2.0], "a": 1.0})
    assert one == other
    assert one.digest == other.digest
    first = one.value
    assert isinstance(first, dict)
    first["a"] = "changed"
    assert one.value == {"a": 1, "b": [2]}
    assert "2" not in repr(one)


def test_an_error_says_its_docstring_its_detail_and_its_places() -> None:
    error = InvalidRequest("More.", issues=[Issue("", "r", "first"), Issue("/a", "r", "second")])
    assert str(error) == "The request is not well formed. More. (root): first; /a: second"
    assert str(PauseMeshError()) == "Something was refused or went wrong."
    assert len(InvalidRequest(issues=[Issue("", "r", "m")] * 21).issues) == 20


def test_every_error_has_a_code_and_a_message_of_its_own() -> None:
    pending, seen = [PauseMeshError], list[type[PauseMeshError]]()
    while pending:
        kind = pending.pop()
        if kind.__module__.startswith("pausemesh."):
            seen.append(kind)
        pending += kind.__subclasses__()
    assert len(seen) > 40
    for kind in seen:
        assert kind.__doc__, kind
        assert kind.code == kind.code.upper()
    messages = [(kind.__doc__ or "").partition("\n")[0] for kind in seen]
    assert len(set(messages)) == len(messages)
