"""A question whole, as a person has to see it before answering: nothing of it is cut."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pausemesh.cli.durations import age, time_left, urgency
from pausemesh.cli.plain_text import plain, plain_lines
from pausemesh.cli.question_words import action_of, asker_of, kind_of, message_of, name_of_actor
from pausemesh.cli.questions import JsonObject, object_in, payload_of, text_in
from pausemesh.cli.terminal import Quoted, quoted_json, section, shown

_TOLD_ELSEWHERE: Final = frozenset({"kind", "message", "action", "responseSchema"})


def question_sheet(continuation: JsonObject, history: list[JsonObject], now: datetime) -> Group:
    """Return who asks what, until when, and the action that an approval approves with all its arguments."""
    return Group(_facts(continuation, history, now), *_asked(continuation))


def rest_of_sheet(continuation: JsonObject, history: list[JsonObject], effects: list[JsonObject]) -> Group:
    """Return everything else that is known of a question: schema, metadata, decision, effects, history."""
    told = _effects(effects) if "claim" in continuation else ()
    return Group(*_answering(continuation), *_decision(continuation), *told, *_history(history))


def _facts(continuation: JsonObject, history: list[JsonObject], now: datetime) -> Table:
    created, expires = text_in(continuation, "createdAt"), text_in(continuation, "expiresAt") or None
    ways = continuation.get("answerableBy")
    rows: list[tuple[str, RenderableType]] = [
        ("question", Text(plain(text_in(continuation, "continuationId")), style="bold", overflow="fold")),
        ("status", shown(text_in(continuation, "status"))),
        ("kind", shown(kind_of(continuation))),
        ("asked by", Text(asker_of(history), overflow="fold")),
        ("asked", Text(f"{age(created, now)} ago, {plain(created)}", overflow="fold")),
        ("expires", _expiry(expires, now)),
        ("correlation", shown(text_in(continuation, "correlationId"))),
        ("answerable by", shown(", ".join(map(str, ways)) if isinstance(ways, list) else "")),
        ("shown digest", shown(text_in(continuation, "shownDigest"))),
    ]
    if owner := text_in(continuation, "owner"):
        rows.append(("owner", shown(owner)))
    return _grid(rows)


def _expiry(expires: str | None, now: datetime) -> Text:
    left = time_left(expires, now)
    if expires is None:
        return Text(left)
    words = "over" if left == "over" else f"in {left}"
    return Text.assemble((words, urgency(expires, now)), f", {plain(expires)}", overflow="fold")


def _asked(continuation: JsonObject) -> Iterator[RenderableType]:
    message, action, payload = message_of(continuation), action_of(continuation), payload_of(continuation)
    if message is not None:
        yield section("Message", Quoted(plain_lines(message), style="bold"))
    if action is not None:
        name = Text.assemble(("Action  ", "bold"), (plain(text_in(action, "name")), "bold cyan"), overflow="fold")
        yield Group(Text(), name, quoted_json(action.get("arguments", {})))
    if not payload:
        yield section("Payload", quoted_json(continuation.get("payload")))
    elif others := {name: value for name, value in payload.items() if name not in _TOLD_ELSEWHERE}:
        yield section("More of the payload", quoted_json(others))


def _answering(continuation: JsonObject) -> Iterator[RenderableType]:
    payload = payload_of(continuation)
    if "responseSchema" in payload:
        yield section("Schema of the answer", quoted_json(payload["responseSchema"]))
    if metadata := object_in(continuation, "metadata"):
        yield section("Metadata", quoted_json(metadata))


def _decision(continuation: JsonObject) -> Iterator[RenderableType]:
    decided = [name for name in ("resumedAt", "cancelledAt", "expiredAt") if text_in(continuation, name)]
    if not decided:
        return
    rows: list[tuple[str, RenderableType]] = [
        (text_in(continuation, "status"), shown(text_in(continuation, decided[0]))),
    ]
    if "by" in continuation:
        rows.append(("by", Text(name_of_actor(continuation["by"]), overflow="fold")))
    for label, member in (("idempotency key", "idempotencyKey"), ("reason", "reason")):
        if value := text_in(continuation, member):
            rows.append((label, shown(value)))
    yield section("Decision", _grid(rows))
    if "resumePayload" in continuation:
        yield section("Answer", quoted_json(continuation["resumePayload"]))
    if claim := object_in(continuation, "claim"):
        yield section("Claim", _grid((plain(name), shown(str(value))) for name, value in claim.items()))


def _effects(effects: list[JsonObject]) -> Iterator[RenderableType]:
    for effect in effects:
        heading = Text.assemble(("Effect  ", "bold"), (plain(text_in(effect, "key")), "bold cyan"), overflow="fold")
        yield Group(Text(), heading, quoted_json({name: value for name, value in effect.items() if name != "key"}))


def _history(history: list[JsonObject]) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 2))
    for event in history:
        by = object_in(event, "data").get("by")
        who = "" if by is None else "by " + name_of_actor(by)
        table.add_row(
            shown(str(event.get("version"))), shown(text_in(event, "at")), shown(text_in(event, "type")), Text(who)
        )
    if history:
        yield section("History", table)


def _grid(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(plain(name), value)
    return table
