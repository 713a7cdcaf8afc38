"""``pausemesh rebuild``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from pausemesh import RebuildReport
from pausemesh.cli.ending import run
from pausemesh.cli.exit_codes import Exit
from pausemesh.cli.place import AsJson, database_in
from pausemesh.cli.terminal import print_json, shown, standard_console
from pausemesh.cli.upkeep import counted, finding_to_json, stream_words, table_of
from pausemesh.core.principal import DEFAULT_SCOPE
from pausemesh.core.values import JsonValue


def rebuild(
    *,
    dry_run: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    as_json: AsJson = False,
    database_path: Path | None = None,
) -> int:
    """Write heads anew from the log, where they are damaged or lost.

    Args:
        dry_run: write nothing, and tell what would be written; the exit code is 9 where there is anything.
        as_json: print {sound, dryRun, heads, mended, overtaken, remains, remaining} as JSON.
        database_path: a SQLite file that is there; where it is left out PAUSEMESH_DATABASE_URL, else
            PAUSEMESH_DATABASE_PATH, else ./data/pausemesh.db.
    """

    def work() -> Exit:
        with database_in(database_path).open(DEFAULT_SCOPE, create=False) as mesh:
            report = mesh.rebuild(dry_run=dry_run)
        if as_json:
            print_json(_to_json(report))
        else:
            _print(report)
        is_fine = report.is_sound and not (dry_run and report.heads)
        return Exit.FINE if is_fine else Exit.UNSOUND

    return run(work, as_json=as_json, changes=not dry_run)


def _print(report: RebuildReport) -> None:
    console = standard_console()
    heads = counted(report.heads, "head")
    if report.dry_run:
        console.print(f"{heads} would be written anew; nothing was changed." if report.heads else "Nothing to write.")
    else:
        console.print(f"{heads} written anew." if report.heads else "Nothing to write.")
    for scope, stream in report.mended:
        console.print(shown(f"  {stream_words(scope, stream)}"))
    if report.heads > len(report.mended):
        console.print(f"  and {report.heads - len(report.mended):,} more")
    if report.overtaken:
        console.print(f"{counted(report.overtaken, 'head')} changed meanwhile; run this again.")
    if report.remains:
        console.print(table_of(report.remaining))
        console.print("This cannot be mended from the log: keep it as it is, and go back to a backup.")


def _to_json(report: RebuildReport) -> JsonValue:
    return {
        "sound": report.is_sound,
        "dryRun": report.dry_run,
        "heads": report.heads,
        "mended": [{"scope": scope, "stream": stream} for scope, stream in report.mended],
        "overtaken": report.overtaken,
        "remains": report.remains,
        "remaining": [{**finding_to_json(finding)} for finding in report.remaining],
    }
