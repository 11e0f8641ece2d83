"""The rules of raw chunks, in the order in which they are judged: the first that is broken gives the code.

One row, one code (`too-many-open` has two bounds). `judge` is the only judge. A rule reads the run and the record and
returns what is wrong in words, or None; it changes nothing.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, NamedTuple

import msgspec

from runwire.grammar import checks, fields, tables
from runwire.grammar.agent import checks as agent
from runwire.grammar.agent.types import SENDERS, type_of
from runwire.grammar.input import RAW_TYPES, Input, View
from runwire_schemas.record import Kind

Class = Literal["fatal", "refused", "repaired", "counted"]


class Rule(NamedTuple):
    """`kinds` and `types` say which records it judges; `number` is its row in the contract, "" for one of §4."""

    number: str
    code: str
    cls: Class
    what: str
    kinds: frozenset[Kind]
    types: frozenset[str] | None
    check: Callable[[View, Input], str | None]


class Broken(NamedTuple):
    rule: Rule
    message: str


_ALL: Final = frozenset[Kind](("provider", "agent", "control"))
_IN_CALL: Final = frozenset[Kind](("provider", "agent"))
_RAW: Final = frozenset[Kind](("provider",))
_OWN: Final = frozenset[Kind](("provider", "control"))
_AGENT: Final = frozenset[Kind](("agent",))
_ANSWERS: Final = frozenset(("tool-result", "tool-error", "tool-output-denied"))
_START: Final = frozenset(("block-start",))
_END: Final = frozenset(("block-end",))
_TOOL: Final = frozenset(("tool-call-delta", "block-end"))
_USAGE: Final = frozenset(("usage",))
_FINISH: Final = frozenset(("finish",))
_KINDED: Final = frozenset(("block-start", "block-end", "finish"))
_INDEXED: Final = RAW_TYPES - _USAGE - _FINISH


def _block_rule(number: str, code: str, what: str, types: frozenset[str]) -> Rule:
    return Rule(number, code, "fatal", what, _RAW, types, partial(checks.table_says, code))


RULES: tuple[Rule, ...] = (
    Rule("1", "chunk-too-large", "fatal", "the body is within its limit", _ALL, None, checks.too_large),
    Rule(
        "2",
        "chunk-after-finish",
        "fatal",
        "nothing follows `finish` in a call; the last 64 call ids are remembered",
        _IN_CALL,
        None,
        checks.after_finish,
    ),
    Rule(
        "3",
        "chunk-after-terminal",
        "refused",
        "nothing follows the end of a run but background chunks of its live tasks, its stop but what completes it",
        _IN_CALL,
        None,
        checks.after_end,
    ),
    Rule(
        "4",
        "call-interleaved",
        "fatal",
        "a call has one source, and a new one starts only after the last finished",
        _IN_CALL,
        None,
        checks.interleaved,
    ),
    Rule(
        "5",
        "undecodable",
        "fatal",
        "a UTF-8 JSON object with a string `type`, at most 128 levels, no unpaired surrogate",
        _ALL,
        None,
        checks.undecodable,
    ),
    Rule("6", "unknown-type", "fatal", "a `type` of the closed union", _OWN, None, checks.unknown_type),
    Rule("7", "fields-invalid", "fatal", "required fields with the right JSON type", _OWN, None, checks.fields_invalid),
    Rule(
        "8",
        "unknown-kind",
        "fatal",
        "blockKind, block.kind and reason.kind are in their sets",
        _RAW,
        _KINDED,
        checks.unknown_kind,
    ),
    Rule("§4", "run-mismatch", "fatal", "runId, if there, is the record's", _AGENT, None, agent.run_mismatch),
    Rule("§4", "payload-invalid", "fatal", "the payload has its required fields", _AGENT, None, agent.payload_invalid),
    Rule(
        "9",
        "model-output-mixed",
        "fatal",
        "one step's model output comes as raw or as agent chunks, not both",
        _IN_CALL,
        None,
        agent.output_mixed,
    ),
    Rule(
        "§4",
        "tool-result-unknown-call",
        "fatal",
        "an answer has an id that a tool chunk of the run named, or is the provider's",
        _AGENT,
        _ANSWERS,
        agent.unknown_call,
    ),
    Rule(
        "§4",
        "too-many-open",
        "fatal",
        "at most 256 open blocks, 4,096 unanswered tool calls, 1,024 live tasks of an agent",
        _AGENT,
        None,
        agent.too_many,
    ),
    Rule("10", "block-index-invalid", "fatal", "an index from 0 below 2^53", _RAW, _INDEXED, checks.index_invalid),
    _block_rule("11", "block-reopened", "an index is opened once a call, also after it was closed", _START),
    Rule("11", "too-many-blocks", "fatal", "at most 1,024 blocks a call", _RAW, _START, checks.too_many_blocks),
    Rule("11", "too-many-open", "fatal", "at most 256 open blocks", _RAW, _START, checks.too_many_open),
    _block_rule("12", "delta-without-block", "a delta goes to an open block", tables.DELTAS),
    _block_rule("12", "delta-kind-mismatch", "a delta goes to a block of its kind", tables.DELTAS),
    _block_rule("13", "block-end-unopened", "an end closes an open block", _END),
    _block_rule("13", "block-end-kind-mismatch", "an end has its block's kind", _END),
    Rule("14", "tool-call-id-empty", "fatal", "a tool call has an id", _RAW, _TOOL, checks.id_empty),
    Rule("14", "tool-call-id-changed", "fatal", "one block, one tool call", _RAW, _TOOL, checks.id_changed),
    Rule("14", "tool-call-id-reused", "fatal", "one tool call, one block", _RAW, _TOOL, checks.id_reused),
    Rule("§5", "too-many-open", "fatal", "at most 4,096 unanswered tool calls", _RAW, _TOOL, checks.too_many_calls),
    Rule(
        "15",
        "tool-name-missing",
        "fatal",
        "a tool call has a name by its end, and before 64 KiB of arguments",
        _RAW,
        _TOOL,
        checks.name_missing,
    ),
    Rule("15", "tool-name-changed", "fatal", "a tool call has one name", _RAW, _TOOL, checks.name_changed),
    Rule(
        "16",
        "block-content-mismatch",
        "fatal",
        "text or arguments equal the deltas, if any was not empty",
        _RAW,
        _END,
        checks.content_mismatch,
    ),
    Rule(
        "§4",
        "tool-result-repeated",
        "fatal",
        "one answer per tool call, two if it has a background task",
        _IN_CALL,
        _ANSWERS | _END,
        checks.result_repeated,
    ),
    Rule(
        "17",
        "usage-repeated",
        "fatal",
        "usage once per call",
        _RAW,
        _USAGE,
        partial(checks.call_says, "usage-repeated"),
    ),
    Rule("17", "usage-invalid", "fatal", "integers from 0 below 2^53", _RAW, _USAGE, checks.usage_invalid),
    Rule(
        "18",
        "usage-missing",
        "fatal",
        "usage precedes a successful finish, unless it is optional",
        _RAW,
        _FINISH,
        partial(checks.call_says, "usage-missing"),
    ),
    Rule(
        "19",
        "open-block-at-finish",
        "fatal",
        "a successful finish leaves no block open; a failed one may",
        _RAW,
        _FINISH,
        checks.open_at_finish,
    ),
)

# A chunk that passed the tables of fields and still does not decode (a field given twice, with two types).
_DOES_NOT_DECODE: Final = next(rule for rule in RULES if rule.code == "fields-invalid")


def judge(view: View, x: Input) -> Broken | None:
    """The first rule that the record breaks, or None."""
    try:
        kind = x.record.kind
        for rule in RULES:
            if kind in rule.kinds and (rule.types is None or x.type in rule.types):
                message = rule.check(view, x)
                if message is not None:
                    return Broken(rule, message)
        if x.record.kind == "provider":
            _ = x.chunk
    except msgspec.ValidationError as fault:
        return Broken(_DOES_NOT_DECODE, str(fault))
    return None


def expected(view: View, x: Input, broken: Broken) -> tuple[str, ...]:
    """What would have been legal instead."""
    if broken.rule.code == "chunk-too-large":
        # First, for what follows would read the body.
        return (f"at most {checks.size_limit(view.limits, x.record)} bytes",)
    by_code: Mapping[str, tuple[str, ...]] = {
        "chunk-after-finish": ("a new call id",),
        "chunk-after-terminal": ("nothing",),
        "call-interleaved": () if view.state.call is None else (f"call {view.state.call.id}",),
        "undecodable": ("a UTF-8 JSON object with a string `type`",),
        "unknown-type": fields.PRODUCERS_OWN if x.record.kind == "control" else tuple(fields.RAW),
        "unknown-kind": tuple(fields.REASONS if x.type == "finish" else fields.BLOCKS),
        "run-mismatch": (f"runId {view.run_id}",),
        "model-output-mixed": (f"{view.state.step_output} model output", "a step of its own"),
        "tool-result-unknown-call": ("an answer of a call that was named", "providerExecuted: true"),
        "tool-result-repeated": ("no further answer",),
        "too-many-open": ("what ends or answers something open",),
    }
    found = by_code.get(broken.rule.code)
    if found is not None:
        return found
    if x.record.kind != "provider":
        return fields.PRODUCERS_OWN if x.record.kind == "control" else _required(x.type)
    return tables.legal(view.call, usage_optional=view.usage_optional)


def _required(type_: str | None) -> tuple[str, ...]:
    """What an agent chunk of this type must have."""
    named = tuple(field.name for field in type_of(type_).required)
    return (*named, f"from {', '.join(SENDERS)}")
