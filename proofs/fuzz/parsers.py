"""All parsers under atheris, a few at a time, each in a process of its own."""

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from proofs.fuzz.mutating import SECONDS_ALLOWED
from proofs.fuzz.seeds import WORDS
from proofs.fuzz.targets import TARGETS
from proofs.report import NONE, SOME, Report

_DONE: Final = re.compile(r"Done ([0-9]+) runs")
_LONGEST_BYTES: Final = 70_000
_MEGABYTES: Final = 512
_SECONDS_TO_END: Final = 120


def run(names: list[str], seconds: int, seed: int, lanes: int) -> Report:
    """Fuzz each of the parsers for so long."""
    report = Report("parsers", seed)
    with tempfile.TemporaryDirectory(prefix="proof-") as folder, ThreadPoolExecutor(lanes) as pool:
        found = pool.map(lambda name: _fuzz(name, Path(folder), seconds, seed), names)
        for name, (runs, fault) in zip(names, found, strict=True):
            report.fail([f"{name}: {fault}"] if fault else [])
            promise = f"{name}: only typed errors, within {SECONDS_ALLOWED:g} s"
            report.count(promise, runs, "inputs", runs, SOME)
            report.count(promise, runs, "faults", int(bool(fault)), NONE)
            print(f"  {name}: {runs:,} inputs", flush=True)
    return report


def _fuzz(name: str, folder: Path, seconds: int, seed: int) -> tuple[int, str]:
    corpus = folder / name
    corpus.mkdir()
    for number, data in enumerate(TARGETS[name].seeds):
        (corpus / f"seed-{number}").write_bytes(data)
    words = folder / f"{name}.dict"
    words.write_text("\n".join(f'"{_escaped(word)}"' for word in WORDS), encoding="ascii")
    command = [sys.executable, "-m", "proofs.fuzz.guided", name, f"-max_total_time={seconds}", f"-seed={seed % 2**31}"]
    command += [f"-max_len={_LONGEST_BYTES}", f"-dict={words}", f"-rss_limit_mb={_MEGABYTES}", "-timeout=20"]
    command += [f"-artifact_prefix={folder}/{name}-", str(corpus)]
    ended = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=seconds + _SECONDS_TO_END
    )
    done = _DONE.search(ended.stderr)
    runs = 0 if done is None else int(done[1])
    return runs, "" if ended.returncode == 0 else f"{ended.stdout[-6_000:]}\n{ended.stderr[-2_000:]}"


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)
