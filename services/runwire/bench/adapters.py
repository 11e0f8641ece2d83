"""How many events a second each adapter reads, beside its provider's own SDK on the same bytes in the same run."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

from rich.table import Table

from runwire.adapters import MAX_EVENT, adapter
from runwire.adapters.framing.framed import Framed
from runwire.adapters.framing.sse import WireEvent

from .bodies import in_frames
from .figures import machine, rounded
from .sdks import Sdk, installed

# Bodies arrive in pieces: as much as a socket usually gives at once.
PIECE_BYTES: Final = 16 * 1024
# Wanted of an adapter: one of the two.
EVENTS_PER_S: Final = 150_000
TIMES_THE_SDK: Final = 3


class Wish(NamedTuple):
    """`seconds` is the length of one measurement; rates are medians of `repeats`."""

    seconds: float
    repeats: int


def measure(bodies: Mapping[str, Sequence[bytes]], wish: Wish, say: Callable[[str], None]) -> dict[str, Any]:
    """Time every adapter on its bodies. The result is ready for JSON."""
    figures: dict[str, Any] = {}
    for provider, own in bodies.items():
        sdk, framed = installed(provider), in_frames(provider, own)
        # Where an SDK reads binary frames only, it has nothing to say of decoded events.
        figures[provider] = _of(provider, own, None if framed else sdk, wish)
        if framed and sdk is not None:
            # Without botocore nobody reads them.
            figures[provider]["frames"] = _of(provider, framed, sdk, wish)
        say(f"{provider}: {figures[provider]['rate']:,} events/s")
    return {"adapters": figures, "environment": {**machine(), "seconds": wish.seconds, "repeats": wish.repeats}}


def _of(provider: str, bodies: Sequence[bytes], sdk: Sdk | None, wish: Wish) -> dict[str, Any]:
    readable = list(bodies) if sdk is None else [body for body in bodies if _reads(sdk, body)]
    # An SDK raises on what other servers send: the two are compared on what both can read.
    compared = readable or list(bodies)
    events = sum(map(_events, compared))
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(wish.repeats):
        ours.append(_rate(compared, events, lambda body: _read(provider, body), wish.seconds))
        if sdk is not None and readable:
            theirs.append(_rate(compared, events, sdk.read, wish.seconds))
    rate = median(ours)
    figures: dict[str, Any] = {
        "rate": round(rate),
        "bodies": len(compared),
        "left_out": len(bodies) - len(compared),
        "events": events,
        "mb_per_s": rate * sum(map(len, compared)) / events / 1e6,
        "repeats": [round(one) for one in ours],
    }
    if sdk is not None and theirs:
        slower = median(theirs)
        figures["sdk"] = {"name": sdk.name, "rate": round(slower), "ratio": rate / slower}
    return dict(rounded(figures))


def _rate(bodies: Sequence[bytes], events: int, read: Callable[[bytes], Any], seconds: float) -> float:
    """Events per second of CPU time; all bodies are read at least once, and again until the time is over.

    Reading is work for one core and waits for nothing, so what else the machine does is left out.
    """
    rounds, started = 0, time.process_time()
    with warnings.catch_warnings():
        # The SDKs' models warn about what other servers send.
        warnings.simplefilter("ignore")
        while True:
            for body in bodies:
                read(body)
            rounds += 1
            if (took := time.process_time() - started) >= seconds:
                return rounds * events / took


def _read(provider: str, body: bytes) -> None:
    wire = adapter(provider)
    for at in range(0, len(body), PIECE_BYTES):
        wire.feed(body[at : at + PIECE_BYTES])
    wire.close()


def _events(body: bytes) -> int:
    framed, found = Framed(None, MAX_EVENT), list[WireEvent]()
    framed.feed(body, found)
    framed.close(found)
    return len(found)


def _reads(sdk: Sdk, body: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return sdk.read(body) > 0
        except Exception:  # noqa: BLE001 - SDKs fail in many ways on what is not their own server's
            return False


def table(result: dict[str, Any]) -> Table:
    shown = Table(title=f"adapters, {result['environment']['cores']} cores, Python {result['environment']['python']}")
    for name in ("adapter", "events", "events/s", "MB/s", "SDK", "SDK events/s", "ratio"):
        shown.add_column(name, justify="left" if name in ("adapter", "SDK") else "right")
    for provider, figures in result["adapters"].items():
        shown.add_row(*_row(provider, figures))
        if "frames" in figures:
            shown.add_row(*_row("  in binary frames", figures["frames"]))
    shown.caption = f"wanted: {EVENTS_PER_S:,} events/s, or {TIMES_THE_SDK} times the SDK"
    return shown


def _row(name: str, figures: dict[str, Any]) -> tuple[str, ...]:
    sdk = figures.get("sdk")
    theirs = (sdk["name"], f"{sdk['rate']:,}", f"{sdk['ratio']:.1f}") if sdk else ("", "", "")
    return name, f"{figures['events']:,}", f"{figures['rate']:,}", f"{figures['mb_per_s']:.1f}", *theirs
