"""Write the pages and pictures that are made from the code."""

from pausemesh.stores.postgres_objects import OBJECTS_FILE
from tools.pages import ROOT, made
from tools.postgres_objects import postgres_objects


def main() -> None:
    """Write what differs."""
    for path, content in {**made(), f"src/pausemesh/stores/{OBJECTS_FILE}": postgres_objects()}.items():
        target = ROOT / path
        if not target.exists() or target.read_text(encoding="utf-8") != content:
            target.write_text(content, encoding="utf-8")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
