"""Fuzzing finds what it looks for, and begins with what the parsers know."""

import json
import random
import time
from collections.abc import Callable
from itertools import islice

import pytest

from proofs.fuzz import mutating
from proofs.fuzz.connection import same_whatever_cuts
from proofs.fuzz.mutating import fault_of, fuzz
from proofs.fuzz.targets import TARGETS, Target


def raise_on_a_brace(data: bytes) -> None:
    if b"{" in data:
        raise ValueError


def work_for_long(_data: bytes) -> None:
    ends = time.process_time() + mutating.SECONDS_ALLOWED + 0.1
    while time.process_time() < ends:
        pass


@pytest.mark.parametrize(("attempt", "told"), [(raise_on_a_brace, "ValueError"), (work_for_long, "took 2.")])
def test_what_a_parser_must_not_do_is_told_with_the_input(attempt: Callable[[bytes], None], told: str) -> None:
    fault = fault_of(attempt, b"{}")
    assert fault is not None
    assert fault.startswith("b'{}'")
    assert told in fault


def test_what_it_may_do_is_not() -> None:
    assert fault_of(raise_on_a_brace, b"[]") is None


@pytest.mark.parametrize("name", TARGETS)
def test_what_fuzzing_begins_with_is_no_fault(name: str) -> None:
    assert [fault_of(TARGETS[name].attempt, data) for data in TARGETS[name].seeds] == [None] * len(TARGETS[name].seeds)


def test_a_seed_repeats_all_inputs() -> None:
    seen: list[list[bytes]] = []
    for _ in range(2):
        inputs: list[bytes] = []
        fuzz(Target(inputs.append, (b"{}", b"[1]")), 0.05, random.Random(7))
        seen.append(inputs[:200])
    shorter = min(map(len, seen))
    assert shorter > 10
    assert list(islice(seen[0], shorter)) == list(islice(seen[1], shorter))


def test_a_fault_that_is_rare_is_found_soon() -> None:
    tried, faults = fuzz(Target(json.loads, (b'{"a": [1, 2, {"b": "c"}]}',)), 0.5, random.Random(1))
    assert 0 < len(faults) <= tried


def test_two_readers_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    request = b"\x02POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n"
    same_whatever_cuts(request)
    monkeypatch.setattr("proofs.fuzz.connection.StrictHead.feed", lambda _strict, data: data)
    with pytest.raises(Exception, match="Transfer-Encoding"):
        same_whatever_cuts(request)
