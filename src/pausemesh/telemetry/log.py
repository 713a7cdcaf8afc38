"""The log: one JSON line a record on stderr, from our own code and from the libraries below it.

Messages of others are written only where they are known to be constant: what uvicorn, asyncio or a driver puts into a
text, and what an exception says, may hold anything. A record of theirs tells its logger, its level, the place in the
code, and of an exception its type and its frames, which is enough to find out what happened.
"""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any, Final, TextIO, TypeAlias

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from pausemesh.core.values import time_to_text
from pausemesh.ports import Observation
from pausemesh.telemetry.background_lines import BackgroundLines
from pausemesh.telemetry.redaction import redact

LEVELS: Final = ("debug", "info", "warning", "error", "critical")
WITHHELD: Final = "(a message of another library)"

ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]

_SERVER_LOGGERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_CHAIN: Final = 4
"""How many exceptions that led to one another are told."""

_CONSTANT_MESSAGES: Final = frozenset({
    "ASGI callable returned without completing response.",
    "ASGI callable returned without starting response.",
    "Application shutdown complete.",
    "Application shutdown failed. Exiting.",
    "Application startup complete.",
    "Application startup failed. Exiting.",
    "Exception in ASGI application",
    "Exceeded concurrency limit.",
    "Finished server process [%d]",
    "Future exception was never retrieved",
    "Invalid HTTP request received.",
    "Shutting down",
    "Started server process [%d]",
    "Task exception was never retrieved",
    "Task was destroyed but it is pending!",
    "Waiting for application shutdown.",
    "Waiting for application startup.",
    "Waiting for background tasks to complete. (CTRL+C to force quit)",
    "Waiting for connections to close. (CTRL+C to force quit)",
})  # fmt: skip


class LogObserver:
    """Logs each observation as a line; a rejection is as ordinary as the rest."""

    def __init__(self) -> None:
        self._log = logger("pausemesh.mesh")

    def observe(self, observation: Observation) -> None:
        """Log it."""
        self._log.info(
            observation.name,
            noun=observation.noun,
            noun_id=observation.noun_id,
            status=observation.status,
            version=observation.version,
            code=observation.code,
        )


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger of ours; ``event`` is a constant text, values are members that ``redaction.ALLOWED`` names.

    It logs through the standard library, so that a host that sets that up itself gets redacted records as well.
    """
    bound: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logging.getLogger(name), processors=_OWN_CHAIN, wrapper_class=structlog.stdlib.BoundLogger
    )
    return bound


def configure_log(
    level: str = "info", stream: TextIO | None = None, *, in_background: bool = False
) -> Callable[[], None]:
    """Let everything that is logged in this process become redacted JSON lines.

    Args:
        level: one of LEVELS; what is less is not logged.
        stream: where the lines go; stderr.
        in_background: let a thread of its own write the lines, so that a stream that nobody reads stops nothing: at
            most 10,000 lines wait, and what does not fit is dropped and counted.

    Returns:
        a function that puts back what this changed; what is left is written, for two seconds at most.

    Raises:
        ValueError: it is no such level.
    """
    if level not in LEVELS:
        message = f"the level must be one of {', '.join(LEVELS)}"
        raise ValueError(message)
    handler = (_BackgroundHandler if in_background else _QuietHandler)(stream or sys.stderr)
    handler.setFormatter(_formatter())
    undo = [_take_over(logging.getLogger(name)) for name in _SERVER_LOGGERS]
    undo += [_take_over(logging.getLogger(), [handler], logging.getLevelNamesMapping()[level.upper()]), _configure()]

    def restore() -> None:
        for step in undo:
            step()
        handler.close()

    return restore


def _formatter() -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_foreign],
        processors=[
            _stamp,
            redact,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
        use_get_message=False,  # formatting would put the arguments into the text
    )


class _QuietHandler(logging.StreamHandler[TextIO]):
    """Drops what it cannot write; the standard library would print the record with its values instead."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's name
        """Do nothing."""


