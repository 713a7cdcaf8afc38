"""What the tests of the examples share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.running import Programs


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """Starts programs in an empty folder, and leaves none running."""
    found = Programs(tmp_path)
    try:
        yield found
    finally:
        found.close()
