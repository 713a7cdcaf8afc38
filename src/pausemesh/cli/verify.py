"""``pausemesh verify``."""

from pathlib import Path
from typing import Final

from pausemesh import Mesh, VerifyReport
from pausemesh.cli.ending import run
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.place import AsJson
from pausemesh.cli.place import database_path as database_path_of
from pausemesh.cli.terminal import print_json, shown, standard_console
from pausemesh.cli.upkeep import counted, finding_to_json, on_database, table_of
from pausemesh.core.values import JsonValue
from pausemesh.service.findings import MENDABLE

_NOUNS: Final = {"continuation": "question", "claim": "finished claim", "effect": "effect", "key": "API key"}


def verify(*, as_json: AsJson = False, database_path: Path | None = None) -> int:
    """Check everything in a database against its log.

    Args:
        as_json: print {sound, streams, events, lastSeq, found, findings} as JSON.
        database_path: a SQLite file that is there; PAUSEMESH_DATABASE_PATH or ./data/pausemesh.db where it is left out.
    """

    def work() -> Exit:
        report = on_database(database_path, Mesh.verify)
        if as_json:
            print_json(_to_json(report))
        else:
            _print(report, database_path_of(database_path))
        return Exit.FINE if report.is_sound else Exit.UNSOUND

    return run(work, as_json=as_json)


def _print(report: VerifyReport, path: Path) -> None:
    console = standard_console()
    streams = [counted(report.streams[noun], word) for noun, word in _NOUNS.items()]
    console.print(shown(f"Checked {path}: {', '.join(streams)}; {counted(report.events, 'event')}."))
    if report.is_sound:
        console.print("All is well.")
        return
    console.print(table_of(report.findings))
    if report.found > len(report.findings):
        console.print(f"{counted(report.found - len(report.findings), 'finding')} more.")
    can_be_mended = any(finding.flaw in MENDABLE for finding in report.findings)
    cannot = any(finding.flaw not in MENDABLE for finding in report.findings)
    if can_be_mended:
        console.print("Heads and claims are mended by: pausemesh rebuild")
    if cannot:
        console.print("Damage to events or to the file cannot be mended: keep this file, and go back to a backup.")


def _to_json(report: VerifyReport) -> JsonValue:
    return {
        "sound": report.is_sound,
        "streams": dict(report.streams),
        "events": report.events,
        "lastSeq": report.last_seq,
        "found": report.found,
        "findings": [{**finding_to_json(finding), "mendable": finding.flaw in MENDABLE} for finding in report.findings],
    }
