"""What a check of the doctor's says."""

import dataclasses
import enum

from pausemesh.core.values import JsonValue


class State(enum.StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: what was looked at, how it is, and what to do where it is not well."""

    name: str
    state: State
    text: str
    advice: str | None = None

    def as_json(self) -> dict[str, JsonValue]:
        """Return it as JSON; without advice there is no such member."""
        members: dict[str, JsonValue] = {"name": self.name, "state": self.state.value, "text": self.text}
        return members if self.advice is None else {**members, "advice": self.advice}


def ok(name: str, text: str) -> Check:
    """Return a check that found nothing."""
    return Check(name=name, state=State.OK, text=text)


def warn(name: str, text: str, advice: str) -> Check:
    """Return a check that found what somebody should look at."""
    return Check(name=name, state=State.WARN, text=text, advice=advice)


def fail(name: str, text: str, advice: str) -> Check:
    """Return a check that found what must be put right."""
    return Check(name=name, state=State.FAIL, text=text, advice=advice)
