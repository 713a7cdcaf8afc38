"""What ``import pausemesh`` costs a process, and what the first use of it costs."""

import statistics
import subprocess
import sys
import time

from bench.measure import Row, Sizes, at_most, of_rounds

_STATEMENTS = {
    "nothing": "pass",
    "import pausemesh": "import pausemesh",
    "import pausemesh; pausemesh.open": "import pausemesh; pausemesh.open",
    "import asyncio (for comparison)": "import asyncio",
}


def measure(sizes: Sizes) -> list[Row]:
    """Start processes in turn, and take off what a process costs that imports nothing."""
    times: dict[str, list[float]] = {name: [] for name in _STATEMENTS}
    for _ in range(sizes.imports):
        for name, statement in _STATEMENTS.items():
            times[name].append(_milliseconds(statement))
    nothing = statistics.median(times.pop("nothing"))
    rows = [of_rounds(name, [one - nothing for one in values], "ms") for name, values in times.items()]
    return [at_most(rows[0], 100), *rows[1:]]


def _milliseconds(statement: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return (time.perf_counter() - begun) * 1_000
