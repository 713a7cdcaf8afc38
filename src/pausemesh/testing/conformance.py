"""The suite that defines an event store: make a class of it, give it fixtures, and run it with pytest.

::

    @pytest.fixture
    def clock() -> ManualClock: ...


    @pytest.fixture
    async def store(clock: ManualClock) -> AsyncIterator[EventStore]: ...


    class TestMyStore(EventStoreContract): ...

``store`` is empty, obeys ``clock`` (a ``ManualClock``), has the usual limits, and is closed after the test.
A store that several may open at once passes ``SharedStoreContract`` too, with the fixture ``second_store``: another
handle on the same streams. One that survives its process passes ``DurableStoreContract``, with the fixture ``reopen``:
an async function that closes ``store`` and opens the same streams again.
"""

from pausemesh.testing.conformance_appends import AppendContract
from pausemesh.testing.conformance_claims import ClaimContract, QueueContract
from pausemesh.testing.conformance_handles import DurableStoreContract, SharedStoreContract
from pausemesh.testing.conformance_lists import AuditContract, FeedContract, ListContract
from pausemesh.testing.conformance_malformed import MalformedContract
from pausemesh.testing.conformance_reasons import ReasonContract
from pausemesh.testing.conformance_upkeep import UpkeepContract

__all__ = ["DurableStoreContract", "EventStoreContract", "SharedStoreContract"]


class EventStoreContract(
    AppendContract,
    MalformedContract,
    ReasonContract,
    ClaimContract,
    QueueContract,
    ListContract,
    AuditContract,
    FeedContract,
    UpkeepContract,
):
    """What every event store must do."""
