"""The cycle as LangGraph and DBOS do it, beside ours, in turn and on one server.

They run a whole graph or workflow engine for each cycle, which this does not: what is compared is what it costs to ask
a person and to go on.
"""

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from bench import twice
from bench.measure import Row, Sizes, at_least, of_rounds
from bench.replica import Round, at_once, log_position, mesh_on, percentile, prepare
from pausemesh.opening import open as open_mesh
from pausemesh.testing.postgres import PostgresServer, binaries_for_tests

Found: TypeAlias = dict[str, float]

_ROOT: Final = Path(__file__).parents[1]
_CALLERS: Final = (1, 8, 32)
_GOALS: Final = {
    "LangGraph": (6, 24, 60),
    "LangGraph, tuned": (4, 11, 25),
    "DBOS": (11, 30, 60),
}
_GOALS_ON_SQLITE: Final = (7, 20, 32)
_GOALS_OF_P99: Final = (2, 6, 15)
_GOAL_OF_LOG: Final = 4.0
_GOAL_OF_WAKE: Final = 3.0


async def measure(folder: Path, sizes: Sizes, python: Path) -> list[Row]:
    """Return the rates of all by the number of callers, and the ratios to ours.

    Args:
        folder: for files.
        sizes: how much is done.
        python: of the environment that has the others.
    """
    found: dict[tuple[str, int], list[Found]] = defaultdict(list)
    settings = {"max_connections": "300"}
    with PostgresServer.start(binaries=binaries_for_tests(), settings=settings, durable=True) as server:
        await prepare(server)
        for name in ("langgraph", "tuned", "dbos"):
            server.execute(f"CREATE DATABASE {name}")
        programs = _programs(server, folder, python)
        async with mesh_on(server) as mesh, open_mesh(folder / "ours.db") as on_sqlite:
            for callers in _CALLERS:
                for _ in range(sizes.rounds):
                    for name, ours in (("ours", mesh), ("ours on SQLite", on_sqlite)):
                        before = log_position(server)
                        done = await at_once(ours, callers, sizes.seconds_per_try)
                        found[name, callers].append(_of(done, log_position(server) - before))
                    for name, program in programs.items():
                        before = log_position(server)
                        told = program(callers, sizes.seconds_per_try)
                        told["log"] = (log_position(server) - before) / told["cycles"]
                        found[name, callers].append(told)
        rows = [await twice.measure(server, sizes.claimed), _twice_by_langgraph(server, python, sizes.claimed_by_peers)]
    return _rows(found) + rows


def _twice_by_langgraph(server: PostgresServer, python: Path, threads: int) -> Row:
    told = _told_by(python, "langgraph_twice", "--url", server.url_of(database="langgraph"), "--threads", str(threads))
    return Row(name=f"LangGraph: gone on with twice, of {threads:,}", value=told["twice"], unit="threads")


def _programs(server: PostgresServer, folder: Path, python: Path) -> dict[str, Callable[[int, float], Found]]:
    def program(name: str, *options: str) -> Callable[[int, float], Found]:
        def run(callers: int, seconds: float) -> Found:
            return _told_by(python, name, *options, "--callers", str(callers), "--seconds", str(seconds))

        return run

    return {
        "LangGraph": program("langgraph_cycles", "--url", server.url_of(database="langgraph")),
        "LangGraph, tuned": program("langgraph_cycles", "--tuned", "--url", server.url_of(database="tuned")),
        "LangGraph on SQLite": program("langgraph_cycles", "--sqlite", str(folder / "langgraph.db")),
        "DBOS": program("dbos_cycles", "--url", server.url_of(database="dbos")),
    }


def _told_by(python: Path, name: str, *options: str) -> Found:
    command = [str(python), "-m", f"bench.peer_programs.{name}", *options]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=_ROOT)
    if ended.returncode:
        raise AssertionError(f"{name} failed:\n{ended.stderr}")
    told: Found = json.loads(ended.stdout.splitlines()[-1])
    return told


def _of(done: Round, log_bytes: int) -> Found:
    return {
        "per_second": done.per_second,
        "p50": percentile(done.resumes, 50),
        "p99": percentile(done.resumes, 99),
        "log": log_bytes / len(done.resumes),
    }


def _rows(found: dict[tuple[str, int], list[Found]]) -> list[Row]:
    rows: list[Row] = []
    for (name, callers), rounds in sorted(found.items()):
        rows.append(of_rounds(f"{name}: cycles/s, {callers} callers", [one["per_second"] for one in rounds], "/s"))
        rows.append(of_rounds(f"{name}: resume, {callers} callers, p99", [one["p99"] for one in rounds], "ms"))
    for place, callers in enumerate(_CALLERS):

        def ratio(ours: str, other: str, figure: str, goal: float, *, is_time: bool = False, at: int = callers) -> Row:
            pairs = zip(found[ours, at], found[other, at], strict=True)
            values = [(two if is_time else one)[figure] / (one if is_time else two)[figure] for one, two in pairs]
            what = f"{other} / {ours}, {figure}" if is_time else f"{ours} / {other}, cycles"
            return at_least(of_rounds(f"{what}, {at} callers", values, "x"), goal)

        rows += [ratio("ours", other, "per_second", goals[place]) for other, goals in _GOALS.items()]
        rows.append(ratio("ours on SQLite", "LangGraph on SQLite", "per_second", _GOALS_ON_SQLITE[place]))
        rows.append(ratio("ours", "LangGraph, tuned", "p99", _GOALS_OF_P99[place], is_time=True))
        if callers == 1:
            rows.append(ratio("ours", "LangGraph", "log", _GOAL_OF_LOG, is_time=True))
            rows.append(ratio("ours", "DBOS", "p50", _GOAL_OF_WAKE, is_time=True))
    return rows
