"""docs/grammar.md, generated from the tables that the machine asks: it cannot describe other rules than those."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

import msgspec

from runwire.grammar import docs_agent
from runwire.grammar.endings import ENDINGS
from runwire.grammar.limits import Limits
from runwire.grammar.markdown import table
from runwire.grammar.records import CHECKS
from runwire.grammar.rules import RULES
from runwire.grammar.run import GRAMMAR_VERSION
from runwire.grammar.state import Word
from runwire.grammar.tables import BLOCK_INPUTS, BLOCKS, CALL_INPUTS, CALLS

_INTRO: Final = """\
# The grammar

*Generated from the code by `make schemas`. Change the tables in `services/runwire/grammar`, not this page.*

Producers write **records**. A `provider` record carries one raw chunk of a model call, an `agent` record one chunk of
an agent runtime, a `control` record says something of the run as a whole. The run machine judges each record, turns raw
chunks into the chunks that readers get, numbers them, and makes sure that every run ends explicitly.

What a broken rule does:

- **fatal**: evidence is stored, and the run is ended with an `error` chunk {`code`: `grammar-violation`, `rule`,
  `evidenceId`} whose `evidenceId` is the id of the record.
- **refused**: evidence is stored, the record has no effect, and the run goes on. In a finished run every rule that is
  broken is only refused; the first 100 refusals of a run are kept with their bytes, the rest is counted.
- **repaired**: evidence is stored once per run and code, then counted, and the corrected chunk goes on.
- **counted**: nothing is stored, nothing is sent.
"""

_RULES: Final = """\
## Chunks

The first rule that is broken, in this order, gives the code. The chunk then changes nothing.
Rules without a number are about agent chunks, and about the memory of a run.
"""

_BLOCKS: Final = """\
## Blocks

A block of a call by its index: what it is, what comes, and what it is then. A code is a broken rule.
"""

_CALLS: Final = """\
## Calls

An open call: whether its usage was reported, what comes, and what the call is then.
"""

_CHUNKS: Final = """\
## What readers get

| raw | chunks |
| --- | --- |
| the run's first chunk | `start` before it |
| a call's first chunk | `step-start`, unless an agent's is open; the step of the call before is closed |
| text, thinking | `text-*`, `reasoning-*`: start, deltas, end; a block without a delta has its whole text as one |
| tool_use, id and name known | `tool-call-input-streaming-start`, then the deltas that waited for the name |
| tool_use, non-empty delta | `tool-call-delta` |
| tool_use, end | what is missing of these, `tool-call-input-streaming-end`, `tool-call`; no JSON object: a bad call |
| tool_result, end | `tool-result`; `metadata.orphan` if no tool call has its id |
| image, end | `file` |
| usage, finish | `step-finish` when the step is closed: at once in `single-call`, else by the next call or the end |
| failed finish | held: if a call follows, the step closes with reason `retry`; else it is the run's ending |

Before `step-finish` come the `tool-error` chunks of bad calls: `truncated` if the model was cut off, else
`tool-arguments-invalid`. They are no answers: a real one may follow. Opaque JSON keeps its spelling.
"""

_ENDINGS: Final = """\
## Endings

Each ending is one sequence: open blocks are closed; bad tool calls get their `tool-error`; if the run failed, each
other unanswered tool call gets `tool-error` {`interrupted`}; the middle chunk; `step-finish` if a step is open;
`finish`. A call that failed decides the ending with its own failure, unless the run is aborted or violated. An agent's
own `error`, `abort` or `tripwire` is the middle chunk; so is the one that a step-finish or finish names as its reason.
"""

_LIMITS: Final = """\
## Limits

Times are in milliseconds, sizes in bytes. All are settings of the machine; all enforcers of a deployment must agree.
"""


def render() -> str:
    """The whole page."""
    parts = [
        _INTRO,
        "## Records\n",
        table(("code", "class", "rule"), ((f"`{code}`", cls, what) for code, cls, what in CHECKS)),
        _RULES,
        table(
            ("#", "code", "class", "rule", "judges"),
            ((_number(rule.number), f"`{rule.code}`", rule.cls, rule.what, _judges(rule.kinds)) for rule in RULES),
        ),
        _BLOCKS,
        _transitions("block", BLOCKS, BLOCK_INPUTS),
        _CALLS,
        _transitions("usage", CALLS, CALL_INPUTS),
        _CHUNKS,
        _ENDINGS,
        table(
            ("what happened", "middle chunk", "reasons"),
            ((ending.what, _code(ending.middle, "–"), _code(ending.reason, "as sent")) for ending in ENDINGS.values()),
        ),
        f"Reasons are: {', '.join(f'`{word}`' for word in get_args(Word))}.\n",
        *docs_agent.parts(),
        _LIMITS,
        table(
            ("limit", "default"),
            ((f"`{field.name}`", f"{field.default:,}") for field in msgspec.structs.fields(Limits)),
        ),
        f"This is grammar version {GRAMMAR_VERSION}; evidence names the version that it was judged by.",
    ]
    return "\n".join(parts) + "\n"


def _number(number: str) -> str:
    return number if number.isdecimal() else ""


def _code(word: str | None, otherwise: str) -> str:
    return otherwise if word is None else f"`{word}`"


def _judges(kinds: frozenset[str]) -> str:
    return ", ".join(kind for kind in ("provider", "agent", "control") if kind in kinds)


def _transitions(name: str, moves: Mapping[Any, Mapping[str, str]], inputs: Sequence[str]) -> str:
    states = list(moves)
    cells = ([f"`{given}`", *(_move(moves[state][given], states) for state in states)] for given in inputs)
    return table([f"{name} →", *states], cells)


def _move(move: str, states: Sequence[str]) -> str:
    return f"**{move}**" if move in states or move == "finished" else f"`{move}`"