class _BackgroundHandler(logging.Handler):
    """Makes each line where it is logged, and leaves it to a thread to write it."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._lines = BackgroundLines(stream, self._dropped)

    def emit(self, record: logging.LogRecord) -> None:
        """Hand the line over; one that cannot be made is dropped, as the other handler does."""
        with contextlib.suppress(Exception):
            self._lines.put(self.format(record) + "\n")

    def close(self) -> None:
        """Write what is left, for two seconds at most."""
        self._lines.close()
        super().close()

    def _dropped(self, count: int) -> str:
        said = {"event": "log lines dropped", "dropped": count}
        members = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING", "msg": said}
        return self.format(logging.makeLogRecord({**members, "_logger": None, "_name": "warning"})) + "\n"


def _take_over(
    target: logging.Logger, handlers: list[logging.Handler] | None = None, level: int = logging.NOTSET
) -> Callable[[], None]:
    """Give a logger these handlers and no other, and return what undoes it."""
    before = (target.handlers, target.level, target.propagate)
    target.handlers, target.propagate = handlers or [], True
    target.setLevel(level)

    def undo() -> None:
        target.handlers, _, target.propagate = before
        target.setLevel(before[1])

    return undo


def _configure() -> Callable[[], None]:
    """Let ``structlog.get_logger`` log in the same way, and return what undoes it."""
    was_configured, before = structlog.is_configured(), structlog.get_config()
    structlog.configure(
        processors=_OWN_CHAIN,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )

    def undo() -> None:
        if was_configured:
            structlog.configure(**before)
        else:
            structlog.reset_defaults()

    return undo


def _explain(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    """Put the type and the frames of an exception in its place."""
    info = _exception_info(record.pop("exc_info", None))
    if info is not None:
        chain = [*_chain(info[1])]
        record["error"] = " from ".join(f"{type(error).__module__}.{type(error).__qualname__}" for error in chain)
        record["frames"] = [frame for error in reversed(chain) for frame in _frames(error.__traceback__)]
    return record


def _foreign(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    """Keep of another library's record what surely holds no value."""
    source: logging.LogRecord = record["_record"]
    message = str(record["event"]).partition("\n")[0]
    known: EventDict = {
        "event": message if message in _CONSTANT_MESSAGES else WITHHELD,
        "frames": [_place(source.pathname, source.lineno, source.funcName)],
        "exc_info": record.get("exc_info"),
        "_record": source,
        "_from_structlog": False,
    }
    return _explain(_logger, _method, known)


def _stamp(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    """Add when it was logged, where and how gravely."""
    source: logging.LogRecord = record["_record"]
    record["timestamp"] = time_to_text(datetime.fromtimestamp(source.created, UTC))
    record["logger"] = source.name
    record["level"] = source.levelname.lower()
    return record


def _exception_info(value: Any) -> ExceptionInfo | None:
    """Return what ``exc_info`` stands for: an exception, what sys.exc_info() gives, or the one being handled."""
    if isinstance(value, BaseException):
        return type(value), value, value.__traceback__
    info = value if isinstance(value, tuple) else sys.exc_info() if value else (None, None, None)
    return info if info[1] is not None else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what led to it."""
    led: BaseException | None = error
    for _ in range(_CHAIN):
        if led is None:
            return
        yield led
        led = led.__cause__ or (None if led.__suppress_context__ else led.__context__)


def _frames(traceback: TracebackType | None) -> Iterator[str]:
    """Yield the places of a traceback, outermost first."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield _place(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next


def _place(file: str, line: int, function: str | None) -> str:
    """Write a place in the code; of the file's path the last two parts."""
    return f"{'/'.join(PurePath(file).parts[-2:])}:{line}:{function}"


_OWN_CHAIN: Final[list[Processor]] = [
    structlog.stdlib.filter_by_level,
    _explain,
    redact,
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]
