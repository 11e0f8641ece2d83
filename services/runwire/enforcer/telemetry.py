"""What an enforcer tells about itself: log lines and metrics, from what the runtime says."""

import logging
import sys
from collections.abc import Callable
from typing import Final

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from runwire.broker.functions import Commit
from runwire.broker.runtime import NodeStatus

# What an operator must see at the default level although nothing has failed yet, and what has.
_WARNINGS: Final = frozenset(
    {"commit-fenced", "commit-refused", "partition-fenced", "members-unreachable", "server-lost", "drain-too-slow"}
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


class _Finding(msgspec.Struct, rename="camel"):
    """The part of evidence that is logged and counted."""

    record: str
    message: str
    cls: str = msgspec.field(name="class", default="")


_finding = msgspec.json.Decoder(_Finding).decode


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


class Metrics:
    """All metrics of one enforcer, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = self._counter, self._gauge
        self.records = counter("records", "Records whose effects are committed")
        self.chunks = counter("chunks", "Normalized chunks written to run logs")
        self.violations = counter("violations", "Runs ended because they broke a rule", "code")
        self.evidence = counter("evidence", "Entries of evidence written", "code")
        self.commits = counter("commits", "Commits by outcome: done, fenced or refused", "outcome")
        self.reconnects = counter("reconnects", "Times the server was lost")
        self.commit_seconds = Histogram(
            "runwire_enforcer_commit_seconds",
            "From sending a commit to its answer",
            buckets=_COMMIT_SECONDS,
            registry=self.registry,
        )
        self.lag = gauge("lag_records", "Records written and not yet committed", "partition")
        self.leases = gauge("leases", "Partitions whose lease this process holds")
        self.halted = gauge("halted_partitions", "Partitions stopped by a fault")
        self.runs = gauge("cached_runs", "Unfinished runs in memory")

    def render(self, status: NodeStatus, cached_runs: int) -> bytes:
        """Prometheus text of this moment."""
        self.lag.clear()
        for partition, lag in status.lag.items():
            self.lag.labels(partition).set(lag)
        self.leases.set(len(status.held))
        self.halted.set(len(status.halted))
        self.runs.set(cached_runs)
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"runwire_enforcer_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"runwire_enforcer_{name}", text, labels, registry=self.registry)


class Telemetry:
    """The runtime's observer."""

    def __init__(
        self, metrics: Metrics, log: structlog.typing.FilteringBoundLogger, has_events: Callable[[int], None]
    ) -> None:
        """`has_events` is told which partition's outbox a commit filled."""
        self._metrics = metrics
        self._log = log
        self._has_events = has_events

    def committed(self, partition: int, commit: Commit, seconds: float) -> None:
        """Count a commit; say what broke in it."""
        metrics = self._metrics
        metrics.records.inc(commit.records)
        metrics.chunks.inc(sum(len(run.chunks) for run in commit.runs))
        metrics.commits.labels("done").inc()
        metrics.commit_seconds.observe(seconds)
        if commit.events:
            self._has_events(partition)
        for run_id, code, data in commit.evidence:
            metrics.evidence.labels(code).inc()
            self._found(partition, run_id, code, data)

    def say(self, event: str, partition: int | None = None, **facts: object) -> None:
        """One log line, at the level its kind deserves."""
        match event:
            case "commit-fenced":
                self._metrics.commits.labels("fenced").inc()
            case "commit-refused":
                self._metrics.commits.labels("refused").inc()
            case "server-lost":
                self._metrics.reconnects.inc()
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

    def _found(self, partition: int, run_id: str, code: str, data: bytes) -> None:
        found = _finding(data)
        if found.cls == "fatal":
            self._metrics.violations.labels(code).inc()
            self._log.warning(
                "run-violated", run_id=run_id, partition=partition, code=code, record=found.record, reason=found.message
            )
        else:
            self._log.debug("evidence", run_id=run_id, partition=partition, code=code, record=found.record)
