"""The environment in which tests start programs."""

import os


def without_settings() -> dict[str, str]:
    """Return the environment of the tests without any setting of PauseMesh."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PAUSEMESH_")}
