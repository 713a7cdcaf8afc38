"""Steps in any order: each is done on the product and on the model, and both must say the same."""

import contextlib
from collections.abc import Awaitable
from datetime import timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

import pausemesh
from pausemesh import CreatedContinuation, EffectFailed, Mesh, Outcome, PauseMeshError
from pausemesh.core.values import JsonValue, cut_to_milliseconds
from proofs.rules.comparing import Comparison, chosen, shown
from proofs.rules.model import Question, RefusedError
from proofs.rules.product import LEASE, HeldTurn

_FOREIGN_TOKEN: Final = pausemesh.Sha256TokenIssuer().issue()
_PEOPLE: Final = {name: pausemesh.Principal(id=name, role=pausemesh.Role.EDITOR) for name in ("ana", "ben")}
_MONTH: Final = timedelta(days=30)

_NUMBERS = st.integers(0, 11)
_WHO = st.sampled_from(sorted(_PEOPLE))
_KEYS = st.sampled_from(["k1", "k2"])
_PAYLOADS = st.integers(0, 1)
_WAYS = st.sampled_from([("token", "operator"), ("token", "operator"), ("token",), ("operator",)])
_LIVES = st.sampled_from([timedelta(seconds=20), timedelta(minutes=10), timedelta(days=1)])
_EXPECTED = st.sampled_from([None, None, "actual", "stale"])
_EFFECTS = st.sampled_from(["a", "b", "c", "d"])
_ARGUMENTS = st.sampled_from([0, 0, 0, 1])
_LAPSES = st.sampled_from([False, False, False, True])
_SKEWS = st.sampled_from([-_MONTH, timedelta(0), _MONTH])
_MOVES = st.sampled_from([0.5, 1, 4.9995, 5, 10, 30, 61, 600, -5, -10, -40])


class CrashError(Exception):
    """What an effect raises that nobody expected."""


