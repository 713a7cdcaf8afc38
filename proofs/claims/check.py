"""What the journals and the file say together: who held what when, and what was recorded under which fence."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import assert_never

from pausemesh.core.effect_events import Completed, Doubted, Failed, Resolution, Resolved, Started
from pausemesh.service.nouns import CLAIMS, CONTINUATIONS, EFFECTS
from proofs.claims.journal import Entry
from proofs.claims.worker import EFFECT
from proofs.stored import Stored, effect_id, to_micros


@dataclasses.dataclass(slots=True)
class Holding:
    """A claim as its holder knew it; times are microseconds by the store's clock.

    Attributes:
        taken: when, None where the holder died before it could write that down.
        until: the end of the lease as it was last heard, or when the holder was about to give it back.
    """

    fence: int
    worker: str = ""
    taken: int | None = None
    until: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """What is wrong, by kind; how many claims passed on to another holder; how many effects ran again by evidence."""

    twice_at_once: list[str]
    fences: list[str]
    stale: list[str]
    runs: list[str]
    passed_on: int
    ran_again: int


def check(leases: list[Entry], runs: Mapping[str, int], stored: Stored) -> Checked:
    """Go through all continuations."""
    holdings = _holdings(leases)
    passed_on = sum(len(ones) > 1 for ones in holdings.values())
    ran_again = sum(times > 1 for times in runs.values())
    checked = Checked([], _repeated_fences(leases), [], [], passed_on, ran_again)
    for stream, ones in holdings.items():
        ordered = [ones[fence] for fence in sorted(ones)]
        noun_id = CONTINUATIONS.id_of(stream)
        checked.twice_at_once.extend(f"{noun_id}: {flaw}" for flaw in _overlaps(ordered))
        checked.fences.extend(f"{noun_id}: {flaw}" for flaw in _disorder(ordered))
        checked.stale.extend(f"{noun_id}: {flaw}" for flaw in _stale_records(noun_id, ordered, stored))
    for _, name, stream_rows in stored.of(EFFECTS):
        noun_id = name.partition("/")[0]
        events = [stamped.event for stamped in stream_rows.stamped(EFFECTS)]
        refuted = sum(isinstance(event, Resolved) and event.resolution is Resolution.NOT_DONE for event in events)
        if not 1 <= runs.get(noun_id, 0) <= 1 + refuted:
            checked.runs.append(f"{noun_id}: ran {runs.get(noun_id, 0)} times, refuted {refuted} times")
    return checked


def _holdings(leases: list[Entry]) -> dict[str, dict[int, Holding]]:
    found: dict[str, dict[int, Holding]] = {}
    for entry in leases:
        of_stream = found.setdefault(entry["stream"], {})
        holding = of_stream.setdefault(entry["fence"], Holding(entry["fence"]))
        holding.worker = entry["worker"]
        gives_back = entry["what"] == "releasing"
        holding.until = min(holding.until, entry["at"]) if gives_back else max(holding.until, entry["until"])
        if entry["what"] == "taken":
            holding.taken = entry["at"]
    return found


def _repeated_fences(leases: list[Entry]) -> list[str]:
    taken = [(entry["stream"], entry["fence"]) for entry in leases if entry["what"] == "taken"]
    seen: set[tuple[str, int]] = set()
    repeated = {place for place in taken if place in seen or seen.add(place)}  # type: ignore[func-returns-value]
    return [f"{stream}: fence {fence} was given twice" for stream, fence in repeated]


def _overlaps(ordered: list[Holding]) -> Iterator[str]:
    """Yield where somebody went on although the one before held a live lease."""
    for before, after in itertools.pairwise(ordered):
        consecutive = after.fence == before.fence + 1
        if consecutive and after.taken is not None and after.taken < before.until:
            yield f"fence {after.fence} was taken at {after.taken}, fence {before.fence} held until {before.until}"


def _disorder(ordered: list[Holding]) -> Iterator[str]:
    times = [holding.taken for holding in ordered if holding.taken is not None]
    if times != sorted(times):
        yield f"later fences were taken earlier: {ordered}"


def _stale_records(noun_id: str, ordered: list[Holding], stored: Stored) -> Iterator[str]:
    """Yield what was recorded under a fence after a greater one had been given."""
    fence_of = {holding.worker: holding.fence for holding in ordered}
    for what, fence, at in _records(noun_id, fence_of, stored):
        for later in ordered:
            if later.fence > fence and later.taken is not None and later.taken <= at:
                yield f"{what} under fence {fence} at {at}, although {later.fence} was taken at {later.taken}"


def _records(noun_id: str, fence_of: Mapping[str, int], stored: Stored) -> Iterator[tuple[str, int, int]]:
    """Yield what was recorded: what, under which fence, and when."""
    effect = stored.find(EFFECTS, effect_id(noun_id, EFFECT))
    for stamped in () if effect is None else effect.stamped(EFFECTS):
        event = stamped.event
        match event:
            case Started() | Completed() | Failed() | Doubted():
                yield type(event).__name__, event.fence, to_micros(stamped.at)
            case Resolved():
                if (fence := fence_of.get(str(event.by.id))) is not None:
                    yield "Resolved", fence, to_micros(stamped.at)
            case _:
                assert_never(event)
    finished = stored.state(CLAIMS, noun_id)
    if finished is not None:
        yield "Finished", finished.end.fence, to_micros(finished.at)
