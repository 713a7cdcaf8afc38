"""The whole HTTP interface under schemathesis: generated from its own document, followed along its own links."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from proofs.report import ANY, NONE, Report, at_least

_EXAMPLES: Final = 40
_CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
_PORT: Final = re.compile(r"http://127\.0\.0\.1:([0-9]+)")
_ROLES: Final = ("admin", "agent")
_OPERATIONS: Final = 18
"""How many of the operations must have been got through to, lest only refusals are looked at."""

_LONGEST_SECONDS: Final = 5
_GROWTH_BYTES: Final = 64 * 2**20
_ROOT: Final = Path(__file__).resolve().parents[2]


def run(tool: Path, cases: int, seed: int) -> Report:
    """Send so many cases, as an admin and as an agent in turn; then ask whether the database is sound."""
    report = Report("interface", seed)
    with tempfile.TemporaryDirectory(prefix="proof-") as folder:
        database, errors = Path(folder) / "mesh.db", Path(folder) / "errors.txt"
        keys = [_pausemesh("keys", "create", "--role", role, "--database-path", str(database)) for role in _ROLES]
        with _server(database, errors) as (pid, port):
            before = _resident_bytes(pid)
            campaign = Campaign(tool, Path(folder), f"http://127.0.0.1:{port}")
            for number in itertools.count():
                campaign.send(keys[number % len(keys)], seed + number)
                print(f"  {campaign.statuses.total():,} cases", flush=True)
                if campaign.statuses.total() >= cases:
                    break
            growth = _resident_bytes(pid) - before
        logged = errors.read_text(encoding="utf-8").splitlines()
        report.fail([*campaign.failures, *logged])
        _count(report, cases, campaign)
        promise = "the server is as well afterwards as before"
        report.count(promise, cases, "errors in its log", len(logged), NONE)
        report.count(promise, cases, "MiB too much", max(0, growth - _GROWTH_BYTES) >> 20, NONE)
        report.count(promise, cases, "findings of verify", _findings(database), NONE)
    return report


class Campaign:
    """Runs of schemathesis against one server.

    Attributes:
        statuses: how often each was answered.
        done: the operations that succeeded at least once.
        failures: what schemathesis said of runs in which a check failed.
    """

    def __init__(self, tool: Path, folder: Path, address: str) -> None:
        self.statuses: Counter[int] = Counter()
        self.done: set[str] = set()
        self.failures: list[str] = []
        self._tool = tool
        self._folder = folder
        self._address = address

    def send(self, key: str, seed: int) -> None:
        """Run it once, with the key of somebody."""
        kept = self._folder / "kept.ndjson"
        environment = {
            **os.environ,
            "PYTHONPATH": str(_ROOT),
            "SCHEMATHESIS_HOOKS": "proofs.fuzz.hooks",
            "PAUSEMESH_FUZZ_KEY": key,
            "PAUSEMESH_FUZZ_SEED": str(seed),
        }
        command = [*self._command(self._document(key), kept), "--seed", str(seed % 2**32)]
        ended = subprocess.run(command, env=environment, cwd=self._folder, capture_output=True, text=True, check=False)
        if ended.returncode:
            self.failures.append(f"run with seed {seed}:\n{ended.stdout[-6_000:]}{ended.stderr[-2_000:]}")
        for operation, status in _answers_in(kept):
            self.statuses[status] += 1
            if status < 300:
                self.done.add(operation)

    def _command(self, document: Path, kept: Path) -> list[str]:
        command = [str(self._tool), "run", str(document), "--url", self._address, "--exclude-path", "/v1/events"]
        command += ["--phases", "examples,coverage,fuzzing,stateful", "--checks", ",".join(_CHECKS)]
        command += ["--max-examples", str(_EXAMPLES), "--max-response-time", str(_LONGEST_SECONDS)]
        command += ["--warnings", "off", "--request-timeout", "30", "--generation-database", "none", "--no-color"]
        return [*command, "--report", "ndjson", "--report-ndjson-path", str(kept)]

    def _document(self, key: str) -> Path:
        document = self._folder / "openapi.json"
        headers = {"Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"{self._address}/openapi.json", headers=headers)  # noqa: S310 - our own server
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own server
            document.write_bytes(answer.read())
        return document


def _answers_in(kept: Path) -> Iterator[tuple[str, int]]:
    """Yield the operation of each case, and the status of its answer."""
    with kept.open(encoding="utf-8") as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for name, interaction in recorder.get("interactions", {}).items():
                case = recorder["cases"][name]
                case = case.get("value", case)
                if interaction.get("response"):
                    yield f"{case['method']} {case['path']}", interaction["response"]["status_code"]


def _count(report: Report, cases: int, campaign: Campaign) -> None:
    promise, statuses = "no input makes an error of ours, and every answer is as documented", campaign.statuses
    report.count(promise, cases, "cases sent", statuses.total(), at_least(cases))
    for first, name in ((2, "done"), (4, "refused")):
        report.count(promise, cases, f"of these {name}", _with_class(statuses, first), at_least(cases // 20))
    report.count(promise, cases, "operations that succeeded at least once", len(campaign.done), at_least(_OPERATIONS))
    excepted = statuses[503] + statuses[507]
    report.count(promise, cases, "answers 503 and 507", excepted, ANY)
    report.count(promise, cases, "other answers 5xx", _with_class(statuses, 5) - excepted, NONE)
    report.count(promise, cases, "runs with a failed check", len(campaign.failures), NONE)


def _with_class(statuses: Counter[int], first: int) -> int:
    return sum(number for status, number in statuses.items() if status // 100 == first)


def _findings(database: Path) -> int:
    found = json.loads(_pausemesh("verify", "--json", "--database-path", str(database)))
    return int(found["found"])


def _pausemesh(*arguments: str) -> str:
    command = [sys.executable, "-m", "pausemesh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def _server(database: Path, errors: Path) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "pausemesh", "serve", "--port", "0", "--database-path", str(database)]
    command += ["--log-level", "warning", "--mutations-per-minute", "100000"]
    with (
        errors.open("w", encoding="utf-8") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None, "it is a pipe"
            found = _PORT.search(process.stdout.readline())
            assert found is not None, "it did not start"
            yield process.pid, int(found[1])
        finally:
            process.terminate()
