"""An event loop in a daemon thread, and how other threads have their coroutines run in it."""

import asyncio
import contextlib
import dataclasses
import os
import threading
from collections.abc import Callable, Collection, Coroutine, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar

from pausemesh.core import limits
from pausemesh.core.errors import (
    ForkedMesh,
    InvalidRequest,
    OutcomeUnknown,
    PauseMeshError,
    StoreClosed,
    StoreError,
)
from pausemesh.service.daemon_threads import DaemonThreads

TargetT = TypeVar("TargetT")
ResultT = TypeVar("ResultT")
TwinT = TypeVar("TwinT")

Block: TypeAlias = AbstractAsyncContextManager[Any, None]
Work: TypeAlias = Callable[[], Coroutine[Any, Any, ResultT]]

_CANCEL_SECONDS: Final = 5.0
"""How long something cancelled is waited for."""

_SETTLE_SECONDS: Final = limits.CALL_SECONDS
"""How long a write may go on when the mesh is closed, since only its own end tells what was written."""

_CLOSE_SECONDS: Final = 30.0
"""How long closing may take as a whole, where a coroutine of the caller's keeps the loop from going on."""

_STOP_SECONDS: Final = 3 * _CANCEL_SECONDS
"""How long the loop may take to stop, with what still runs in it."""

