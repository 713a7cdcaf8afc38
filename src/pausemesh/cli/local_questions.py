"""The questions of a database on this machine, for the person who may open its file."""

import getpass

from pausemesh import BlockingMesh, Continuation, Principal, Role, continuation_to_json
from pausemesh.cli.questions import Filters, JsonObject
from pausemesh.core.continuation_events import shown_event
from pausemesh.core.effect import effect_members
from pausemesh.core.values import JsonValue


def local_principal(scope: str) -> Principal:
    """Return who acts on a database of this machine: whoever may open the file, by name an admin of the scope."""
    return Principal(id=f"local:{_user()}", role=Role.ADMIN, scope=scope)


class LocalQuestions:
    """``Questions`` of an open mesh."""

    def __init__(self, mesh: BlockingMesh, principal: Principal, place: str) -> None:
        self._mesh = mesh
        self._principal = principal
        self.place = place

    def page(self, filters: Filters, *, limit: int, cursor: str | None) -> JsonObject:
        """Return a page."""
        page = self._mesh.list(
            status=filters.status,
            correlation_id=filters.correlation_id,
            kind=filters.kind,
            limit=limit,
            cursor=cursor,
        )
        found: list[JsonValue] = [continuation_to_json(continuation) for continuation in page.continuations]
        return {"continuations": found, "nextCursor": page.next_cursor}

    def get(self, continuation_id: str) -> JsonObject:
        """Return a continuation."""
        return continuation_to_json(self._mesh.inspect(continuation_id))

    def history(self, continuation_id: str) -> list[JsonObject]:
        """Return its events."""
        return [shown_event(stamped, lambda value: value.value) for stamped in self._mesh.history(continuation_id)]

    def effects(self, continuation_id: str) -> list[JsonObject]:
        """Return its effects."""
        return [effect_members(effect, lambda result: result.value) for effect in self._mesh.effects(continuation_id)]

    def answer(
        self, continuation_id: str, *, idempotency_key: str, payload: JsonValue, shown_digest: str
    ) -> JsonObject:
        """Answer."""
        outcome = self._mesh.answer(
            continuation_id,
            by=self._principal,
            idempotency_key=idempotency_key,
            payload=payload,
            shown_digest=shown_digest,
        )
        return {"continuation": continuation_to_json(outcome.continuation), "replayed": outcome.replayed}

    def cancel(self, continuation_id: str, *, reason: str | None) -> JsonObject:
        """Take back."""
        continuation: Continuation = self._mesh.cancel(continuation_id, reason=reason, by=self._principal).continuation
        return {"continuation": continuation_to_json(continuation)}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
