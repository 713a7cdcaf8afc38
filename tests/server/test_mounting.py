"""The app is mounted into a host's own, and believes the host about who calls."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

import pausemesh
from pausemesh.app import Unauthenticated, create_app


class Hosts:
    """A host's authenticator: its users' names are in a header of its own."""

    async def authenticate(self, scope: Mapping[str, Any]) -> pausemesh.Principal | None:
        user = dict(scope["headers"]).get(b"x-user", b"").decode()
        if user == "mallory":
            raise Unauthenticated
        return pausemesh.Principal(id=user, role=pausemesh.Role.EDITOR, scope="shop") if user else None


@contextlib.asynccontextmanager
async def hosted(**options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    async with pausemesh.open("memory:") as mesh:
        app = create_app(mesh, authenticator=Hosts(), **options)
        host = Starlette()
        host.mount("/pauses", app)
        transport = httpx2.ASGITransport(host)
        async with app.running(), httpx2.AsyncClient(transport=transport, base_url="http://shop.example") as client:
            yield client


async def test_a_user_of_the_host_asks_and_answers_in_the_hosts_scope() -> None:
    async with hosted() as client:
        asked = await client.post("/pauses/v1/continuations", json={"payload": "?"}, headers={"X-User": "ana"})
        question = asked.json()["continuation"]
        answer = await client.post(
            f"/pauses/v1/continuations/{question['continuationId']}/answer",
            json={"payload": 1, "shownDigest": question["shownDigest"]},
            headers={"X-User": "bo", "Idempotency-Key": "k"},
        )
        assert (asked.status_code, answer.status_code) == (201, 200)
        assert answer.json()["continuation"]["by"] == {"kind": "operator", "id": "bo"}


@pytest.mark.parametrize("headers", [{}, {"X-User": "mallory"}], ids=["nobody", "refused by the host"])
async def test_whom_the_host_does_not_know_gets_nothing(headers: dict[str, str]) -> None:
    async with hosted() as client:
        answer = await client.post("/pauses/v1/continuations", json={"payload": "?"}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 401),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://shop.example"}, 201),
        ({"Origin": "https://evil.example"}, 401),
        ({"Origin": "null"}, 401),
        ({"Origin": "http://shop.example"}, 201),
        ({}, 201),
    ],
    ids=str,
)
async def test_a_page_of_another_site_changes_nothing_in_a_users_name(headers: dict[str, str], status: int) -> None:
    async with hosted() as client:
        asked = await client.post(
            "/pauses/v1/continuations", json={"payload": "?"}, headers={"X-User": "ana", **headers}
        )
        assert asked.status_code == status
        read = await client.get("/pauses/v1/continuations", headers={"X-User": "ana", **headers})
        assert read.status_code == 200


async def test_without_a_probe_it_is_not_ready() -> None:
    async with hosted() as client:
        answer = await client.get("/pauses/readyz")
        assert answer.status_code == 503
        assert answer.json() == {
            "status": "not_ready",
            "checks": [{"component": "event-store", "status": "not_configured"}],
        }


async def test_what_describes_it_knows_where_it_is_mounted() -> None:
    async with hosted() as client:
        page = await client.get("/pauses/docs", headers={"X-User": "ana"})
        assert 'href="/pauses/openapi.json"' in page.text


async def test_a_websocket_is_refused() -> None:
    async with pausemesh.open("memory:") as mesh:
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        await create_app(mesh)({"type": "websocket", "path": "/ws"}, receive, send)
        assert sent == [{"type": "websocket.close", "code": 1008}]
