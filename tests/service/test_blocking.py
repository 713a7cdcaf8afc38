"""The blocking twin: the same methods, the same outcomes, for any number of threads, and refused after a fork."""

import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import pausemesh
from pausemesh.service.asks import Asked
from pausemesh.service.blocking import BlockingAsked, BlockingMesh, BlockingTurn
from pausemesh.service.mesh import Mesh
from pausemesh.service.turn import Turn
from tests.service.conftest import ANA


def public(kind: type) -> dict[str, object]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_every_method_has_its_twin_with_the_same_parameters_and_words() -> None:
    for kind, twin, only in (
        (Mesh, BlockingMesh, {"changes", "close", "fenced", "in_scope", "scope"}),
        (Turn, BlockingTurn, {"answer", "continuation"}),
    ):
        assert public(kind).keys() ^ public(twin).keys() == only
        for name, method in public(twin).items():
            if callable(method):
                original = getattr(kind, name)
                assert list(inspect.signature(method).parameters) == list(inspect.signature(original).parameters)
                assert method.__doc__ == original.__doc__
    assert public(BlockingAsked).keys() == {"wait"}
    assert inspect.signature(BlockingAsked.wait) == inspect.signature(Asked.answer)


def test_a_script_asks_and_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mesh.db'}"
    booked: list[str] = []

    def desk() -> None:
        with pausemesh.open_sync(url) as mesh:
            while not (page := mesh.list(status="pending")).continuations:
                pass
            mesh.answer(page.continuations[0].id, by=ANA, idempotency_key="k", payload="AZ1")

    with pausemesh.open_sync(url) as mesh:
        answering = threading.Thread(target=desk)
        answering.start()
        with mesh.ask("Which?", answer=str, key="trip") as turn:
            assert (turn.answer, turn.fence, turn.continuation.status) == ("AZ1", 1, "resumed")
            assert turn.worker.startswith("w_")
            turn.effect("book", arguments={"flight": turn.answer}, run=lambda flight: booked.append(flight))
            turn.done("booked")
        answering.join()
        assert mesh.ask("Which?", answer=str, key="trip").wait() == "AZ1"
        with pytest.raises(pausemesh.ClaimDone):
            mesh.ask("Which?", answer=str, key="trip").__enter__()
    assert booked == ["AZ1"]


def test_claims_effects_and_the_rest_work_without_a_loop() -> None:
    with pausemesh.open_sync("memory:") as mesh:
        created = mesh.create(payload="?", queue="q", expires_in=timedelta(days=1))
        noun_id = created.continuation.id
        again = mesh.reissue_token(noun_id)
        assert again.resume_token is not None
        mesh.resume(noun_id, token=again.resume_token, idempotency_key="k", payload=1)
        assert mesh.wait(noun_id).status == mesh.inspect(noun_id).status == "resumed"
        with pytest.raises(RuntimeError), mesh.claim(noun_id) as turn:
            turn.effect("book", run=_boom)
        assert mesh.resolve_effect(noun_id, "book", "not_done", evidence="none").status == "failed"
        with mesh.claim_next("q") as turn:
            turn.release()
        assert len(mesh.effects(noun_id)) == 1
        assert len(mesh.history(noun_id)) == 3
        assert mesh.sweep() == 0
        assert mesh.cancel(mesh.create(payload="?").continuation.id).continuation.status == "cancelled"


def _boom() -> None:
    raise RuntimeError


def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
    with pausemesh.open_sync(f"sqlite:///{tmp_path / 'mesh.db'}") as mesh:
        child = os.fork()
        if child == 0:
            try:
                mesh.create(payload="?")
            except pausemesh.ForkedMesh:
                os._exit(42)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
        assert mesh.create(payload="?").continuation.status == "pending"


def test_a_call_in_another_process_than_the_loops_is_refused_and_leaves_no_coroutine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pausemesh.open_sync("memory:") as mesh:
        here = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: here + 1)
        with pytest.raises(pausemesh.ForkedMesh):
            mesh.create(payload="?")
        opening = pausemesh.open_sync("memory:")
        opening._loop = mesh._loop  # noqa: SLF001 - what a child must leave alone
        with pytest.raises(pausemesh.ForkedMesh):
            opening.__exit__(None, None, None)
        opening.__exit__(ValueError, ValueError(), None)
        monkeypatch.undo()
        assert mesh.create(payload="?").continuation.status == "pending"


