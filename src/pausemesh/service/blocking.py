"""The façade's blocking twin: the same methods over one event loop in a daemon thread."""

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import ForkedMesh
from pausemesh.core.values import JsonValue
from pausemesh.service.asks import Asked
from pausemesh.service.claiming import Claiming
from pausemesh.service.mesh import Mesh
from pausemesh.service.turn import Turn

TargetT = TypeVar("TargetT")
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")
TwinT = TypeVar("TwinT")
P = ParamSpec("P")


class LoopThread:
    """An event loop in a daemon thread, for callers that have none."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pausemesh-loop", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Run a coroutine and return its result; an interrupt of the caller cancels it.

        Raises:
            ForkedMesh: the loop was made before a fork.
        """
        if os.getpid() != self._pid:
            coroutine.close()
            raise ForkedMesh
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread."""
        if os.getpid() == self._pid and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


class _Twin(Generic[TargetT]):
    """Something asynchronous, and the loop in which it lives."""

    def __init__(self, loop: LoopThread, target: TargetT) -> None:
        self._loop = loop
        self._target = target


def _blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, ResultT]],
) -> Callable[Concatenate[Any, P], ResultT]:
    def call(twin: Any, *args: P.args, **kwargs: P.kwargs) -> ResultT:
        loop: LoopThread = twin._loop  # noqa: SLF001 - the wrapper is its own class's method
        return loop.call(method(twin._target, *args, **kwargs))  # noqa: SLF001 - as above

    return cast("Callable[Concatenate[Any, P], ResultT]", functools.update_wrapper(call, method))


def _entered(
    method: Callable[Concatenate[Any, P], TargetT], twin: Callable[[LoopThread, TargetT], TwinT]
) -> Callable[Concatenate[Any, P], TwinT]:
    def call(mesh: Any, *args: P.args, **kwargs: P.kwargs) -> TwinT:
        return twin(mesh._loop, method(mesh._target, *args, **kwargs))  # noqa: SLF001 - as above

    return cast("Callable[Concatenate[Any, P], TwinT]", functools.update_wrapper(call, method))


class BlockingTurn(_Twin[Turn[AnswerT]], Generic[AnswerT]):
    """A turn for blocking callers; see ``Turn``."""

    effect = _blocking(Turn.effect)
    resolve = _blocking(Turn.resolve)
    done = _blocking(Turn.done)
    release = _blocking(Turn.release)

    @property
    def continuation(self) -> Continuation:
        """The decided question."""
        return self._target.continuation

    @property
    def answer(self) -> AnswerT:
        """Its answer."""
        return self._target.answer

    @property
    def fence(self) -> int:
        """The number of this claim among all claims of the question; a later one is greater."""
        return self._target.fence

    @property
    def worker(self) -> str:
        """The name under which the claim is held."""
        return self._target.worker


class BlockingClaiming(_Twin[Claiming]):
    """A claim that is about to be taken; see ``Claiming``."""

    def __enter__(self) -> BlockingTurn[JsonValue]:
        """Take the claim."""
        return BlockingTurn(self._loop, self._loop.call(self._target.__aenter__()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the turn."""
        self._loop.call(self._target.__aexit__(kind, error, traceback))


class BlockingAsked(_Twin[Asked[AnswerT]], Generic[AnswerT]):
    """A question that is about to be asked: enter it to go on with its answer, or ``wait`` to look only."""

    wait = _blocking(Asked.answer)

    def __enter__(self) -> BlockingTurn[AnswerT]:
        """Wait for the answer and for the right to go on with it."""
        return BlockingTurn(self._loop, self._loop.call(self._target.__aenter__()))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the turn."""
        self._loop.call(self._target.__aexit__(kind, error, traceback))


class BlockingMesh(_Twin[Mesh]):
    """``Mesh`` for callers that have no event loop; see there. ``pausemesh.open_sync`` makes one."""

    create = _blocking(Mesh.create)
    resume = _blocking(Mesh.resume)
    answer = _blocking(Mesh.answer)
    cancel = _blocking(Mesh.cancel)
    reissue_token = _blocking(Mesh.reissue_token)
    inspect = _blocking(Mesh.inspect)
    history = _blocking(Mesh.history)
    list = _blocking(Mesh.list)
    sweep = _blocking(Mesh.sweep)
    wait = _blocking(Mesh.wait)
    effects = _blocking(Mesh.effects)
    resolve_effect = _blocking(Mesh.resolve_effect)
    claim = _entered(Mesh.claim, BlockingClaiming)
    claim_next = _entered(Mesh.claim_next, BlockingClaiming)
    ask = _entered(Mesh.ask, BlockingAsked)
