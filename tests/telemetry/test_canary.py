"""A full run with a secret in every field, and a search for it in the log and in the metrics."""

import logging

import pausemesh
from pausemesh.core.tokens import hash_token
from pausemesh.telemetry.log import LogObserver
from pausemesh.telemetry.metrics import Metrics
from pausemesh.telemetry.observers import Observers
from pausemesh.testing.clock import ManualClock
from tests.service.test_canary import CANARY, Net, live
from tests.telemetry.conftest import Lines


async def test_no_secret_of_a_full_run_is_in_the_log_or_in_the_metrics(lines: Lines) -> None:
    logging.getLogger().setLevel(logging.DEBUG)
    metrics, net = Metrics(), Net()
    observer = Observers(LogObserver(), metrics)
    async with pausemesh.open("memory:", clock=ManualClock(), observer=observer) as mesh:
        tokens = await live(mesh, net)
    visible = lines.text + metrics.render()[0].decode()
    assert CANARY not in visible
    for token in tokens:
        assert token not in visible
        assert hash_token(token).hex() not in visible
    assert len(lines.records) > 20
    assert {record["event"] for record in lines.records} >= {"created", "transition", "rejection"}
    assert "other" not in visible
