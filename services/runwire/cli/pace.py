"""Real-time pacing. Recorded files and run logs have no timing of their own, so `--speed` is a multiple of one pace."""

from typing import Annotated, Final

import typer

# Events per second at `--speed 1`: about what current models stream.
PACE_PER_S: Final = 40.0

Speed = Annotated[
    float | None,
    typer.Option(
        "--speed",
        min=0.01,
        max=10_000.0,
        metavar="X",
        help=f"Real time: 1 is {PACE_PER_S:.0f} events a second, 2 is twice that. Default: as fast as possible.",
        show_default=False,
    ),
]


class Pace:
    """Await `tick` before each event. A late one does not delay those after it."""

    def __init__(self, speed: float | None) -> None:
        self._interval = 1 / (PACE_PER_S * speed) if speed else 0.0
        self._next = 0.0

    async def tick(self) -> None:
        if not self._interval:
            return
        import asyncio

        now = asyncio.get_running_loop().time()
        self._next = max(self._next + self._interval, now - self._interval)
        if self._next > now:
            await asyncio.sleep(self._next - now)
