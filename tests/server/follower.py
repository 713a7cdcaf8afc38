"""A client that follows what happens, event by event."""

import dataclasses
import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import httpx2

from tests.server.harness import SECONDS


@dataclasses.dataclass(frozen=True)
class Seen:
    """An event as a browser sees it."""

    position: str
    data: dict[str, Any]

    @property
    def what(self) -> tuple[str, str, int]:
        """Its noun, its status and its version."""
        return self.data["noun"], self.data["status"], self.data["version"]


class Follower:
    """An open event stream; it reads one event at a time."""

    def __init__(self, port: int, key: str, *, after: str | None = None, last_event_id: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        self._http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False)
        query = {} if after is None else {"after": after}
        request = self._http.build_request("GET", "/v1/events", params=query, headers=headers)
        self.answer = self._http.send(request, stream=True)
        self._lines = self.answer.iter_lines()

    def __enter__(self) -> Self:
        assert self.answer.status_code == 200, self.answer.read()
        assert next(self._lines).startswith("retry:")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Go away."""
        self.answer.close()
        self._http.close()

    def begin(self) -> None:
        """Wait until it is told where it begins."""
        assert next(self._lines).startswith("id: ")

    def __iter__(self) -> Iterator[Seen]:
        position = ""
        for line in self._lines:
            name, _, value = line.partition(": ")
            if name == "id":
                position = value
            elif name == "data":
                yield Seen(position, json.loads(value))

    def first_position(self) -> str:
        """Return where the stream begins."""
        return next(line for line in self._lines if line.startswith("id: ")).removeprefix("id: ")

    def take(self, count: int) -> list[Seen]:
        """Return the next events."""
        events = iter(self)
        return [next(events) for _ in range(count)]

    def comment(self) -> str:
        """Return the next comment."""
        return next(line for line in self._lines if line.startswith(":"))
