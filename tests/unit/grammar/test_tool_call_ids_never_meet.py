"""An id in the log means one tool call, whatever ids models and adapters choose."""

from unit.grammar.story import USAGE, finish, loop, result, tool_block


def test_a_number_never_meets_an_id_that_was_answered() -> None:
    story = loop()
    story.all([*result(id="t~2", index=0), *tool_block(index=1, id="t"), USAGE, finish()], call="1")
    story.all([*tool_block(id="t"), USAGE, finish()], call="2")
    assert [call["toolCallId"] for call in story.of("tool-call")] == ["t", "t~3"]


def test_an_answer_goes_to_the_latest_call_of_its_id() -> None:
    story = loop()
    story.all([*tool_block(id="t"), USAGE, finish()], call="1")
    story.all([*tool_block(id="t"), *result("t"), USAGE, finish()], call="2")
    assert story.of("tool-result")[0]["toolCallId"] == "t~2"
    assert list(story.machine.state.tools) == ["t"]


def test_renaming_is_told_once_and_then_counted_in_ranges() -> None:
    story = loop()
    for number in range(9):
        story.all([*tool_block(id="t"), USAGE, finish()], call=str(number))
        story.reload()
    renamed = [record.id for record in story.records if b'"name"' in record.body and b"delta" in record.body]
    assert [(found.count, found.record, found.last_record) for found in story.evidence] == [
        (1, renamed[1], None),
        (1, renamed[2], renamed[2]),
        (2, renamed[3], renamed[4]),
        (4, renamed[5], renamed[8]),
    ]
    assert {(found.code, found.cls) for found in story.evidence} == {("tool-call-id-renamed", "repaired")}
