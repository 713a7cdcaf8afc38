"""Regular expressions in a response schema: which are allowed, and how much one can cost.

Allowed is what a linear engine can match (no look-around, no back-reference) and what reads the same
to ECMA-262 and to that engine. Linear means: time grows with the text times the length of the
pattern after its counted repetitions are written out, so that length is what has to be bounded.
"""

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""
      (?P<escape> \\ [^k1-9] )
    | (?P<class> \[ (?!\^\]) \^? (?: \\. | [^\\\[\]] )+ \] )
    | (?P<open> \( (?: \?: | \?<[A-Za-z_][A-Za-z0-9_]*> | (?!\?) ) )
    | (?P<close> \) )
    | (?P<count> \{ (?P<least>[0-9]+) (?: , (?P<most>[0-9]*) )? \} )
    | (?P<repeat> [*+?] )
    | (?P<literal> [^\\\[(] )
    """,
    re.DOTALL | re.VERBOSE,
)

_DIGITS_READ: Final = 10


def expanded_length(pattern: str) -> int | None:
    """Return how many characters ``pattern`` has when ``x{3}`` is counted as ``xxx``.

    A group or class mark, an escape and a literal are one character each; of ``{2,5}`` the larger
    number counts. None: the pattern is not allowed. It has look-around, a back-reference, a flag, a
    class that is empty or has an unescaped bracket in it, or brackets that do not match.
    """
    lengths = [0]
    atom = 0
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            return None
        position = token.end()
        kind = token.lastgroup
        if kind == "count":
            atom *= _times(token)
        elif kind == "open":
            lengths[-1] += atom
            lengths.append(0)
            atom = 1
        elif kind == "close":
            atom += lengths.pop()
            if not lengths:
                return None
        elif kind != "repeat":
            lengths[-1] += atom
            atom = 1
    return lengths[0] + atom if len(lengths) == 1 else None


def _times(count: re.Match[str]) -> int:
    return max(1, _number(count["least"]), _number(count["most"] or ""))


def _number(digits: str) -> int:
    """Return a count; of one that is far too large the first digits, which are too large as well."""
    return int(digits.lstrip("0")[:_DIGITS_READ] or 0)
