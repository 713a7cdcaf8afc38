"""Where things are, for the tests that read the project itself."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def package(root: Path) -> Path:
    """The folder of the package's source."""
    return root / "src" / "pausemesh"
