"""Every recording of Bedrock, framed as it was on the wire: the same call, however the bytes are split or damaged."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from botocore.exceptions import EventStreamError

from conformance.compared import reviewed
from conformance.eventstream import conversed, exception, invoked
from conformance.oracles.bedrock_client import client
from conformance.recorded import Seen, convert, decode_raw, judge
from conformance.spoken import lines, spoken
from helpers import corpus
from runwire.adapters import adapter, feed_event
from runwire_schemas.raw import Failed

CONVERSE = [("bedrock-converse", path) for path in corpus("bedrock-converse")]
INVOKE = [("bedrock-invoke", path) for path in corpus("bedrock-invoke")]
# Claude's, which the recorder decoded from InvokeModel.
CLAUDE = [
    ("anthropic", path) for path in corpus("anthropic") if b"amazon-bedrock-invocationMetrics" in path.read_bytes()
]
RECORDED = [*CONVERSE, *INVOKE, *CLAUDE]
# Bodies up to this size are cut everywhere, larger ones at some places; so it is for flipped bits.
SMALL = 2500
PLACES = 25

every_file = pytest.mark.parametrize(("provider", "path"), RECORDED, ids=[path.name for _, path in RECORDED])


def framed(provider: str, path: Path) -> bytes:
    return (conversed if provider == "bedrock-converse" else invoked)(lines(path))


def places(body: bytes, path: Path) -> Iterable[int]:
    every = range(1, len(body))
    return every if len(body) <= SMALL else random.Random(path.name).sample(every, PLACES)


@every_file
def test_frames_give_the_call_that_decoded_lines_give(provider: str, path: Path) -> None:
    assert convert(provider, [framed(provider, path)]) == convert(provider, [path.read_bytes()])


@pytest.mark.parametrize("path", [path for _, path in CLAUDE], ids=lambda path: path.name)
def test_claude_on_invoke_model_is_read_by_either_adapter(path: Path) -> None:
    body = framed("anthropic", path)
    one, other = Seen(convert("anthropic", [body])), Seen(convert("bedrock-invoke", [body]))

    for field in ("text", "reasoning", "tools", "kinds", "usage", "finish"):
        assert getattr(one, field) == getattr(other, field), field
    metrics = one.beside("response-metadata")[-1]["providerMetadata"]["anthropic"]["amazon-bedrock-invocationMetrics"]
    assert (
        other.beside("response-metadata")[-1]["providerMetadata"]["bedrock-invoke"]["amazon-bedrock-invocationMetrics"]
        == metrics
    )


@every_file
def test_no_split_changes_a_framed_stream(provider: str, path: Path) -> None:
    body = framed(provider, path)
    whole = convert(provider, [body])

    assert convert(provider, (body[at : at + 1] for at in range(len(body)))) == whole
    for at in places(body, path):
        assert convert(provider, [body[:at], body[at:]]) == whole, f"cut at byte {at}"


@every_file
def test_a_body_that_stops_early_was_cut_off(provider: str, path: Path) -> None:
    """Wherever it stops before its last frame but one, also between two frames."""
    body = framed(provider, path)
    sure = len(framed_start(provider, path))
    for at in [*random.Random(path.name).sample(range(1, sure), 20), sure]:
        seen = Seen(convert(provider, [body[:at]]))
        assert seen.finish == "aborted", f"cut at byte {at}"
        assert "cut off" in seen.failure


def framed_start(provider: str, path: Path) -> bytes:
    """The frames before the one that says that the response is over."""
    found = lines(path)
    count = next(at for at, line in enumerate(found) if spoken(provider).sure(line) > 0)
    return (conversed if provider == "bedrock-converse" else invoked)(found[:count])


@every_file
def test_a_flipped_bit_is_found_and_survived(provider: str, path: Path) -> None:
    """Never a crash, never text that nobody sent: a frame whose checksum does not match is not read.

    The first byte stays: without it nobody knows that these are frames.
    """
    body = framed(provider, path)
    said = Seen(convert(provider, [body])).text
    for at in places(body, path):
        broken = bytearray(body)
        broken[at] ^= 1 << (at % 8)
        emitted = convert(provider, [bytes(broken)])
        seen = Seen(emitted)
        assert decode_raw(emitted[-1].body).__class__.__name__ == "Finish"
        assert judge(emitted, adapter(provider).usage)[1] == []
        assert said.startswith(seen.text), f"byte {at}"
        # Only behind the end nobody looks any more.
        assert seen.finish in ("error", "aborted") or seen.text == said, f"byte {at}"


READABLE = [path for provider, path in CONVERSE if "sdk" not in reviewed(provider, path)]


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_an_exception_in_mid_stream_is_the_error_that_botocore_raises(path: Path) -> None:
    """Its user passes on what the error holds; that and the bytes give the same end, and keep what came before."""
    begun = framed_start("bedrock-converse", path)
    body = begun + exception("modelStreamErrorException", message="the model went away")
    seen = Seen(convert("bedrock-converse", [body]))

    wire = adapter("bedrock-converse")
    through_sdk = Seen([one for event in sdk_events(body) for one in feed_event(wire, event)])

    assert isinstance(seen.reason, Failed)
    assert through_sdk.reason == seen.reason
    assert through_sdk.text == seen.text == Seen(convert("bedrock-converse", [begun])).text
    failure = seen.reason.failure
    said = (failure.code, failure.message, failure.status, failure.retryable)
    assert said == ("modelStreamErrorException", "the model went away", 424, True)


def sdk_events(body: bytes) -> Iterator[object]:
    """As docs/adapters.md tells a user of boto3 to do it."""
    with client(body) as bedrock:
        try:
            yield from bedrock.converse_stream(modelId="m", messages=[])["stream"]
        except EventStreamError as error:
            yield error.response
