"""A caller's function with the arguments it will get: checked before anything is recorded about it."""

import asyncio
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from pausemesh.core.document import Document
from pausemesh.core.errors import InvalidRequest
from pausemesh.core.issue import Issue
from pausemesh.core.values import JsonInput


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """A function, the arguments that are recorded, and whether the function takes them."""

    function: Callable[..., object] = dataclasses.field(repr=False)
    arguments: dict[str, JsonInput] = dataclasses.field(repr=False)
    takes_arguments: bool

    async def run(self, recorded: Document) -> object:
        """Call the function with what was recorded; a blocking one in a thread."""
        given = recorded.value if self.takes_arguments else {}
        assert isinstance(given, dict), "arguments are an object"
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**given)
        return await in_thread(self.function, **given)


def bound(function: object, arguments: dict[str, JsonInput]) -> BoundCall:
    """Bind a function: it gets the arguments as keyword arguments, or none where it takes no parameters.

    Raises:
        InvalidRequest: it cannot be called, or not with these arguments.
    """
    if not callable(function):
        raise InvalidRequest(issues=[Issue("/run", "type", "must be callable")])
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return BoundCall(function=function, arguments=arguments, takes_arguments=True)
    if not signature.parameters:
        return BoundCall(function=function, arguments=arguments, takes_arguments=False)
    try:
        signature.bind(**arguments)
    except TypeError:
        message = "must take the arguments as keyword arguments, or no parameters at all"
        raise InvalidRequest(issues=[Issue("/run", "type", message)]) from None
    return BoundCall(function=function, arguments=arguments, takes_arguments=True)


def require_takes_one(function: object, path: str) -> None:
    """Pass a function that takes one argument by its position.

    Raises:
        InvalidRequest: it cannot be called so; ``path`` is the JSON Pointer of the parameter.
    """
    if not callable(function):
        raise InvalidRequest(issues=[Issue(path, "type", "must be callable")])
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None)
    except TypeError:
        raise InvalidRequest(issues=[Issue(path, "type", "must take one argument")]) from None


async def in_thread(function: Callable[..., object], *args: Any, **kwargs: Any) -> object:
    """Call a blocking function in a thread, and await what it returns where that can be awaited.

    Whatever it raises comes back as a value and is raised here: a future cannot carry StopIteration, and SystemExit
    would end the loop's thread instead of reaching its caller.
    """

    def attempt() -> tuple[object, BaseException | None]:
        try:
            return function(*args, **kwargs), None
        except BaseException as error:  # noqa: BLE001 - it is raised again where the caller waits
            return None, error

    result, error = await asyncio.to_thread(attempt)
    if error is not None:
        raise error
    return await result if inspect.isawaitable(result) else result
