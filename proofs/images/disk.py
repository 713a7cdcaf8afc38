"""A disk that forgets what was not synced: some of it, any of it, torn, and in any order."""

import dataclasses
import random
from collections.abc import Mapping
from typing import Final, TypeAlias, assert_never

SECTOR_BYTES: Final = 512


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """Bytes were handed over."""

    file: str
    offset: int
    data: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Truncated:
    """A file was cut."""

    file: str
    length: int


@dataclasses.dataclass(frozen=True, slots=True)
class Deleted:
    """A file was removed; ``durable``: and its folder synced."""

    file: str
    durable: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Synced:
    """All that was handed over for a file before is kept from now on; ``folder``: and which files there are, too."""

    file: str
    folder: bool = False


Change: TypeAlias = Written | Truncated | Deleted
Step: TypeAlias = Change | Synced

_Content: TypeAlias = bytearray | None


class Disk:
    """Files as they would surely be found after a power cut now, and the changes of which nobody knows."""

    def __init__(self) -> None:
        self._kept: dict[str, _Content] = {}
        self._unsure: dict[str, list[Change]] = {}

    def copy(self) -> "Disk":
        """Return a disk in the same state."""
        other = Disk()
        other._kept = {file: None if kept is None else bytearray(kept) for file, kept in self._kept.items()}
        other._unsure = {file: list(changes) for file, changes in self._unsure.items()}
        return other

    def take(self, step: Step) -> None:
        """Let a step happen."""
        if isinstance(step, Synced):
            self._keep(step.file, self._unsure.pop(step.file, []))
            if step.folder:
                self._keep_deletions()
            return
        self._unsure.setdefault(step.file, []).append(step)
        if isinstance(step, Deleted) and step.durable:
            self._keep(step.file, self._unsure.pop(step.file))

    def _keep(self, file: str, changes: list[Change]) -> None:
        content = self._kept.get(file)
        for change in changes:
            content = _changed(content, change)
        self._kept[file] = content

    def _keep_deletions(self) -> None:
        for file, changes in self._unsure.items():
            deletions = [index for index, change in enumerate(changes) if isinstance(change, Deleted)]
            if deletions:
                self._keep(file, changes[: deletions[-1] + 1])
                del changes[: deletions[-1] + 1]

    def files_now(self) -> dict[str, bytes]:
        """Return the files as a process sees them that runs on, or that comes after a kill."""
        return self._files({file: list(changes) for file, changes in self._unsure.items()})

    def files_after_a_cut(self, choices: random.Random) -> tuple[dict[str, bytes], bool]:
        """Return the files as they may be found after a power cut, and whether anything was forgotten."""
        survivors = {file: _survivors(changes, choices) for file, changes in self._unsure.items()}
        forgotten = any(survivors[file] != changes for file, changes in self._unsure.items())
        return self._files(survivors), forgotten

    def _files(self, changes_of: Mapping[str, list[Change]]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for file in {**self._kept, **changes_of}:
            kept = self._kept.get(file)
            content = None if kept is None else bytearray(kept)
            for change in changes_of.get(file, ()):
                content = _changed(content, change)
            if content is not None:
                found[file] = bytes(content)
        return found


def _changed(content: _Content, change: Change) -> _Content:
    match change:
        case Written(offset=offset, data=data):
            content = bytearray() if content is None else content
            content.extend(bytes(max(offset - len(content), 0)))
            content[offset : offset + len(data)] = data
            return content
        case Truncated(length=length):
            content = bytearray() if content is None else content
            content.extend(bytes(max(length - len(content), 0)))
            del content[length:]
            return content
        case Deleted():
            return None
        case _:
            assert_never(change)


def _survivors(changes: list[Change], choices: random.Random) -> list[Change]:
    """Choose what of the unsynced changes reaches the disk, and in which order."""
    fate = choices.randrange(8)
    if fate == 0:
        return []
    if fate == 1:
        return list(changes)
    if fate in {2, 3}:
        first = changes[: choices.randrange(len(changes) + 1)]
        return first[:-1] + _torn(first[-1], choices) if first else []
    odds = choices.random()
    found: list[Change] = []
    for change in changes:
        if choices.random() < odds:
            found += [change] if choices.random() < 0.7 else _torn(change, choices)
    if choices.random() < 0.5:
        choices.shuffle(found)
    return found


def _torn(change: Change, choices: random.Random) -> list[Change]:
    """Return those of a write's sectors that reached the disk; a small write inside one sector is not torn."""
    if not isinstance(change, Written):
        return [change]
    found: list[Change] = []
    position, end = change.offset, change.offset + len(change.data)
    while position < end:
        border = min((position // SECTOR_BYTES + 1) * SECTOR_BYTES, end)
        if choices.random() < 0.5:
            found.append(Written(change.file, position, change.data[position - change.offset : border - change.offset]))
        position = border
    return found
