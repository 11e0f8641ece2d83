"""What an enforcer tells about itself beside what every node does: chunks, evidence and violations."""

from collections.abc import Callable

import msgspec
import structlog

from runwire.broker.functions import Commit
from runwire.service.telemetry import NodeMetrics, NodeTelemetry


class _Finding(msgspec.Struct, rename="camel"):
    """The part of evidence that is logged and counted."""

    record: str
    message: str
    cls: str = msgspec.field(name="class", default="")


_finding = msgspec.json.Decoder(_Finding).decode


class Metrics(NodeMetrics):
    """All metrics of one enforcer."""

    def __init__(self) -> None:
        super().__init__("enforcer", "records")
        self.chunks = self.counter("chunks", "Normalized chunks written to run logs")
        self.violations = self.counter("violations", "Runs ended because they broke a rule", "code")


class Telemetry(NodeTelemetry):
    """The runtime's observer."""

    def __init__(
        self, metrics: Metrics, log: structlog.typing.FilteringBoundLogger, has_events: Callable[[int], None]
    ) -> None:
        """`has_events` is told which partition's outbox a commit filled."""
        super().__init__(metrics, log)
        self._metrics = metrics
        self._has_events = has_events

    def committed(self, partition: int, commit: Commit, seconds: float) -> None:
        """Count a commit; say what broke in it."""
        super().committed(partition, commit, seconds)
        metrics = self._metrics
        metrics.chunks.inc(sum(len(run.chunks) for run in commit.runs))
        if commit.events:
            self._has_events(partition)
        for run_id, code, data in commit.evidence:
            metrics.evidence.labels(code).inc()
            self._found(partition, run_id, code, data)

    def _found(self, partition: int, run_id: str, code: str, data: bytes) -> None:
        found = _finding(data)
        if found.cls == "fatal":
            self._metrics.violations.labels(code).inc()
            self._log.warning(
                "run-violated", run_id=run_id, partition=partition, code=code, record=found.record, reason=found.message
            )
        else:
            self._log.debug("evidence", run_id=run_id, partition=partition, code=code, record=found.record)
