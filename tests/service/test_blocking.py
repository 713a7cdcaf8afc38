"""The blocking twin: the same methods, the same outcomes, and refused after a fork."""

import inspect
import os
import threading
from datetime import timedelta
from pathlib import Path

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
    for kind, twin, only in ((Mesh, BlockingMesh, {"close"}), (Turn, BlockingTurn, {"answer", "continuation"})):
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
        loop = mesh._loop  # noqa: SLF001 - what a child must leave alone
        loop.close()
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
