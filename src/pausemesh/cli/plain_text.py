"""Text from elsewhere, made harmless for a terminal: what cannot be seen, or would act, is shown as an escape.

Every text of a question, an answer, metadata or a server passes here on its way to a terminal. Escaped are control
characters (C0, DEL, C1), format characters (bidirectional overrides, zero width, tags), line and paragraph separators,
lone surrogates, and characters that a font leaves blank although they are letters or marks. No two texts look the same.
"""

import json
import unicodedata
from typing import Final

from pausemesh.core.values import JsonValue

_DANGEROUS_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_BLANK_RANGES: Final = (
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x2065, 0x2065),
    (0x2800, 0x2800),  # Braille pattern blank
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),  # tags, variation selectors supplement
)
"""Default ignorable code points of Unicode, section 5.21, that no category above has, and the Braille blank."""

_BYTE_MOST: Final = 0xFF
_PLANE_MOST: Final = 0xFFFF
_READ_AS_AN_ESCAPE: Final = frozenset({"", "\\", "x", "u", "U"})


def is_dangerous(character: str) -> bool:
    """Tell whether a character cannot be shown as it is."""
    point = ord(character)
    return unicodedata.category(character) in _DANGEROUS_CATEGORIES or any(
        first <= point <= last for first, last in _BLANK_RANGES
    )


def plain(text: str) -> str:
    r"""Return ``text`` as one line that can be shown: ``\xHH``, ``\uHHHH`` or ``\UHHHHHHHH`` for what cannot.

    A backslash that could be taken for the beginning of such an escape is doubled, so that the text can be read back.
    """
    first, *others = (part.translate(_ESCAPES) for part in text.split("\\"))
    return first + "".join(("\\\\" if part[:1] in _READ_AS_AN_ESCAPE else "\\") + part for part in others)


def plain_lines(text: str) -> list[str]:
    r"""Return the lines of ``text``, each as ``plain`` shows it; only ``\n`` ends a line."""
    return [plain(line) for line in text.split("\n")]


def plain_json(value: JsonValue, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return JSON that can be shown, and is still the same JSON: every dangerous character is a JSON escape."""
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent).translate(_JSON_ESCAPES)


class _Escapes(dict[int, str]):
    """What ``str.translate`` puts in the place of a character; each is looked up once."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        self[point] = self.escaped(point) if is_dangerous(character) else character
        return self[point]

    def escaped(self, point: int) -> str:
        """Return how a dangerous character is shown."""
        if point <= _BYTE_MOST:
            return f"\\x{point:02x}"
        return f"\\u{point:04x}" if point <= _PLANE_MOST else f"\\U{point:08x}"


class _JsonEscapes(_Escapes):
    """The same in JSON's own spelling; line breaks stand between members only, and stay."""

    def escaped(self, point: int) -> str:
        """Return how a dangerous character is written."""
        return "\n" if point == ord("\n") else json.dumps(chr(point))[1:-1] if point != _DELETE else "\\u007f"


_DELETE: Final = 0x7F
_ESCAPES: Final = _Escapes()
_JSON_ESCAPES: Final = _JsonEscapes()
