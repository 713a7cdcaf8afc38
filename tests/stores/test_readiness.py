"""A store tells whether calls can be served."""

from pathlib import Path

import apsw
import pytest

from pausemesh.core.errors import SchemaIncomplete, StoreClosed, StoreError
from pausemesh.stores.memory import MemoryEventStore
from pausemesh.stores.sqlite import SqliteEventStore
from pausemesh.testing.clock import ManualClock


async def test_a_file_with_the_schema_of_this_release_is_ready(tmp_path: Path) -> None:
    store = await SqliteEventStore.open(tmp_path / "a.db", ManualClock())
    await store.check_ready()
    await store.close()
    with pytest.raises(StoreClosed):
        await store.check_ready()


@pytest.mark.parametrize("damage", ["DROP TRIGGER events_refuse_update", "DROP INDEX heads_due"])
async def test_a_file_that_lost_an_object_is_not_ready(tmp_path: Path, damage: str) -> None:
    store = await SqliteEventStore.open(tmp_path / "a.db", ManualClock())
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute(damage)
    other.close()
    with pytest.raises(SchemaIncomplete):
        await store.check_ready()
    await store.close()


async def test_a_file_that_is_gone_is_not_ready(tmp_path: Path) -> None:
    store = await SqliteEventStore.open(tmp_path / "a.db", ManualClock())
    (tmp_path / "a.db").rename(tmp_path / "b.db")
    with pytest.raises(StoreError):
        await store.check_ready()
    await store.close()


async def test_memory_is_ready_until_it_is_closed() -> None:
    store = MemoryEventStore(ManualClock())
    await store.check_ready()
    await store.close()
    with pytest.raises(StoreClosed):
        await store.check_ready()
