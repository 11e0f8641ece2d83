"""One rule, one code, one failing stream each; and without its rule that stream, and no other, is judged otherwise."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from runwire.grammar import Limits, rules
from runwire.grammar.rules import RULES, Rule
from runwire.grammar.run import GRAMMAR_VERSION
from runwire_schemas.evidence import Evidence
from unit.grammar.agent_cases import AGENT_CASES, ENDED
from unit.grammar.story import (
    USAGE,
    Story,
    end,
    finish,
    loop,
    result,
    start,
    text,
    text_block,
    thinking,
    tool,
    tool_block,
    tool_end,
)

SMALL = Limits(chunk_bytes=2000, blocks=3, open_blocks=2, waiting_bytes=20, unanswered_calls=2, live_tasks=2)
Case = Callable[[Story], Any]


def broken(*bodies: Any, **fields: Any) -> Case:
    """A stream whose last body breaks the rule."""
    return lambda story: story.all(bodies, **fields)


def after_finish(story: Story) -> None:
    loop(story).all([USAGE, finish(), start()])


def after_end(story: Story) -> None:
    story.all([USAGE, finish()])
    story.write(start(), call="c2")


def interleaved(story: Story) -> None:
    loop(story).write(start())
    story.write(start(1), call="c2", src="q")


def control(body: Any) -> Case:
    return lambda story: loop(story).control(body)


def repeated_result(story: Story) -> None:
    story.all([*tool_block(), *result(), *result(index=2)])


CASES: dict[str, list[Case]] = {
    "the body is within its limit": [broken(text("x" * 3000))],
    "nothing follows `finish` in a call; the last 64 call ids are remembered": [after_finish],
    "nothing follows the end of a run but background chunks of its live tasks, its stop but what completes it": [
        after_end,
        *ENDED,
    ],
    "a call has one source, and a new one starts only after the last finished": [
        interleaved,
        lambda story: (loop(story).write(start()), story.write(start(1), src="q")),
    ],
    "a UTF-8 JSON object with a string `type`, at most 128 levels, no unpaired surrogate": [
        broken(b"\xff"),
        broken(b"{"),
        broken(b"[]"),
        broken(b"{}"),
        broken(b'{"type":1}'),
        broken(b'{"type":"usage","usage":NaN}'),
        broken(b'{"type":"text-delta","index":0,"text":"\\ud800"}'),
        broken(b'{"type":"finish","x":"\\udc00"}'),
        broken(b'{"type":"finish","x":"\xed\xa0\x80"}'),
        broken(start(), b'{"type":"text-delta","index":0,"text":"\\ud800","text":"x"}'),
        broken(start(), b'{"type":"text-delta","index":0,"x":"\\ud800","x":"x","text":"x"}'),
        lambda story: story.agent(b'{"type":"raw","payload":{"a":"\\ud800","a":1}}'),
        broken(b'{"type":"finish","x":' + b"[" * 128 + b"]" * 128 + b"}"),
        control(b"nothing"),
    ],
    "a `type` of the closed union": [broken({"type": "text"}), broken({"type": "heartbeat"}), control({"type": "x"})],
    "required fields with the right JSON type": [
        broken({"type": "text-delta", "index": 0}),
        broken({"type": "block-start", "index": "0", "blockKind": "text"}),
        broken({"type": "block-start", "index": True, "blockKind": "text"}),
        broken({"type": "block-start", "index": 0, "blockKind": None}),
        broken({"type": "block-end", "index": 0, "block": {"kind": "text"}}),
        broken({"type": "block-end", "index": 0, "block": {}}),
        broken({"type": "block-end", "index": 0, "block": {"kind": "tool_result", "toolCallId": "t"}}),
        broken(start(0, "image"), end(0, "image", mediaType="image/png")),
        broken(start(0, "image"), end(0, "image", mediaType="image/png", data="", url="")),
        broken({"type": "usage", "usage": {"inputTokens": 1}}),
        broken({"type": "usage", "usage": {"inputTokens": "1", "outputTokens": 1}}),
        broken({"type": "finish"}),
        broken({"type": "finish", "reason": {}}),
        broken({"type": "finish", "reason": {"kind": "error"}}),
        broken({"type": "finish", "reason": {"kind": "error", "failure": {"message": "m", "status": 10**30}}}),
        broken({"type": "finish", "reason": {"kind": "error", "failure": {"message": "m", "status": 5.5}}}),
        broken(tool("", name=5)),
        control({"type": "run-end"}),
        control({"type": "run-end", "reason": "tired"}),
        control({"type": "run-end", "reason": "error", "failure": {}}),
        control({"type": "run-start", "mode": "other"}),
        control({"type": "run-start", "parent": {"runId": "p", "wrapper": "tool-output"}}),
    ],
    "blockKind, block.kind and reason.kind are in their sets": [
        broken(start(0, "video")),
        broken(end(0, "video")),
        broken({"type": "finish", "reason": {"kind": "done"}}),
    ],
    "an index from 0 below 2^53": [
        broken(start(-1)),
        broken(start(2**53)),
        broken({"type": "text-delta", "index": 1.5, "text": ""}),
        broken(b'{"type":"block-start","index":1e400,"blockKind":"text"}'),
    ],
    "an index is opened once a call, also after it was closed": [
        broken(start(), start()),
        broken(*text_block(), start()),
    ],
    "at most 1,024 blocks a call": [broken(*text_block("", 0), *text_block("", 1), *text_block("", 2), start(3))],
    "at most 256 open blocks": [broken(start(0), start(1), start(2))],
    "a delta goes to an open block": [broken(text("")), broken(*text_block(), text("more"))],
    "a delta goes to a block of its kind": [
        broken(start(), thinking("x")),
        broken(start(0, "image"), text("x")),
        broken(start(0, "thinking"), tool("x")),
    ],
    "an end closes an open block": [broken(end(text="")), broken(*text_block(), end(text="hi"))],
    "an end has its block's kind": [broken(start(), end(0, "thinking", text=""))],
    "a tool call has an id": [
        broken(start(0, "tool_use"), tool("", id="")),
        broken(start(0, "tool_use"), tool_end("", id="")),
    ],
    "one block, one tool call": [
        broken(start(0, "tool_use"), tool("", id="a"), tool("", id="b")),
        broken(start(0, "tool_use"), tool("", id="a", name="f"), tool_end("", id="b")),
    ],
    "one tool call, one block": [
        broken(*tool_block(), start(1, "tool_use"), tool("", 1)),
        broken(*tool_block(), *result(), start(2, "tool_use"), tool_end("", 2)),
    ],
    "at most 4,096 unanswered tool calls": [
        lambda story: (
            loop(story),
            story.all([*tool_block(), USAGE, finish()], call="1"),
            story.all([*tool_block(id="t2"), USAGE, finish()], call="2"),
            story.all([start(0, "tool_use"), tool("", id="t3")], call="3"),
        ),
    ],
    "a tool call has a name by its end, and before 64 KiB of arguments": [
        broken(start(0, "tool_use"), tool("x"), tool_end("x", name="")),
        broken(start(0, "tool_use"), tool("x" * 15), tool("é" * 3)),
    ],
    "a tool call has one name": [
        broken(start(0, "tool_use"), tool("", name="f"), tool("", name="g")),
        broken(start(0, "tool_use"), tool("", name="f"), tool_end("", name="g")),
    ],
    "text or arguments equal the deltas, if any was not empty": [
        broken(start(), text("ab"), end(text="abc")),
        broken(start(), text("ab"), end(text="ba")),
        broken(start(0, "thinking"), thinking("ab"), end(0, "thinking", text="")),
        broken(start(0, "tool_use"), tool("{}", name="f"), tool_end("{ }")),
    ],
    "one answer per tool call, two if it has a background task": [
        repeated_result,
        broken(*result(index=1), *result(index=2)),
        *AGENT_CASES.pop("one answer per tool call, two if it has a background task"),
    ],
    "usage once per call": [broken(USAGE, USAGE)],
    "integers from 0 below 2^53": [
        broken({"type": "usage", "usage": {"inputTokens": -1, "outputTokens": 1}}),
        broken({"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2**53}}),
        broken({"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 1, "reasoningTokens": 1.5}}),
    ],
    "usage precedes a successful finish, unless it is optional": [
        broken(finish()),
        broken(*text_block(), finish("max_tokens")),
    ],
    "a successful finish leaves no block open; a failed one may": [broken(start(), USAGE, finish())],
    **AGENT_CASES,
}

EVERY = [(rule, case) for rule in RULES for case in CASES[rule.what]]
NAMES = [f"{rule.code}-{number}" for rule in RULES for number, _ in enumerate(CASES[rule.what])]


def told(case: Case) -> Evidence | str | None:
    """The story's first evidence; the name of what was raised if a rule is missing that the rest relies on."""
    story = Story(SMALL)
    try:
        case(story)
    except (AssertionError, LookupError, TypeError, AttributeError, ValueError) as fault:
        return type(fault).__name__
    return story.evidence[0] if story.evidence else None


