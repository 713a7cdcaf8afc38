"""Children are heard to their last word, and none of them outlives its block."""

import os
import signal

import pytest

from proofs.children import ChildError, Family, Voice, heard, in_lanes, lines_of, one_from_each


def say_and_wait(voice: Voice) -> None:
    voice.say(pid=os.getpid())
    voice.hear()
    voice.say(heard=True)


def fail(voice: Voice) -> None:
    raise ValueError("on purpose")


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_child_is_heard_and_told() -> None:
    with Family() as family:
        children = [family.fork(f"child {number}", say_and_wait) for number in range(3)]
        assert [line["pid"] for line in one_from_each(children, "pid")] == [child.pid for child in children]
        for child in children:
            child.tell(go=True)
        assert one_from_each(children, "heard") == [{"heard": True}] * 3
        assert [child.reap() for child in children] == [0, 0, 0]


def test_a_killed_child_is_reaped_and_its_last_words_are_known() -> None:
    with Family() as family:
        child = family.fork("child", say_and_wait)
        heard([child], 0)
        said = [*child.kill()]
        assert child.reap() == -signal.SIGKILL
        assert said in ([], [{"pid": child.pid}])
        assert is_gone(child.pid)


def test_no_child_outlives_its_block_even_if_that_fails_or_the_child_is_stopped() -> None:
    pids: list[int] = []

    def fail_with_children() -> None:
        with Family() as family:
            pids.extend(family.fork(name, say_and_wait).pid for name in ("running", "stopped"))
            os.kill(pids[1], signal.SIGSTOP)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_with_children()
    assert [is_gone(pid) for pid in pids] == [True, True]


def test_a_child_that_fails_is_no_silent_child() -> None:
    with Family() as family, pytest.raises(ChildError, match="on purpose"):
        list(lines_of(family.fork("child", fail)))


def test_a_child_that_says_something_else_is_found_out() -> None:
    with Family() as family, pytest.raises(ChildError, match="did not say wanted"):
        one_from_each([family.fork("child", say_and_wait)], "wanted")


def test_lanes_do_their_shares_in_processes_of_their_own() -> None:
    found = in_lanes(lambda lane: {"lane": lane, "pid": os.getpid(), "long": "x" * 200_000}, 3)
    assert [line["lane"] for line in found] == [0, 1, 2]
    assert len({line["pid"] for line in found} | {os.getpid()}) == 4


def test_a_lane_that_fails_fails_them_all() -> None:
    with pytest.raises(ChildError, match="ZeroDivisionError"):
        in_lanes(lambda lane: {"result": 1 // lane}, 2)
