"""``python -m pausemesh``: the command."""

from pausemesh.cli import main

if __name__ == "__main__":
    main()
