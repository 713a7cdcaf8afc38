"""A JSON value that nobody can change: kept as canonical bytes, handed out as a fresh copy."""

import dataclasses
import hashlib
from typing import Final

from pausemesh.core import limits
from pausemesh.core.canonical import canonical_bytes, decode_canonical
from pausemesh.core.limits import JsonLimits
from pausemesh.core.values import JsonValue

STORED_LIMITS: Final = JsonLimits(
    max_bytes=2**40, max_depth=limits.JSON_DEPTH_MAX, max_values=2**40, max_key_characters=2**40
)
"""What was accepted under a host's limits must load under any later ones."""


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """A JSON value as its RFC 8785 bytes; two are equal exactly when the values are equal as JSON."""

    data: bytes = dataclasses.field(repr=False)

    @classmethod
    def of(cls, value: object, json_limits: JsonLimits | None = None) -> "Document":
        """Check ``value`` and keep it.

        Raises:
            InvalidJson: it is not plain JSON within the limits.
            PayloadTooLarge: its canonical bytes are more than the limit.
        """
        return cls(canonical_bytes(value, json_limits or JsonLimits()))

    @property
    def value(self) -> JsonValue:
        """A copy of the value, the caller's own."""
        return decode_canonical(self.data)

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical bytes, lower-case hex."""
        return hashlib.sha256(self.data).hexdigest()
