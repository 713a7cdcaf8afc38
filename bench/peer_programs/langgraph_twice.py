"""LangGraph: two answer the same interrupted thread at once; how often does the effect behind it run twice?"""

import argparse
import asyncio
import contextlib
import itertools
import json
import uuid
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from bench.peer_programs.langgraph_cycles import PAYLOAD, State


async def main(given: argparse.Namespace) -> None:
    """Tell of how many threads the effect ran more than once."""
    numbers = itertools.count()
    runs: dict[str, int] = {}

    def act(state: State, config: RunnableConfig) -> State:
        name = config["configurable"]["thread_id"]
        runs[name] = runs.get(name, 0) + 1
        return state

    def ask(_state: State) -> State:
        return {"answer": interrupt(PAYLOAD)}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("act", act)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "act")
    builder.add_edge("act", END)
    async with contextlib.AsyncExitStack() as stack:
        savers = [await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(given.url)) for _ in range(2)]
        await savers[0].setup()
        graphs = [builder.compile(checkpointer=saver) for saver in savers]
        run = uuid.uuid4()
        for _ in range(given.threads):
            config: Any = {"configurable": {"thread_id": f"{run}/{next(numbers)}"}}
            await graphs[0].ainvoke({}, config)
            await asyncio.gather(*[graph.ainvoke(Command(resume={"flight": "AZ1"}), config) for graph in graphs])
    print(json.dumps({"threads": given.threads, "twice": sum(count > 1 for count in runs.values())}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--threads", type=int, required=True)
    asyncio.run(main(parser.parse_args()))
