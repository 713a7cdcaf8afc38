"""An observer for hosts that do not want to know."""

from pausemesh.ports import Observation


class NoopObserver:
    """Takes no note."""

    def observe(self, observation: Observation) -> None:
        """Do nothing."""
