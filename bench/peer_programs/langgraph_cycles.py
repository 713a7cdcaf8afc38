"""LangGraph: a graph of one node that interrupts itself, and is resumed by a command."""

import argparse
import asyncio
import contextlib
import itertools
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any, TypedDict

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.peer_programs.rates import rates, tell

PAYLOAD = {"kind": "input", "message": "Which flight shall it be?", "choices": ["AZ1", "AZ2", "AZ3"]}


class State(TypedDict, total=False):
    """What the graph keeps."""

    answer: Any


def ask(_state: State) -> State:
    """Ask, and keep the answer."""
    return {"answer": interrupt(PAYLOAD)}


@contextlib.asynccontextmanager
async def saver(given: argparse.Namespace) -> AsyncIterator[Any]:
    """Open what keeps the checkpoints: as the documentation has it, or with a pool."""
    if given.sqlite:
        async with AsyncSqliteSaver.from_conn_string(given.sqlite) as opened:
            yield opened
    elif given.tuned:
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        async with AsyncConnectionPool(given.url, min_size=1, max_size=min(given.callers, 32), kwargs=options) as pool:
            yield AsyncPostgresSaver(pool)
    else:
        async with AsyncPostgresSaver.from_conn_string(given.url) as opened:
            yield opened


async def main(given: argparse.Namespace) -> None:
    """Run cycles and tell how many."""
    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    async with saver(given) as checkpoints:
        await checkpoints.setup()
        graph = builder.compile(checkpointer=checkpoints)
        how: dict[str, Any] = {"durability": "exit"} if given.tuned else {}
        run, numbers = uuid.uuid4(), itertools.count()

        async def cycle() -> float:
            config = {"configurable": {"thread_id": f"{run}/{next(numbers)}"}}
            asked = await graph.ainvoke({}, config, **how)
            assert "__interrupt__" in asked, asked
            begun = time.perf_counter()
            answered = await graph.ainvoke(Command(resume={"flight": "AZ1"}), config, **how)
            assert answered["answer"] == {"flight": "AZ1"}, answered
            return (time.perf_counter() - begun) * 1_000

        tell(await rates(cycle, given.callers, given.seconds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--sqlite")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--callers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    asyncio.run(main(parser.parse_args()))
