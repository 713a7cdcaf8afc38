from datetime import UTC, datetime

from pausemesh.ports import Observation
from pausemesh.telemetry.observers import Observers
from tests.service.conftest import Notes


class Broken:
    """An observer that fails."""

    def observe(self, observation: Observation) -> None:
        raise RuntimeError(observation)


def test_each_observer_is_told_although_another_one_fails() -> None:
    one, other = Notes(), Notes()
    observation = Observation(name="created", at=datetime.now(UTC), noun="claim", noun_id="q_1")
    Observers(one, Broken(), other).observe(observation)
    assert one.seen == other.seen == [observation]
