"""A log that is read line by line, and put back afterwards."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from pausemesh.telemetry.log import configure_log


class Lines:
    """What was logged."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        return self.records[-1]


@pytest.fixture
def lines() -> Iterator[Lines]:
    kept = Lines()
    restore = configure_log("info", kept.stream)
    yield kept
    restore()
