"""Every number that bounds something, with its unit last in its name."""

import dataclasses
from typing import Final

PAYLOAD_BYTES: Final = 65_536
JSON_DEPTH: Final = 64
JSON_DEPTH_MAX: Final = 256
"""The deepest that a host may allow: what is stored must be readable on any stack."""

JSON_VALUES: Final = 50_000
JSON_KEY_CHARACTERS: Final = 256
JSON_INTEGER_MAGNITUDE: Final = 2**53 - 1

SCHEMA_BYTES: Final = 32_768
SCHEMA_DEPTH: Final = 16
SCHEMA_EXPANDED_SUBSCHEMAS: Final = 10_000
SCHEMA_PATTERNS: Final = 32
SCHEMA_PATTERN_CHARACTERS: Final = 512
SCHEMA_PATTERN_BYTES: Final = 262_144
"""Of one compiled regular expression, and again of what it keeps while matching."""

SCHEMA_CHECKS_PER_VALUE: Final = 2_000
"""How many checks one value of an answer may cost; see ``pausemesh.core.response_schema_cost``."""

ISSUE_SEARCH_STEPS: Final = 100
"""How many failing parts of an answer are taken apart to name the failing places."""

ISSUE_SEARCH_CHECKS: Final = 20_000_000
"""What naming the failing places may cost, in checks on one value."""

COMPILED_SCHEMAS: Final = 64

ISSUES: Final = 20
"""How many failing places one error names at most."""

OWN_ID_CHARACTERS: Final = 200
FOREIGN_ID_CHARACTERS: Final = 200
IDEMPOTENCY_KEY_CHARACTERS: Final = 200
REASON_CHARACTERS: Final = 500
WORKER_CHARACTERS: Final = 200
EVIDENCE_CHARACTERS: Final = 2_000
REISSUES: Final = 8

LIFETIME_SECONDS: Final = 604_800
LIFETIME_MAX_SECONDS: Final = 7_776_000
LIFETIME_CEILING_SECONDS: Final = 3_155_760_000
"""The longest maximum that a host may choose: a hundred years."""

KEY_LIFETIME_MAX_SECONDS: Final = 315_360_000
"""The longest that an API key may be valid, where it expires at all: ten years."""

KEY_LABEL_CHARACTERS: Final = 200

LEASE_SECONDS: Final = 60
LEASE_MIN_SECONDS: Final = 1
LEASE_MAX_SECONDS: Final = 86_400

EVENTS_PER_STREAM: Final = 32
WRITES_PER_CALL: Final = 64
WRITES_PER_FLUSH: Final = 200
QUEUED_WRITES: Final = 10_000
CALL_SECONDS: Final = 10.0
PAGE: Final = 50
PAGE_MAX: Final = 200
FEED_MAX: Final = 1_000
DUE_MAX: Final = 100
APPEND_ATTEMPTS: Final = 40
"""How often one command decides again because somebody else was first; each time the stream has grown."""

EXAMINED_STREAMS: Final = 50
EXAMINED_EVENTS: Final = 1_000
"""How many events of one stream are looked at, where it may hold more than it may."""

FINDINGS: Final = 1_000
"""How many findings a check lists at most; it counts them all."""

FENCE_LEAP: Final = 1_000_000
"""By how much a fence grows where nobody knows any more how far it had come: more claims than were ever handed out."""

INTEGRITY_SECONDS: Final = 3_600.0
"""How long a look at the whole medium may take."""

RATE_BUCKETS: Final = 10_000
"""How many callers are counted apart; the one that was quiet longest is forgotten first."""

CACHED_STREAMS: Final = 4_096
CACHED_BYTES: Final = 64 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JsonLimits:
    """What a JSON document may measure; a host may tighten each bound.

    Attributes:
        max_bytes: bytes of the document, raw or canonical.
        max_depth: nested containers; a scalar is 0, ``[]`` is 1.
        max_values: scalars and containers together; keys do not count.
        max_key_characters: characters of one object key.
    """

    max_bytes: int = PAYLOAD_BYTES
    max_depth: int = JSON_DEPTH
    max_values: int = JSON_VALUES
    max_key_characters: int = JSON_KEY_CHARACTERS

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            bound = getattr(self, field.name)
            if type(bound) is not int or bound < 1:
                message = f"{field.name} must be a positive integer"
                raise ValueError(message)
        if self.max_depth > JSON_DEPTH_MAX:
            message = f"max_depth must be at most {JSON_DEPTH_MAX}"
            raise ValueError(message)
