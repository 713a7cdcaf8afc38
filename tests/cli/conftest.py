"""The command in this process, on a database of its own."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pausemesh
from pausemesh.cli import main
from tests.environment import without_settings

BOT = pausemesh.Principal(id="travel-agent", role=pausemesh.Role.AGENT)
ANA = pausemesh.Principal(id="ana", role=pausemesh.Role.EDITOR)
FLIGHT: Any = {
    "message": "Which flight?",
    "responseSchema": {
        "type": "object",
        "properties": {"flight": {"enum": ["AZ1", "AZ2"]}, "note": {"type": "string", "maxLength": 5}},
        "required": ["flight"],
        "additionalProperties": False,
    },
}
BOOKING: Any = {
    "message": "Book it?",
    "action": {"name": "book_flight", "arguments": {"flight": "AZ1", "seats": 2}},
}


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def problem(self) -> Any:
        return json.loads(self.err)


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command runs, without any setting of PauseMesh."""
    for name in os.environ.keys() - without_settings().keys():
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database that the environment names."""
    monkeypatch.setenv("PAUSEMESH_DATABASE_PATH", str(folder / "q.db"))
    return folder / "q.db"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command with these words."""

    def run(*words: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, printed.out, printed.err)

    return run


def ask(database: Path, payload: Any = None, **options: Any) -> pausemesh.CreatedContinuation:
    """Ask a question as an agent does."""
    with pausemesh.open_sync(database) as mesh:
        return mesh.create(payload=FLIGHT if payload is None else payload, **{"by": BOT, **options})
