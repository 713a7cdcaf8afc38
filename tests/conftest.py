"""What every test shares."""

import signal

import pytest
from hypothesis import settings

# How long an example takes says nothing about whether it is right.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio alone, whatever else is installed."""
    return "asyncio"


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts this in the background has its children ignore Ctrl-C, and theirs after them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
