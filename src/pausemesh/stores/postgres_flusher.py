"""The one task of a store that writes: calls that wait share a transaction, and hear of it once that is durable."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from pausemesh.core.errors import OutcomeUnknown, StoreUnavailable
from pausemesh.ports import Clock
from pausemesh.records import CrashPoint
from pausemesh.stores.calls import waited_too_long
from pausemesh.stores.postgres_errors import ConnectionLost, ServerRefused
from pausemesh.stores.postgres_flush import Flush, Terms
from pausemesh.stores.postgres_queue import AskedWork, FlushQueue
from pausemesh.stores.postgres_restoring import restore
from pausemesh.stores.postgres_session import PostgresSession, Row
from pausemesh.stores.postgres_works import Restore
from pausemesh.stores.rows import to_micros
from pausemesh.stores.wakeups import Wakeups

_TRIES: Final = 3
"""How often the very same is sent where another transaction was in its way."""

_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0

_LEAST_TURN: Final = 4
_LONGEST_TURN: Final = 8

AskedCalls = list[AskedWork]


class PostgresFlusher:
    """Takes calls from its queue, has them done in one transaction, and settles them.

    A caller that goes away changes nothing here: what it asked for is dropped unsent, or its reply is.

    Args:
        connect: opens a session, given a deadline by ``time.monotonic``; raises StoreUnavailable.
        terms: what holds for all flushes.
        seconds: how long a call may wait before it is sent, and again for its outcome.
        clock: of a test, in place of the server's.
        wakeups: told the greatest seq after each flush.
        fault: called at the named points; the transaction then takes several messages.
    """

    def __init__(
        self,
        connect: Callable[[float], Awaitable[PostgresSession]],
        terms: Terms,
        *,
        seconds: float,
        clock: Clock | None,
        wakeups: Wakeups,
        fault: Callable[[CrashPoint], None] | None,
    ) -> None:
        self._connect = connect
        self._terms = terms
        self._seconds = seconds
        self._clock = clock
        self._wakeups = wakeups
        self._fault = fault
        self._session: PostgresSession | None = None
        self.queue = FlushQueue(seconds=seconds)

    async def run(self) -> None:
        """Flush until the queue is closed and empty."""
        while asked := await self.queue.take():
            try:
                await self._serve(asked)
            except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it and the next are served
                await self._drop_session()
                _settle_all(asked, _in_doubt(error) if any(one.is_sent for one in asked) else error)
        if self._session is not None:
            await self._session.give_back()

    async def _serve(self, asked: AskedCalls) -> None:
        """Do the calls together; where a value of one of them is refused, each on its own."""
        for _ in range(_TRIES):
            try:
                await self._ensure_session(max(one.deadline for one in asked))
            except StoreUnavailable as error:
                _settle_all(asked, error)
                return
            asked = _in_time(asked)
            if not asked:
                return
            try:
                await self._attempt(asked, time.monotonic() + self._seconds)
            except ConnectionLost:
                await self._resend(asked)
            except ServerRefused as refused:
                if refused.is_passing:
                    continue
                await self._refuse(asked, refused)
            return
        _settle_all(asked, StoreUnavailable("Other transactions were in its way again and again."))

    async def _refuse(self, asked: AskedCalls, refused: ServerRefused) -> None:
        if refused.is_of_standby:
            await self._drop_session()
        if refused.is_of_data and len(asked) > 1:
            for one in asked:
                one.is_sent = False
                await self._serve([one])
            return
        for one in asked:
            one.settle(refused.meaning())

    async def _resend(self, asked: AskedCalls) -> None:
        """Settle what became of a flush by sending the very same again: its lock waits until the first try is over."""
        _settle_all([one for one in asked if not one.work.is_repeatable], OutcomeUnknown())
        again = [one for one in asked if one.work.is_repeatable]
        deadline = time.monotonic() + self._seconds
        pause = _PAUSE_SECONDS
        while again and time.monotonic() < deadline:
            try:
                await self._drop_session()
                await self._ensure_session(deadline)
                await self._attempt(again, deadline)
            except (ConnectionLost, ServerRefused, StoreUnavailable):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                return
        _settle_all(again, OutcomeUnknown())

    async def _attempt(self, asked: AskedCalls, deadline: float) -> None:
        """Send one flush and settle its calls.

        Raises:
            ConnectionLost: it may have been done.
            ServerRefused: nothing was done.
        """
        session = self._session
        assert session is not None
        if isinstance(asked[0].work, Restore):
            await self._restore(session, asked[0], asked[0].work, deadline)
            return
        flush = Flush(asked, self._terms, None if self._clock is None else to_micros(self._clock.now()))
        if self._fault is None:
            _mark_sent(asked)
            results = await session.exchange(flush.sendings(), deadline=deadline)
        else:
            results = await self._exchange_in_steps(session, flush, asked, deadline)
        if session.was_warned:
            # Committed here, while a standby that was to have it too did not say so.
            _settle_all(asked, OutcomeUnknown())
            return
        last_seq, replies = flush.replies(results)
        self._wakeups.announce(last_seq)
        try:
            self._reach(CrashPoint.AFTER_COMMIT_BEFORE_REPLY)
        except Exception:  # noqa: BLE001 - a reply that is lost on its way leaves its caller in doubt
            _settle_all(asked, OutcomeUnknown())
        _settle_in_turns(replies)

    async def _exchange_in_steps(
        self, session: PostgresSession, flush: Flush, asked: AskedCalls, deadline: float
    ) -> list[list[Row]]:
        """Do the same in several messages, so that something can fail in between."""
        try:
            self._reach(CrashPoint.BEFORE_BEGIN)
            await session.run(b"BEGIN", deadline=deadline)
            self._reach(CrashPoint.BEFORE_APPEND)
            results = [await session.fetch(*sending, deadline=deadline) for sending in flush.sendings()]
            self._reach(CrashPoint.AFTER_APPEND_BEFORE_COMMIT)
            _mark_sent(asked)
            await session.run(b"COMMIT", deadline=deadline)
        except BaseException:
            await self._drop_session()  # and with it the transaction
            raise
        return results

    async def _restore(self, session: PostgresSession, asked: AskedWork, work: Restore, deadline: float) -> None:
        asked.is_sent = True
        try:
            asked.settle(await restore(session, work.restorings, self._terms, deadline=deadline))
        except ServerRefused:
            await self._drop_session()  # and with it the transaction that failed
            raise

    async def _ensure_session(self, deadline: float) -> None:
        if self._session is None:
            self._session = await self._connect(deadline)

    async def _drop_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _reach(self, point: CrashPoint) -> None:
        if self._fault is not None:
            self._fault(point)


def _in_time(asked: AskedCalls) -> AskedCalls:
    """Return the calls that may still be sent, and refuse the others."""
    now = time.monotonic()
    _settle_all([one for one in asked if one.deadline <= now], waited_too_long())
    return [one for one in asked if not one.future.done()]


def _in_doubt(error: Exception) -> OutcomeUnknown:
    unknown = OutcomeUnknown()
    unknown.__cause__ = error
    return unknown


def _mark_sent(asked: AskedCalls) -> None:
    for one in asked:
        one.is_sent = True


def _settle_in_turns(replies: Sequence[tuple[AskedWork, object]]) -> None:
    """Settle half of a small flush, or some of a large one, and the others in the next rounds of the event loop.

    So the next flush is on its way with what the first ones ask for, while the others still think.
    """
    turn = max(_LEAST_TURN, min(len(replies) // 2, _LONGEST_TURN))
    for one, reply in replies[:turn]:
        one.settle(reply)
    if len(replies) > turn:
        asyncio.get_running_loop().call_soon(_settle_in_turns, replies[turn:])


def _settle_all(asked: Sequence[AskedWork], reply: object) -> None:
    for one in asked:
        one.settle(reply)
