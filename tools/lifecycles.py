"""The lives of the nouns, found by trying every command in every state, and drawn."""

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from pausemesh.core import continuation, effect
from pausemesh.core.continuation_events import Created
from pausemesh.core.document import Document
from pausemesh.core.effect_events import Resolution, Started
from pausemesh.core.envelope import AnswerableBy, ClaimStatus, ClaimView
from pausemesh.core.errors import PauseMeshError
from pausemesh.core.principal import BY_SYSTEM
from pausemesh.core.question import shown_digest
from pausemesh.core.stored_event import Stamped
from pausemesh.opening import open as open_mesh
from pausemesh.service.fenced_claims import FencedClaims
from pausemesh.service.mesh import Mesh
from pausemesh.testing.clock import START, ManualClock

_TOKEN: Final = b"t" * 32
_DOCUMENT: Final = Document.of({})
_LATER: Final = START + timedelta(days=2)


@dataclasses.dataclass(frozen=True, order=True)
class Step:
    """One change of status, and the command that makes it."""

    before: str
    command: str
    after: str


def steps_of_continuation() -> list[Step]:
    """Return every change of a question's status."""
    created = Created(
        id="q",
        correlation_id="c",
        payload=_DOCUMENT,
        metadata=_DOCUMENT,
        shown_digest=shown_digest("q", _DOCUMENT, START + timedelta(days=1)),
        expires_at=START + timedelta(days=1),
        answerable_by=(AnswerableBy.TOKEN, AnswerableBy.OPERATOR),
        by=BY_SYSTEM,
        token_hash=_TOKEN,
    )
    commands: dict[str, Callable[[Any], Any]] = {
        "create": lambda _state: continuation.Create(created=created),
        "resume or answer": lambda _state: continuation.Resume(
            by=BY_SYSTEM, idempotency_key="k", payload=_DOCUMENT, token_hash=None
        ),
        "cancel": lambda _state: continuation.Cancel(by=BY_SYSTEM),
        "reissue": lambda _state: continuation.Reissue(by=BY_SYSTEM, token_hash=_TOKEN),
        "expire": lambda _state: continuation.Expire(),
    }
    return _explore(
        commands,
        decide=continuation.decide,
        evolve=continuation.evolve,
        status_of=lambda state: str(state.continuation.status),
        version_of=lambda state: int(state.continuation.version),
    )


def steps_of_effect() -> list[Step]:
    """Return every change of an effect's status."""

    def resolve(resolution: Resolution) -> Callable[[effect.Effect | None], Any]:
        return lambda state: effect.Resolve(
            resolution=resolution,
            evidence="seen",
            by=BY_SYSTEM,
            result=_DOCUMENT if resolution is Resolution.DONE else None,
            seen_fence=1 if state is None else state.fence,
            is_running=False,
        )

    commands: dict[str, Callable[[Any], Any]] = {
        "start": lambda _state: effect.Start(
            started=Started(key="e", kind="e", arguments=_DOCUMENT, fence=1, worker="w")
        ),
        "complete": lambda _state: effect.Complete(fence=1, result=_DOCUMENT),
        "fail": lambda _state: effect.Fail(fence=1),
        "doubt": lambda _state: effect.Doubt(fence=1),
        "resolve as done": resolve(Resolution.DONE),
        "resolve as not done": resolve(Resolution.NOT_DONE),
    }
    return _explore(
        commands,
        decide=lambda state, command, _now: effect.decide(state, command),
        evolve=effect.evolve,
        status_of=lambda state: str(state.status),
        version_of=lambda state: int(state.version),
    )


def steps_of_claim() -> list[Step]:
    """Return every change of a claim's status, as a mesh in memory makes it: the store decides them, not the core."""
    return asyncio.run(_explore_claim())


async def _explore_claim() -> list[Step]:
    found: set[Step] = set()
    seen = {ClaimStatus.OPEN}
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        way = waiting.pop()
        for name in _CLAIM_COMMANDS:
            before, after = await _last_views((*way, name))
            if before == after:
                continue
            found.add(Step(str(before.status), name, str(after.status)))
            if after.status not in seen:
                seen.add(after.status)
                waiting.append((*way, name))
    return sorted(found)


