"""The verdict: how often each promise was broken, and where. Pure."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from .schedule import FaultKind

Counter = Literal["lost", "doubled", "reordered", "holes", "illegal", "unended", "leftover_keys"]
COUNTERS: Final[tuple[Counter, ...]] = get_args(Counter)


class Finding(NamedTuple):
    """One broken promise: which, of what (a run or a key), and what was seen."""

    counter: Counter
    subject: str
    sentence: str


class Verdict(NamedTuple):
    """`published`: records acknowledged. `cut`: those that went with an AOF tail and whose producer died with them."""

    seconds: float
    faults: Mapping[FaultKind, int]
    required: frozenset[FaultKind]
    published: int
    cut: int
    findings: tuple[Finding, ...]

    def count(self, counter: Counter) -> int:
        return sum(finding.counter == counter for finding in self.findings)

    @property
    def missing(self) -> list[FaultKind]:
        """Kinds of fault that never happened: without them the run proves too little."""
        return sorted(kind for kind in self.required if not self.faults.get(kind))

    @property
    def ok(self) -> bool:
        return self.published > 0 and not self.findings and not self.missing

    def summary(self) -> dict[str, Any]:
        """The JSON object that `runwire chaos --json` prints."""
        return {
            "seconds": round(self.seconds, 1),
            "faults": sum(self.faults.values()),
            "faults_by_kind": {str(kind): self.faults.get(kind, 0) for kind in FaultKind if kind in self.required},
            "published": self.published,
            **{counter: self.count(counter) for counter in COUNTERS},
            "cut": self.cut,
            "ok": self.ok,
        }
