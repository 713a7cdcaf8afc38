"""Write the pages and pictures that are made from the code."""

from tools.pages import ROOT, made


def main() -> None:
    """Write what differs."""
    for path, content in made().items():
        target = ROOT / path
        if not target.exists() or target.read_text(encoding="utf-8") != content:
            target.write_text(content, encoding="utf-8")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
