"""Listeners are told the greatest seq, whoever announces it in whatever order."""

import threading
from contextlib import aclosing

from pausemesh.stores.wakeups import Wakeups


class Watched:
    """A watch that keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def start(self) -> None:
        self.told.append("start")

    def stop(self) -> None:
        self.told.append("stop")


async def zero() -> int:
    return 0


async def test_an_announcement_that_comes_late_takes_nothing_back() -> None:
    wakeups = Wakeups()
    listening = wakeups.listen(zero)
    assert await anext(listening) == 0
    for seq in (5, 3, 5):
        wakeups.announce(seq)
    assert await anext(listening) == 5
    wakeups.announce(4)
    wakeups.announce(6)
    assert await anext(listening) == 6
    wakeups.close()


async def test_announcements_come_from_any_thread() -> None:
    wakeups = Wakeups()
    listening = wakeups.listen(zero)
    assert await anext(listening) == 0
    thread = threading.Thread(target=wakeups.announce, args=(1,))
    thread.start()
    assert await anext(listening) == 1
    thread.join()
    wakeups.close()


async def test_a_watch_looks_from_the_first_listener_to_the_last() -> None:
    watch = Watched()
    wakeups = Wakeups(watch)
    for _ in range(2):
        async with aclosing(wakeups.listen(zero)) as first, aclosing(wakeups.listen(zero)) as second:
            assert [await anext(first), await anext(second)] == [0, 0]
    assert watch.told == ["start", "stop"] * 2


async def test_a_watch_that_is_needed_no_more_is_not_started() -> None:
    watch = Watched()
    wakeups = Wakeups(watch)
    wakeups.close()
    assert [seq async for seq in wakeups.listen(zero)] == [0]
    assert watch.told == ["stop"]
