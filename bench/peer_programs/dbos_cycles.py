"""DBOS: a workflow that waits for a message, and is sent one."""

import argparse
import asyncio
import time
from typing import Any

from dbos import DBOS, DBOSConfig

from bench.peer_programs.rates import rates, tell

TOPIC = "answer"
WAIT_SECONDS = 60


@DBOS.workflow()
async def ask(payload: Any) -> Any:
    """Wait for an answer."""
    return payload, await DBOS.recv_async(TOPIC, timeout_seconds=WAIT_SECONDS)


async def main(given: argparse.Namespace) -> None:
    """Run cycles and tell how many."""
    payload = {"kind": "input", "message": "Which flight shall it be?", "choices": ["AZ1", "AZ2", "AZ3"]}
    DBOS(config=DBOSConfig(name="bench", system_database_url=given.url, run_admin_server=False, log_level="ERROR"))
    DBOS.launch()

    async def cycle() -> float:
        handle = await DBOS.start_workflow_async(ask, payload)
        begun = time.perf_counter()
        await DBOS.send_async(handle.workflow_id, {"flight": "AZ1"}, topic=TOPIC)
        _, answer = await handle.get_result()
        assert answer == {"flight": "AZ1"}, answer
        return (time.perf_counter() - begun) * 1_000

    tell(await rates(cycle, given.callers, given.seconds))
    DBOS.destroy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--callers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    asyncio.run(main(parser.parse_args()))