async def _last_views(names: Iterable[str]) -> tuple[ClaimView, ClaimView]:
    """Return what a new question's claim is before and after the last of these commands; a refused one does nothing."""
    clock = ManualClock()
    async with open_mesh("memory:", clock=clock) as mesh:
        asked = await mesh.create(payload={}, expires_at=_LATER)
        noun_id = asked.continuation.id
        await mesh.resume(noun_id, token=asked.resume_token or "", idempotency_key="k", payload={})
        before = after = await _view(mesh, noun_id)
        for name in names:
            clock.advance(timedelta(seconds=1))
            with contextlib.suppress(PauseMeshError):
                await _CLAIM_COMMANDS[name](_Named(mesh.fenced, clock, noun_id, after.fence))
            before, after = after, await _view(mesh, noun_id)
    return before, after


async def _view(mesh: Mesh, noun_id: str) -> ClaimView:
    claim = (await mesh.inspect(noun_id)).claim
    assert claim is not None, "it was answered"
    return claim


_LEASE: Final = timedelta(seconds=60)


@dataclasses.dataclass(frozen=True)
class _Named:
    """A claim under its last fence, and the clock that its lease goes by."""

    claims: FencedClaims
    clock: ManualClock
    noun_id: str
    fence: int

    async def end_lease(self) -> None:
        """Let the time of any lease pass."""
        self.clock.advance(_LEASE)


_CLAIM_COMMANDS: Final[Mapping[str, Callable[[_Named], Awaitable[object]]]] = {
    "take": lambda one: one.claims.take(one.noun_id, worker="w", lease=_LEASE),
    "renew": lambda one: one.claims.renew(one.noun_id, one.fence, lease=_LEASE),
    "release": lambda one: one.claims.release(one.noun_id, one.fence),
    "fail": lambda one: one.claims.fail(one.noun_id, one.fence),
    "done": lambda one: one.claims.finish(one.noun_id, one.fence),
    "the lease ends": _Named.end_lease,
}


def _explore(
    commands: dict[str, Callable[[Any], Any]],
    *,
    decide: Callable[[Any, Any, datetime], tuple[Any, ...]],
    evolve: Callable[[Any, Stamped[Any]], Any],
    status_of: Callable[[Any], str],
    version_of: Callable[[Any], int],
) -> list[Step]:
    found: set[Step] = set()
    seen: dict[str, Any] = {"": None}
    waiting: list[Any] = [None]
    while waiting:
        state = waiting.pop()
        for name, command_of in commands.items():
            try:
                events = decide(state, command_of(state), _LATER if name == "expire" else START)
            except PauseMeshError:
                continue
            reached: Any = state
            if not events:
                continue
            for event in events:
                version = 1 if reached is None else version_of(reached) + 1
                reached = evolve(reached, Stamped(event=event, version=version, at=START, id=UUID(int=version)))
            before, after = "" if state is None else status_of(state), status_of(reached)
            found.add(Step(before, name, after))
            if after not in seen:
                seen[after] = reached
                waiting.append(reached)
    return sorted(found)


_PLACES: Final = {
    "continuation": {"": (0, 1), "pending": (1, 1), "resumed": (2, 0), "cancelled": (2, 1), "expired": (2, 2)},
    "claim": {"open": (0, 0), "held": (1, 0), "done": (2, 0), "lapsed": (1, 1)},
    "effect": {"": (0, 1), "started": (1, 1), "completed": (2, 0), "unknown": (2, 1), "failed": (2, 2)},
}
_STEP_X: Final = 250
_STEP_Y: Final = 110
_WIDTH: Final = 120
_HEIGHT: Final = 40

_STYLE: Final = (
    "text{font:14px system-ui,sans-serif;fill:currentColor;text-anchor:middle}"
    ".said{font-size:12px;stroke:#fff;stroke-width:5px;paint-order:stroke}"
    ".box{fill:none;stroke:currentColor;stroke-width:1.5}.way{fill:none;stroke:currentColor}svg{color:#57606a}"
)

_HEAD: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{noun}">'
    "<style>{style}</style>"
    '<rect width="100%" height="100%" rx="8" fill="#fff"/>'
    '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
)


@functools.cache
def _lives() -> dict[str, list[Step]]:
    return {"continuation": steps_of_continuation(), "claim": steps_of_claim(), "effect": steps_of_effect()}


def lifecycle_pictures() -> dict[str, str]:
    """Return a picture of each life, by the noun's name."""
    return {f"life-of-{noun}": _picture(noun, steps) for noun, steps in _lives().items()}


