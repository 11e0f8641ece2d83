"""The recorded streams in one table: how many each adapter reads, what the grammar refuses, where an oracle differs."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from conformance.expected import differences, violations
from conformance.golden import TABLES as GOLDEN
from conformance.recorded import convert, judge
from helpers import corpus, recordings, stream_parts
from runwire.adapters import PROVIDERS, adapter
from runwire.cli.summary import markdown

ORACLES = Path(__file__).with_name("oracles")


class Read(NamedTuple):
    """One protocol. `codes` are those of the files that the grammar refuses, by file name."""

    provider: str
    files: list[str]
    codes: dict[str, str]


def read() -> list[Read]:
    """Every recorded stream through its adapter and the grammar. Leaves the caller out where there are none."""
    corpus(PROVIDERS[0])
    stream_parts()
    return [_read(provider) for provider in PROVIDERS]


def report(protocols: list[Read]) -> str:
    """Two Markdown tables: the protocols, and what is not as usual with a reason for each."""
    rows = [_row(one) for one in protocols]
    files, ok = (sum(int(row[at]) for row in rows) for at in (1, 2))
    counts = Counter(code for one in protocols for code in one.codes.values())
    differing = sum(len(differences(one.provider)) for one in protocols)
    rows.append(("all", str(files), str(ok), _counted(counts), "", str(differing)))
    heads = ("protocol", "files", "ok", "violations", "compared with", "differences")
    reasons = [row for one in protocols for row in _reasons(one)]
    return "\n\n".join(
        [
            markdown(heads, rows, numbers={1, 2, 5}),
            markdown(("protocol", "what", "files", "why"), reasons, numbers={2}),
        ]
    )


def _read(provider: str) -> Read:
    paths, codes = recordings(provider), dict[str, str]()
    usage = adapter(provider).usage
    for path in paths:
        _, findings = judge(convert(provider, [path.read_bytes()]), usage)
        if findings:
            codes[path.name] = findings[0].code
    return Read(provider, [path.name for path in paths], codes)


def _row(one: Read) -> tuple[str, ...]:
    different = differences(one.provider)
    return (
        one.provider,
        str(len(one.files)),
        str(len(one.files) - len(one.codes)),
        _counted(Counter(one.codes.values())),
        ", ".join(_oracles(one.provider)),
        str(len(different)),
    )


def _oracles(provider: str) -> list[str]:
    """Whom the tests compare an adapter with."""
    sdk = (ORACLES / f"{provider.replace('-', '_')}.py").exists()
    return ["its SDK"] * sdk + ["what a reader wrote down"] * (GOLDEN / f"{provider}.toml").exists()


def _reasons(one: Read) -> list[tuple[str, ...]]:
    known = violations(one.provider)
    unusual = Counter[tuple[str, str]]()
    for file, code in one.codes.items():
        unusual[f"violation `{code}`", known[file].reason if file in known else "not reviewed"] += 1
    for row in differences(one.provider):
        unusual["the SDK fails" if row.field == "sdk" else row.field, row.reason] += 1
    return [(one.provider, what, str(count), why) for (what, why), count in unusual.items()]


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
