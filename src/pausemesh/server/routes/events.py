"""What happens in a scope, as server-sent events."""

from typing import Final

from pausemesh.core.errors import InvalidCursor, InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.principal import require_may_read_some
from pausemesh.server.errors import EventsGone
from pausemesh.server.live import EventStream
from pausemesh.server.operation import Access, Call, Operation
from pausemesh.server.query import Parameter, read_text

_MEDIA_TYPE: Final = "text/event-stream"


async def follow(call: Call) -> EventStream:
    """Send what happens from now, or from a position, on."""
    position = _position_of(call)
    changes = call.mesh.changes
    seq = None if position is None else changes.seq_of(position)
    call.require(require_may_read_some)
    latest = await changes.latest()
    if seq is None:
        seq = latest
    if seq > latest:
        raise EventsGone
    return EventStream(call, seq)


def _position_of(call: Call) -> str | None:
    """Return where to go on: what a browser remembers comes first, since the address stays the one of the start."""
    last = call.headers.get(b"last-event-id")
    if last is not None and not last.isascii():
        raise InvalidCursor
    after: str | None = call.query.get("after")
    if after == "":
        raise InvalidRequest(issues=[Issue("/after", "query", "must be a position")])
    return after if not last else last.decode("ascii")


OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/v1/events",
        name="followEvents",
        summary="Follow what happens, as server-sent events",
        about="Unnamed events with `{id, noun, nounId, version, status}`; `id:` is a position to come back to, as "
        "`Last-Event-ID` or `?after=`, without a gap; the first `id:` is without data, and is where the stream begins. "
        "A client a thousand events behind is sent away. An agent sees what is about its own questions.",
        tag="Live",
        handle=follow,
        access=Access.KEYED,
        is_endless=True,
        parameters=(
            Parameter(
                name="after", read=read_text, schema={"type": "string"}, about="The position of the last event seen."
            ),
        ),
        gives={200: None},
        media_type=_MEDIA_TYPE,
        problems=("FORBIDDEN", "INVALID_CURSOR", "EVENTS_GONE"),
    ),
)
