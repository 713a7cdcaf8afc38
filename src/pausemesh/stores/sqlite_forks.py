"""Which connections are open, so that a process that was forked beside one is known.

The system forgets a process's file locks in its child, but SQLite's list of them is memory and is inherited. In such a
child SQLite believes that it holds what only the parent holds: the parent then takes itself for the last one and
removes the log that the child writes to. Nothing in SQLite can clear that list, so the child is refused.
"""

import os
from typing import Final

from pausemesh.core.errors import ForkedMesh


class OpenConnections:
    """The connections of this process, and whether its parent had some when it was forked."""

    def __init__(self) -> None:
        self._open: set[object] = set()
        self._is_inherited = False

    def add(self, connection: object) -> None:
        """Note a connection that is about to be opened.

        Raises:
            ForkedMesh: this process was forked while its parent had one.
        """
        if self._is_inherited:
            raise ForkedMesh(
                "It was forked while a SQLite store was open and can open none: "
                "start it with spawn or forkserver, or fork before opening."
            )
        self._open.add(connection)

    def discard(self, connection: object) -> None:
        """Forget a connection that was closed, or was not opened after all."""
        self._open.discard(connection)

    def become_child(self) -> None:
        """Note that this process was forked; its own children inherit what is found here."""
        self._is_inherited = self._is_inherited or bool(self._open)


OPEN_CONNECTIONS: Final = OpenConnections()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=OPEN_CONNECTIONS.become_child)