_CLOSED_MEANWHILE: Final = "The mesh was closed meanwhile."
_OWN_LOOP: Final = (
    "A coroutine that the blocking mesh runs cannot use it: make it a plain function, which gets a thread of its own, "
    "or use a mesh of pausemesh.open, which is awaited."
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Ended:
    """What came of a call. An error is carried as a value: an exit that is raised in a task would end the loop."""

    value: Any = None
    error: BaseException | None = None


class _Call:
    """A coroutine that runs in the loop, and the thread that waits for its end.

    Args:
        work: makes the coroutine, in the loop, so that a call that never begins leaves none behind.
        cut: what the thread is told where the end of the loop cuts it short.
        gone: is told when it is over.

    Attributes:
        task: what runs it, once it began.
        is_cut: whether it is the end of the loop that cancels it.
    """

    def __init__(
        self,
        work: Work[Any],
        *,
        cut: type[StoreError] = StoreClosed,
        gone: Callable[["_Call"], None] = lambda _call: None,
    ) -> None:
        self.cut = cut
        self.task: asyncio.Task[None] | None = None
        self._work = work
        self._gone = gone
        self.is_cut = False
        self._ended: Future[_Ended] = Future()

    def wait(self, seconds: float | None = None) -> _Ended:
        """Return what came of it.

        Raises:
            TimeoutError: nothing within so many seconds.
        """
        return self._ended.result(seconds)

    def end(self, error: BaseException | None = None, value: Any = None) -> None:
        """Tell the thread what came of it; the first to tell is believed."""
        with contextlib.suppress(InvalidStateError):
            self._ended.set_result(_Ended(value=value, error=error))

    def drop(self, error: BaseException) -> None:
        """Let go of what will not run any more, or did not begin to."""
        self.end(error)
        self._gone(self)

    def begin(self) -> None:
        """Begin to run, in the loop."""
        self.task = asyncio.get_running_loop().create_task(self._run(), name="pausemesh-call")
        # A task that is cancelled before its first step does nothing at all, so that this is not for ``_run`` to do.
        self.task.add_done_callback(lambda _task: self.drop(self._cancellation()))

    async def stop(self) -> None:
        """Cancel it, and wait until it is over."""
        if self.task is None:
            self.drop(self._cancellation())
        else:
            self.task.cancel()
            await asyncio.wait({self.task})

    async def _run(self) -> None:
        try:
            self.end(value=await self._work())
        except asyncio.CancelledError as error:
            self.end(self._cancellation() if self.is_cut else error)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            self.end(error)
        finally:
            del self  # as in ``LoopThread.call``

    def _cancellation(self) -> BaseException:
        return self.cut(_CLOSED_MEANWHILE) if self.is_cut else asyncio.CancelledError()


class LoopThread:
    """An event loop in a daemon thread, for callers that have none; any number of threads may call at once."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()  # held again where a block is forgotten by a collection that comes meanwhile
        self._is_closing = False
        self._is_over = False
        self._calls: set[_Call] = set()
        self._losing: set[asyncio.Task[None]] = set()
        self._entered: dict[Block, None] = {}
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(DaemonThreads())
        self._thread = threading.Thread(target=self._run, name="pausemesh-loop", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._loop.close()
            raise

    def call(
        self,
        work: Work[ResultT],
        *,
        cut: type[StoreError] = StoreClosed,
        undo: Callable[[BaseException], Coroutine[Any, Any, None]] | None = None,
    ) -> ResultT:
        """Run a coroutine, and return or raise here what it returned or raised there.

        An interrupt of the waiting thread cancels the coroutine, and waits some seconds for its end.

        Args:
            work: makes the coroutine, in the loop.
            cut: what is raised where the loop ends before it does. What may have written something says OutcomeUnknown,
                and is given the time to end by itself.
            undo: runs in the loop after an interrupt, once the coroutine is over.

        Raises:
            StoreClosed: the loop is closed, or was meanwhile.
            ForkedMesh: the loop was made before a fork.
            InvalidRequest: a coroutine of this very loop calls.
        """
        if refusal := self._refusal():
            raise refusal
        call = _Call(work, cut=cut, gone=self._calls.discard)
        try:
            self._begin(call)
            ended = call.wait()
        except BaseException as error:
            self._abandon(call, undo, error)
            raise
        # From here on nothing is called: a call is where an interrupt is noticed, and this one would lose the result.
        try:
            if ended.error is not None:
                raise ended.error
            result: ResultT = ended.value
            return result
        finally:
            del call, ended  # the error's traceback holds this frame, which must not hold the error

    def enter(
        self,
        block: AbstractAsyncContextManager[TargetT, None],
        twin: Callable[[TargetT], TwinT],
    ) -> TwinT:
        """Enter a block, and return the twin of what it gives; one that was interrupted is left again."""

        async def enter() -> TwinT:
            target = await block.__aenter__()
            self._entered[block] = None
            return twin(target)

        async def undo(error: BaseException) -> None:
            if block in self._entered:
                await self._leave(block, type(error), error, error.__traceback__)

        return self.call(enter, undo=undo)

    def leave(
        self,
        block: Block,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave a block; the error that leaves it is not replaced by the news that the loop is gone."""
        try:
            self.call(lambda: self._leave(block, kind, error, traceback), cut=OutcomeUnknown)
        except (StoreClosed, ForkedMesh):
            if error is None:
                raise

    def forget(self, block: Block) -> None:
        """Leave a block that was entered and that nobody can leave any more; waits for nothing."""
        if block in self._entered and os.getpid() == self._pid:
            self._post(lambda: self._lose(block))

    def close(self) -> None:
        """End every call, leave every block that is still entered (the first one last), and stop the loop.

        Calls that wait are cancelled at once, writes may end by themselves. A plain function of the caller's cannot be
        stopped: it goes on in its daemon thread, with its effect in doubt. A coroutine of the caller's that holds the
        loop up is left behind together with the loop, after a while.

        Raises:
            ForkedMesh: the loop was made before a fork.
            InvalidRequest: a coroutine of this very loop calls.
        """
        if refusal := self._refusal():
            raise refusal
        with self._lock:
            is_closed, self._is_closing = self._is_closing, True
        if is_closed:
            return
        shutting = _Call(self._shut)
        try:
            self._post(shutting.begin)
            error = _patiently(shutting)
        finally:
            self._stop()
        if error is not None:
            raise error

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._is_closing

    def _refusal(self) -> PauseMeshError | None:
        if os.getpid() != self._pid:
            return ForkedMesh()
        return InvalidRequest(_OWN_LOOP) if threading.current_thread() is self._thread else None

    def _begin(self, call: _Call) -> None:
        with self._lock:
            if not self._is_closing:
                self._calls.add(call)
                self._loop.call_soon_threadsafe(call.begin)
                return
        call.drop(StoreClosed())

    def _post(self, callback: Callable[[], None]) -> bool:
        with self._lock:
            if not self._is_over:
                self._loop.call_soon_threadsafe(callback)
            return not self._is_over

    def _abandon(
        self,
        call: _Call,
        undo: Callable[[BaseException], Coroutine[Any, Any, None]] | None,
        error: BaseException,
    ) -> None:
        async def abandon() -> None:
            await call.stop()
            if undo is not None:
                await undo(error)

        abandoning = _Call(abandon)
        if self._post(abandoning.begin):
            with contextlib.suppress(TimeoutError):
                abandoning.wait(_CANCEL_SECONDS)

    async def _leave(
        self,
        block: Block,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered.pop(block, None)
        await block.__aexit__(kind, error, traceback)

    def _lose(self, block: Block) -> None:
        lost = asyncio.create_task(self._leave(block, StoreClosed, StoreClosed(), None))
        self._losing.add(lost)
        lost.add_done_callback(self._losing.discard)

    async def _shut(self) -> None:
        await self._cut_short([call for call in self._calls if call.cut is StoreClosed], _SETTLE_SECONDS)
        await self._cut_short(list(self._calls), _CANCEL_SECONDS)
        if not self._entered:
            return
        mesh, *turns = self._entered
        closed = StoreClosed()
        leaving = [self._leave(turn, StoreClosed, closed, None) for turn in turns]
        await _wait([asyncio.gather(*leaving, return_exceptions=True)], _CANCEL_SECONDS)
        await self._leave(mesh, None, None, None)

    async def _cut_short(self, cut: Iterable[_Call], seconds: float) -> None:
        """Cancel some calls, and wait until all are over."""
        for call, task in [(call, call.task) for call in cut if call.task is not None]:
            call.is_cut = True
            task.cancel()
        await _wait([call.task for call in self._calls if call.task is not None], seconds)

    def _stop(self) -> None:
        with self._lock:
            self._is_over = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        for call in tuple(self._calls):
            call.end(call.cut(_CLOSED_MEANWHILE))
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            while not self._is_over:
                # An exit out of a task that nobody waits for comes out here; the other tasks go on.
                with contextlib.suppress(BaseException):
                    self._loop.run_forever()
            with contextlib.suppress(BaseException):
                self._loop.run_until_complete(_end_the_rest())
        finally:
            self._loop.close()


def _patiently(shutting: _Call) -> BaseException | None:
    """Return what came of closing, also after one interrupt, which is raised only then."""
    try:
        return shutting.wait(_CLOSE_SECONDS).error
    except TimeoutError:
        return None
    except BaseException:
        with contextlib.suppress(TimeoutError):
            shutting.wait(_CANCEL_SECONDS)
        raise


async def _wait(tasks: Collection[asyncio.Future[Any]], seconds: float) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)


async def _end_the_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await _wait(rest, _CANCEL_SECONDS)
    ending = asyncio.create_task(asyncio.get_running_loop().shutdown_asyncgens())
    await _wait([ending], _CANCEL_SECONDS)