class Rules(Comparison):
    """The steps."""

    def __init__(self) -> None:
        super().__init__()
        self._created: dict[str, tuple[tuple[object, ...], str]] = {}
        self._lost_tokens: dict[str, str] = {}
        self._over: set[HeldTurn] = set()

    @initialize(skew=_SKEWS)
    def begin(self, skew: timedelta) -> None:
        """Ask some that stay open, and some that were answered and are being carried on."""
        self.product.skewed_clock.ahead = skew
        for number in range(6):
            self.create(f"begin-{number}", 0, _MONTH, ("token", "operator"), skewed=False)
            if number % 2:
                self.answer(1, "ana", "k1", 0, skewed=False)
                self.claim(1, skewed=False)
                self.effect_that_crashes(1, "a", 0, lapses=False)

    @rule(
        key=st.sampled_from([None, None, None, "c1", "c2"]),
        payload=_PAYLOADS,
        life=_LIVES,
        ways=_WAYS,
        skewed=st.booleans(),
    )
    def create(self, key: str | None, payload: int, life: timedelta, ways: tuple[str, ...], *, skewed: bool) -> None:
        """Ask, with or without a key."""

        async def call(mesh: Mesh) -> CreatedContinuation:
            return await mesh.create(payload=payload, idempotency_key=key, expires_in=life, answerable_by=ways)

        request = (payload, life, ways)
        known = None if key is None else self._created.get(key)
        expires_at = cut_to_milliseconds(self.product.clock_of(skewed=skewed).now() + life)
        result = self.both(call(self.product.mesh(skewed=skewed)), lambda: _is_repeat(known, request))
        if result is None:
            return
        created, is_repeat = result
        told = shown(created.continuation)
        assert created.replayed is is_repeat
        assert (created.resume_token is not None) is (not is_repeat and "token" in ways)
        if known is not None:
            assert told == known[1]
            return
        if key is not None:
            self._created[key] = (request, told)
            self.accepted.append((call, told))
        question = Question(created.continuation.id, expires_at, frozenset(ways), created.resume_token)
        self.questions.append(question)
        self.touched.append(question)

    @rule(
        number=_NUMBERS,
        token=st.sampled_from(["live", "live", "live", "lost", "foreign"]),
        key=_KEYS,
        payload=_PAYLOADS,
        skewed=st.booleans(),
    )
    def resume(self, number: int, token: str, key: str, payload: int, *, skewed: bool) -> None:
        """Answer with a token."""
        question = self.question(number, Question.is_pending)
        given = {"live": question.token, "lost": self._lost_tokens.get(question.id), "foreign": None}[token]
        self._resume(question, given, key, payload, skewed=skewed)

    @rule(number=_NUMBERS, key=_KEYS)
    def resume_with_a_token_that_just_died(self, number: int, key: str) -> None:
        """Answer with a token that another mesh put out of use since this one looked."""
        question = self.question(number, Question.is_pending)
        question.expire_if_due(min(self.product.now, self.product.clock_of(skewed=True).now()))
        self.product.do(self.product.mesh(skewed=True).inspect(question.id))
        self._reissue(question, None, skewed=False)
        self._resume(question, self._lost_tokens.get(question.id), key, 0, skewed=True)

    @rule(number=_NUMBERS, who=_WHO, key=_KEYS, payload=_PAYLOADS, skewed=st.booleans())
    def answer(self, number: int, who: str, key: str, payload: int, *, skewed: bool) -> None:
        """Answer as an operator."""
        self._answer(self.question(number, Question.is_pending), who, key, payload, skewed=skewed)

    @rule(number=_NUMBERS, who=_WHO, key=_KEYS, milliseconds=st.sampled_from([0, 0, 1, -1]), skew=_SKEWS)
    def answer_at_a_deadline(self, number: int, who: str, key: str, milliseconds: int, skew: timedelta) -> None:
        """Answer at the very instant at which a question ends, or just after or before it, by whatever clock."""
        question = chosen(number, [one for one in self.questions if one.is_pending()], self.questions)
        self.product.clock.set(question.expires_at + timedelta(milliseconds=milliseconds))
        self.product.skewed_clock.ahead = skew
        self._answer(question, who, key, 0, skewed=True)

    @rule(number=_NUMBERS, reason=_KEYS, expected=_EXPECTED, skewed=st.booleans())
    def cancel(self, number: int, reason: str, expected: str | None, *, skewed: bool) -> None:
        """Take back."""
        question, now = self.question(number, Question.is_pending), self.product.now
        version = _version(question, expected)

        async def call(mesh: Mesh) -> Outcome:
            return await mesh.cancel(question.id, reason=reason, expected_version=version)

        self.decide(question, call, lambda: question.cancel(reason, version, now), skewed=skewed)

    @rule(number=_NUMBERS, expected=_EXPECTED, skewed=st.booleans())
    def reissue(self, number: int, expected: str | None, *, skewed: bool) -> None:
        """Get a new token."""
        question = self.question(number, Question.is_pending)
        self._reissue(question, _version(question, expected), skewed=skewed)

    @rule(seconds=_MOVES)
    def move_clock(self, seconds: float) -> None:
        """Let time pass, or be put back."""
        self.product.clock.advance(timedelta(seconds=seconds))

    @rule(skew=_SKEWS)
    def skew(self, skew: timedelta) -> None:
        """Put the clock of one of the two meshes wrong; it is not the store's."""
        self.product.skewed_clock.ahead = skew

    @rule(skewed=st.booleans())
    def sweep(self, *, skewed: bool) -> None:
        """Expire what is overdue."""
        now = self.product.now
        due = [question for question in self.questions if question.expire_if_due(now)]
        self.touched += due
        assert self.product.do(self.product.mesh(skewed=skewed).sweep()) == len(due)

    @rule(number=_NUMBERS, skewed=st.booleans())
    def claim(self, number: int, *, skewed: bool) -> None:
        """Take the right to go on."""
        self._claim(self.question(number, Question.is_free), skewed=skewed)

    @rule(number=_NUMBERS, then=st.sampled_from(["release", "finish", "effect"]))
    def oversleep(self, number: int, then: str) -> None:
        """Sleep past the lease's end, be succeeded, wake up, and go on as if nothing had happened."""
        held = self.turn(number)
        self.product.clock.advance(LEASE)
        self._claim(held.question, skewed=False)
        if then == "release":
            self._release(held)
        elif then == "finish":
            self._finish(held, 0)
        else:
            self._effect(held, "d", 0, "completed", lapses=False)

    @rule(number=_NUMBERS)
    def release(self, number: int) -> None:
        """Give it back."""
        self._release(self.turn(number))

    @rule(number=_NUMBERS, result=_PAYLOADS)
    def finish(self, number: int, result: int) -> None:
        """Be done, perhaps not for the first time."""
        self._finish(self.turn(number), result)

    @rule(number=_NUMBERS, key=_EFFECTS, argument=_ARGUMENTS, lapses=_LAPSES)
    def effect_that_works(self, number: int, key: str, argument: int, *, lapses: bool) -> None:
        """Make something happen outside; the lease may lapse meanwhile."""
        self._effect(self.turn(number), key, argument, "completed", lapses=lapses)

    @rule(number=_NUMBERS, key=_EFFECTS, argument=_ARGUMENTS, lapses=_LAPSES)
    def effect_that_fails(self, number: int, key: str, argument: int, *, lapses: bool) -> None:
        """Try to, and see that it surely did not happen."""
        self._effect(self.turn(number), key, argument, "failed", lapses=lapses)

    @rule(number=_NUMBERS, key=_EFFECTS, argument=_ARGUMENTS, lapses=_LAPSES)
    def effect_that_crashes(self, number: int, key: str, argument: int, *, lapses: bool) -> None:
        """Try to, and know nothing."""
        self._effect(self.turn(number), key, argument, "unknown", lapses=lapses)

    @rule(number=_NUMBERS, key=_EFFECTS, done=st.booleans(), evidence=_KEYS)
    def resolve(self, number: int, key: str, evidence: str, *, done: bool) -> None:
        """Settle an effect as the holder of the claim."""
        held, now = self.turn(number, Question.in_doubt), self.product.now
        question, which = held.question, chosen(number, held.question.in_doubt(), [key])
        status, how = "completed" if done else "failed", (evidence, held.turn.worker)
        call = held.turn.resolve(which, "done" if done else "not_done", evidence=evidence)
        self.both(call, lambda: question.resolve(which, status, how, now, held.turn.fence))
        self.touched.append(question)

    @rule(number=_NUMBERS, key=_EFFECTS, done=st.booleans(), evidence=_KEYS, skewed=st.booleans())
    def resolve_as_admin(self, number: int, key: str, evidence: str, *, done: bool, skewed: bool) -> None:
        """Settle an effect from outside."""
        question, how = self.question(number, Question.in_doubt), (evidence, "admin")
        now, seen = self.product.now, self.product.clock_of(skewed=skewed).now()
        which, status = chosen(number, question.in_doubt(), [key]), "completed" if done else "failed"
        mesh = self.product.mesh(skewed=skewed)
        call = mesh.resolve_effect(question.id, which, "done" if done else "not_done", evidence=evidence)
        self.both(call, lambda: question.resolve_as_admin(which, status, how, now, seen))
        self.touched.append(question)

    @rule(number=_NUMBERS, skewed=st.booleans())
    def retry(self, number: int, *, skewed: bool) -> None:
        """Make any call again that was accepted before, whatever happened since."""
        call, first = self.accepted[-1 - number % len(self.accepted)]
        again = self.product.do(call(self.product.mesh(skewed=skewed)))
        assert again.replayed
        assert shown(again.continuation) == first
        self.counted["retries"] += 1

    def _resume(self, question: Question, token: str | None, key: str, payload: int, *, skewed: bool) -> None:
        given, now = token or _FOREIGN_TOKEN, self.product.now

        async def call(mesh: Mesh) -> Outcome:
            return await mesh.resume(question.id, token=given, idempotency_key=key, payload=payload)

        outcome = self.decide(question, call, lambda: question.answer("token", key, payload, given, now), skewed=skewed)
        self.keep_outcome(question, "token", key, outcome)

    def _reissue(self, question: Question, version: int | None, *, skewed: bool) -> None:
        old, now = question.token, self.product.now
        call = self.product.mesh(skewed=skewed).reissue_token(question.id, expected_version=version)
        result = self.both(call, lambda: question.reissue(version, now))
        self.touched.append(question)
        if result is not None:
            assert result[0].resume_token is not None
            assert old is not None
            self._lost_tokens[question.id] = old
            question.token = result[0].resume_token

    def _answer(self, question: Question, who: str, key: str, payload: int, *, skewed: bool) -> None:
        async def call(mesh: Mesh) -> Outcome:
            return await mesh.answer(question.id, by=_PEOPLE[who], idempotency_key=key, payload=payload)

        now = self.product.now
        outcome = self.decide(question, call, lambda: question.answer(who, key, payload, None, now), skewed=skewed)
        self.keep_outcome(question, who, key, outcome)

    def _claim(self, question: Question, *, skewed: bool) -> None:
        now, seen = self.product.now, self.product.clock_of(skewed=skewed).now()
        result = self.both(self.product.claim(question, skewed=skewed), lambda: question.claim(LEASE, now, seen))
        self.touched.append(question)
        if result is not None:
            held, fence = result
            assert held.turn.fence == fence
            self.turns.append(held)
            self.counted["claims"] += 1

    def _release(self, held: HeldTurn) -> None:
        held.question.release(held.turn.fence, self.product.now)
        self.product.do(held.turn.release())
        self._over.add(held)
        self.touched.append(held.question)

    def _finish(self, held: HeldTurn, result: int) -> None:
        now = self.product.now
        if self.both(held.turn.done(result), lambda: held.question.finish(held.turn.fence, result, now)) is not None:
            self._over.add(held)
        self.touched.append(held.question)

    def _effect(self, held: HeldTurn, key: str, argument: int, ending: str, *, lapses: bool) -> None:
        question, fence, ran = held.question, held.turn.fence, list[int]()

        async def run(argument: int) -> JsonValue:
            ran.append(argument)
            self.product.clock.advance(LEASE if lapses else timedelta(0))
            if ending == "failed":
                raise EffectFailed
            if ending == "unknown":
                raise CrashError
            return argument

        now = self.product.now
        if held in self._over:
            if not question.holds(fence, now):  # a clock that was put back may have given the lease new life
                self.product.do(_let_pass(held.turn.effect(key, run=run, arguments={"argument": argument})))
                assert ran == [], "a turn that is over made something happen"
            return
        call = _caught(held.turn.effect(key, run=run, arguments={"argument": argument}), ran)
        result = self.both(call, lambda: question.start(fence, key, argument, now))
        self.touched.append(question)
        if result is None:
            assert ran == []
            return
        (value, error), runs = result
        assert ran == [argument] * runs
        recorded = not runs or question.end(fence, key, ending, self.product.now)
        assert type(error) is (_raised_by(ending, recorded=recorded) if runs else type(None))
        assert error is not None or value == question.works[key].result
        self.counted["effects"] += runs


def _is_repeat(known: tuple[tuple[object, ...], str] | None, request: tuple[object, ...]) -> bool:
    if known is not None and known[0] != request:
        raise RefusedError(pausemesh.IdempotencyConflict)
    return known is not None


def _version(question: Question, expected: str | None) -> int | None:
    return {None: None, "actual": question.version, "stale": question.version + 1}[expected]


def _raised_by(ending: str, *, recorded: bool) -> type[Exception] | type[None]:
    if ending == "completed":
        return type(None) if recorded else pausemesh.LeaseLost
    return EffectFailed if ending == "failed" else CrashError


async def _caught(call: Awaitable[JsonValue], ran: list[int]) -> tuple[JsonValue, Exception | None]:
    """Return what came of an effect: its result, or what happened when it had run."""
    try:
        return await call, None
    except (PauseMeshError, CrashError) as error:
        if not ran:
            raise
        return None, error


async def _let_pass(call: Awaitable[JsonValue]) -> None:
    """Make a call of which it is not the matter what it says."""
    with contextlib.suppress(PauseMeshError):
        await call
