"""Secrets that a command is given: in a variable of the environment, or in a file that a variable names."""

import os
from pathlib import Path
from typing import Final

from pausemesh import InvalidRequest

_MOST_CHARACTERS: Final = 4_096


def secret_variable(name: str) -> str | None:
    """Return what the variable says, else what is in the file that the same name with ``_FILE`` names.

    Raises:
        InvalidRequest: the file cannot be read.
    """
    secret, file = os.environ.get(name), os.environ.get(f"{name}_FILE")
    if secret or not file:
        return secret or None
    try:
        with Path(file).open(encoding="ascii") as opened:
            return opened.read(_MOST_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"The file that {name}_FILE names cannot be read.") from None
