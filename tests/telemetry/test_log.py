import asyncio
import gc
import io
import logging
import secrets
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import structlog

from pausemesh.core.values import time_from_text
from pausemesh.ports import Observation
from pausemesh.telemetry.log import WITHHELD, LogObserver, configure_log, logger
from tests.telemetry.conftest import Lines

CANARY = secrets.token_hex(16)
OURS = logger("pausemesh.test")


def fail() -> None:
    raise ValueError(CANARY)


def fail_because_of_another() -> None:
    try:
        fail()
    except ValueError as error:
        raise RuntimeError(CANARY) from error


def test_a_record_of_ours_is_one_json_line_with_its_members_in_a_fixed_order(lines: Lines) -> None:
    OURS.info("request ended", route="/v1/x", status=200, milliseconds=1.5, payload=CANARY)
    assert lines.text.count("\n") == 1
    assert list(lines.last) == ["timestamp", "level", "logger", "event", "route", "status", "milliseconds"]
    assert lines.last["level"] == "info"
    assert lines.last["logger"] == "pausemesh.test"
    assert CANARY not in lines.text


def test_a_line_says_when_in_utc_with_milliseconds(lines: Lines) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    OURS.info("x")
    stamp = lines.last["timestamp"]
    assert len(stamp) == len("2026-11-30T20:00:00.123Z")
    assert before <= time_from_text(stamp) <= datetime.now(UTC)


def test_what_is_less_than_the_level_is_not_logged(lines: Lines) -> None:
    OURS.debug("x")
    logging.getLogger("uvicorn.error").debug("y")
    assert lines.text == ""


@pytest.mark.parametrize("level", ["INFO", "trace", ""])
def test_an_unknown_level_is_refused(level: str) -> None:
    with pytest.raises(ValueError, match="one of debug, info, warning, error, critical"):
        configure_log(level, io.StringIO())


def test_an_exception_is_told_by_its_types_and_frames_and_never_by_what_it_says(lines: Lines) -> None:
    try:
        fail_because_of_another()
    except RuntimeError:
        OURS.exception("request failed")
    assert lines.last["error"] == "builtins.RuntimeError from builtins.ValueError"
    functions = [frame.rpartition(":")[2] for frame in lines.last["frames"]]
    assert functions[-2:] == [
        "test_an_exception_is_told_by_its_types_and_frames_and_never_by_what_it_says",
        "fail_because_of_another",
    ]
    assert functions[:-2] == ["fail_because_of_another", "fail"]
    assert CANARY not in lines.text


def test_an_exception_may_be_handed_over_itself(lines: Lines) -> None:
    OURS.error("x", exc_info=ValueError(CANARY))
    assert (lines.last["error"], lines.last["frames"]) == ("builtins.ValueError", [])
    OURS.error("x", exc_info=True)
    assert "error" not in lines.last
    OURS.error("x", exc_info=(None, None, None))
    assert "error" not in lines.last


def test_of_a_long_chain_of_exceptions_the_last_ones_are_told(lines: Lines) -> None:
    error = ValueError()
    for _ in range(9):
        outer = KeyError()
        outer.__cause__ = error
        error = outer  # type: ignore[assignment]
    OURS.error("x", exc_info=error)
    assert lines.last["error"] == " from ".join(["builtins.KeyError"] * 4)


def test_an_exception_that_hides_its_context_is_told_alone(lines: Lines) -> None:
    try:
        try:
            fail()
        except ValueError:
            raise RuntimeError from None
    except RuntimeError:
        OURS.exception("x")
    assert lines.last["error"] == "builtins.RuntimeError"


@pytest.mark.parametrize(
    "say",
    [
        lambda log: log.error("got %s", CANARY),
        lambda log: log.error(CANARY),
        lambda log: log.error(ValueError(CANARY)),
        lambda log: log.error({"x": CANARY}),
        lambda log: log.error("x", extra={"payload": CANARY}),
        lambda log: log.error("x", stack_info=True),
    ],
    ids=["argument", "text", "exception", "object", "extra", "stack"],
)
def test_a_message_of_another_library_is_withheld_and_its_place_told(
    lines: Lines, say: Callable[[logging.Logger], None]
) -> None:
    say(logging.getLogger("somebody.else"))
    assert CANARY not in lines.text
    assert lines.last["event"] == WITHHELD
    assert lines.last["logger"] == "somebody.else"
    (place,) = lines.last["frames"]
    assert place.startswith("telemetry/test_log.py:")
    assert place.endswith(":<lambda>")


def test_a_message_that_is_known_to_be_constant_is_told(lines: Lines) -> None:
    logging.getLogger("uvicorn.error").info("Started server process [%d]", 42)
    assert lines.last["event"] == "Started server process [%d]"
    logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=ValueError(CANARY))
    assert lines.last["event"] == "Exception in ASGI application"
    assert lines.last["error"] == "builtins.ValueError"
    assert CANARY not in lines.text


def test_an_exception_that_nobody_fetched_is_told_by_its_type(lines: Lines) -> None:
    async def work() -> None:
        fail()

    async def forget() -> None:
        await asyncio.wait({asyncio.ensure_future(work())})

    asyncio.run(forget())
    gc.collect()
    assert lines.last["event"] == "Task exception was never retrieved"
    assert lines.last["error"] == "builtins.ValueError"
    assert CANARY not in lines.text


def test_an_observation_is_a_line(lines: Lines) -> None:
    LogObserver().observe(
        Observation(name="rejection", at=datetime.now(UTC), noun="continuation", noun_id="q_1\n", code="TOKEN_MISMATCH")
    )
    assert {name: lines.last[name] for name in ("level", "event", "noun", "noun_id", "code")} == {
        "level": "info",
        "event": "rejection",
        "noun": "continuation",
        "noun_id": "q_1\\u000a",
        "code": "TOKEN_MISMATCH",
    }
    assert "status" not in lines.last


def test_a_logger_that_structlog_gives_is_redacted_as_well(lines: Lines) -> None:
    structlog.get_logger("any").warning("x", payload=CANARY, code="C")
    assert lines.last["code"] == "C"
    assert CANARY not in lines.text


def test_a_host_with_a_log_of_its_own_gets_redacted_records(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    OURS.info("x", payload=CANARY, code="C")
    assert "'code': 'C'" in caplog.text
    assert CANARY not in caplog.text


def test_a_stream_that_is_gone_hurts_nobody_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    restore = configure_log("info", stream)
    stream.close()
    OURS.info("x", code=CANARY)
    logging.getLogger("else").error("%d", CANARY)
    restore()
    assert capfd.readouterr() == ("", "")


def test_the_log_goes_to_stderr_where_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    restore = configure_log()
    OURS.info("x")
    restore()
    out, err = capsys.readouterr()
    assert out == ""
    assert '"event": "x"' in err


@pytest.mark.parametrize("configured_before", [False, True])
def test_everything_is_put_back(*, configured_before: bool) -> None:
    if configured_before:
        structlog.configure(processors=[structlog.processors.KeyValueRenderer()])
    root, server = logging.getLogger(), logging.getLogger("uvicorn.access")
    server.propagate = False
    before = (root.handlers, root.level, server.handlers, server.propagate, structlog.get_config())
    restore = configure_log("debug", sys.stderr)
    assert (root.level, server.propagate) == (logging.DEBUG, True)
    restore()
    assert (root.handlers, root.level, server.handlers, server.propagate, structlog.get_config()) == before
    assert structlog.is_configured() is configured_before
    server.propagate = True
    structlog.reset_defaults()
