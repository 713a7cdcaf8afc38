"""``pausemesh help``."""


def show_help(*command: str) -> None:
    """Show what there is, or how one command is used.

    Args:
        command: its words, as in ``help keys create``.
    """
    from pausemesh.cli.app import app  # noqa: PLC0415 - it names this file

    _, _, unknown = app.parse_commands([*command])
    if unknown:
        app([*command], exit_on_error=False)  # says which words make no command
    app.help_print([*command])
