"""The loop in its thread: whatever happens in it or to it, nobody waits for ever and nothing is left behind."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

import pausemesh
from pausemesh.service import loop_thread
from pausemesh.service.loop_thread import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    made = LoopThread()
    yield made
    made.close()


class Steps:
    """A block that keeps notes of who came and went."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __aenter__(self) -> str:
        self.seen.append("entered")
        return "inside"

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.seen.append("left" if kind is None else f"left by {kind.__name__}")


def in_a_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Run it in a thread, and note what it returned or raised."""
    came: list[object] = []

    def run() -> None:
        try:
            came.append(work())
        except BaseException as error:  # noqa: BLE001 - it is looked at in the test
            came.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, came


def ended(thread: threading.Thread) -> bool:
    thread.join(10)
    return not thread.is_alive()


async def echo(value: object) -> object:
    return value


async def raising(error: BaseException) -> None:
    raise error


async def for_ever(began: threading.Event | None = None) -> None:
    if began is not None:
        began.set()
    await asyncio.Event().wait()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, ValueError])
def test_whatever_a_coroutine_raises_arrives_at_the_caller_and_the_loop_goes_on(
    loop: LoopThread, kind: type[BaseException]
) -> None:
    error = kind("told")
    with pytest.raises(kind) as caught:
        loop.call(lambda: raising(error))
    assert caught.value is error
    assert loop.call(lambda: echo(1)) == 1


def test_an_error_is_let_go_of_with_its_last_user(loop: LoopThread) -> None:
    class Told(Exception):
        pass

    async def tell() -> None:
        raise Told

    def fail() -> weakref.ref[BaseException]:
        try:
            loop.call(tell)
        except Told as error:
            return weakref.ref(error)
        raise AssertionError

    gc.collect()
    gc.disable()
    try:
        told = fail()
        loop.call(lambda: echo(1))
        assert told() is None
    finally:
        gc.enable()


def test_a_stop_iteration_arrives_as_a_runtime_error(loop: LoopThread) -> None:
    async def in_the_loop() -> object:
        return next(iter(()))

    for work in (in_the_loop, lambda: asyncio.to_thread(lambda: next(iter(())))):
        with pytest.raises(RuntimeError) as caught:
            loop.call(work)
        assert isinstance(caught.value.__cause__, StopIteration)


def test_an_exit_in_a_thread_arrives_too(loop: LoopThread) -> None:
    with pytest.raises(SystemExit):
        loop.call(lambda: asyncio.to_thread(sys.exit, 3))
    assert loop.call(lambda: asyncio.to_thread(int, "3")) == 3


def test_an_exit_in_a_task_that_nobody_waits_for_does_not_end_the_loop(loop: LoopThread) -> None:
    async def leaving_a_task() -> asyncio.Task[None]:
        return asyncio.create_task(raising(SystemExit(3)))

    async def look_at(task: asyncio.Task[None]) -> BaseException | None:
        await asyncio.wait({task})
        return task.exception()

    task = loop.call(leaving_a_task)
    assert isinstance(loop.call(lambda: look_at(task)), SystemExit)


def test_a_coroutine_that_stops_the_loop_does_not_end_it(loop: LoopThread) -> None:
    async def stop() -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)

    loop.call(stop)
    assert loop.call(lambda: echo(1)) == 1


def test_a_call_out_of_the_loop_itself_is_refused_at_once(loop: LoopThread) -> None:
    async def call_again() -> None:
        loop.call(lambda: echo(1))

    async def close() -> None:
        loop.close()

    for work in (call_again, close):
        with pytest.raises(pausemesh.InvalidRequest, match="make it a plain function"):
            loop.call(work)
    assert loop.call(lambda: asyncio.to_thread(loop.call, lambda: echo(1))) == 1


def test_closing_sends_away_whoever_waits_and_lets_a_write_end() -> None:
    loop = LoopThread()
    began = [threading.Event(), threading.Event()]
    may_end = asyncio.Event()

    async def write() -> str:
        began[1].set()
        await may_end.wait()
        return "written"

    async def wait() -> None:
        try:
            await for_ever(began[0])
        finally:
            may_end.set()

    waiting, waited = in_a_thread(lambda: loop.call(wait))
    writing, written = in_a_thread(lambda: loop.call(write, cut=pausemesh.OutcomeUnknown))
    assert all(event.wait(10) for event in began)
    loop.close()
    assert ended(waiting)
    assert ended(writing)
    assert [type(error) for error in waited] == [pausemesh.StoreClosed]
    assert written == ["written"]
    loop.close()
    assert loop.is_closed


def test_a_write_that_does_not_end_is_cut_and_its_outcome_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_thread, "_SETTLE_SECONDS", 0.01)
    loop = LoopThread()
    began = threading.Event()
    writing, written = in_a_thread(lambda: loop.call(lambda: for_ever(began), cut=pausemesh.OutcomeUnknown))
    assert began.wait(10)
    loop.close()
    assert ended(writing)
    assert [type(error) for error in written] == [pausemesh.OutcomeUnknown]


def test_a_call_that_was_cut_but_had_ended_keeps_its_result() -> None:
    loop = LoopThread()
    began = threading.Event()

    async def stubborn() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await for_ever(began)
        return "ended"

    calling, came = in_a_thread(lambda: loop.call(stubborn))
    assert began.wait(10)
    loop.close()
    assert ended(calling)
    assert came == ["ended"]


def test_calls_that_could_not_begin_yet_when_the_loop_is_closed_are_told_so() -> None:
    loop = LoopThread()
    held, go_on = threading.Event(), threading.Event()

    async def hold() -> None:
        held.set()
        go_on.wait()

    holding, _ = in_a_thread(lambda: loop.call(hold, cut=pausemesh.OutcomeUnknown))
    assert held.wait(10)
    calls = [in_a_thread(lambda: loop.call(for_ever)) for _ in range(3)]
    while len(loop._calls) < 4:  # noqa: SLF001 - nothing else tells that they wait
        time.sleep(0)
    closing, _ = in_a_thread(loop.close)
    while not loop.is_closed:
        time.sleep(0)
    go_on.set()
    assert all(ended(thread) for thread in (closing, holding, *(thread for thread, _ in calls)))
    assert [type(error) for _, came in calls for error in came] == [pausemesh.StoreClosed] * 3


def test_a_coroutine_that_keeps_the_loop_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_thread, "_CLOSE_SECONDS", 0.01)
    monkeypatch.setattr(loop_thread, "_STOP_SECONDS", 0.01)
    loop = LoopThread()
    held, go_on = threading.Event(), threading.Event()

    async def hold() -> None:
        held.set()
        go_on.wait()

    holding, came = in_a_thread(lambda: loop.call(hold))
    assert held.wait(10)
    loop.close()
    assert ended(holding)
    assert [type(error) for error in came] == [pausemesh.StoreClosed]
    go_on.set()
    assert ended(loop._thread)  # noqa: SLF001 - it ends after all


def test_closing_leaves_what_is_entered_the_first_block_last_and_ends_tasks_and_generators() -> None:
    loop = LoopThread()
    blocks = [Steps() for _ in range(3)]
    ends: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            ends.append("generator")

    async def task() -> None:
        try:
            await for_ever()
        finally:
            ends.append("task")

    kept: list[object] = []

    async def leave_things() -> None:
        generator = numbers()
        kept.extend([generator, asyncio.create_task(task()), await anext(generator)])
        await asyncio.sleep(0)

    assert [loop.enter(block, str.upper) for block in blocks] == ["INSIDE"] * 3
    loop.leave(blocks[1], None, None, None)
    loop.call(leave_things)
    loop.close()
    assert [block.seen for block in blocks] == [
        ["entered", "left"],
        ["entered", "left"],
        ["entered", "left by StoreClosed"],
    ]
    assert ends == ["task", "generator"]


def test_what_leaving_the_first_block_raises_is_raised_by_closing() -> None:
    class Failing(Steps):
        async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
            raise ConnectionError

    loop = LoopThread()
    for block in (Failing(), Failing()):
        loop.enter(block, str)
    with pytest.raises(ConnectionError):
        loop.close()
    with pytest.raises(pausemesh.StoreClosed):
        loop.call(lambda: echo(1))


def test_leaving_too_late_is_told_unless_an_error_is_on_its_way() -> None:
    loop, block = LoopThread(), Steps()
    loop.enter(Steps(), str)
    loop.enter(block, str)
    loop.close()
    with pytest.raises(pausemesh.StoreClosed):
        loop.leave(block, None, None, None)
    loop.leave(block, ValueError, ValueError(), None)
    loop.forget(block)
    assert block.seen == ["entered", "left by StoreClosed"]


def test_a_block_that_nobody_can_leave_any_more_is_left(loop: LoopThread) -> None:
    first, block = Steps(), Steps()
    loop.enter(first, str)
    loop.enter(block, str)
    loop.forget(block)
    loop.call(lambda: asyncio.sleep(0))
    assert block.seen == ["entered", "left by StoreClosed"]
    loop.forget(block)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_cancels_the_call_and_waits_until_it_is_over(loop: LoopThread) -> None:
    seen: list[str] = []

    async def work() -> None:
        interrupt()
        try:
            await for_ever()
        finally:
            await asyncio.sleep(0)
            seen.append("over")

    with pytest.raises(KeyboardInterrupt):
        loop.call(work)
    assert seen == ["over"]
    assert not loop._calls  # noqa: SLF001 - nothing else shows it


def test_an_interrupt_does_not_wait_for_ever_for_a_coroutine_that_ignores_it(
    loop: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_thread, "_CANCEL_SECONDS", 0.01)
    let_go = asyncio.Event()

    async def ignore() -> None:
        interrupt()
        with contextlib.suppress(asyncio.CancelledError):
            await for_ever()
        await let_go.wait()

    with pytest.raises(KeyboardInterrupt):
        loop.call(ignore)

    async def let_it_go() -> None:
        let_go.set()

    loop.call(let_it_go)


def test_an_interrupt_at_any_moment_of_entering_leaves_no_block_entered(
    loop: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Steps):
        async def __aenter__(self) -> str:
            interrupt()
            await asyncio.sleep(0)
            return await super().__aenter__()

    class Never(Steps):
        async def __aenter__(self) -> str:
            interrupt()
            await for_ever()
            return ""

    never, block = Never(), Slow()
    with pytest.raises(KeyboardInterrupt):
        loop.enter(never, str)
    assert never.seen == []
    with pytest.raises(KeyboardInterrupt):
        loop.enter(block, str)
    assert block.seen in ([], ["entered", "left by KeyboardInterrupt"])

    wait = loop_thread._Call.wait  # noqa: SLF001 - the moment between the end of the call and its result
    done = threading.Event()

    def wait_and_be_interrupted(call: loop_thread._Call, seconds: float | None = None) -> object:
        result = wait(call, seconds)
        if not done.is_set():
            done.set()
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(loop_thread._Call, "wait", wait_and_be_interrupted)  # noqa: SLF001 - as above
    late = Steps()
    with pytest.raises(KeyboardInterrupt):
        loop.enter(late, str)
    assert late.seen == ["entered", "left by KeyboardInterrupt"]


def test_an_interrupt_before_the_call_began_runs_nothing(loop: LoopThread, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_call: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_begin", interrupted)
    began = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        loop.call(lambda: for_ever(began))
    loop._is_over = True  # noqa: SLF001 - the loop can be gone, too
    with pytest.raises(KeyboardInterrupt):
        loop.call(lambda: for_ever(began))
    loop._is_over = False  # noqa: SLF001 - as above
    assert not began.is_set()


def test_an_interrupt_of_closing_lets_it_end_first() -> None:
    class Slow(Steps):
        async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
            interrupt()
            await asyncio.sleep(0)
            await super().__aexit__(kind, *error)

    loop, block = LoopThread(), Slow()
    loop.enter(block, str)
    with pytest.raises(KeyboardInterrupt):
        loop.close()
    assert block.seen == ["entered", "left"]
    assert not loop._thread.is_alive()  # noqa: SLF001 - nothing else shows it


def test_a_thread_that_cannot_be_started_leaves_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[asyncio.AbstractEventLoop] = []
    new_event_loop = asyncio.new_event_loop

    def remember() -> asyncio.AbstractEventLoop:
        made.append(new_event_loop())
        return made[-1]

    def refuse(_thread: threading.Thread) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(asyncio, "new_event_loop", remember)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        LoopThread()
    assert [loop.is_closed() for loop in made] == [True]
