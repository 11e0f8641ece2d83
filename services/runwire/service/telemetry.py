"""What a node tells about itself: log lines and metrics, from what the runtime says."""

import logging
import sys
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from runwire.broker.runtime import NodeStatus

# What an operator must see at the default level although nothing has failed yet, and what has.
_WARNINGS: Final = frozenset(
    {
        "commit-fenced",
        "commit-refused",
        "partition-fenced",
        "members-unreachable",
        "posting-waits",
        "server-lost",
        "drain-too-slow",
    }
)
_ERRORS: Final = frozenset(
    {
        "partition-halted",
        "partition-defect",
        "partition-stalled",
        "handler-crashed",
        "record-set-aside",
        "chore-failed",
        "event-unreadable",
        "alarm-not-written",
    }
)
# From one pipelined commit on this machine (0.3 ms) to the longest a command may take (2 s).
_COMMIT_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)


def make_logger(level: str) -> structlog.typing.FilteringBoundLogger:
    """Lines on stderr: JSON, or readable where a person watches."""
    human = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if human else structlog.processors.JSONRenderer(default=repr)
    logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
    )
    return logger


class NodeMetrics:
    """What every node counts, in a registry of its own. Names begin with `runwire_<kind>_`."""

    def __init__(self, kind: str, what: str) -> None:
        """`what` is what the node reads, in the plural."""
        self.registry = CollectorRegistry()
        self._kind = kind
        self.records = self.counter("records", f"{what.capitalize()} whose effects are committed")
        self.evidence = self.counter("evidence", "Entries of evidence written", "code")
        self.commits = self.counter("commits", "Commits by outcome: done, fenced or refused", "outcome")
        self.reconnects = self.counter("reconnects", "Times the server was lost")
        self.commit_seconds = Histogram(
            f"runwire_{kind}_commit_seconds",
            "From sending a commit to its answer",
            buckets=_COMMIT_SECONDS,
            registry=self.registry,
        )
        self.lag = self.gauge("lag_records", f"{what.capitalize()} written and not yet committed", "partition")
        self.leases = self.gauge("leases", "Partitions whose lease this process holds")
        self.halted = self.gauge("halted_partitions", "Partitions stopped by a fault")
        self.runs = self.gauge("cached_runs", "Unfinished runs in memory")

    def render(self, status: NodeStatus, cached_runs: int) -> bytes:
        """Prometheus text of this moment."""
        self.lag.clear()
        for partition, lag in status.lag.items():
            self.lag.labels(partition).set(lag)
        self.leases.set(len(status.held))
        self.halted.set(len(status.halted))
        self.runs.set(cached_runs)
        return generate_latest(self.registry)

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """A counter of this kind of node."""
        return Counter(f"runwire_{self._kind}_{name}", text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """A gauge of this kind of node."""
        return Gauge(f"runwire_{self._kind}_{name}", text, labels, registry=self.registry)


class NodeTelemetry:
    """The runtime's observer. What a commit of one kind of node holds, its own telemetry counts."""

    def __init__(self, metrics: NodeMetrics, log: structlog.typing.FilteringBoundLogger) -> None:
        self._common = metrics
        self._log = log

    def committed(self, partition: int, commit: Any, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """Count a commit."""
        self._common.records.inc(commit.records)
        self._common.commits.labels("done").inc()
        self._common.commit_seconds.observe(seconds)

    def say(self, event: str, partition: int | None = None, **facts: object) -> None:
        """One log line, at the level its kind deserves."""
        match event:
            case "commit-fenced":
                self._common.commits.labels("fenced").inc()
            case "commit-refused":
                self._common.commits.labels("refused").inc()
            case "server-lost":
                self._common.reconnects.inc()
            case _:
                pass
        error = facts.pop("error", None)
        if partition is not None:
            facts["partition"] = partition
        log = self._log
        say = log.error if event in _ERRORS else log.warning if event in _WARNINGS else log.info
        if isinstance(error, Exception):
            say(event, exc_info=error, **facts)
        else:
            say(event, **facts)