def test_no_thread_is_left_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    for _ in range(3):
        with pausemesh.open_sync(f"sqlite:///{tmp_path / 'mesh.db'}") as mesh:
            mesh.create(payload="?")
    assert threading.active_count() == before


def test_a_mesh_that_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    for target in ("postgresql://nowhere", "sqlite:///", f"sqlite:///{tmp_path}", "mysql://x", ""):
        with pytest.raises(pausemesh.PauseMeshError), pausemesh.open_sync(target):
            pass
    assert threading.active_count() == before


def decided(mesh: BlockingMesh, **given: Any) -> str:
    """Ask and answer, and return the question's id."""
    asked = mesh.create(payload="?", **given)
    assert asked.resume_token is not None
    mesh.resume(asked.continuation.id, token=asked.resume_token, idempotency_key="k", payload="yes")
    return asked.continuation.id


def until(seen: Callable[[], object]) -> None:
    """Wait for what another thread brings about."""
    ends = time.monotonic() + 10
    while not seen():
        assert time.monotonic() < ends, "it did not come"
        time.sleep(0)


def claim_status(mesh: BlockingMesh, noun_id: str) -> str | None:
    claim = mesh.inspect(noun_id).claim
    return None if claim is None else claim.status


def test_eight_threads_use_one_mesh_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def work(number: int) -> list[object]:
        together.wait()
        results: list[object] = []
        for _ in range(5):
            noun_id = decided(mesh, queue=f"q{number}")
            with mesh.claim_next(f"q{number}") as turn:
                assert turn.continuation.id == noun_id
                results.append(turn.effect("book", arguments={"n": number}, run=lambda n: n))
        return results

    with pausemesh.open_sync(tmp_path / "mesh.db") as mesh, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [[number] * 5 for number in range(8)]


