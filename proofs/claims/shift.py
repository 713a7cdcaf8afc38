"""A shift: workers at work until all is done, with one killed and replaced, or stopped for a while, now and then."""

import dataclasses
import functools
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import apsw

from proofs.children import Child, ChildError, Family, Line, heard, one_from_each
from proofs.claims.worker import FILE, Job, work

WORKERS: Final = 8
_SECONDS_STOPPED: Final = 1.5
"""Longer than a lease."""

_FEWEST_AT_WORK: Final = 3
_LINES_UNTIL_AT_WORK: Final = 8
_LINES_UNTIL_AWAKE: Final = 16
_SECONDS_BETWEEN_LOOKS: Final = 0.2
_SECONDS_WITHOUT_PROGRESS: Final = 120.0
_UNDONE: Final = "SELECT count(*) FROM heads WHERE queue IS NOT NULL AND done_at IS NULL"


class Shift:
    """Workers of one file.

    Args:
        family: starts and ends them.
        job: what they do.
        rounds: how many claims there are.
        choices: who is hit.

    Attributes:
        counted: what they said, and what was done to them.
    """

    def __init__(self, family: Family, job: Job, rounds: int, choices: random.Random) -> None:
        self._family = family
        self._job = job
        self._rounds = rounds
        self._choices = choices
        self._stopped: dict[Child, float] = {}
        self._awaking: set[Child] = set()
        self._said: Counter[Child] = Counter()
        self.counted: Counter[str] = Counter()
        self._workers = [self._new_worker() for _ in range(WORKERS)]

    def run(self, troubles: list[tuple[int, str]]) -> None:
        """Work until all is done; a trouble (``kill`` or ``stop``) comes once so many claims are done."""
        coming: list[tuple[int, Callable[[], None]]] = [
            (after, self._kill_one if what == "kill" else self._stop_one) for after, what in sorted(troubles)
        ]
        one_from_each(self._workers, "ready")
        for worker in self._workers:
            worker.tell(go=True)
        heard_last = time.monotonic()
        while not self._is_over():
            lines = heard(self._workers, _SECONDS_BETWEEN_LOOKS)
            heard_last = time.monotonic() if lines else heard_last
            self._hear(lines)
            if coming and coming[0][0] <= self.counted["done"] and len(self._at_work()) >= _FEWEST_AT_WORK:
                _, trouble = coming.pop(0)
                trouble()
            self._wake_who_slept_enough()
            if time.monotonic() - heard_last > _SECONDS_WITHOUT_PROGRESS or any(one.ended for one in self._workers):
                raise ChildError(f"workers ended or fell silent: {self.counted}")
        for worker in self._workers:
            self._count(worker.kill())

    def _new_worker(self) -> Child:
        """Start one; who comes late does not go through what the others have passed."""
        self.counted["started"] += 1
        name = f"w{self.counted['started']}"
        first = len(self._job.contested) * self.counted["done"] // self._rounds
        job = dataclasses.replace(self._job, contested=self._job.contested[first:])
        return self._family.fork(name, functools.partial(work, job=job, name=name))

    def _hear(self, lines: list[tuple[Child, Line]]) -> None:
        self._count([line for _, line in lines])
        for worker, line in lines:
            self._said[worker] += 1
            if {"lost", "idle"} & line.keys() or self._said[worker] >= _LINES_UNTIL_AWAKE:
                self._awaking.discard(worker)

    def _count(self, lines: list[Line]) -> None:
        for line in lines:
            for what, value in line.items():
                self.counted[what] += 1
                if what in {"lost", "refused", "doubt"}:
                    self.counted[f"{what} {value}"] += 1

    def _is_over(self) -> bool:
        """Tell whether all is done; looked up only when somebody found nothing to do."""
        if self._stopped or self._awaking or not self.counted["idle"]:
            return False
        self.counted["idle"] = 0
        connection = apsw.Connection(str(self._job.folder / FILE), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return bool(connection.execute(_UNDONE).get == 0)
        finally:
            connection.close()

    def _kill_one(self) -> None:
        victim = self._choices.choice(self._at_work())
        self._count(victim.kill())
        self.counted["killed"] += 1
        successor = self._new_worker()
        successor.tell(go=True)
        self._workers[self._workers.index(victim)] = successor
        self._family.forget(victim)
        del self._said[victim]

    def _at_work(self) -> list[Child]:
        """Return who can be hit: who is busy, and has seen what happened while it was stopped, if it was."""
        candidates = [one for one in self._workers if one not in self._stopped and one not in self._awaking]
        return [one for one in candidates if self._said[one] >= _LINES_UNTIL_AT_WORK]

    def _stop_one(self) -> None:
        victim = self._choices.choice(self._at_work())
        victim.send(signal.SIGSTOP)
        self.counted["stopped"] += 1
        self._stopped[victim] = time.monotonic() + _SECONDS_STOPPED

    def _wake_who_slept_enough(self) -> None:
        for worker in [one for one, until in self._stopped.items() if until <= time.monotonic()]:
            worker.send(signal.SIGCONT)
            del self._stopped[worker]
            self._awaking.add(worker)
            self._said[worker] = 0
