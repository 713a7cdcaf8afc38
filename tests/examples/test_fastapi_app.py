"""The app's own users ask and approve, and a refund is paid once, whenever the app is killed."""

import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.examples.running import EXAMPLES, SECONDS, Programs, address, ended, eventually, kill, lines

IMPATIENT = """\
import datetime, fastapi_app, uvicorn
fastapi_app.LEASE = datetime.timedelta(seconds=1)
uvicorn.run(fastapi_app.app, port=0)
"""
DYING = """
import os, signal, fastapi_app
pay = fastapi_app.pay
fastapi_app.pay = lambda order, euros: (pay(order, euros), os.kill(os.getpid(), signal.SIGKILL))
"""
SECRET = "the same one for every process"
QUESTIONS = "/pauses/v1/continuations"


class Shop:
    """The app, which can be killed and started again, and its users."""

    def __init__(self, programs: Programs) -> None:
        self.payments = programs.folder / "payments.txt"
        self._programs = programs
        self._process: subprocess.Popen[str] | None = None
        self._clients: list[httpx2.Client] = []
        self._url = ""

    def start(self, *words: str) -> None:
        """Start it, with a short lease where nothing else is said."""
        self._process = self._programs.start(*(words or ("-c", IMPATIENT)), SHOP_SECRET=SECRET)
        self._url = address(self._process.stderr)

    def kill(self) -> None:
        assert self._process is not None
        kill(self._process)

    def end(self) -> int:
        """Wait until it has ended by itself."""
        assert self._process is not None
        return ended(self._process)[0]

    def user(self, name: str) -> httpx2.Client:
        """Return a client with this user's cookie."""
        client = httpx2.Client(base_url=self._url, timeout=SECONDS, trust_env=False)
        self._clients.append(client)
        assert client.post("/login", json={"name": name}).status_code == 204
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def shop(programs: Programs) -> Iterator[Shop]:
    found = Shop(programs)
    yield found
    found.close()


def refund(client: httpx2.Client, order: str = "A-17", euros: int = 40) -> httpx2.Response:
    return client.post("/refunds", json={"order": order, "euros": euros})


def answer(client: httpx2.Client, noun_id: str, payload: Any) -> httpx2.Response:
    """Answer what was shown."""
    shown = client.get(f"{QUESTIONS}/{noun_id}").json()["continuation"]
    body = {"payload": payload, "shownDigest": shown["shownDigest"]}
    return client.post(f"{QUESTIONS}/{noun_id}/answer", json=body, headers={"Idempotency-Key": f"{noun_id}-1"})


def effects(client: httpx2.Client, noun_id: str = "refund-A-17") -> list[tuple[str, int]]:
    found = client.get(f"{QUESTIONS}/{noun_id}/effects").json()["effects"]
    return [(effect["status"], effect["attempts"]) for effect in found]


def is_done(client: httpx2.Client, noun_id: str = "refund-A-17") -> bool:
    found = client.get(f"{QUESTIONS}/{noun_id}").json()["continuation"]
    return bool(found["claim"]["status"] == "done")


def doubt(client: httpx2.Client) -> str | None:
    """Return the question about a payment that was cut off."""
    found = client.get(QUESTIONS, params={"status": "pending"}).json()["continuations"]
    return found[0]["continuationId"] if found else None


def test_a_colleague_approves_through_the_mounted_routes_and_it_is_paid_once(shop: Shop) -> None:
    shop.start("-m", "uvicorn", "--app-dir", str(EXAMPLES), "--port", "0", "fastapi_app:app")
    ana, bo = shop.user("ana"), shop.user("bo")
    asked = refund(ana)
    assert asked.status_code == 202
    assert answer(ana, "refund-A-17", {"approved": True}).json()["code"] == "FORBIDDEN"
    decided = answer(bo, "refund-A-17", {"approved": True})
    assert decided.json()["continuation"]["by"] == {"kind": "operator", "id": "user:bo"}
    assert ana.get(asked.json()["watch"]).json()["continuation"]["status"] == "resumed"
    eventually(lambda: is_done(bo))
    assert lines(shop.payments) == ["A-17 40"]


def test_a_refund_is_asked_for_once_and_not_with_another_amount(shop: Shop) -> None:
    shop.start()
    ana, bo = shop.user("ana"), shop.user("bo")
    assert [refund(ana).status_code, refund(ana).status_code] == [202, 202]
    assert [refund(ana, euros=41).status_code, refund(bo).status_code] == [409, 409]
    answer(bo, "refund-A-17", {"approved": False})
    eventually(lambda: is_done(bo))
    assert lines(shop.payments) == []


@pytest.mark.parametrize("cookie", [None, "bo.forged", "mallory.x"])
def test_whoever_is_not_signed_in_gets_nothing_from_either(shop: Shop, cookie: str | None) -> None:
    shop.start()
    stranger = shop.user("bo")
    stranger.cookies.clear()
    headers = {} if cookie is None else {"Cookie": f"session={cookie}"}
    for path in (QUESTIONS, f"{QUESTIONS}/refund-A-17", "/pauses/docs"):
        assert stranger.get(path, headers=headers).status_code == 401
    body = {"order": "A-17", "euros": 40}
    assert stranger.post("/refunds", json=body, headers=headers).status_code == 401


def test_what_was_asked_before_a_kill_is_approved_and_paid_after_it(shop: Shop) -> None:
    shop.start()
    refund(shop.user("ana"))
    shop.kill()
    shop.start()
    bo = shop.user("bo")
    assert answer(bo, "refund-A-17", {"approved": True}).status_code == 200
    eventually(lambda: is_done(bo))
    assert lines(shop.payments) == ["A-17 40"]


def test_a_payment_that_was_made_and_not_recorded_is_not_made_again(shop: Shop) -> None:
    shop.start("-c", DYING + IMPATIENT)
    refund(shop.user("ana"))
    answer(shop.user("bo"), "refund-A-17", {"approved": True})
    assert shop.end() == -signal.SIGKILL
    shop.start()
    bo = shop.user("bo")
    noun_id = eventually(lambda: doubt(bo))
    assert answer(bo, noun_id, {"paid": True, "evidence": "payments.txt"}).status_code == 200
    eventually(lambda: is_done(bo))
    assert lines(shop.payments) == ["A-17 40"]
    assert effects(bo) == [("completed", 1)]


@pytest.mark.parametrize(("paid", "payments"), [(True, []), (False, ["A-17 40"])])
def test_a_payment_that_was_cut_off_becomes_a_question(shop: Shop, paid: bool, payments: list[str]) -> None:  # noqa: FBT001
    os.mkfifo(shop.payments)  # whoever opens it to write waits for a reader
    shop.start()
    refund(shop.user("ana"))
    bo = shop.user("bo")
    answer(bo, "refund-A-17", {"approved": True})
    eventually(lambda: effects(bo))
    shop.kill()
    shop.payments.unlink()
    shop.start()
    bo = shop.user("bo")
    noun_id = eventually(lambda: doubt(bo))
    assert lines(shop.payments) == []
    assert answer(bo, noun_id, {"paid": paid, "evidence": "the bank's list"}).status_code == 200
    eventually(lambda: is_done(bo))
    assert lines(shop.payments) == payments
