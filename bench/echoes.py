"""What the product is compared with: servers that give a JSON body back and do nothing else.

``python -m bench.echoes starlette`` and ``bare``, under the settings of uvicorn that the product has.
"""

import asyncio
import contextlib
import sys
from typing import Final

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pausemesh.server import limits
from pausemesh.server.process import listen

PATH: Final = "/v1/continuations"


async def _echo(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


async def _bare(_scope: Scope, receive: Receive, send: Send) -> None:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    body = msgspec.json.encode(msgspec.json.decode(b"".join(parts)))
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


APPS: Final[dict[str, ASGIApp]] = {
    "starlette": Starlette(routes=[Route(PATH, _echo, methods=["POST"])]),
    "bare": _bare,
}


async def main(kind: str) -> None:
    """Serve on a free port, and say which."""
    config = uvicorn.Config(
        APPS[kind],
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
    )
    with contextlib.closing(listen("127.0.0.1", 0)) as bound:
        print(f"echo listens on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        await uvicorn.Server(config).serve([bound])


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1]))