def test_the_end_of_the_block_sends_away_the_threads_that_are_inside_calls() -> None:
    came: dict[str, object] = {}
    running, go_on = threading.Event(), threading.Event()

    def calling(name: str, work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                came[name] = work()
            except BaseException as error:  # noqa: BLE001 - it is looked at below
                came[name] = type(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def book() -> None:
        running.set()
        go_on.wait()

    def act() -> None:
        with mesh.claim(noun_id) as turn:
            turn.effect("book", run=book)

    store = pausemesh.MemoryEventStore(pausemesh.SystemClock())
    with pausemesh.open_sync(store) as mesh:
        noun_id = decided(mesh)
        open_id = mesh.create(payload="?").continuation.id
        told = threading.Event()
        threads = [
            calling("wait", lambda: mesh.wait(open_id)),
            calling("claim_next", mesh.claim_next("nothing").__enter__),
            calling("ask", mesh.ask("?", answer=str, key="k", notify=lambda _: told.set()).wait),
            calling("effect", act),
        ]
        assert running.wait(10)
        assert told.wait(10)
    for thread in threads:
        thread.join(10)
    assert came == dict.fromkeys(("wait", "claim_next", "ask", "effect"), pausemesh.StoreClosed)
    with pausemesh.open_sync(store) as mesh:
        assert claim_status(mesh, noun_id) == "open"
        assert [effect.status for effect in mesh.effects(noun_id)] == ["unknown"]
    go_on.set()


def test_the_end_of_the_block_under_load_hangs_nobody(tmp_path: Path) -> None:
    began = threading.Semaphore(0)

    def ask_for_ever() -> None:
        while True:
            mesh.create(payload="?")
            began.release()

    with ThreadPoolExecutor(8) as threads:
        with pausemesh.open_sync(tmp_path / "mesh.db") as mesh:
            asking = [threads.submit(ask_for_ever) for _ in range(8)]
            for _ in range(8):
                assert began.acquire(timeout=10)
        assert [type(one.exception(10)) for one in asking] == [pausemesh.StoreClosed] * 8


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_whatever_an_effect_raises_arrives_at_the_caller_and_the_mesh_goes_on(error: BaseException) -> None:
    def run() -> None:
        raise error

    async def run_in_the_loop() -> None:
        raise error

    with pausemesh.open_sync("memory:") as mesh:
        for effect in (run, run_in_the_loop):
            noun_id = decided(mesh)
            with pytest.raises(type(error)), mesh.claim(noun_id) as turn:
                turn.effect("book", run=effect)
            assert [effect.status for effect in mesh.effects(noun_id)] == ["unknown"]


def test_an_effect_that_raises_stop_iteration_hangs_nobody() -> None:
    with pausemesh.open_sync("memory:") as mesh:
        noun_id = decided(mesh)
        with pytest.raises(RuntimeError), mesh.claim(noun_id) as turn:
            turn.effect("book", run=lambda: next(iter(())))
        assert [effect.status for effect in mesh.effects(noun_id)] == ["unknown"]


def test_a_plain_effect_may_use_the_mesh_and_a_coroutine_may_not() -> None:
    with pausemesh.open_sync("memory:") as mesh:
        noun_id = decided(mesh)

        async def look() -> int:
            return mesh.inspect(noun_id).version

        with mesh.claim(noun_id) as turn:
            assert turn.effect("look", run=lambda: mesh.inspect(noun_id).version) == 2
            with pytest.raises(pausemesh.InvalidRequest, match="make it a plain function"):
                turn.effect("await", run=look)
            turn.release()


def test_an_interrupt_of_an_effect_leaves_it_in_doubt_and_gives_the_claim_back() -> None:
    go_on = threading.Event()

    def run() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait()

    with pausemesh.open_sync("memory:") as mesh:
        noun_id = decided(mesh)
        with pytest.raises(KeyboardInterrupt), mesh.claim(noun_id) as turn:
            turn.effect("book", run=run)
        assert [effect.status for effect in mesh.effects(noun_id)] == ["unknown"]
        assert claim_status(mesh, noun_id) == "open"
        go_on.set()


class Interrupting:
    """An observer that interrupts the main thread when a claim is taken."""

    def observe(self, observation: pausemesh.Observation) -> None:
        if (observation.noun, observation.status) == ("claim", "held"):
            os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_while_a_claim_is_taken_leaves_nobody_who_renews_it() -> None:
    with pausemesh.open_sync("memory:", observer=Interrupting()) as mesh:
        for _ in range(50):
            noun_id = decided(mesh)
            with pytest.raises(KeyboardInterrupt), mesh.claim(noun_id):
                until(lambda: False)
            assert claim_status(mesh, noun_id) == "open"


def test_a_claim_whose_block_and_turn_are_lost_is_given_back() -> None:
    with pausemesh.open_sync("memory:") as mesh:
        noun_id = decided(mesh)
        turn = mesh.claim(noun_id).__enter__()
        assert claim_status(mesh, noun_id) == "held"
        assert turn.effect("book", run=lambda: 1) == 1
        del turn
        until(lambda: claim_status(mesh, noun_id) == "open")


def test_a_mesh_and_its_turns_are_refused_after_the_block() -> None:
    with pausemesh.open_sync("memory:") as mesh:
        claim = mesh.claim(decided(mesh))
        turn = claim.__enter__()
    for call in (
        lambda: mesh.create(payload="?"),
        lambda: mesh.inspect("q_1"),
        lambda: mesh.ask("?", answer=str, key="k").wait(),
        lambda: mesh.claim("q_1").__enter__(),
        lambda: turn.effect("book", run=lambda: 1),
        lambda: turn.done(),
        lambda: claim.__exit__(None, None, None),
    ):
        with pytest.raises(pausemesh.StoreClosed):
            call()
    claim.__exit__(ValueError, ValueError(), None)


EXITING = """
    import contextlib, pathlib, sys, threading
    import pausemesh

    opening = pausemesh.open_sync(pathlib.Path("mesh.db"))
    mesh = opening.__enter__()
    asked = mesh.create(payload="?")
    mesh.resume(asked.continuation.id, token=asked.resume_token, idempotency_key="k", payload=1)
    claim = mesh.claim(asked.continuation.id)
    turn = claim.__enter__()
    running = threading.Event()

    def book():
        running.set()
        threading.Event().wait()

    @contextlib.contextmanager
    def closed():
        with contextlib.suppress(pausemesh.StoreClosed):
            yield

    threading.Thread(target=closed()(lambda: turn.effect("book", run=book)), daemon=True).start()
    threading.Thread(target=closed()(lambda: mesh.claim_next("q").__enter__()), daemon=True).start()
    running.wait()
"""


@pytest.mark.parametrize(("end", "code"), [("", 0), ("sys.exit(3)", 3), ("opening.__exit__(None, None, None)", 0)])
def test_the_interpreter_ends_with_an_open_mesh_and_functions_that_never_return(
    tmp_path: Path, end: str, code: int
) -> None:
    script = textwrap.dedent(EXITING) + end
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [line for line in ended.stderr.splitlines() if not line.startswith("Executing ")]  # a slow machine
    assert (ended.returncode, said) == (code, [])
