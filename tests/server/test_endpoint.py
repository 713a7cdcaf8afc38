"""The one order of checks: whatever else is wrong with a request, the first check that fails answers it."""

from collections.abc import Iterator
from itertools import combinations

import pytest

from pausemesh.server.app import OPERATIONS
from pausemesh.server.openapi import codes_of
from tests.server.answers import Reply, require_problem, require_valid
from tests.server.calls import VALID, Givens, Wish
from tests.server.checks import Check, all_checks
from tests.server.harness import RunningServer

BY_NAME = {operation.name: operation for operation in OPERATIONS}
OF_NO_OPERATION = {"NOT_FOUND", "METHOD_NOT_ALLOWED"}
ANSWERS_A_MINUTE = 500


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with RunningServer(mutations_per_minute=ANSWERS_A_MINUTE) as running:
        with running.client("editor", name="hasty") as hasty:
            for _ in range(ANSWERS_A_MINUTE):
                hasty.call("POST", "/v1/continuations/unknown/answer", headers={})
        yield running


@pytest.fixture(scope="module")
def given(server: RunningServer) -> Givens:
    return Givens(server)


def send(server: RunningServer, wish: Wish) -> Reply:
    with server.wire() as wire:
        return wire.send(wish.wire()).reply()


def spoilt(name: str, given: Givens, *checks: Check) -> Wish:
    """Return a request that fails these checks and no other; what it is about comes first, since others build on it."""
    wish = VALID[name](given)
    wish.key = given.key(wish.role)
    for check in sorted(checks, key=lambda check: (check.part != "object", -check.rank)):
        check.spoil(wish, given)
    return wish


def test_there_is_a_good_request_for_every_operation() -> None:
    assert VALID.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", VALID)
def test_a_request_with_nothing_wrong_is_served(server: RunningServer, given: Givens, name: str) -> None:
    wish = spoilt(name, given)
    reply = send(server, wish)
    assert reply.status in BY_NAME[name].gives
    if name != "followEvents":  # it has no end
        require_valid(wish.method, wish.path, wish.headers, b"", reply)


@pytest.mark.parametrize("name", VALID)
def test_each_check_answers_as_it_must(server: RunningServer, given: Givens, name: str) -> None:
    for check in all_checks(BY_NAME[name]):
        before = server.last_seq
        wish = spoilt(name, given, check)
        written = server.last_seq - before
        reply = send(server, wish)
        assert (check.part, reply.outcome) == (check.part, check.outcome)
        assert reply.code in {*codes_of(BY_NAME[name]), *OF_NO_OPERATION}
        require_problem(reply)
        expiry = int(check.outcome[0] == 410)  # that the time has passed is recorded, the attempt is not
        assert written <= server.last_seq - before <= written + expiry, check


@pytest.mark.parametrize("name", VALID)
def test_of_two_checks_that_fail_the_earlier_one_answers(server: RunningServer, given: Givens, name: str) -> None:
    others = {}
    for one, other in combinations(all_checks(BY_NAME[name]), 2):
        first, second = sorted((one, other), key=lambda check: check.rank)
        if first.rank == second.rank or first.part == second.part:
            continue
        outcome = send(server, spoilt(name, given, first, second)).outcome
        if outcome != first.outcome:
            others[f"{first.rank.name} {first.outcome} {first.part} before {second.rank.name} {second.part}"] = outcome
    assert others == {}
