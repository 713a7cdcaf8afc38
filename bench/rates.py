"""Durable questions and answers over HTTP, beside echoes that keep nothing: requests a second, times, and CPU time."""

import json
import subprocess
import sys
from collections import defaultdict
from typing import Final, TypeAlias

from bench.measure import Row, Sizes, at_least, of_rounds
from bench.servers import Database, Server, echo, make_key, product

Measured: TypeAlias = dict[str, float]
Rounds: TypeAlias = dict[str, list[Measured]]

_GOAL: Final = 0.40
_GOAL_AT: Final = 64
_UNITS: Final = {"per_second": "/s", "p50_milliseconds": "ms", "p99_milliseconds": "ms", "cpu_microseconds": "us"}
_SHOWN: Final = {
    "per_second": "{name}/s",
    "p50_milliseconds": "{name}, p50",
    "p99_milliseconds": "{name}, p99",
    "cpu_microseconds": "{name}, CPU of the server a request",
}


def measure(database: Database, sizes: Sizes) -> list[Row]:
    """Run all servers at once and ask them in turn, by the number of connections."""
    key = make_key(database, "agent")
    rows: list[Row] = []
    with product(database) as ours, echo("starlette") as starlette, echo("bare") as bare:
        for connections in sizes.connections:
            rounds: Rounds = defaultdict(list)
            for _ in range(sizes.rounds_over_http):
                for name, server in (("bare echo", bare), ("Starlette echo", starlette)):
                    [measured] = _load(server, "echo", connections, sizes.seconds_over_http, key).values()
                    rounds[name].append(measured)
                for name, measured in _load(ours, "cycle", connections, sizes.seconds_over_http, key).items():
                    rounds[name].append(measured)
            rows += _rows(rounds, connections)
    return rows


def _load(server: Server, kind: str, connections: int, seconds: float, key: str) -> dict[str, Measured]:
    command = [sys.executable, "-m", "bench.load", "--kind", kind, "--port", str(server.port), "--key", key]
    command += ["--pid", str(server.pid), "--connections", str(connections), "--seconds", str(seconds)]
    found: dict[str, Measured] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def _rows(rounds: Rounds, connections: int) -> list[Row]:
    rows = [
        of_rounds(f"{_SHOWN[figure].format(name=name)}, c = {connections}", [one[figure] for one in measured], unit)
        for name, measured in rounds.items()
        for figure, unit in _UNITS.items()
    ]
    for name in ("create", "resume"):
        for other in ("Starlette echo", "bare echo"):
            pairs = list(zip(rounds[name], rounds[other], strict=True))
            ratios = [one["per_second"] / another["per_second"] for one, another in pairs]
            row = of_rounds(f"{name} / {other}, c = {connections}", ratios, "x")
            is_held = (name, other, connections) == ("create", "Starlette echo", _GOAL_AT)
            rows.append(at_least(row, _GOAL) if is_held else row)
            costs = [one["cpu_microseconds"] / another["cpu_microseconds"] for one, another in pairs]
            rows.append(of_rounds(f"{name} / {other}, CPU of the server a request, c = {connections}", costs, "x"))
    return rows
