"""Doing a step on the product and on the model, and comparing what they say and what they hold."""

import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, TypeVar, cast

from hypothesis.stateful import RuleBasedStateMachine, invariant

import pausemesh
from pausemesh import CreatedContinuation, Mesh, Outcome, PauseMeshError
from pausemesh.core.canonical import canonical_bytes
from pausemesh.ports import EventStore
from pausemesh.testing.clock import ManualClock
from proofs.rules.looking import look
from proofs.rules.model import Question, RefusedError
from proofs.rules.product import HeldTurn, Product

T = TypeVar("T")
U = TypeVar("U")


class Comparison(RuleBasedStateMachine):
    """A life without steps yet; a subclass says on which store.

    Attributes:
        counted: what was done, over all lives.
        product: the store and the meshes.
        questions: all that were asked.
        turns: all that were taken, also those that are over.
        touched: what the last step was about.
        accepted: calls under a key that were accepted, with what they were told.
    """

    counted: ClassVar[Counter[str]] = Counter()

    async def open_store(self, clock: ManualClock) -> EventStore:
        """Open an empty store; each kind of store has a class that says how."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.product = Product(self.open_store)
        self.questions: list[Question] = []
        self.turns: list[HeldTurn] = []
        self.touched: list[Question] = []
        self.accepted: list[tuple[Callable[[Mesh], Coroutine[Any, Any, Outcome | CreatedContinuation]], str]] = []
        self._outcomes: dict[tuple[str, str, str], str] = {}
        self.counted["lives"] += 1

    def both(self, call: Coroutine[Any, Any, T], expect: Callable[[], U]) -> tuple[T, U] | None:
        """Do it on the model and on the product; None where both refuse for the same reason."""
        wanted: U | None = None
        refusals: tuple[type[PauseMeshError] | None, ...] = (None,)
        try:
            wanted = expect()
        except RefusedError as refused:
            refusals = refused.kinds
        result: T | None = None
        told: type[PauseMeshError] | None = None
        try:
            result = self.product.do(call)
        except PauseMeshError as error:
            told = type(error)
        assert told in refusals, f"told {told}, foretold {refusals}"
        self.counted["refused"] += told is not None
        return None if told is not None else (cast("T", result), cast("U", wanted))

    def decide(
        self,
        question: Question,
        call: Callable[[Mesh], Coroutine[Any, Any, Outcome]],
        expect: Callable[[], bool],
        *,
        skewed: bool,
    ) -> Outcome | None:
        """Decide on both; a decision that was accepted can be retried from then on."""
        result = self.both(call(self.product.mesh(skewed=skewed)), expect)
        self.touched.append(question)
        if result is None:
            return None
        outcome, is_repeat = result
        assert outcome.replayed is is_repeat
        if not is_repeat:
            self.counted["decisions"] += 1
            self.accepted.append((call, shown(outcome.continuation)))
        return outcome

    def keep_outcome(self, question: Question, who: str, key: str, outcome: Outcome | None) -> None:
        """Compare with the outcome that this key had before."""
        if outcome is not None:
            told = shown(outcome.continuation)
            assert self._outcomes.setdefault((question.id, who, key), told) == told

    def question(self, number: int, hope: Callable[[Question], object]) -> Question:
        """Choose a question, mostly one of which there is hope that something happens."""
        return chosen(number, [one for one in self.questions if hope(one)], self.questions)

    def turn(self, number: int, hope: Callable[[Question], object] = bool) -> HeldTurn:
        """Choose a turn, mostly one that can still record something."""
        now = self.product.now
        live = [one for one in self.turns if one.question.holds(one.turn.fence, now)]
        return chosen(number, [one for one in live if hope(one.question)] or live, self.turns)

    @invariant()
    def what_was_touched_is_as_it_should_be(self) -> None:
        """Look at what the last step was about."""
        self.counted["steps"] += 1
        while self.touched:
            self._look(self.touched.pop())

    def teardown(self) -> None:
        """Look at everything, unless a step found a difference, and let go."""
        try:
            for question in self.questions if sys.exc_info()[0] is None else ():
                self._look(question)
        finally:
            self.product.close()

    def _look(self, question: Question) -> None:
        question.expire_if_due(self.product.now)
        self.product.do(look(self.product.mesh(skewed=False), question, self.product.now))


def chosen(number: int, hopeful: list[T], others: list[T]) -> T:
    """Choose by a number, mostly among the hopeful, where there are any."""
    pool = hopeful if hopeful and number % 4 else others
    return pool[-1 - number % len(pool)]


def shown(continuation: pausemesh.Continuation) -> str:
    """Return the envelope as canonical JSON."""
    return canonical_bytes(pausemesh.continuation_to_json(continuation)).decode()
