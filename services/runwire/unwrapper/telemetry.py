"""What an unwrapper tells about itself beside what every node does: records that it made, and what stays wrapped."""

import structlog

from runwire.broker.settling import Settlement
from runwire.service.telemetry import NodeMetrics, NodeTelemetry


class Metrics(NodeMetrics):
    """All metrics of one unwrapper."""

    def __init__(self) -> None:
        super().__init__("unwrapper", "entries")
        self.children = self.counter("child_records", "Records written to child runs, again after a crash included")
        self.runs_written = self.counter("runs", "States of runs written")


class Telemetry(NodeTelemetry):
    """The runtime's observer."""

    def __init__(self, metrics: Metrics, log: structlog.typing.FilteringBoundLogger) -> None:
        super().__init__(metrics, log)
        self._metrics = metrics

    def committed(self, partition: int, commit: Settlement, seconds: float) -> None:
        """Count a commit; say what stays wrapped."""
        super().committed(partition, commit, seconds)
        metrics = self._metrics
        metrics.children.inc(len(commit.parcels))
        metrics.runs_written.inc(len(commit.writes))
        for run_id, code, _ in commit.evidence:
            metrics.evidence.labels(code).inc()
            self._log.debug("evidence", run_id=run_id, partition=partition, code=code)
