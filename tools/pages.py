"""Which files are made from the code."""

from pathlib import Path
from typing import Final

from tools.http_page import http_page
from tools.lifecycles import lifecycle_page, lifecycle_pictures
from tools.settings_page import settings_page

ROOT: Final = Path(__file__).parents[1]


def made() -> dict[str, str]:
    """Return the content of each file, by its path in the project."""
    return {
        "docs/reference/http.md": http_page(),
        "docs/reference/settings.md": settings_page(),
        "docs/reference/lifecycle.md": lifecycle_page(),
        **{f"docs/images/{name}.svg": picture for name, picture in lifecycle_pictures().items()},
    }
