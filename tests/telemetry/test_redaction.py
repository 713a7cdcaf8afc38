import secrets
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pausemesh.adapters.tokens import Sha256TokenIssuer
from pausemesh.telemetry.redaction import ALLOWED, FRAMES, MASK, TEXT_CHARACTERS, masked, redact, redacted

SECRET_FIELDS = ["payload", "token", "key", "answer", "metadata", "headers", "body", "exception", "exc_info", "stack"]


def test_a_member_that_is_not_on_the_list_is_dropped_whatever_it_holds() -> None:
    canary = secrets.token_hex(16)
    record: dict[str, Any] = {name: {"deep": [canary]} for name in SECRET_FIELDS} | {"event": "created"}
    assert redacted(record) == {"event": "created"}


def test_a_member_on_the_list_that_is_no_text_or_number_is_told_by_its_type() -> None:
    canary = secrets.token_hex(16)
    record: dict[str, Any] = {name: {canary: canary} for name in ALLOWED if name != "frames"}
    assert set(redacted(record).values()) == {"dict"}


def test_numbers_and_flags_stay_what_they_are_and_none_is_left_out() -> None:
    assert redacted({"status": 200, "milliseconds": 1.5, "version": True, "code": None}) == {
        "status": 200,
        "milliseconds": 1.5,
        "version": True,
    }


def test_what_structlog_keeps_for_itself_is_left_to_structlog() -> None:
    own = object()
    assert redact(None, "info", {"event": "x", "_record": own, "payload": 1}) == {"event": "x", "_record": own}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sent pmr_{0} twice", f"sent {MASK} twice"),
        ("?token=xpmk_{0}", f"?token=x{MASK}"),
        ("PMR_{0}", MASK),
        ("Bearer {0}", MASK),
        ("pausemesh\t{0}", MASK),
        ("Basic {0}==", MASK),
        ("GET / authorization: Token {0}\r\nx: {0}", f"GET / {MASK}"),
        ('{{"X-API-Key": "{0}"}}', f'{{"{MASK}'),
        ("Cookie={0}; other={0}", MASK),
    ],
)
def test_what_looks_like_a_credential_is_masked_in_any_text(text: str, shown: str) -> None:
    canary = secrets.token_hex(16)
    assert masked(text.format(canary)) == shown


@given(st.text(string.printable, max_size=600), st.text(string.printable, max_size=20))
def test_no_token_is_left_in_whatever_text_it_stands(before: str, after: str) -> None:
    token = Sha256TokenIssuer().issue()
    assert token[4:20] not in masked(before + token + after)


def test_a_long_text_is_cut_after_it_was_masked() -> None:
    token = Sha256TokenIssuer().issue()
    text = masked("." * (TEXT_CHARACTERS - 10) + token + "." * TEXT_CHARACTERS)
    assert text == "." * (TEXT_CHARACTERS - 10) + MASK + "." * 7 + "…"


def test_characters_that_would_steer_a_terminal_or_a_reader_are_made_visible() -> None:
    assert masked("a\x1b[2J\n\x7f\x9b\u202e\u2028\ud800\U000e0001é") == (
        r"a\u001b[2J\u000a\u007f\u009b\u202e\u2028\ud800\U000e0001é"
    )


def test_of_many_frames_the_innermost_are_kept() -> None:
    frames = [f"file.py:{line}:f" for line in range(FRAMES + 5)]
    assert redacted({"frames": frames}) == {"frames": frames[5:]}


def test_frames_that_are_no_list_are_dropped() -> None:
    canary = secrets.token_hex(16)
    assert redacted({"frames": canary}) == {"frames": []}
    assert redacted({"frames": {canary: 1}}) == {"frames": []}
    assert redacted({"frames": 1}) == {"frames": []}
    assert redacted({"frames": [[canary]]}) == {"frames": ["list"]}
