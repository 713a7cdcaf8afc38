"""The commands for people who answer, and for those who give out keys: their names, help and examples."""

from typing import Final

from cyclopts import App

from pausemesh.cli.exit_codes import epilogue

_INBOX: Final = (
    "Show the questions that wait for an answer, oldest first.\n\n"
    "They are those of the server that PAUSEMESH_URL and PAUSEMESH_API_KEY name, or else of a database."
)
_SHOW: Final = (
    "Show everything that is known of a question.\n\n"
    "Its message, its action with all arguments, schema, metadata, times, answer, claim, effects and history; nothing "
    "is cut."
)
_ANSWER: Final = (
    "Answer a question.\n\n"
    "On a terminal the question and its action are shown whole, each field of the answer is asked for, and what was "
    "typed is sent once it is confirmed. In a script --json gives the answer."
)
_CANCEL: Final = "Take a question back, so that nobody answers it any more."
_KEYS: Final = "Make, show and revoke API keys, in a database."
_CREATE: Final = "Make an API key and print it alone; it is seen here and never again."
_LIST: Final = "Show the API keys of all scopes, oldest first; their texts are not kept."
_REVOKE: Final = (
    "Take an API key back for good.\n\n"
    "Running servers refuse it within a second, and end its streams within half a minute."
)


def register_operator_commands(app: App) -> None:
    """Add the commands; each is loaded when it is called."""
    commands = (
        ("inbox", _INBOX, ("pausemesh inbox", "pausemesh inbox --watch", "pausemesh inbox --kind approval --json")),
        ("show", _SHOW, ("pausemesh show ID", "pausemesh show ID --json")),
        (
            "answer",
            _ANSWER,
            (
                "pausemesh answer ID",
                """pausemesh answer ID --json '{"flight": "AZ1"}' --idempotency-key ticket-7""",
                "pausemesh answer ID --json @answer.json --yes",
                "jq -c .answer decision.json | pausemesh answer ID --json -",
            ),
        ),
        ("cancel", _CANCEL, ("pausemesh cancel ID", 'pausemesh cancel ID --reason "the trip is off"')),
    )
    for name, text, examples in commands:
        app.command(f"pausemesh.cli.{name}:{name}", name=name, help=text, help_epilogue=epilogue(*examples))
    _register_keys(app)


def _register_keys(app: App) -> None:
    keys = App(name="keys", help=_KEYS, help_format="plaintext", help_epilogue=epilogue("pausemesh keys list"))
    examples = (
        "pausemesh keys create --role editor --label desk",
        "pausemesh keys create --role agent --scope trips --expires-days 90 --json",
    )
    keys.command("pausemesh.cli.keys:create", name="create", help=_CREATE, help_epilogue=epilogue(*examples))
    keys.command(
        "pausemesh.cli.keys:list_keys", name="list", help=_LIST, help_epilogue=epilogue("pausemesh keys list --json")
    )
    keys.command(
        "pausemesh.cli.keys:revoke", name="revoke", help=_REVOKE, help_epilogue=epilogue("pausemesh keys revoke ID")
    )
    app.command(keys)
