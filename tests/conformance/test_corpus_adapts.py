"""Every recorded stream converts: nothing raises, the grammar accepts it, and no split of the bytes changes it."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conformance.expected import violations
from conformance.recorded import Seen, convert, files, judge
from conformance.spoken import spoken
from runwire.adapters import Emitted, adapter

SMALL = 3000
# An error in the stream; `"error": null` is none.
ERROR = re.compile(rb'"error"(?!:\s*null)')

RECORDED = files()
every_file = pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])


@every_file
def test_a_recorded_stream_is_legal(provider: str, path: Path) -> None:
    emitted = convert(provider, [path.read_bytes()])

    chunks, findings = judge(emitted, adapter(provider).usage)

    codes = [finding.code for finding in findings]
    expected = violations(provider).get(path.name)
    assert codes == ([] if expected is None else [expected.code]), findings
    types = [msgspec.json.decode(chunk)["type"] for chunk in chunks]
    assert types[0] == "start"
    assert types[-1] == "finish"


@every_file
def test_agent_chunks_lie_inside_the_call(provider: str, path: Path) -> None:
    kinds = [kind for kind, _ in convert(provider, [path.read_bytes()])]

    assert kinds[0] == "provider"
    assert kinds[-1] == "provider"


@every_file
def test_no_split_changes_a_recorded_stream(provider: str, path: Path) -> None:
    body = path.read_bytes()
    whole = convert(provider, [body])

    assert convert(provider, (body[at : at + 1] for at in range(len(body)))) == whole
    for seed in range(5):
        assert convert(provider, _random_pieces(body, seed)) == whole


@pytest.mark.parametrize(
    ("provider", "path"),
    [(provider, path) for provider, path in RECORDED if path.stat().st_size <= SMALL],
    ids=[path.name for _, path in RECORDED if path.stat().st_size <= SMALL],
)
def test_a_small_stream_may_be_cut_in_two_anywhere(provider: str, path: Path) -> None:
    body = path.read_bytes()
    whole = convert(provider, [body])

    for at in range(1, len(body)):
        assert convert(provider, [body[:at], body[at:]]) == whole, f"cut at byte {at}"


@every_file
def test_line_ends_do_not_matter(provider: str, path: Path) -> None:
    body = path.read_bytes().replace(b"\r\n", b"\n")
    whole = convert(provider, [body])

    for end in (b"\r\n", b"\r"):
        # NDJSON knows no lone CR: there it is white space inside a line.
        if end == b"\r\n" or path.suffix == ".sse":
            assert convert(provider, _random_pieces(body.replace(b"\n", end), 7)) == whole


@every_file
def test_one_event_at_a_time_gives_the_same(provider: str, path: Path) -> None:
    """As a provider's SDK hands them out: without framing."""
    wire = adapter(provider)
    emitted: list[Emitted] = [chunk for event in spoken(provider).events(path) for chunk in wire.feed_json(event)]
    emitted += wire.close()

    seen, whole = Seen(emitted), Seen(convert(provider, [path.read_bytes()]))

    for field in ("text", "reasoning", "tools", "results", "usage", "finish"):
        assert getattr(seen, field) == getattr(whole, field)


@every_file
def test_a_body_that_stops_early_is_cut_off(provider: str, path: Path) -> None:
    """Cut anywhere before the provider's word that ends the response: the call is aborted, with its cause."""
    body = path.read_bytes()
    end = spoken(provider).sure(body)
    limit = min(len(body), end if end > 0 else len(body) // 2)
    if ERROR.search(body[:limit]) or limit < len(body) // 10:
        return
    for at in random.Random(path.name).sample(range(1, limit), min(20, limit - 1)):
        emitted = convert(provider, [body[:at]])
        seen = Seen(emitted)
        assert seen.finish == "aborted", f"cut at byte {at}"
        assert "cut off" in seen.failure
        assert judge(emitted, adapter(provider).usage)[1] == []


def _random_pieces(body: bytes, seed: int) -> Iterator[bytes]:
    random_ = random.Random(seed)
    at = 0
    while at < len(body):
        step = random_.choice((1, 2, 3, 7, 50, 1000, 20_000))
        yield body[at : at + step]
        at += step
