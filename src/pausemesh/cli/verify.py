"""``pausemesh verify``."""

from pathlib import Path
from typing import Final

from pausemesh import VerifyReport
from pausemesh.cli.database import Database
from pausemesh.cli.ending import run
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.place import AsJson, database_in
from pausemesh.cli.terminal import print_json, shown, standard_console
from pausemesh.cli.upkeep import counted, finding_to_json, table_of
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.core.values import JsonValue
from pausemesh.service.findings import MENDABLE

_NOUNS: Final = {"continuation": "question", "claim": "finished claim", "effect": "effect", "key": "API key"}


def verify(*, as_json: AsJson = False, database_path: Path | None = None) -> int:
    """Check everything in a database against its log.

    Args:
        as_json: print {sound, streams, events, lastSeq, found, findings} as JSON.
        database_path: a SQLite file that is there; where it is left out PAUSEMESH_DATABASE_URL, else
            PAUSEMESH_DATABASE_PATH, else ./data/pausemesh.db.
    """

    def work() -> Exit:
        database = database_in(database_path)
        with database.open(DEFAULT_SCOPE, create=False) as mesh:
            report = mesh.verify()
        if as_json:
            print_json(_to_json(report))
        else:
            _print(report, database)
        return Exit.FINE if report.is_sound else Exit.UNSOUND

    return run(work, as_json=as_json)


def _print(report: VerifyReport, database: Database) -> None:
    console = standard_console()
    streams = [counted(report.streams[noun], word) for noun, word in _NOUNS.items()]
    console.print(shown(f"Checked {database}: {', '.join(streams)}; {counted(report.events, 'event')}."))
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
        console.print("Damage to events or to the file cannot be mended: keep it as it is, and go back to a backup.")


def _to_json(report: VerifyReport) -> JsonValue:
    return {
        "sound": report.is_sound,
        "streams": dict(report.streams),
        "events": report.events,
        "lastSeq": report.last_seq,
        "found": report.found,
        "findings": [{**finding_to_json(finding), "mendable": finding.flaw in MENDABLE} for finding in report.findings],
    }
