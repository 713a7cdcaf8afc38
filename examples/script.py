"""A script that asks before it publishes, and may be killed at any moment and run again.

    python examples/script.py v1.4

asks whether v1.4 may be published, and waits. Answer it in another terminal, in the same folder:

    export PAUSEMESH_DATABASE_PATH=releases.db
    pausemesh inbox
    pausemesh answer ID

What is published is a line in releases.txt. Kill the script while it waits or while it publishes, run it again, and
run two of them at once: the question stays the same one, and there is one line.
"""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pausemesh

DATABASE = "sqlite:///releases.db"
RELEASES = Path("releases.txt")
LEASE = timedelta(seconds=10)  # how long a successor waits for one that was killed


def publish(version: str) -> dict[str, str]:
    """Make it public: your own call to the outside world stands here."""
    with RELEASES.open("a", encoding="utf-8") as releases:
        releases.write(f"{version}\n")
        releases.flush()
        os.fsync(releases.fileno())
    return {"published": version}


def is_published(version: str) -> bool:
    """Look at the outside world."""
    return RELEASES.exists() and version in RELEASES.read_text(encoding="utf-8").splitlines()


async def publish_once(turn: pausemesh.Turn[Any], version: str) -> Any:
    """Publish; where an earlier run was killed in the middle of it, look first what became of that."""
    arguments = {"version": version}
    try:
        return await turn.effect("publish", arguments=arguments, run=publish)
    except pausemesh.EffectUnknown:
        if is_published(version):
            await turn.resolve("publish", "done", evidence="it is in releases.txt", result={"published": version})
        else:
            await turn.resolve("publish", "not_done", evidence="it is not in releases.txt")
        return await turn.effect("publish", arguments=arguments, run=publish)


async def main(version: str) -> str:
    """Ask, wait for as long as it takes, and go on; say how it ended."""
    async with pausemesh.open(DATABASE) as mesh:
        asked = mesh.ask(
            f"Publish {version}?",
            key=f"publish:{version}",
            action={"name": "publish", "arguments": {"version": version}},
            expires_in=timedelta(days=30),
            lease=LEASE,
            notify=lambda created: print(f"asked: {created.continuation.id}", flush=True),
        )
        try:
            async with asked as turn:
                if not turn.answer["approved"]:
                    await turn.done({"published": None})
                    return f"{version} was not approved"
                await turn.done(await publish_once(turn, version))
                return f"{version} is published"
        except pausemesh.ClaimDone as done:
            return f"settled by an earlier run: {done.result}"
        except (pausemesh.ContinuationExpired, pausemesh.ContinuationCancelled) as closed:
            return f"nobody approved {version}: {closed.code}"


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
