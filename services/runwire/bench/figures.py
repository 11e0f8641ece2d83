"""From samples to figures, and the machine that they were taken on."""

import math
import os
import platform
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """At monotonic second `at`: records done in all, and the smallest backlog of any partition."""

    at: float
    done: int
    backlog: int


class Window(NamedTuple):
    """Where a rate was taken: from `start` to `end`."""

    start: Sample
    end: Sample

    @property
    def seconds(self) -> float:
        return self.end.at - self.start.at

    @property
    def rate(self) -> float:
        return (self.end.done - self.start.done) / self.seconds


class RanDry(Exception):
    """The backlog ended before anything could be measured."""


def window(samples: Sequence[Sample]) -> Window:
    """From the first sample to the last at which every partition still had work."""
    full = [sample for sample in samples if sample.backlog > 0]
    if len(full) < 2 or full[-1].at <= full[0].at:  # noqa: PLR2004  a rate needs two points
        raise RanDry("a partition had no records left to read: write more of them beforehand")
    return Window(full[0], full[-1])


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of all lie; the nearest one, never one that was not measured."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    return {
        "p50": round(percentile(milliseconds, 0.5), 3),
        "p99": round(percentile(milliseconds, 0.99), 3),
        "samples": len(milliseconds),
    }


def longest_step(samples: Sequence[Sample]) -> float:
    """The longest time between two samples: how much the measuring itself was held up."""
    return max((later.at - earlier.at for earlier, later in pairwise(samples)), default=0.0)


def machine() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_before": os.getloadavg()[0],
    }


def rounded(value: Any, digits: int = 3) -> Any:
    """Floats of a result, for people and diffs."""
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {name: rounded(inner, digits) for name, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value
