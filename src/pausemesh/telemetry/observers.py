"""Several observers as one."""

import contextlib

from pausemesh.ports import Observation, Observer


class Observers:
    """Tells each of them, in this order; one that fails holds back no other."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def observe(self, observation: Observation) -> None:
        """Pass it on."""
        for observer in self._observers:
            with contextlib.suppress(Exception):
                observer.observe(observation)
