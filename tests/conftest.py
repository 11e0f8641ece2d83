"""For every test: an environment without the developer's own settings, and a clear list of what was left out."""

import os
import signal

import pytest

# Read by the tests themselves, never by Runwire.
KEPT = ("RUNWIRE_CORPUS", "RUNWIRE_REQUIRE_ALL", "RUNWIRE_TEST_IMAGE", "RUNWIRE_TEST_IMAGE_COMMAND")


def pytest_configure() -> None:
    for name in [name for name in os.environ if name.startswith("RUNWIRE_") and name not in KEPT]:
        del os.environ[name]
    # A shell starts background jobs with SIGINT ignored, and so would be every process that a test wants to interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Group skips by reason: a reader wants to know which server or corpus was missing, not 200 test names."""
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] = reasons.get(reason.removeprefix("Skipped: "), 0) + 1
    if reasons:
        terminalreporter.section("left out")
        for reason, count in sorted(reasons.items()):
            terminalreporter.line(f"{count:5} x {reason}")
