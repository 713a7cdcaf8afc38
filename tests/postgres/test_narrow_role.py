"""The narrow set of rights is enough for the whole life of a continuation."""

from collections.abc import AsyncIterator

import pytest
from psycopg_pool import AsyncConnectionPool

import pausemesh
from pausemesh.core.errors import StoreUnsafe
from pausemesh.core.principal import Principal, Role
from pausemesh.postgres import PostgresEventStore, grants
from pausemesh.service.mesh import Mesh
from pausemesh.testing.postgres_address import PostgresAddress


@pytest.fixture
async def mesh(postgres_server: PostgresAddress, migrated: str) -> AsyncIterator[Mesh]:
    role = f"{migrated}_narrow"
    url = postgres_server.new_role(role)
    postgres_server.execute(grants(migrated, role, continuations_only=True))
    async with AsyncConnectionPool(url, min_size=1, max_size=4) as pool:
        store = PostgresEventStore(pool, migrated)
        async with pausemesh.open(store) as opened:
            yield opened
        await store.close()


async def test_a_question_lives_its_whole_life_under_it(mesh: Mesh) -> None:
    asked = await mesh.create(payload={"message": "Which?"}, idempotency_key="k")
    assert (await mesh.create(payload={"message": "Which?"}, idempotency_key="k")).replayed
    reissued = await mesh.reissue_token(asked.continuation.id)
    assert reissued.resume_token is not None
    noun_id = asked.continuation.id
    for replayed in (False, True):
        outcome = await mesh.resume(noun_id, token=reissued.resume_token, idempotency_key="r", payload={"flight": 1})
        assert outcome.replayed is replayed
    assert (await mesh.wait(noun_id, timeout=10)).version == 3
    async with mesh.claim(noun_id) as turn:
        assert await turn.effect("book", arguments={}, run=lambda: {"ticket": 7}) == {"ticket": 7}
        await turn.done("booked")
    other = await mesh.create(payload={})
    await mesh.cancel(other.continuation.id, reason="the trip is off")
    assert len((await mesh.list()).continuations) == 2
    assert len(await mesh.history(noun_id)) == 3


async def test_what_is_audited_needs_the_other_set_and_says_so(mesh: Mesh) -> None:
    asked = await mesh.create(payload={})
    person = Principal(id="ana", role=Role.EDITOR)
    with pytest.raises(StoreUnsafe, match="lacks a right"):
        await mesh.answer(asked.continuation.id, by=person, idempotency_key="a", payload=1)
    assert (await mesh.inspect(asked.continuation.id)).version == 1
