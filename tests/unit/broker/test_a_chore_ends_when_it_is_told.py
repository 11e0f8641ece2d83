"""A client library may answer a cancellation with an error of its own. The chore ends all the same."""

import asyncio
from typing import ClassVar

import pytest

from runwire.broker.chores import Spell, repeat
from runwire.broker.desk import Silent


class Desk:
    """What `repeat` uses of a desk."""

    observer = Silent()


class Swallows:
    """Cancelled while it waits for a server, it raises what redis-py does: that the connection is gone."""

    every_s: ClassVar[float] = 0.0

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def run(self, spell: Spell) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionError("the connection was given up while it was being made") from None


async def test_a_swallowed_cancellation_still_ends_the_chore() -> None:
    chore = Swallows()
    task = asyncio.create_task(repeat(chore, Spell(Desk(), None, None)))  # type: ignore[arg-type]  # not used here
    await chore.begun.wait()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5.0)
    assert done, "the chore went on after it was cancelled"
    with pytest.raises(asyncio.CancelledError):
        await task
