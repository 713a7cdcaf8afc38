"""Servers on one schema, clients that call each of them, and all that these were told."""

import asyncio
import contextlib
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from pausemesh.core import limits
from pausemesh.postgres import PostgresEventStore
from pausemesh.testing.postgres_address import PostgresAddress
from proofs.children import Child, ChildError, Family, Line, Voice, heard, lines_of
from proofs.http.check import Findings, compare_at_end
from proofs.http.places import Places
from proofs.http.request import Keys
from proofs.http.serving import reserve_port
from proofs.http.told import Told
from proofs.postgres.serving import SchemaService, prepare
from proofs.postgres.stored_schema import StoredSchema

_SERVERS: Final = 2
_SILENCE_SECONDS: Final = 60.0
_LATER: Final = timedelta(hours=1)
_NOW_SECONDS: Final = 0.001
_numbers = itertools.count(1)


def services_on(
    server: PostgresAddress,
    ports: Sequence[int],
    urls: Sequence[str] = (),
    *,
    store: type[PostgresEventStore] = PostgresEventStore,
    call_seconds: float = limits.CALL_SECONDS,
) -> tuple[list[SchemaService], Keys]:
    """Make a schema that is not there yet, and describe its servers.

    Args:
        server: where the schema is made.
        ports: where the servers shall listen.
        urls: by which each of them shall reach the database; the server's own where they are left out.
        store: the kind of store that they use.
        call_seconds: how long a call of it may take.
    """
    schema = f"proof_{next(_numbers)}"
    keys = asyncio.run(prepare(server.url, schema))
    found = [
        SchemaService(port=port, url=url, schema=schema, store=store, call_seconds=call_seconds)
        for port, url in zip(ports, urls or [server.url] * len(ports), strict=True)
    ]
    return found, keys


@contextlib.contextmanager
def reserved_ports() -> Iterator[list[int]]:
    """Keep a port for each server."""
    with contextlib.ExitStack() as stack:
        reserved = [stack.enter_context(contextlib.closing(reserve_port())) for _ in range(_SERVERS)]
        yield [one.getsockname()[1] for one in reserved]


def is_granted(line: Line) -> bool:
    """Tell whether a client was told that something is done."""
    return bool(line.get("status", 500) < 300)


class Replicas:
    """Servers that go on whatever happens to their database, and their clients.

    Args:
        family: of all their processes.
        services: what the servers serve.
        clients: what the clients do.

    Attributes:
        said: all that the clients have said.
    """

    def __init__(self, family: Family, services: Sequence[SchemaService], clients: Callable[[Voice], None]) -> None:
        self.said: list[Line] = []
        self._family = family
        self._services = services
        self._servers = self._serve(services)
        self._clients = family.fork("clients", clients)

    def hear(self, seconds: float) -> list[Line]:
        """Keep what the clients say as soon as they do, within so many seconds, and return it.

        Raises:
            ChildError: a server or the clients ended, which they should not.
        """
        found = [line for child, line in heard([self._clients, *self._servers], seconds) if child is self._clients]
        self.said += found
        if ended := [child.name for child in [self._clients, *self._servers] if child.ended]:
            raise ChildError(f"{', '.join(ended)} ended")
        return found

    def hear_for(self, seconds: float) -> None:
        """Keep what the clients say within so many seconds."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.hear(left)

    def hear_until(self, is_it: Callable[[Line], bool], seconds: float = _SILENCE_SECONDS) -> None:
        """Wait for a line.

        Raises:
            ChildError: it did not come in time.
        """
        began = time.monotonic()
        while not any(is_it(line) for line in self.hear(max(0.0, began + seconds - time.monotonic()))):
            if time.monotonic() > began + seconds:
                raise ChildError(f"what was waited for did not come within {seconds:g} s")

    def hear_all_there_is(self) -> None:
        """Keep what was said before now."""
        while self.hear(_NOW_SECONDS):
            pass

    def calm(self) -> int:
        """End the lives, and have all answered that is pending; return how much that was."""
        self._clients.tell(calm=True)
        self.hear_until(lambda line: "processed" in line)
        return next(int(line["processed"]) for line in reversed(self.said) if "processed" in line)

    def findings(self, server: PostgresAddress) -> Findings:
        """Bring all to its end, with servers that think it is later, and compare."""
        schema = self._services[0].schema
        ends = [StoredSchema(server, schema).last_seq]
        for one in self._servers:
            one.kill()
        self._clients.tell(life=2)
        while {"life": 2} not in self.said[-1:]:
            self.said += [line for _, line in heard([self._clients])]
        last = self._serve([dataclasses.replace(one, url=server.url, ahead=_LATER) for one in self._services])
        self._clients.tell(finish=True)
        self.said += lines_of(self._clients)
        for one in last:
            one.kill()
        stored, told = StoredSchema(server, schema), Told(self.said)
        findings = compare_at_end(told, stored, Places(stored, ends))
        findings.counted["settled"] = sum(bool(asked.doubted) and asked.is_settled for asked in told.asked)
        findings.counted["unsettled"] = sum(not asked.is_settled for asked in told.asked)
        return findings

    def kill(self) -> None:
        """Kill the clients, then the servers, and keep what the clients had said."""
        self.said += self._clients.kill()
        for one in self._servers:
            one.kill()

    def _serve(self, services: Sequence[SchemaService]) -> list[Child]:
        servers = [self._family.fork(f"server at {one.port}", one) for one in services]
        waiting = list(servers)
        while waiting:
            up = [child for child, line in heard(waiting, _SILENCE_SECONDS) if "up" in line]
            if not up:
                raise ChildError("a server did not start")
            waiting = [child for child in waiting if child not in up]
        return servers
