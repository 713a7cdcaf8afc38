"""States that were folded before: a guess to decide on, never the truth."""

from collections import OrderedDict

from pausemesh.core import limits
from pausemesh.core.continuation import State


class StateCache:
    """The least recently used continuations go first, by count and by bytes of their documents."""

    def __init__(self, *, most: int = limits.CACHED_STREAMS, most_bytes: int = limits.CACHED_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._states: OrderedDict[tuple[str, str], State] = OrderedDict()
        self._bytes = 0

    def get(self, scope: str, continuation_id: str) -> State | None:
        """Return the state as it was when it was last seen."""
        state = self._states.get((scope, continuation_id))
        if state is not None:
            self._states.move_to_end((scope, continuation_id))
        return state

    def put(self, scope: str, state: State) -> None:
        """Keep a state, unless a later one is there."""
        key = (scope, state.continuation.id)
        known = self._states.get(key)
        if known is not None:
            if known.continuation.version > state.continuation.version:
                return
            self._bytes -= _weight(known)
        self._states[key] = state
        self._states.move_to_end(key)
        self._bytes += _weight(state)
        while len(self._states) > self._most or self._bytes > self._most_bytes:
            _, dropped = self._states.popitem(last=False)
            self._bytes -= _weight(dropped)


def _weight(state: State) -> int:
    envelope = state.continuation
    answer = 0 if envelope.resume_document is None else len(envelope.resume_document.data)
    return len(envelope.payload_document.data) + len(envelope.metadata_document.data) + answer
