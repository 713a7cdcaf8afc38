"""What schemathesis is helped with, in its own environment: credentials, and values that the server gave out before.

A stranger who only guesses sees 401 and 404. So every second request gets what an earlier answer held: an id, a token,
a digest, a fence, the key of an effect, a cursor.
"""

import json
import os
import random
from collections import deque
from typing import Any, Final

import schemathesis

_KEY: Final = os.environ["PAUSEMESH_FUZZ_KEY"]
_CHOICES: Final = random.Random(os.environ["PAUSEMESH_FUZZ_SEED"])
_REMEMBERED: Final = 50
_LONGEST_WAIT: Final = 0.02

_ids: Final[deque[str]] = deque(maxlen=_REMEMBERED)
_seen: Final[dict[str, dict[str, Any]]] = {}
"""Of each question: its token, its digest, the fence of its claim, the keys of its effects."""
_cursors: Final[deque[str]] = deque(maxlen=_REMEMBERED)


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    """Put what is known into a request."""
    headers = dict(case.headers or {})
    if _CHOICES.random() < 0.95:
        headers = {name: value for name, value in headers.items() if name.lower() not in {"authorization", "x-api-key"}}
        headers["Authorization"] = f"Bearer {_KEY}"
    path, query, body = dict(case.path_parameters or {}), dict(case.query or {}), case.body
    fitting = _fitting(case.path) if "id" in path else []
    if fitting and _CHOICES.random() < 0.8:
        path["id"] = _CHOICES.choice(fitting)
    known = _seen.get(str(path.get("id")), {})
    if case.path.endswith("/resume") and "token" in known and _CHOICES.random() < 0.9:
        headers |= {"Authorization": f"PauseMesh {known['token']}", "X-API-Key": _KEY}
    if "key" in path and known.get("key") and _CHOICES.random() < 0.7:
        path["key"] = known["key"]
    if "cursor" in query and _cursors and _CHOICES.random() < 0.7:
        query["cursor"] = _CHOICES.choice(_cursors)
    case.headers, case.path_parameters, case.query = headers, path, _patient(query)
    if isinstance(body, dict):
        case.body = _patient(_helped(body, known))


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    """Remember what the server gave out."""
    try:
        answer = json.loads(response.content)
    except ValueError:
        return
    if not isinstance(answer, dict) or response.status_code >= 300:
        return
    if answer.get("nextCursor"):
        _cursors.append(answer["nextCursor"])
    continuation, claim = answer.get("continuation"), answer.get("claim")
    noun_id = (continuation or claim or {}).get("continuationId") or (case.path_parameters or {}).get("id")
    if noun_id is None:
        return
    if noun_id not in _seen:
        _ids.append(noun_id)
    known = _seen.setdefault(noun_id, {})
    if continuation is not None:
        known |= {"digest": continuation["shownDigest"], "status": continuation["status"]}
    if answer.get("resumeToken"):
        known["token"] = answer["resumeToken"]
    if claim is not None:
        known["fence"] = claim["fence"]
    if "effect" in answer:
        known["key"] = answer["effect"]["key"]


def _fitting(path: str) -> list[str]:
    """Return the questions of which something in particular is known that a path is about; all, where none is."""
    wanted = {"/claim": "resumed", "/resume": "pending", "/answer": "pending"}.get(path[path.rfind("/") :])
    if wanted is not None:
        found = [one for one in _ids if _seen[one].get("status") == wanted]
    else:
        name = "key" if "{key}" in path else "fence" if path.startswith("/v1/claims/") else "status"
        found = [one for one in _ids if name in _seen[one]]
    return found or [*_ids]


def _helped(body: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    helped = dict(body)
    for member, name in (("fence", "fence"), ("shownDigest", "digest")):
        if member in body and name in known and _CHOICES.random() < 0.8:
            helped[member] = known[name]
    if "expiresAt" in body and _CHOICES.random() < 0.7:
        del helped["expiresAt"]
    if "continuationId" in body and _CHOICES.random() < 0.7:
        del helped["continuationId"]
    return helped


def _patient(members: dict[str, Any]) -> dict[str, Any]:
    """Return the same with no long wait in it, which would only take time."""
    wait = members.get("wait")
    if isinstance(wait, int | float) and not isinstance(wait, bool) and _LONGEST_WAIT < wait <= 25:
        return {**members, "wait": _LONGEST_WAIT}
    return members
