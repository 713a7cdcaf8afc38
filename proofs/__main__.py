"""``python -m proofs``."""

import sys

from proofs.command import main

if __name__ == "__main__":
    sys.exit(main())
