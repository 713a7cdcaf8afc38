"""What every error of PauseMesh is."""

from collections.abc import Iterable
from typing import Any, ClassVar

from pausemesh.core import limits
from pausemesh.core.issue import Issue


class PauseMeshError(Exception):
    """Something was refused or went wrong."""

    code: ClassVar[str] = "PAUSEMESH_ERROR"

    def __init__(self, detail: str | None = None, *, issues: Iterable[Issue] = ()) -> None:
        self.detail = detail
        self.issues: tuple[Issue, ...] = tuple(issues)[: limits.ISSUES]
        super().__init__(detail)

    def __str__(self) -> str:
        message = (type(self).__doc__ or "").partition("\n")[0]
        places = "; ".join(f"{issue.path or '(root)'}: {issue.message}" for issue in self.issues)
        return " ".join(part for part in (message, self.detail, places) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it travel between processes whole, whatever its construction takes."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[PauseMeshError], args: tuple[Any, ...], members: dict[str, Any]) -> PauseMeshError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(members)
    return error
