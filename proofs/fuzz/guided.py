"""One parser under atheris, which looks for inputs that reach new code: ``python -m proofs.fuzz.guided NAME …``.

The arguments after the name are libFuzzer's.
"""

import sys

import atheris

with atheris.instrument_imports(include=["pausemesh", "rfc8785", "json"]):
    from proofs.fuzz.targets import TARGETS

from proofs.fuzz.mutating import fault_of


def main() -> None:
    """Fuzz until the time is over, or until something is wrong."""
    name, *options = sys.argv[1:]
    attempt = TARGETS[name].attempt

    def attempt_one(data: bytes) -> None:
        fault = fault_of(attempt, data)
        if fault is not None:
            raise AssertionError(fault)

    atheris.Setup([sys.argv[0], *options], attempt_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
