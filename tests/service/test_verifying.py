"""What was damaged is found, and where: nothing that is whole is blamed, and no value is told."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.core import limits
from pausemesh.core.errors import StoreCorrupt
from pausemesh.records import Recorded
from pausemesh.service.findings import Findings, VerifyReport
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import ManualClock
from tests.service.damaging import (
    answered,
    ask,
    damage,
    in_data,
    live,
    on_audit,
    on_event,
    on_head,
    without_events,
    without_head,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.db"


@pytest.fixture
async def lived(path: Path, clock: ManualClock) -> AsyncIterator[Mesh]:
    """A mesh on a file in which everything has happened."""
    async with pausemesh.open(path, clock=clock) as mesh:
        await live(mesh, clock)
        yield mesh


def said(report: VerifyReport) -> list[str]:
    """The findings as words: flaw, stream with its scope where that is not the default, version or detail.

    What a store says of its medium is told by its first word.
    """
    words = []
    for finding in report.findings:
        place = finding.stream if finding.scope in {None, "default"} else f"{finding.scope}:{finding.stream}"
        detail = None if finding.detail is None else finding.detail.split()[0]
        words.append(" ".join(str(part) for part in (finding.flaw, place, finding.version, detail) if part))
    return words


async def test_a_store_in_which_everything_happened_is_sound(mesh: Mesh, clock: ManualClock) -> None:
    await live(mesh, clock)
    report = await mesh.verify()
    assert said(report) == []
    assert report.is_sound
    assert report.streams == {"continuation": 10, "claim": 1, "effect": 4, "key": 2}
    assert report.events == report.last_seq == 31


async def test_an_empty_store_is_sound(mesh: Mesh) -> None:
    report = await mesh.verify()
    assert (report.is_sound, report.events, report.last_seq) == (True, 0, 0)


async def test_more_streams_than_a_page_holds_are_all_looked_at(mesh: Mesh) -> None:
    await asyncio.gather(*[ask(mesh, f"q{index:03}") for index in range(2 * limits.EXAMINED_STREAMS + 1)])
    assert (await mesh.verify()).streams["continuation"] == 2 * limits.EXAMINED_STREAMS + 1


async def test_a_log_longer_than_a_page_is_read_to_its_end(mesh: Mesh) -> None:
    await asyncio.gather(*[ask(mesh, f"q{index:03}") for index in range(limits.PAGE_MAX + 1)])
    assert (await mesh.verify()).is_sound


async def test_what_is_written_during_a_check_is_no_flaw(mesh: Mesh, clock: ManualClock) -> None:
    async def go_on() -> None:
        for index in range(8):
            await answered(mesh, f"q{index}")
            async with mesh.claim(f"q{index}") as turn:
                await turn.effect("a", run=lambda: 1)

    writing = asyncio.ensure_future(go_on())
    reports = [await mesh.verify()]
    while not writing.done():
        reports.append(await mesh.verify())
        await asyncio.sleep(0)
    await writing
    assert [said(report) for report in reports] == [[]] * len(reports)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (on_head("pending_still", "status = 'resumed'"), "head {pending_still} status"),
        (on_head("resumed", "open = 1, queue = 'r'"), "head {resumed} open, head {resumed} queue"),
        (on_head("claim/done", "kind = 'x'"), "head claim/done kind"),
        (on_head("claim/done", "correlation = 'y', trace = 'z'"), "head claim/done correlation, head claim/done trace"),
        (on_head("effect/done/a", "owner = NULL"), "head effect/done/a owner"),
        (on_head("reissued", "token_hash = x'00'"), "head {reissued} token_hash"),
        (on_head("pending_still", "due_at = due_at + 1000"), "head {pending_still} due_at"),
        (on_head("held", "created_at = 1"), "head {held} created_at"),
        (on_head("held", "updated_at = 2"), "head {held} updated_at"),
        (on_head("held", "version = 1"), "head {held} version"),
        ("UPDATE heads SET status = 'active' WHERE status = 'revoked'", "head .keys:KEY status"),
        (on_head("done", "done_at = NULL"), "claim {done}"),
        (on_head("done", "done_at = done_at + 1"), "claim {done}"),
        (on_head("held", "done_at = 1"), "events_missing claim/held"),
        (on_head("done", "fence = 0"), "fence {done}"),
        (on_head("doubted", "fence = 1"), "fence {doubted}"),
        (without_head("pending"), "head_missing {pending}"),
        (without_head("effect/done/a"), "head_missing effect/done/a"),
        (on_head("pending", "fence = -1"), "unreadable {pending}"),
        (on_head("cancelled", "version = 3"), "versions {cancelled} 3"),
    ],
)
async def test_a_head_that_is_not_what_the_log_says_is_found(lived: Mesh, path: Path, sql: str, found: str) -> None:
    damage(path, sql)
    assert said(await lived.verify()) == await told(lived, found)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (in_data("pending", 1, "What of", "Why"), "digest {pending} 1"),
        (in_data("pending", 1, '"queue":"q",', ""), ""),
        (in_data("pending_still", 1, '"queue":"q",', ""), "head {pending_still} queue"),
        (in_data("resumed", 2, '"by"', '"added":1,"by"'), "encoding {resumed} 2"),
        (in_data("resumed", 2, "{", "{ "), "encoding {resumed} 2"),
        (in_data("effect/done/b", 2, "null", "null "), "encoding effect/done/b 2"),
        (in_data("reissued", 2, 'Hash":"', 'Hash":"AB'), "encoding {reissued} 2, head {reissued} token_hash"),
        (in_data("resumed", 2, '"id":"resumed"', '"id":"held"'), "unreadable {resumed} 2"),
        (in_data("pending", 1, "1.5", "NaN"), "unreadable {pending} 1"),
        (in_data("pending", 1, "1.5", "[" * 100_000), "unreadable {pending} 1"),
        (in_data("pending", 1, "1.5", "[" * 400 + "]" * 400), "unreadable {pending} 1"),
        (on_event("resumed", 2, "data = x''"), "unreadable {resumed} 2"),
        (on_event("effect/done/a", 2, "data = x'5b5d'"), "unreadable effect/done/a 2"),
        (on_event("resumed", 2, "type = 'continuation.burnt'"), "unreadable {resumed} 2"),
        (on_event("effect/done/a", 2, "type = 'effect.burnt'"), "unreadable effect/done/a 2"),
        (on_event("pending", 2, "type = CAST(x'ff' AS TEXT)"), "unreadable {pending}"),
        (on_event("effect/done/a", 2, "type = 'effect.failed'"), "encoding effect/done/a 2, head effect/done/a status"),
        (on_event("held", 2, "at = at + 90000000000"), "deadline {held} 2, head {held} updated_at, audit {held}"),
        (on_event("expired", 2, "at = 0"), "deadline {expired} 2, head {expired} updated_at"),
        (on_event("pending", 1, "seq = 1000 + seq"), "order {pending} 2, medium 31"),
    ],
)
async def test_an_event_that_was_changed_is_found(lived: Mesh, path: Path, sql: str, found: str) -> None:
    damage(path, sql)
    assert said(await lived.verify()) == await told(lived, found)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (without_events("pending", "version = 1"), "versions {pending} 1"),
        (without_events("pending", "version = 2"), "versions {pending} 2"),
        (without_events("pending"), "events_missing {pending}"),
        (without_events("claim/done"), "events_missing claim/done"),
        (without_events("claim/done") + without_head("claim/done"), "events_missing claim/done"),
        (without_events("pending") + without_head("pending"), ""),
        (
            without_events("resumed", "version = 2")
            + on_head("resumed", "version = 1, status = 'pending', open = 1, updated_at = created_at")
            + on_head("resumed", "due_at = created_at + 3600000000"),
            "audit {resumed}",
        ),
    ],
)
async def test_an_event_that_was_removed_is_found_by_its_number_at_least(
    lived: Mesh, path: Path, sql: str, found: str
) -> None:
    damage(path, sql)
    *streams, medium = said(await lived.verify())
    assert streams == await told(lived, found)
    assert medium == "medium 31"


async def test_what_belongs_to_a_question_that_is_gone_or_was_not_answered_is_found(lived: Mesh, path: Path) -> None:
    damage(
        path,
        "UPDATE heads SET stream = 'effect/pending/a' WHERE stream = 'effect/done/a';"
        "UPDATE events SET stream = 'effect/pending/a' WHERE stream = 'effect/done/a';"
        "UPDATE heads SET stream = 'effect/nobody/b' WHERE stream = 'effect/done/b';"
        "UPDATE events SET stream = 'effect/nobody/b' WHERE stream = 'effect/done/b';",
    )
    assert [finding for finding in said(await lived.verify()) if finding.startswith("question")] == [
        "question effect/nobody/b",
        "question effect/pending/a",
    ]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (in_data("resumed", 2, '"ok":', '"no":'), "audit {resumed}"),
        (in_data("held", 2, "ana", "eve"), "audit {held}"),
        (in_data("cancelled", 2, "root", "eve"), "audit {cancelled}"),
        (on_event("cancelled", 2, "at = at + 1"), "head {cancelled} updated_at, audit {cancelled}"),
        (on_audit("resumed", "digest = NULL"), "audit {resumed}"),
        (on_audit("resumed", "action = 'continuation.cancel'"), "audit {resumed}"),
        (on_audit("resumed", "actor = 'editor:eve'"), "audit {resumed}"),
        (on_audit("resumed", "noun_id = 'pending_still'"), "audit {pending_still}"),
        (on_audit("resumed", "noun_id = 'nobody'"), "audit {nobody}"),
        (on_audit("resumed", "noun = 'pause'"), ""),
        (on_audit("resumed", "digest = CAST(x'ff' AS TEXT)"), "audit"),
        (on_event("resumed", 2, "data = x'00'"), "unreadable {resumed} 2"),
    ],
)
async def test_a_decision_that_is_not_what_the_audit_log_tells_is_found(
    lived: Mesh, path: Path, sql: str, found: str
) -> None:
    damage(path, sql)
    assert said(await lived.verify()) == await told(lived, found)


async def test_a_token_that_somebody_known_brought_is_told_by_the_audit_log_and_is_no_flaw(mesh: Mesh) -> None:
    agent = pausemesh.Principal(id="robot", role=pausemesh.Role.AGENT)
    asked = await mesh.create(payload=1, by=agent)
    await mesh.resume(
        asked.continuation.id, token=asked.resume_token or "", idempotency_key="k", payload=True, by=agent
    )
    assert said(await mesh.verify()) == []


async def test_a_stream_of_nothing_that_is_known_is_found(lived: Mesh, path: Path) -> None:
    for table in ("heads", "events"):
        damage(path, f"UPDATE {table} SET stream = 'x' WHERE scope = 'elsewhere'")  # noqa: S608 - our words
    report = await lived.verify()
    assert said(report) == ["noun elsewhere:x", "audit elsewhere:continuation/done"]
    assert report.streams["other"] == 1


async def test_events_that_contradict_each_other_are_found(lived: Mesh, path: Path) -> None:
    damage(
        path,
        "UPDATE events SET data = CAST(replace(CAST(data AS TEXT), '\"version\":1', '\"version\":2') AS BLOB),"
        " version = 2 WHERE stream = 'continuation/pending_still';"
        "INSERT INTO events (scope, stream, version, id, type, at, data) SELECT scope, stream, 1, id, type, at,"
        " CAST(replace(CAST(data AS TEXT), '\"version\":2', '\"version\":1') AS BLOB)"
        " FROM events WHERE stream = 'continuation/pending_still'",
    )
    assert said(await lived.verify()) == [
        "order continuation/pending_still 2",
        "replay continuation/pending_still",
    ]


async def test_a_name_that_cannot_be_read_ends_the_walk_and_is_told(lived: Mesh, path: Path) -> None:
    damage(path, "UPDATE heads SET stream = CAST(x'61ff' AS TEXT) WHERE stream = 'continuation/pending'")
    assert said(await lived.verify()) == ["unreadable"]


async def test_a_log_whose_places_cannot_be_read_is_told(lived: Mesh, path: Path) -> None:
    damage(path, "UPDATE events SET seq = -seq")
    report = await lived.verify()
    assert "log" in said(report)
    assert "unreadable continuation/pending" in said(report)


@pytest.mark.parametrize("repeats", [0, 2])
async def test_a_log_that_does_not_go_on_is_told(clock: ManualClock, repeats: int) -> None:
    class Standing(pausemesh.MemoryEventStore):
        """A store whose log shows its first event again and again, or none."""

        async def feed(self, *_: Any, **__: Any) -> Sequence[Recorded]:
            first = await super().feed(0, None, 1)
            return [*first] * repeats

    async with pausemesh.open(Standing(clock), clock=clock) as mesh:
        await ask(mesh, "a")
        await ask(mesh, "b")
        assert said(await mesh.verify()) == ["log"]


async def test_a_log_and_a_medium_that_cannot_be_read_to_their_end_are_told(clock: ManualClock) -> None:
    class Torn(pausemesh.MemoryEventStore):
        """A store on a torn medium."""

        async def feed(self, *_: Any, **__: Any) -> Sequence[Recorded]:
            raise StoreCorrupt

        async def check_integrity(self, **_: Any) -> Sequence[str]:
            raise StoreCorrupt

    async with pausemesh.open(Torn(clock), clock=clock) as mesh:
        await ask(mesh, "a")
        assert said(await mesh.verify()) == ["log", "medium It"]


async def test_a_check_tells_places_and_reasons_and_no_value(lived: Mesh, path: Path) -> None:
    canary = secrets.token_hex(16)
    members = ", ".join(f"{member} = '{canary}'" for member in ("status", "owner", "queue", "correlation", "holder"))
    damage(path, f"UPDATE heads SET {members}")  # noqa: S608 - our words
    damage(path, f"UPDATE events SET type = '{canary}' WHERE version = 2")  # noqa: S608 - our words
    damage(path, f"UPDATE events SET data = CAST('{canary}' AS BLOB) WHERE version = 3")  # noqa: S608 - our words
    report = await lived.verify()
    assert report.found > 10
    assert canary not in repr(report)


def test_a_finding_is_counted_once_and_only_so_many_are_listed() -> None:
    findings = Findings()
    for index in range(limits.FINDINGS):
        for _ in range(2):
            findings.add(pausemesh.Finding(flaw=pausemesh.Flaw.HEAD, version=index))
    assert (len(findings.listed), findings.found) == (limits.FINDINGS, limits.FINDINGS)
    findings.add(pausemesh.Finding(flaw=pausemesh.Flaw.LOG))
    assert (len(findings.listed), findings.found) == (limits.FINDINGS, limits.FINDINGS + 1)


async def told(mesh: Mesh, words: str) -> list[str]:
    """Expected findings as ``said`` puts them."""
    [revoked] = [key.id for key in await mesh.keys() if key.revoked_at is not None]
    words = words.replace("KEY", f"key/{revoked}").replace("{", "continuation/").replace("}", "")
    return words.split(", ") if words else []
