"""The façade's blocking twin: the same methods over one event loop in a daemon thread."""

import functools
import weakref
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from pausemesh.core.envelope import Continuation
from pausemesh.core.errors import OutcomeUnknown, StoreClosed, StoreError
from pausemesh.core.values import JsonInput, JsonValue
from pausemesh.service.asks import Asked, AskOptions
from pausemesh.service.claiming import Claiming
from pausemesh.service.loop_thread import Block, LoopThread
from pausemesh.service.mesh import Mesh
from pausemesh.service.turn import Turn

TargetT = TypeVar("TargetT")
BlockT = TypeVar("BlockT", bound=Block)
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")
TwinT = TypeVar("TwinT")
P = ParamSpec("P")


class _Twin(Generic[TargetT]):
    """Something asynchronous, and the loop in which it lives."""

    def __init__(self, loop: LoopThread, target: TargetT) -> None:
        self._loop = loop
        self._target = target


def _blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, ResultT]],
    *,
    cut: type[StoreError] = StoreClosed,
) -> Callable[Concatenate[Any, P], ResultT]:
    def call(twin: Any, *args: P.args, **kwargs: P.kwargs) -> ResultT:
        loop: LoopThread = twin._loop  # noqa: SLF001 - the wrapper is its own class's method
        return loop.call(lambda: method(twin._target, *args, **kwargs), cut=cut)  # noqa: SLF001 - as above

    return cast("Callable[Concatenate[Any, P], ResultT]", functools.update_wrapper(call, method))


def _writing(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, ResultT]],
) -> Callable[Concatenate[Any, P], ResultT]:
    """Return the twin of what writes in one go, and waits for nobody but the store."""
    return _blocking(method, cut=OutcomeUnknown)


def _entered(
    method: Callable[Concatenate[Any, P], TargetT], twin: Callable[[LoopThread, TargetT], TwinT]
) -> Callable[Concatenate[Any, P], TwinT]:
    def call(mesh: Any, *args: P.args, **kwargs: P.kwargs) -> TwinT:
        return twin(mesh._loop, method(mesh._target, *args, **kwargs))  # noqa: SLF001 - as above

    return cast("Callable[Concatenate[Any, P], TwinT]", functools.update_wrapper(call, method))


class _Entering(_Twin[BlockT], Generic[BlockT]):
    """A block that is about to be entered.

    An interrupt may come just as the block is being left, before anything of ours runs. The claim is then given back
    once nobody has the block or its turn any more.
    """

    def __init__(self, loop: LoopThread, target: BlockT) -> None:
        super().__init__(loop, target)
        lost = weakref.finalize(self, loop.forget, target)
        lost.atexit = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the turn."""
        self._loop.leave(self._target, kind, error, traceback)


class BlockingTurn(_Twin[Turn[AnswerT]], Generic[AnswerT]):
    """A turn for blocking callers; see ``Turn``."""

    def __init__(self, loop: LoopThread, target: Turn[AnswerT], block: object) -> None:
        super().__init__(loop, target)
        self._block = block

    effect = _blocking(Turn.effect)
    resolve = _writing(Turn.resolve)
    done = _writing(Turn.done)
    release = _writing(Turn.release)

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


class BlockingClaiming(_Entering[Claiming]):
    """A claim that is about to be taken; see ``Claiming``."""

    def __enter__(self) -> BlockingTurn[JsonValue]:
        """Take the claim."""
        return self._loop.enter(self._target, lambda turn: BlockingTurn(self._loop, turn, self))


class BlockingAsked(_Entering[Asked[AnswerT]], Generic[AnswerT]):
    """A question that is about to be asked: enter it to go on with its answer, or ``wait`` to look only."""

    wait = _blocking(Asked.answer)

    def __enter__(self) -> BlockingTurn[AnswerT]:
        """Wait for the answer and for the right to go on with it."""
        return self._loop.enter(self._target, lambda turn: BlockingTurn(self._loop, turn, self))


class BlockingMesh(_Twin[Mesh]):
    """``Mesh`` for callers that have no event loop; see there. ``pausemesh.open_sync`` makes one."""

    create = _writing(Mesh.create)
    resume = _writing(Mesh.resume)
    answer = _writing(Mesh.answer)
    cancel = _writing(Mesh.cancel)
    reissue_token = _writing(Mesh.reissue_token)
    inspect = _blocking(Mesh.inspect)
    history = _blocking(Mesh.history)
    list = _blocking(Mesh.list)
    sweep = _writing(Mesh.sweep)
    wait = _blocking(Mesh.wait)
    effects = _blocking(Mesh.effects)
    resolve_effect = _writing(Mesh.resolve_effect)
    create_key = _writing(Mesh.create_key)
    keys = _blocking(Mesh.keys)
    revoke_key = _writing(Mesh.revoke_key)
    authenticate = _blocking(Mesh.authenticate)
    has_keys = _blocking(Mesh.has_keys)
    verify = _blocking(Mesh.verify)
    rebuild = _writing(Mesh.rebuild)
    claim = _entered(Mesh.claim, BlockingClaiming)
    claim_next = _entered(Mesh.claim_next, BlockingClaiming)

    @overload
    def ask(
        self,
        question: str | Mapping[str, JsonInput],
        *,
        answer: type[AnswerT],
        key: str,
        **options: Unpack[AskOptions],
    ) -> BlockingAsked[AnswerT]: ...

    @overload
    def ask(
        self,
        question: str | Mapping[str, JsonInput],
        *,
        answer: object = None,
        key: str,
        **options: Unpack[AskOptions],
    ) -> BlockingAsked[Any]: ...

    @functools.wraps(Mesh.ask)
    def ask(self, question: Any, *, answer: Any = None, key: str, **options: Unpack[AskOptions]) -> BlockingAsked[Any]:
        """Ask, wait, and go on with the answer; see ``Mesh.ask``."""
        return BlockingAsked(self._loop, self._target.ask(question, answer=answer, key=key, **options))