def _picture(noun: str, steps: Iterable[Step]) -> str:
    places = _PLACES[noun]
    width = 2 * _STEP_X + _WIDTH + 160
    height = max(row for _, row in places.values()) * _STEP_Y + _HEIGHT + 90
    parts = [_HEAD.format(width=width, height=height, noun=noun, style=_STYLE)]
    by_ends: dict[tuple[str, str], list[str]] = {}
    for step in steps:
        by_ends.setdefault((step.before, step.after), []).append(step.command)
    for (before, after), commands in by_ends.items():
        is_paired = before != after and (after, before) in by_ends
        parts.append(_arrow(places[before], places[after], commands, is_paired=is_paired))
    parts += [_box(place, status) for status, place in places.items()]
    return "\n".join([*parts, "</svg>", ""])


def _centre(place: tuple[int, int]) -> tuple[int, int]:
    return 20 + place[0] * _STEP_X + _WIDTH // 2, 45 + place[1] * _STEP_Y + _HEIGHT // 2


def _box(place: tuple[int, int], status: str) -> str:
    x, y = _centre(place)
    if not status:
        return f'<circle cx="{x + _WIDTH // 2 - 8}" cy="{y}" r="6" fill="currentColor"/>'
    left, top = x - _WIDTH // 2, y - _HEIGHT // 2
    return (
        f'<rect class="box" x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>'
        f'<text x="{x}" y="{y + 5}">{status}</text>'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int], commands: list[str], *, is_paired: bool) -> str:
    (x1, y1), (x2, y2) = _centre(start), _centre(end)
    said = ", ".join(commands)
    if start == end:
        top = y1 - _HEIGHT // 2
        path = f"M{x1 - 20} {top} C{x1 - 40} {top - 40} {x1 + 40} {top - 40} {x1 + 20} {top}"
        return _labelled(path, x1, top - 34, said)
    if x1 == x2:
        down = y2 > y1
        shift, edge = (18, _HEIGHT // 2) if down else (-18, -_HEIGHT // 2)
        path = f"M{x1 + shift} {y1 + edge} L{x2 + shift} {y2 - edge}"
        is_left = is_paired and not down
        label_x = x1 - 28 if is_left else x1 + max(shift, 0) + 10
        return _labelled(path, label_x, (y1 + y2) // 2 + 4, said, anchor="end" if is_left else "start")
    if x2 > x1:
        path = f"M{x1 + _WIDTH // 2} {y1 - 6} L{x2 - _WIDTH // 2} {y2 - 6}"
        return _labelled(path, (x1 + x2) // 2, (y1 + y2) // 2 - 12, said)
    path = f"M{x1 - _WIDTH // 2} {y1 + 8} L{x2 + _WIDTH // 2} {y2 + 8}"
    return _labelled(path, (x1 + x2) // 2, (y1 + y2) // 2 + 24, said)


def _labelled(path: str, x: int, y: int, said: str, *, anchor: str = "middle") -> str:
    return (
        f'<path class="way" d="{path}" marker-end="url(#end)"/>'
        f'<text class="said" style="text-anchor:{anchor}" x="{x}" y="{y}">{said}</text>'
    )


_PAGE_HEAD: Final = """# Lifecycles

Made from the code: every command was tried in every status that can be reached, and what it leads to is what is here.
"""
_ABOUT: Final = {
    "continuation": "A question is decided once; nothing leads on from there. A new token only changes its version.",
    "claim": "The right to go on with an answer. Each `take` has the next fence; a stale one records nothing.",
    "effect": "Without an outcome, when its claim passed on, it is in doubt until somebody looked.",
}


def lifecycle_page() -> str:
    """Return the page: a picture and a table for each noun."""
    parts = [_PAGE_HEAD]
    for noun, steps in _lives().items():
        life = f"The life of {'an' if noun == 'effect' else 'a'} {noun}"
        parts.append(f"## {noun.capitalize()}\n\n{_ABOUT[noun]}\n\n![{life}](../images/life-of-{noun}.svg)\n")
        parts.append("| status | command | leads to |\n|---|---|---|")
        parts += [f"| {step.before or '(none)'} | {step.command} | {step.after} |" for step in steps]
        parts.append("")
    return "\n".join(parts)
