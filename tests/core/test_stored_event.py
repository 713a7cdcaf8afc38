"""Whatever stands in a stored event, reading it gives the event, or says that the store is corrupt."""

import pytest

from pausemesh.core import claim, continuation_events, effect_events
from pausemesh.core.errors import StoreCorrupt
from pausemesh.core.stored_event import read_stored_event
from pausemesh.core.values import JsonValue

NEVER_KEPT = [float("nan"), 2**60, "\0", "\ud800", {"": {"": "\0"}}]
RESUMED: dict[str, JsonValue] = {"by": {"kind": "system"}, "idempotencyKey": "k"}


def deep(levels: int) -> JsonValue:
    nested: JsonValue = 1
    for _ in range(levels):
        nested = [nested]
    return nested


def test_an_event_that_is_nested_beyond_what_can_be_read_is_damage() -> None:
    data = b'{"id":"q","payload":' + b"[" * 100_000 + b"}"
    with pytest.raises(StoreCorrupt) as raised:
        read_stored_event(data, "q", 1)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("value", [*NEVER_KEPT, deep(300)], ids=range(6))
def test_a_value_that_no_release_would_have_kept_is_damage(value: JsonValue) -> None:
    for read in (
        lambda: continuation_events.read_event("continuation.resumed", "q", {**RESUMED, "payload": value}),
        lambda: effect_events.read_event("effect.completed", "q/a", {"fence": 1, "result": value}),
        lambda: claim.read_event("claim.finished", "q", {"worker": "w", "fence": 1, "result": value}),
    ):
        with pytest.raises(StoreCorrupt) as raised:
            read()
        assert raised.value.__suppress_context__
