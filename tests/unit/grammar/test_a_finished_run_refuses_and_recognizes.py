"""After its end a run refuses what is new, recognizes what is replayed, and never grows."""

import msgspec

from runwire.grammar import Limits
from unit.grammar.story import HEARTBEAT, RUN_END, USAGE, Story, encoded, finish, loop, start

# Refused, from whoever writes it.
REDRIVE = {"type": "redrive"}


def ended(limits: Limits | None = None) -> Story:
    story = Story(limits)
    story.all([USAGE, finish()])
    return story


def test_a_finished_run_refuses_and_counts() -> None:
    story = ended(Limits(evidence_entries=3))
    for _ in range(3 + 1 + 2 + 4):
        story.write(start(), call="c2")
    assert story.codes == ["chunk-after-terminal"] * 6
    assert [evidence.count for evidence in story.evidence] == [1, 1, 1, 1, 2, 4]
    assert [evidence.body is None for evidence in story.evidence] == [False] * 3 + [True] * 3
    last = story.evidence[-1]
    assert (last.record, last.last_record) == (story.records[-4].id, story.records[-1].id)
    assert story.machine.seq == len(story.chunks)


def test_refusals_before_the_end_count_too() -> None:
    story = loop(Story(Limits(evidence_entries=3)))
    story.all([REDRIVE] * 2, kind="control", call=None)
    story.control(RUN_END)
    story.all([start(), start()])
    assert [evidence.body is None for evidence in story.evidence] == [False] * 3 + [True]


def test_counting_goes_on_over_the_end() -> None:
    story = loop(Story(Limits(evidence_entries=0)))
    story.all([REDRIVE] * 2, kind="control", call=None)
    story.control(RUN_END)
    story.write(start())
    counted = story.evidence[-1]
    assert (counted.count, counted.record, counted.last_record) == (2, story.records[2].id, story.records[-1].id)


def test_kept_bytes_are_bounded() -> None:
    story = ended(Limits(evidence_bytes=len(encoded(start()))))
    story.all([start(), start()], call="c2")
    assert [evidence.body is None for evidence in story.evidence] == [False, True]


def test_bytes_kept_before_the_end_count_too() -> None:
    story = loop(Story(Limits(evidence_bytes=len(encoded(start())))))
    story.control({"type": "redrive", "drop": ["1234"]})
    story.control(RUN_END)
    story.reload()
    story.write(start())
    assert [evidence.body is None for evidence in story.evidence] == [False, True]


def test_control_records_of_a_finished_run_mean_nothing() -> None:
    story = ended()
    story.control(RUN_END)
    story.control({"type": "run-start"})
    story.control(b"no JSON")
    story.enforcer({"type": "timeout", "phase": "idle", "after": "1-0"})
    assert (story.codes, story.machine.due(), story.machine.deadline_ms()) == ([], None, 0)
    story.write(start(), call="c2")
    assert story.codes == ["chunk-after-terminal"]


def test_a_finished_run_still_checks_its_records_and_parks_nothing() -> None:
    story = ended()
    story.write(start(), call="c2", seq=9)
    assert (story.codes, story.machine.parked) == (["sequence-gap"], [])
    assert story.evidence[0].cls == "refused"
    story.write(start(), call="c2", seq=9)
    story.write(start(), call="c2", epoch=1)
    story.write(start(), call="c2", epoch=0)
    story.write(b"x" * (2 * 1024 * 1024), call="c2", src="q")
    assert story.codes == ["sequence-gap", "chunk-after-terminal", "producer-fenced", "chunk-too-large"]
    assert {evidence.cls for evidence in story.evidence} == {"refused"}


def test_what_waited_behind_a_gap_when_the_run_ended_is_refused() -> None:
    story = loop()
    story.control(HEARTBEAT, src="q", seq=2)
    story.control(RUN_END)
    assert (story.codes, story.machine.parked) == (["chunk-after-terminal"], [])


def test_a_tombstone_recognizes_replayed_records() -> None:
    story = ended()
    replay = [msgspec.structs.replace(record, id="9-0") for record in story.records]
    story.reload()
    assert story.machine.finished
    assert story.machine.first_record == story.records[0].id
    for record in replay:
        story.feed(record)
    assert (story.codes, len(story.chunks)) == ([], 4)
    story.write(start())
    story.write(start(), call="c2")
    story.write(start(), src="~unwrap:parent")
    assert story.codes == ["chunk-after-finish", "chunk-after-terminal", "run-author"]


def test_the_tombstone_of_a_child_knows_its_author() -> None:
    story = Story(run="~child")
    story.control({"type": "run-start"}, src="~unwrap:parent")
    story.control(RUN_END, src="~unwrap:parent")
    story.reload()
    story.write(start(), src="~unwrap:parent")
    story.write(start(), src="p")
    assert story.codes == ["chunk-after-terminal", "run-author"]
