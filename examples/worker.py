"""A worker for cron: it does what people approved, once, and needs nothing but Python.

    export PAUSEMESH_URL=http://127.0.0.1:8787 PAUSEMESH_API_KEY=pmk_...     # an agent's key
    python worker.py refunds ./refund.sh

runs ./refund.sh for every decision that is ready in the queue "refunds", with the question and its answer as JSON on
the standard input, and exits when nothing is left. Cron or a timer starts it every minute:

    * * * * *  python worker.py refunds ./refund.sh

How the command exits says what became of it. What it prints is kept as the result.

    0      it happened
    75     it surely did not happen; it is tried again after the lease (EX_TEMPFAIL)
    other  nobody knows; it is not run again before an admin looked and said what happened

Several of these share the work. One that is killed leaves its claim until the lease ends. If its command had begun,
the effect is in doubt: later runs say so on stderr and exit with 1.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

LEASE_SECONDS = float(os.environ.get("WORKER_LEASE_SECONDS", "300"))
COMMAND_SECONDS = LEASE_SECONDS * 0.6  # the rest is for the calls before and after, so that the claim is held meanwhile
CALL_SECONDS = LEASE_SECONDS * 0.1
SURELY_NOT = 75
RESULT_CHARACTERS = 10_000
COME_BACK = frozenset({429, 502, 503, 504})


class Refused(Exception):
    """The server refused; the text is the problem's code."""


def post(path: str, body: dict[str, Any], *, key: str | None = None) -> Any:
    """Make one call and return its JSON, None where there is none.

    Raises:
        Refused: the server says no.
        OSError: nobody answered, or it is to be tried again.
    """
    headers = {"Authorization": f"Bearer {os.environ['PAUSEMESH_API_KEY']}", "Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    url = os.environ["PAUSEMESH_URL"].rstrip("/") + path
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - the operator's own
    try:
        with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:  # noqa: S310 - see above
            return json.loads(answer.read() or "null")
    except urllib.error.HTTPError as error:
        with error:
            if error.code in COME_BACK:
                raise
            raise Refused(code_in(error)) from None


def code_in(error: urllib.error.HTTPError) -> str:
    """Return the code of a problem document, or the status where something else answered."""
    try:
        return str(json.loads(error.read())["code"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code}"


def settle(path: str, body: dict[str, Any], *, key: str | None = None) -> Any:
    """Make a call, again and again until its outcome is known; under its key or its fence it counts once."""
    ends = time.monotonic() + CALL_SECONDS
    while True:
        try:
            return post(path, body, key=key)
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


def run(command: list[str], decision: dict[str, Any]) -> tuple[str, str]:
    """Run the command; return completed, failed or unknown, and what it printed."""
    given = json.dumps(decision).encode()
    try:
        ran = subprocess.run(command, input=given, stdout=subprocess.PIPE, timeout=COMMAND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "unknown", ""
    printed = ran.stdout.decode("utf-8", "replace").replace("\0", "")[:RESULT_CHARACTERS]
    return {0: "completed", SURELY_NOT: "failed"}.get(ran.returncode, "unknown"), printed


def is_yes(answer: Any) -> bool:
    """Tell whether an answer approves; the server compares it again when the effect starts."""
    return answer is True or (isinstance(answer, dict) and answer.get("approved") is True)


def carry_out(command: list[str], claim: dict[str, Any], decision: dict[str, Any]) -> str:
    """Go on with one decision, and return what became of it."""
    path, fence = f"/v1/claims/{claim['claimId']}", {"fence": claim["fence"]}
    payload = decision["payload"]
    action = payload.get("action") if isinstance(payload, dict) else None
    if action and not is_yes(decision["resumePayload"]):
        settle(f"{path}/done", fence)
        return "declined"
    what = {"kind": action["name"], "arguments": action.get("arguments", {})} if action else {}
    effect = settle(f"{path}/effects", {**fence, "key": "run", **what}, key=str(uuid.uuid4()))["effect"]
    status, result = effect["status"], effect.get("result")
    if status == "started":
        status, result = run(command, decision)
        if status == "unknown":
            raise Refused("EFFECT_UNKNOWN")  # the ledger knows that it began, and that is all there is to know
        outcome = {"status": status, "result": result} if status == "completed" else {"status": status}
        settle(f"{path}/effects/run/outcome", {**fence, **outcome})
    if status == "completed":
        settle(f"{path}/done", {**fence, "result": result})
    return str(status)  # a claim that is not done is held until its lease ends, so that nothing is tried in a hurry


def main(queue: str, command: list[str]) -> int:
    """Take what is ready until nothing is; return 1 where somebody has to look."""
    wanted = {"queue": queue, "worker": f"{socket.gethostname()}:{os.getpid()}", "leaseSeconds": int(LEASE_SECONDS)}
    code = 0
    while True:
        # Not repeated: where the answer is lost, the claim passes on when its lease ends.
        taken = post("/v1/claims", wanted)
        if taken is None:
            return code
        claim, decision = taken["claim"], taken["continuation"]
        try:
            print(claim["continuationId"], carry_out(command, claim, decision), flush=True)
        except Refused as refused:
            print(f"{claim['continuationId']}: {refused}", file=sys.stderr)
            code = 1


if __name__ == "__main__":
    if len(sys.argv) < 3:  # noqa: PLR2004 - a queue and a command
        sys.exit(__doc__)
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except (Refused, OSError) as error:
        sys.exit(f"not now: {error}")
