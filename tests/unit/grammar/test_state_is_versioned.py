"""What is stored of a run: its version, its size, and that it needs nothing of the process that wrote it."""

import msgspec
import pytest

from runwire.grammar import Limits, RunMachine
from runwire.grammar.state import OLDEST_VERSION, STATE_VERSION, State, StateUnreadable
from unit.grammar.story import USAGE, Story, finish, loop, result, start, text, text_block, tool, tool_block, tool_end


def test_a_state_of_another_version_is_not_guessed_at() -> None:
    story = Story()
    story.write(start())
    fields = msgspec.msgpack.decode(story.machine.blob())
    assert fields[0] == STATE_VERSION
    blob = msgspec.msgpack.encode([STATE_VERSION + 1, *fields[1:], "later"])
    with pytest.raises(StateUnreadable, match="version 3"):
        RunMachine("r", Limits(), blob)


def test_a_state_of_the_version_before_is_read() -> None:
    """It lacks the fields of agent chunks at the end of each struct, and goes on as if they had never come."""
    story = loop()
    story.all([*tool_block(), *result("other", index=1), start(2, "tool_use"), tool('{"a', 2, "t2", name="f")])
    names = State.__struct_fields__
    fields = msgspec.msgpack.decode(story.machine.blob(), strict=False)
    old = fields[: names.index("parent")]
    old[0] = OLDEST_VERSION
    old[names.index("tools")] = {out: known[:6] for out, known in old[names.index("tools")].items()}
    old[names.index("answered")] = {out: known[:2] for out, known in old[names.index("answered")].items()}
    story.machine = RunMachine("r", Limits(), msgspec.msgpack.encode(old), story.machine.seq)
    assert story.machine.state.version == STATE_VERSION
    story.all([*result(index=3), finish("error")])
    story.control({"type": "run-end", "reason": "stop"})
    assert (story.codes, story.reason) == ([], "error")
    assert [error["toolCallId"] for error in story.of("tool-error")] == ["t2"]


def test_text_is_never_kept() -> None:
    story = Story()
    story.write(start())
    story.all(text("x" * 1000) for _ in range(300))
    assert len(story.machine.blob()) < 200


def test_the_state_does_not_grow_with_the_run() -> None:
    story = loop(Story(Limits(answered_calls=20)))
    sizes: list[int] = []
    for number in range(1000, 1300):
        name = str(number)
        story.all([*text_block(), *tool_block(index=1, id=name), *result(name, index=2)], call=name)
        story.all([USAGE, finish("tool_calls")], call=name)
        sizes.append(len(story.machine.blob()))
    assert story.codes == []
    # Only the counters grow by a digit, and the step numbers of the 20 calls.
    assert max(sizes[100:]) <= sizes[100] + 12 + 2 * 20


def test_a_tombstone_is_small() -> None:
    story = Story()
    story.all([*tool_block('{"a":"' + "x" * 5000 + '"}'), USAGE, finish()])
    assert story.machine.finished
    assert len(story.machine.blob()) < 150


def test_argument_text_is_joined_when_it_is_stored() -> None:
    story = Story()
    story.all([start(0, "tool_use"), tool("{", name="f")])
    story.all(tool("x" * 10) for _ in range(500))
    assert len(story.machine.blob()) < 5_300
    story.reload()
    story.write(finish("error"))
    assert story.of("tool-error")[0]["error"]["argsText"] == "{" + "x" * 5000


def test_hostile_ids_and_metadata_are_bounded() -> None:
    story, number = loop(), 0
    for number in range(40):
        story.all(
            [start(number, "tool_use"), tool("", number, "x" * 90_000 + str(number), name="f", gemini="y" * 90_000)]
        )
        if story.codes:
            break
    assert story.codes == ["too-many-open"]
    assert number < 20


def test_arguments_that_wait_for_their_names_share_a_bound() -> None:
    story, number = Story(), 0
    for number in range(256):
        story.all([start(number, "tool_use"), tool("x" * 60_000, number, id=str(number))])
        if story.codes:
            break
        assert len(story.machine.blob()) < 2**22
    assert story.codes == ["too-many-open"]
    assert number == 2**20 // 60_000


@pytest.mark.parametrize("hurry", [True, False])
def test_a_plain_delta_or_end_adds_nothing_to_what_a_call_weighs(hurry: bool) -> None:
    story = Story(Limits(tool_bytes=1_000))
    story.machine.hurry = hurry
    story.all([start(0, "tool_use"), tool("", id="i" * 600, name="n" * 400)])
    story.all([tool("{", id="i" * 600), tool("}", id="i" * 600), tool_end("{}", id="i" * 600, name="n" * 400)])
    assert story.codes == []
    assert story.types[-1] == "tool-call"
    story.all([start(1, "tool_use"), tool("", 1, id="j", name="f")])
    assert story.codes == ["too-many-open"]


def test_a_call_that_is_answered_before_its_end_keeps_its_weight() -> None:
    story = Story(Limits(tool_bytes=1_000))
    for number in range(4):
        id_ = f"{number:0300}"
        story.all([start(number, "tool_use"), tool("", number, id=id_, name="f"), *result(id_, index=100 + number)])
    assert story.codes[0] == "too-many-open"


def test_answered_calls_leave_their_room_to_others() -> None:
    story = loop(Story(Limits(tool_bytes=500, answered_calls=2)))
    for number in range(30):
        id_ = f"{number:0100}"
        story.all([*tool_block(id=id_), *result(id_), USAGE, finish()], call=str(number))
    assert story.codes == []


def test_a_run_that_does_not_exist_has_no_state() -> None:
    assert RunMachine("r", Limits()).blob() == b""
    assert not RunMachine("r", Limits(), b"").exists