def test_every_rule_has_a_stream_that_breaks_it() -> None:
    assert sorted(rule.what for rule in RULES) == sorted(CASES)


@pytest.mark.parametrize(("rule", "case"), EVERY, ids=NAMES)
def test_the_first_broken_rule_gives_the_code(rule: Rule, case: Case) -> None:
    evidence = told(case)
    assert isinstance(evidence, Evidence)
    assert (evidence.code, evidence.cls) == (rule.code, rule.cls)
    assert evidence.message
    assert evidence.expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.number}-{rule.code}-{rule.what}")
def test_deleting_a_rule_turns_exactly_its_own_streams_red(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RULES", tuple(other for other in RULES if other is not rule))
    changed = {
        owner.what
        for owner, case in EVERY
        if not isinstance(evidence := told(case), Evidence) or (evidence.code, evidence.cls) != (owner.code, owner.cls)
    }
    assert changed == {rule.what}


def test_an_earlier_row_wins() -> None:
    both_row_10_and_12 = broken(text("", -1))
    evidence = told(both_row_10_and_12)
    assert isinstance(evidence, Evidence)
    assert evidence.code == "block-index-invalid"
    rows = [int(rule.number) for rule in RULES if rule.number.isdecimal()]
    assert rows == sorted(rows)


@pytest.mark.parametrize(("rule", "case"), EVERY, ids=NAMES)
def test_a_fatal_rule_ends_the_run_and_a_refused_one_does_not(rule: Rule, case: Case) -> None:
    story = Story(SMALL)
    case(story)
    if rule.cls == "refused":
        assert story.reason == "stop"
        return
    found = story.evidence[0]
    assert story.reason == "error"
    [error] = story.of("error")
    assert error["error"]["code"] == "grammar-violation"
    assert error["error"]["rule"] == rule.code
    assert error["error"]["evidenceId"] == found.record == story.records[-1].id
    assert found.body == story.records[-1].body
    assert [event.__struct_config__.tag for event in story.events] == ["run.opened", "run.violated", "run.ended"]
    assert story.machine.finished


def test_usage_optional_relaxes_exactly_one_rule() -> None:
    story = Story(SMALL)
    story.write(start(), usage="optional")
    story.all([text("x"), end(text="x"), finish()])
    assert (story.codes, story.reason) == ([], "stop")
    assert story.of("step-finish")[0]["output"] == {"usage": {}}
    story = Story(SMALL)
    story.write(start(), usage="optional")
    story.write(finish())
    assert story.codes == ["open-block-at-finish"]


def test_the_usage_rule_of_a_run_holds_where_a_call_says_nothing() -> None:
    story = loop(usage="optional")
    story.write(finish(), call="1")
    story.write(USAGE, call="2", usage="required")
    story.write(finish(), call="2")
    story.write(finish(), call="3", usage="required")
    assert story.codes == ["usage-missing"]


def test_what_would_have_been_legal_is_named() -> None:
    story = Story()
    story.all([start(), start(1, "thinking"), text("x", 1)])
    [evidence] = story.evidence
    assert evidence.code == "delta-kind-mismatch"
    assert evidence.expected == (
        "block-start <new index>",
        "text-delta 0",
        "block-end 0",
        "thinking-delta 1",
        "block-end 1",
        "usage",
        "finish failed",
    )
    assert (evidence.chunk_type, evidence.block_index) == ("text-delta", 1)
    assert evidence.grammar == GRAMMAR_VERSION
    assert evidence.state_digest is not None
    assert len(evidence.state_digest) == 64


@pytest.mark.parametrize("index", [True, 2**53, -(2**53), 1.0, "0", None])
def test_what_is_no_index_is_not_told_as_one(index: Any) -> None:
    story = Story()
    story.write({"type": "block-start", "index": index, "blockKind": "text"})
    assert story.evidence[0].block_index is None


def test_only_64_finished_calls_are_remembered() -> None:
    story = loop()
    for number in range(65):
        story.all([USAGE, finish()], call=f"c{number}")
    story.all([USAGE, finish()], call="c0")
    assert story.codes == []
    story.write(USAGE, call="c2")
    assert story.codes == ["chunk-after-finish"]


def test_a_name_given_twice_and_an_empty_name_are_fine() -> None:
    story = Story()
    story.all([start(0, "tool_use"), tool("", name="f"), tool("{}", name=""), tool("", name="f"), tool_end("{}")])
    assert story.codes == []
    assert story.of("tool-call")[0]["toolName"] == "f"


def test_a_field_given_twice_is_judged_and_never_raises() -> None:
    story = Story()
    story.write(b'{"type":"text-delta","index":0,"text":"x","type":"block-start","blockKind":"text"}')
    assert story.codes == ["fields-invalid"]
    story = Story()
    story.all([start(), b'{"type":"text-delta","index":9,"index":0,"text":1,"text":"x"}'])
    assert story.codes == ["fields-invalid"]
    story = Story()
    story.all([start(), b'{"type":"text-delta","index":9,"index":0,"text":"no","text":"x"}'])
    assert story.of("text-delta") == [{"id": "1", "text": "x"}]


def test_an_unknown_field_is_checked_and_left_out() -> None:
    story = Story()
    story.all([start(), text("x", extra={"deep": [1, "é"]})])
    assert story.raw[-1] == b'{"type":"text-delta","runId":"r","from":"AGENT","payload":{"id":"1","text":"x"}}'


@pytest.mark.parametrize("hurry", [True, False])
def test_a_body_of_exactly_the_limit_passes(hurry: bool) -> None:
    story = Story(SMALL)
    story.machine.hurry = hurry
    story.write(start())
    frame = len(json.dumps(text(""), separators=(",", ":")))
    story.write(text("x" * (2000 - frame)))
    assert story.codes == []


def test_what_somebody_made_large_is_quoted_in_part() -> None:
    story = Story()
    story.write({"type": "x" * 900_000})
    [found] = story.evidence
    assert found.message.startswith("xxx")
    assert found.chunk_type is not None
    assert len(found.message) == len(found.chunk_type) == 501
    assert found.body == story.records[0].body
    assert len(story.raw[1]) < 800
