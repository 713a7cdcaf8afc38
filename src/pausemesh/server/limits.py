"""What the server bounds, with the unit last in each name."""

from typing import Final

URL_BYTES: Final = 4_096
HEADER_BYTES: Final = 16_384
HEAD_SECONDS: Final = 10.0
BODY_IDLE_SECONDS: Final = 10.0
BODY_SECONDS: Final = 60.0
UNWANTED_BODY_BYTES: Final = 65_536
UNWANTED_BODY_SECONDS: Final = 1.0
"""How much is read, and for how long, of the body of a request that is refused without it."""

READING_SECONDS: Final = 20.0
"""How long a client may read nothing of an answer that waits for it."""

WAIT_SECONDS: Final = 25.0

REQUESTS_IN_FLIGHT: Final = 1_000
"""How many requests are worked on at once, those that only wait aside; the next are told to come later."""

WAITING: Final = 20_000
"""How many may wait for a decision at once."""

SUBSCRIBERS: Final = 1_000
SUBSCRIBER_BACKLOG_EVENTS: Final = 1_000
COMMENT_SECONDS: Final = 15.0

BACKLOG: Final = 2_048
"""How many connections may wait to be let in."""

SWEEP_SECONDS: Final = 5.0
STOP_SECONDS: Final = 20
KEEP_ALIVE_SECONDS: Final = 20

KEY_MEMORY_SECONDS: Final = 1.0
"""How long a key that was looked up is believed; a revoked one works no longer than this."""

KEYS_REMEMBERED: Final = 10_000
SCOPES_REMEMBERED: Final = 1_000
MUTATIONS_PER_MINUTE: Final = 12
READY_SECONDS: Final = 3.0

ENVELOPE_DEPTH: Final = 4
"""How much deeper a body may be than the payload in it."""

ENVELOPE_VALUES: Final = 64
"""How many values a body may hold beside the payload in it."""
