"""Runs flows: performs each effect that a flow requests, and passes the result or the error back to the flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ._settings import Effect, Flow


def drive(flow: Flow, do: Callable[[Effect], Any]) -> Any:
    """Returns the result of a flow. do blocks until it has done an effect."""
    value: Any = None
    failure: BaseException | None = None
    while True:
        try:
            effect = flow.send(value) if failure is None else flow.throw(failure)
        except StopIteration as end:
            return end.value
        value = failure = None
        try:
            value = do(effect)
        except BaseException as error:
            failure = error


async def drive_async(flow: Flow, do: Callable[[Effect], Awaitable[Any]]) -> Any:
    """Does the same as drive on asyncio."""
    value: Any = None
    failure: BaseException | None = None
    while True:
        try:
            effect = flow.send(value) if failure is None else flow.throw(failure)
        except StopIteration as end:
            return end.value
        value = failure = None
        try:
            value = await do(effect)
        except BaseException as error:
            failure = error
