"""One recorded stream beside what its SDK makes of it: the fields in which they differ."""

from pathlib import Path

from conformance.expected import Expected, differences, same_arguments
from conformance.recorded import Seen, convert
from conformance.spoken import spoken

FIELDS = ("text", "reasoning", "tools", "usage", "finish", "error")


def unequal(provider: str, path: Path, expected: Expected, *, choice: int = 0) -> set[str]:
    """Names of the fields that differ; `sdk` if there is nothing to compare with."""
    if expected.raised.startswith("sdk"):
        return {"sdk"}
    seen = Seen(convert(provider, [path.read_bytes()], choice=choice))
    found = {
        field for field in ("text", "reasoning", "usage", "finish") if getattr(seen, field) != getattr(expected, field)
    }
    exact = spoken(provider).exact
    same = len(seen.tools) == len(expected.tools) and all(
        (ours.id == theirs[0] or not theirs[0])  # some SDKs leave ids out
        and ours.name == theirs[1]
        and (ours.arguments == theirs[2] if exact else same_arguments(ours.arguments, theirs[2]))
        for ours, theirs in zip(seen.tools, expected.tools, strict=False)
    )
    if not same and seen.finish != "error":
        found.add("tools")
    if expected.raised.startswith("error: ") and seen.failure not in expected.raised:
        found.add("error")
    return found


def reviewed(provider: str, path: Path) -> set[str]:
    return {row.field for row in differences(provider) if row.file == path.name}


def stale(provider: str, files: list[Path]) -> set[str]:
    """Files of the table that are no recordings any more."""
    names = {path.name for path in files}
    return {row.file for row in differences(provider) if row.file not in names}
