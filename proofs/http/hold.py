"""What a worker does that holds a claim, over HTTP."""

import dataclasses
from typing import Any, Final, Self

from proofs.http.client import Client

_LEASE_SECONDS: Final = 60


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A claim that was taken under a fence.

    Attributes:
        credential: the API key of the worker.
        id: of the question, and so of its claim.
    """

    client: Client
    credential: str
    id: str
    fence: int

    @classmethod
    async def take(cls, client: Client, credential: str, noun_id: str) -> Self | None:
        """Take a claim under a name of its own; None where it cannot be had."""
        worker = client.mark()
        body = {"worker": worker, "leaseSeconds": _LEASE_SECONDS}
        path = f"/v1/continuations/{noun_id}/claim"
        status, answer = await client.ask("claim", path, body, credential=credential, mark=worker, id=noun_id)
        if status != 200:
            return None
        return cls(client=client, credential=credential, id=noun_id, fence=answer["claim"]["fence"])

    async def start(self, key: str) -> str | None:
        """Announce an effect; the mark of this start where it is to be run now."""
        mark = self.client.mark()
        body = {"key": key, "arguments": {"of": self.id}}
        status, answer = await self._ask("start", "effects", body, mark=mark, key=True, key_of_effect=key)
        return mark if status == 200 and answer["effect"]["status"] == "started" else None

    async def record(self, key: str, mark: str, *, completed: bool) -> None:
        """Record what came of an effect."""
        body: dict[str, Any] = {"status": "completed", "result": {"mark": mark}} if completed else {"status": "failed"}
        path = f"effects/{key}/outcome"
        await self._ask("outcome", path, body, mark=mark, key_of_effect=key, completed=completed)

    async def is_clear(self) -> bool:
        """Tell whether every effect of the question has happened."""
        return all(effect["status"] == "completed" for effect in await self.effects())

    async def effects(self) -> list[Any]:
        """Read the ledger."""
        ledger = await self.client.read(f"/v1/continuations/{self.id}/effects", self.credential)
        return list(ledger["effects"])

    async def release(self) -> None:
        """Give the claim back."""
        await self._ask("release", "release", {}, mark=self.client.mark())

    async def finish(self) -> None:
        """End the claim for good."""
        mark = self.client.mark()
        await self._ask("done", "done", {"result": mark}, mark=mark)

    async def _ask(self, do: str, path: str, body: dict[str, Any], *, mark: str, **about: Any) -> tuple[int, Any]:
        return await self.client.ask(
            do,
            f"/v1/claims/{self.id}/{path}",
            {"fence": self.fence, **body},
            credential=self.credential,
            mark=mark,
            id=self.id,
            fence=self.fence,
            **about,
        )
