"""A picture of cycles a second, of what ``make bench-peers`` has kept: ``python -m bench.peer_programs.chart``."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "peers.json"
PICTURE = ROOT / "docs" / "images" / "cycles.png"
CALLERS = (1, 8, 32)
WIDTH = 0.13
BARS = {
    "ours": ("PauseMesh, PostgreSQL", "#0b6e4f"),
    "ours on SQLite": ("PauseMesh, SQLite", "#6bbf59"),
    "LangGraph, tuned": ("LangGraph, PostgreSQL, tuned", "#08519c"),
    "LangGraph": ("LangGraph, PostgreSQL", "#6baed6"),
    "LangGraph on SQLite": ("LangGraph, SQLite", "#c6dbef"),
    "DBOS": ("DBOS, PostgreSQL", "#8c6bb1"),
}


def main() -> None:
    """Draw it."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    rates = {row["name"]: row["value"] for row in rows}
    figure, axes = plt.subplots(figsize=(9, 4.5), dpi=160)
    for place, (name, (label, colour)) in enumerate(BARS.items()):
        heights = [rates[f"{name}: cycles/s, {callers} callers"] for callers in CALLERS]
        left = [group + (place - len(BARS) / 2 + 0.5) * WIDTH for group in range(len(CALLERS))]
        bars = axes.bar(left, heights, WIDTH * 0.92, label=label, color=colour)
        axes.bar_label(bars, labels=[f"{height:,.0f}" for height in heights], fontsize=6.5, padding=1)
    axes.set_yscale("log")
    axes.set_ylabel("cycles/s: ask durably, answer durably")
    axes.set_xticks(range(len(CALLERS)), [f"{callers} caller{'s' * (callers > 1)}" for callers in CALLERS])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, ncols=2, loc="upper left")
    axes.set_ylim(top=axes.get_ylim()[1] * 4)
    figure.tight_layout()
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
