"""Without a named provider a file is told from its first events, by the one judge; a file in one piece or in many."""

import io
from pathlib import Path

import pytest

from helpers import recordings
from runwire.adapters import PROVIDERS, UnknownProvider
from runwire.cli.failures import FileUnreadable, NotAStream, ProviderUnclear
from runwire.cli.recognizing import Body, is_stream, known, recognized, remark
from runwire.cli.sources import RAW, RECORD, entries, entries_of_choices

OPENAI = b'data: {"id":"x","object":"chat.completion.chunk","choices":[]}\n\n'
LINE = b'{"type":"block-start","index":0,"blockKind":"text"}'


def write(folder: Path, body: bytes) -> str:
    path = folder / "file"
    path.write_bytes(body)
    return str(path)


def body_of(file: str, provider: str | None = None) -> tuple[Body, bytes]:
    with recognized(file, provider) as body:
        return body, body.stream.read()


@pytest.mark.parametrize("named", [None, "auto"])
@pytest.mark.parametrize(
    ("provider", "content", "reason"),
    [
        ("openai-chat", b": comment\n\n" + OPENAI, "the first event has choices"),
        ("openai-chat", b'[{"choices":[]},{"choices":[]}]', "the first event has choices"),
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n', "the first event is of type ping"),
        (RAW, b"\n\n" + LINE + b"\n", "the first event is of type block-start"),
        (RECORD, b'{"kind":"provider","call":"c","body":{"type":"finish"}}\n', "the first event has kind and body"),
    ],
)
def test_the_first_event_tells(tmp_path: Path, named: str | None, provider: str, content: bytes, reason: str) -> None:
    body, whole = body_of(write(tmp_path, content), named)
    assert body.provider == provider
    assert body.reason.startswith(reason)
    assert whole == content


def test_a_provider_that_is_named_is_not_looked_for(tmp_path: Path) -> None:
    body, whole = body_of(write(tmp_path, OPENAI), "anthropic")
    assert (body.provider, body.reason, whole) == ("anthropic", "", OPENAI)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\xff\xfe", b"[1,2]", b'{"type":', b"# Notes\n[a](b)\n{c}\n"])
def test_what_holds_no_event_is_no_stream(tmp_path: Path, content: bytes) -> None:
    file = write(tmp_path, content)
    assert not is_stream(file)
    with pytest.raises(NotAStream, match="is not a stream: "):
        body_of(file)


@pytest.mark.parametrize("content", [b"{}\n", b'{"type":"text"}\n', b'data: {"a":1}\n\n'])
def test_what_nobody_can_tell_lists_what_was_seen_and_what_one_can_name(tmp_path: Path, content: bytes) -> None:
    file = write(tmp_path, content)
    assert is_stream(file)
    with pytest.raises(ProviderUnclear, match="seen: an event") as raised:
        body_of(file)
    assert raised.value.hint == f"say which with --provider: {', '.join((*PROVIDERS, RAW, RECORD))}"


def test_a_missing_file_is_unreadable_and_left_to_its_reader(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    assert is_stream(missing)
    with pytest.raises(FileUnreadable):
        body_of(missing)


def test_unknown_names_list_the_known_ones() -> None:
    for name in (*PROVIDERS, RAW, RECORD, "auto"):
        known(name)
    with pytest.raises(UnknownProvider, match="raw, record, auto"):
        known("openai")


def test_a_pipe_is_told_too_and_nothing_of_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.RawIOBase):
        """Gives what is there, a little at a time."""

        def __init__(self, content: bytes) -> None:
            self.rest = content

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed wants every buffer
            part, self.rest = self.rest[:5], self.rest[5:]
            buffer[: len(part)] = part
            return len(part)

    content = OPENAI * 100
    pipe = io.BufferedReader(Pipe(content))
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": pipe}))
    body, whole = body_of("-", "auto")
    assert (body.provider, whole) == ("openai-chat", content)


def test_only_a_certain_other_provider_is_remarked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remark(write(tmp_path, OPENAI), "anthropic")
    assert capsys.readouterr().err == f"runwire: {tmp_path}/file looks like openai-chat, and is read as anthropic\n"
    # InvokeModel carries the events of any model, and errors look alike in several protocols.
    remark(write(tmp_path, OPENAI), "bedrock-invoke")
    remark(write(tmp_path, b'{"error":{"message":"m"}}'), "gemini")
    remark(write(tmp_path, b"hello"), "gemini")
    remark("-", "gemini")
    assert capsys.readouterr().err == ""


def test_raw_chunks_in_a_json_array_are_read_one_by_one_and_stay_unfinished(tmp_path: Path) -> None:
    with recognized(write(tmp_path, b"[" + LINE + b",\n" + LINE + b"]"), None) as body:
        found = list(entries(body.stream, "file", "run", body.provider, 0, body.options))
    assert [(entry_id, fields[fields.index(b"body") + 1]) for entry_id, fields in found] == [(b"1", LINE), (b"2", LINE)]


def test_each_choice_is_a_run_with_numbers_of_its_own(tmp_path: Path) -> None:
    chunk = b'data: {"choices":[{"index":%d,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
    with recognized(write(tmp_path, chunk % 0 + chunk % 1 + b"data: [DONE]\n\n"), None) as body:
        found = list(entries_of_choices(body.stream, "run", body.provider, body.options))
    for choice, run in ((0, b"run"), (1, b"run.1")):
        own = [fields for number, (_, fields) in found if number == choice]
        assert {fields[fields.index(b"run") + 1] for fields in own} == {run}
        assert [int(fields[fields.index(b"seq") + 1]) for fields in own] == list(range(1, len(own) + 1))
        assert [fields[-2:] == [b"usage", b"optional"] for fields in own] == [True, *[False] * (len(own) - 1)]


def test_recorded_streams_are_told_apart() -> None:
    wrong = {
        path.name: name
        for protocol in PROVIDERS
        for path in recordings(protocol)
        if (name := body_of(str(path))[0].provider) != protocol
    }
    assert wrong == {}
