"""What tests share: waiting for a described condition, the recorded corpus, and leaving a test out with a reason."""

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn, TypeVar, overload

import pytest

from helpers import parts

__all__ = ["PROJECT", "corpus", "left_out", "recordings", "stream_parts", "wait_until", "wait_until_sync"]

T = TypeVar("T")
Ignored = type[Exception] | tuple[type[Exception], ...]

PROJECT = Path(__file__).resolve().parents[2]

# Between two looks at a condition: short at first, for what is nearly there, and gentle to a busy machine after.
_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.1


@overload
async def wait_until(
    predicate: Callable[[], Awaitable[T | None]], description: str, limit: float = ..., *, ignoring: Ignored = ...
) -> T: ...
@overload
async def wait_until(
    predicate: Callable[[], T | None], description: str, limit: float = ..., *, ignoring: Ignored = ...
) -> T: ...
async def wait_until(
    predicate: Callable[[], T | Awaitable[T | None] | None],
    description: str,
    limit: float = 10.0,
    *,
    ignoring: Ignored = (),
) -> T:
    """Wait until `predicate` (plain or async) gives something true and return that.

    Fails after `limit` seconds with what it gave last. Errors of the classes in `ignoring` count as "not yet".
    """
    deadline, pause = time.monotonic() + limit, _FIRST_PAUSE_S
    while True:
        last: object
        try:
            # A condition that hangs must not outlive its limit either.
            value = await asyncio.wait_for(_ask(predicate), max(deadline - time.monotonic(), _FIRST_PAUSE_S))
            if value:
                return value
            last = value
        except ignoring as error:
            last = error
        except TimeoutError:
            last = "no answer: the predicate itself did not return"
        if time.monotonic() >= deadline:
            _fail(description, limit, last)
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)


def wait_until_sync(
    predicate: Callable[[], T | None],
    description: str,
    limit: float = 10.0,
    *,
    ignoring: Ignored = (),
) -> T:
    """`wait_until` for a test without a loop, for example one that watches a process."""
    deadline, pause = time.monotonic() + limit, _FIRST_PAUSE_S
    while True:
        last: object
        try:
            value = predicate()
            if value:
                return value
            last = value
        except ignoring as error:
            last = error
        if time.monotonic() >= deadline:
            _fail(description, limit, last)
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)


def left_out(reason: str) -> NoReturn:
    """Leave the running test (or module) out for a reason the machine gives; fail where everything is required."""
    if os.environ.get("RUNWIRE_REQUIRE_ALL") == "1":
        pytest.fail(f"RUNWIRE_REQUIRE_ALL=1, but {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def corpus(protocol: str) -> list[Path]:
    """The recorded provider streams of one protocol, sorted by name. Leaves the caller out where there are none."""
    made = _made(protocol)
    if isinstance(made, str):
        left_out(made)
    files = recordings(protocol)
    if not files:
        left_out(f"no recorded {protocol} streams in {_recorded()} (RUNWIRE_CORPUS names the corpus folder)")
    return files


def recordings(protocol: str) -> list[Path]:
    """The same; none where there are none, for there are protocols that nobody has recorded."""
    made = _made(protocol)
    if made is not None:
        return [] if isinstance(made, str) else parts.selected(made)
    return sorted(path for path in (_recorded() / protocol).glob("*") if path.suffix in (".sse", ".jsonl", ".json"))


def stream_parts() -> Path:
    """The folder of all stream parts of the AI SDK. Leaves the caller out where they cannot be made."""
    made = parts.made_from(_recorded())
    return left_out(made) if isinstance(made, str) else made


def _made(protocol: str) -> Path | str | None:
    """The folder of recordings that are made from the others, or why there is none. None: the protocol is recorded."""
    return parts.made_from(_recorded()) if protocol == "ai-sdk" else None


def _recorded() -> Path:
    return Path(os.environ.get("RUNWIRE_CORPUS") or PROJECT.parent / "shared" / "corpus") / "providers"


async def _ask(predicate: Callable[[], T | Awaitable[T | None] | None]) -> T | None:
    value = predicate()
    return await value if inspect.isawaitable(value) else value


def _fail(description: str, limit: float, last: object) -> NoReturn:
    pytest.fail(f"waited {limit:g} s in vain: {description}\nlast seen: {last!r}", pytrace=False)
