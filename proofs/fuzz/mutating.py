"""Fuzzing without a guide: seeded mutations of what the parsers know, and of what they made of it before."""

import random
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Final

from proofs.fuzz.seeds import WORDS
from proofs.fuzz.targets import Target

SECONDS_ALLOWED: Final = 2.0
"""How much of a processor one input may cost at most."""

_LONGEST_BYTES: Final = 100_000
_REPEATS: Final = (2, 3, 17, 256, 5_000)
_SHOWN_BYTES: Final = 300


def fuzz(target: Target, seconds: float, choices: random.Random) -> tuple[int, list[str]]:
    """Try mutations for so long; return how many, and what went wrong with which of them."""
    ends, tried, faults = time.monotonic() + seconds, 0, list[str]()
    for data in _inputs(target.seeds, choices):
        if time.monotonic() >= ends:
            break
        tried += 1
        fault = fault_of(target.attempt, data)
        if fault is not None:
            faults.append(fault)
    return tried, faults


def fault_of(attempt: Callable[[bytes], None], data: bytes) -> str | None:
    """Try an input; what is wrong with it, None for nothing."""
    begun = time.process_time()
    try:
        attempt(data)
    except Exception:  # noqa: BLE001 - this is what is looked for
        return f"{shown(data)}\n{traceback.format_exc()}"
    seconds = time.process_time() - begun
    return f"{shown(data)} took {seconds:.1f} s" if seconds > SECONDS_ALLOWED else None


def shown(data: bytes) -> str:
    """Return an input as a message has it: whole where it is short."""
    more = "" if len(data) <= _SHOWN_BYTES else f"… ({len(data)} bytes)"
    return f"{data[:_SHOWN_BYTES]!r}{more}"


def _inputs(seeds: tuple[bytes, ...], choices: random.Random) -> Iterator[bytes]:
    yield from seeds
    while True:
        data = choices.choice(seeds)
        for _ in range(choices.choice((1, 1, 2, 3, 8))):
            data = choices.choice(_MUTATIONS)(data, seeds, choices)[:_LONGEST_BYTES]
        yield data


def _flip(data: bytes, _seeds: tuple[bytes, ...], choices: random.Random) -> bytes:
    if not data:
        return choices.randbytes(1)
    at = choices.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << choices.randrange(8)]) + data[at + 1 :]


def _insert(data: bytes, _seeds: tuple[bytes, ...], choices: random.Random) -> bytes:
    at = choices.randint(0, len(data))
    word = choices.choice(WORDS) if choices.random() < 0.8 else choices.randbytes(choices.randint(1, 4))
    return data[:at] + word + data[at:]


def _delete(data: bytes, _seeds: tuple[bytes, ...], choices: random.Random) -> bytes:
    first, last = sorted(choices.randint(0, len(data)) for _ in range(2))
    return data[:first] + data[last:]


def _repeat(data: bytes, _seeds: tuple[bytes, ...], choices: random.Random) -> bytes:
    first, last = sorted(choices.randint(0, len(data)) for _ in range(2))
    times = min(choices.choice(_REPEATS), _LONGEST_BYTES // max(1, last - first))
    return data[:first] + data[first:last] * times + data[last:]


def _splice(data: bytes, seeds: tuple[bytes, ...], choices: random.Random) -> bytes:
    other = choices.choice(seeds)
    first, last = sorted(choices.randint(0, len(other)) for _ in range(2))
    at = choices.randint(0, len(data))
    return data[:at] + other[first:last] + data[at:]


def _overwrite(data: bytes, _seeds: tuple[bytes, ...], choices: random.Random) -> bytes:
    word, at = choices.choice(WORDS), choices.randint(0, len(data))
    return data[:at] + word + data[at + len(word) :]


_MUTATIONS: Final = (_flip, _insert, _delete, _repeat, _splice, _overwrite)
