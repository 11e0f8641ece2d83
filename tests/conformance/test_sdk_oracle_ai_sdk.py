"""The AI SDK's parts say to the adapter what they say to the AI SDK, and what the provider's own bytes say.

Differences on purpose are in differences/ai-sdk.toml: where the file is one of stream parts, from the AI SDK; where it
is a recording (`protocol/name`), from the adapter of its protocol, for the versions in `notes`.
"""

import shutil
from pathlib import Path

import pytest

from conformance.compared import reviewed, unequal
from conformance.expected import Difference, differences, same_arguments
from conformance.oracles.ai_sdk import Answer, answers, reads
from conformance.recorded import Seen, convert, judge
from conformance.spoken import spoken
from helpers import recordings, stream_parts
from helpers.parts import make
from runwire.adapters import PROVIDERS
from runwire_schemas.raw import Usage

PROVIDER = "ai-sdk"
FOLDER = stream_parts()
ANSWERS = answers(FOLDER)
# Usage on every event, from a server that the package does not know: V2 cannot tell that it was not the last.
TOLD_BY_USAGE = {
    "v2.openai-chat.magentic__test_openai_chat_model_gemini_acomplete-Say-hello--output_types0-str.sse.jsonl",
}
READ = [answer for answer in ANSWERS if answer.protocol in PROVIDERS]


def named(answer: Answer) -> str:
    return answer.file


@pytest.mark.parametrize("answer", ANSWERS, ids=named)
def test_the_adapter_says_what_the_ai_sdk_says(answer: Answer) -> None:
    path = FOLDER / answer.file

    assert unequal(PROVIDER, path, reads(answer)) == reviewed(PROVIDER, path)
    assert judge(convert(PROVIDER, [path.read_bytes()]), "optional")[1] == []


@pytest.mark.parametrize("answer", READ, ids=named)
def test_the_parts_say_what_the_provider_said(answer: Answer) -> None:
    """Two readings that share no code up to the raw chunks: the AI SDK's package, and the adapter of the protocol."""
    recorded = next(path for path in recordings(answer.protocol) if path.name == answer.name)
    theirs = Seen(convert(PROVIDER, [(FOLDER / answer.file).read_bytes()]))
    ours = Seen(convert(answer.protocol, [recorded.read_bytes()]))

    assert unalike(theirs, ours) == {row.field for row in family() if row.file == key(answer) and applies(row, answer)}


def test_a_body_that_stops_early_is_cut_off_to_the_packages_too(tmp_path: Path) -> None:
    """They write a finish part all the same, and it must not be taken for a clean end."""
    for protocol in {answer.protocol for answer in READ}:
        for path in recordings(protocol):
            cut = half(protocol, path)
            if cut:
                (tmp_path / "corpus" / protocol).mkdir(parents=True, exist_ok=True)
                (tmp_path / "corpus" / protocol / path.name).write_bytes(cut)
    # It says who answered, and so which package reads it.
    manifest = recordings(READ[0].protocol)[0].parents[1] / "MANIFEST.tsv"
    if manifest.exists():
        shutil.copy(manifest, tmp_path / "corpus")
    make(tmp_path / "corpus", tmp_path / "parts")

    made = {answer.file: tmp_path / "parts" / answer.file for answer in answers(tmp_path / "parts")}
    ends = {file: Seen(convert(PROVIDER, [path.read_bytes()])).finish for file, path in made.items()}

    assert len(ends) > 300
    assert {file for file, end in ends.items() if end not in ("aborted", "error")} == TOLD_BY_USAGE & ends.keys()


def test_every_row_names_what_was_read() -> None:
    files = {answer.file for answer in ANSWERS}
    read = {key(answer) for answer in READ} | {row.file for row in family() if row.file.split("/")[0] not in PROVIDERS}

    assert {row.file for row in differences(PROVIDER)} <= files | read


def half(protocol: str, path: Path) -> bytes:
    """Whole events from before the provider's word that ends the response; nothing if there are none."""
    body = path.read_bytes()
    end = spoken(protocol).sure(body)
    if path.suffix == ".json" or b'"error"' in body or end <= 0:
        return b""
    return body[: body.rfind(b"\n", 0, end * 2 // 3) + 1]


def unalike(theirs: Seen, ours: Seen) -> set[str]:
    """The fields in which two readings of one response differ."""
    found = {field for field in ("text", "reasoning", "finish") if getattr(theirs, field) != getattr(ours, field)}
    if len(theirs.tools) != len(ours.tools) or not all(
        one.name == other.name and same_arguments(one.arguments, other.arguments)
        for one, other in zip(theirs.tools, ours.tools, strict=True)
    ):
        found.add("tools")
    if answered(theirs) != answered(ours):
        found.add("results")
    if sealed(theirs) != sealed(ours):
        found.add("signatures")
    return found if theirs.usage is None or ours.usage is None else found | counted(theirs.usage, ours.usage)


def answered(seen: Seen) -> list[int | None]:
    """Which calls have results, by their number; None: a call of an earlier response. Made ids are not the same."""
    numbers = {tool.id: number for number, tool in enumerate(seen.tools)}
    return [numbers.get(result.tool_call_id) for result in seen.results]


def sealed(seen: Seen) -> list[str]:
    """What only the provider can read."""
    return [sign for block in seen.thinking for sign in (block.signature, block.redacted) if sign]


def counted(theirs: Usage, ours: Usage) -> set[str]:
    """`usage` if a count that both report differs; the AI SDK writes 0 for some that nobody reported."""
    names = Usage.__struct_fields__
    pairs = [(getattr(theirs, name), getattr(ours, name)) for name in names]
    return {"usage"} if any(one != other for one, other in pairs if None not in (one, other)) else set()


def key(answer: Answer) -> str:
    return f"{answer.protocol}/{answer.name}"


def family() -> list[Difference]:
    return [row for row in differences(PROVIDER) if "/" in row.file]


def applies(row: Difference, answer: Answer) -> bool:
    return answer.version in row.notes.split()
