"""One run from its first record to its tombstone: records in, numbered chunks, evidence and events out.

Pure: no I/O, no clock, no randomness. The same records always give the same bytes, wherever the state was stored and
loaded in between. Time enters as `timeout` records, written by who owns the run when `deadline_ms` has passed.
"""

from collections.abc import Iterable
from typing import Final
from zlib import crc32

import msgspec

from runwire.grammar import call, control, endings, records, rules, suspension
from runwire.grammar.agent.apply import apply as apply_agent
from runwire.grammar.agent.draft import shortened
from runwire.grammar.hot import HotBlock, ToolDelta, decode_delta, hot_block
from runwire.grammar.input import Input
from runwire.grammar.limits import Limits
from runwire.grammar.run import GRAMMAR_VERSION, Produced, Run
from runwire.grammar.state import Source
from runwire_schemas.record import ENFORCER_SRC, Malformed, Record

__all__ = ["GRAMMAR_VERSION", "Limits", "Produced", "RunMachine"]

_encode: Final = msgspec.json.Encoder().encode


class RunMachine(Run):
    """The machine of one run; mutable, not thread safe. Its lists grow until `take`."""

    def __init__(
        self, run_id: str, limits: Limits, blob: bytes | None = None, seq: int = 0, *, partition: int = 0
    ) -> None:
        """`blob` None or b"" is a run without state; `seq` is the number of its last chunk. Raises StateUnreadable."""
        super().__init__(run_id, limits, blob, seq, partition=partition)
        self._chunk_bytes = limits.chunk_bytes
        self._argument_bytes = limits.argument_bytes
        self.hurry = True
        """False sends every record the general way: same results, slower."""
        self._source: Source | None = None
        self._src = self._call = ""
        self._open: dict[int, HotBlock] = {}
        self._prepare()

    # --- records -----------------------------------------------------------------------------------------------------

    def feed(self, record: Record | Malformed) -> None:
        """Take the run's next record. Never raises for bad input."""
        if not (type(record) is Record and self._quick(record)):
            self._general(record)
            self._prepare()

    def quarantine(self, record: Record, code: str = "enforcer-crash") -> None:
        """Take a record that crashes its reader: it is not looked into, and the run is ended."""
        self._quarantine(record, code)
        self._prepare()

    def restore_parked(self, records: Iterable[Record]) -> None:
        """Give back the bodies of `parked` after the state was loaded. A missing one counts as lost."""
        waiting = set(self.parked)
        self.bodies.update((record.id, record) for record in records if record.id in waiting)

    @property
    def parked(self) -> list[str]:
        """Stream ids of the records that wait behind a gap: they must stay readable."""
        return [
            parked.id
            for source in self.state.sources.values()
            for parked in source.parked.values()
            if not parked.refused
        ]

    # --- time --------------------------------------------------------------------------------------------------------

    def deadline_ms(self) -> int:
        """Milliseconds from now until time alone must act; 0 if it never must."""
        moment = control.due(self)
        return 0 if moment is None else moment.ms

    def due(self) -> bytes | None:
        """The body of the `timeout` record to write when the deadline has passed."""
        moment = control.due(self)
        return None if moment is None else _encode({"type": "timeout", "phase": moment.phase, "after": moment.after})

    # --- the quick way -----------------------------------------------------------------------------------------------

    def _quick(self, record: Record) -> bool:
        """Nearly every record: a delta into an open block, next of its source. Whatever is unusual is left alone."""
        source = self._source
        if (
            source is None
            or record.seq != source.last + 1
            or record.call != self._call
            or record.src != self._src
            or record.epoch != source.epoch
            or record.kind != "provider"
            or len(record.body) > self._chunk_bytes
        ):
            return False
        try:
            chunk = decode_delta(record.body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return False
        hot = self._open.get(chunk.index)
        if hot is None or hot.accepts is not type(chunk):
            return False
        delta = chunk.text
        data = delta.encode()
        if not data or (isinstance(chunk, ToolDelta) and not self._keeps(hot, chunk, len(data))):
            return False
        block = hot.block
        block.fed = True
        block.size += len(data)
        block.crc = crc32(data, block.crc)
        self.chunks.append(hot.head + _encode(delta) + hot.tail)
        source.last = record.seq
        self.state.last = record.id
        return True

    def _keeps(self, hot: HotBlock, chunk: ToolDelta, size: int) -> bool:
        """Whether the argument text could be remembered and was."""
        block, state = hot.block, self.state
        if chunk.id != block.id or block.parts is None or state.args_size + size > self._argument_bytes:
            return False
        block.parts.append(chunk.text)
        block.parts_size += size
        state.args_size += size
        return True

    def _prepare(self) -> None:
        """Find out what the quick way may take."""
        self._source = None
        state = self.state
        opened = state.call
        if opened is None or not self.hurry:
            self._open.clear()
            return
        source = state.sources[opened.src]
        if not source.parked:
            self._source, self._src, self._call = source, opened.src, opened.id
        known, self._open = self._open, {}
        for index, block in opened.blocks.items():
            hot = known.get(index)
            fresh = hot is not None and hot.block is block and hot.live
            self._open[index] = hot if hot is not None and fresh else hot_block(block, self.run_id)

    # --- the general way ---------------------------------------------------------------------------------------------

    def _general(self, record: Record | Malformed) -> None:
        if isinstance(record, Malformed):
            self._refuse_invalid(record, record.reason, None)
            return
        self.at = x = Input(record, self.limits.depth)
        if record.src == ENFORCER_SRC:
            self._enforcer(x)
            return
        reason = records.invalid(self, x)
        if reason is not None:
            self._refuse_invalid(record, reason, x)
            return
        if not self.exists and not self._opened(x):
            self.refuse("run-unknown", "a run without state is not opened by this record", record, _OPENERS, x)
            return
        if records.admit(self, x):
            self._process(x)
            records.finish_turn(self, record)
            self._drain(record.src)
        self._arrived(record.id)

    def _refuse_invalid(self, record: Record | Malformed, reason: str, x: Input | None) -> None:
        if records.seen(self, record):
            self.duplicates += 1
            return
        self.refuse("record-invalid", reason, record, records.acceptable(record), x)
        if self.exists:
            records.use_up(self, record)
            self._drain(record.src or "")
            self._arrived(record.id)

    def _arrived(self, record_id: str) -> None:
        if not self.sealed:
            self.state.last = record_id

    def _opened(self, x: Input) -> bool:
        if not records.opens(x, self.limits):
            return False
        record = x.record
        if record.kind == "control":
            mode = control.declare(self.state, x)
        else:
            mode = "single-call" if record.call is not None else "agent-loop"
        self.open(record, mode, records.author_of(record.src))
        return True

    def _drain(self, src: str) -> None:
        while (parked := records.next_parked(self, src)) is not None:
            self._process(Input(parked, self.limits.depth))
            records.finish_turn(self, parked)

    def _process(self, x: Input) -> None:
        """A record in its turn: judged, then it takes effect."""
        if x.record.kind == "control" and self.finished:
            return
        self.at, record = x, x.record
        x = self._within_limits(x)
        view = self.view(record)
        broken = rules.judge(view, x)
        if broken is not None:
            rule, message = broken
            expected = rules.expected(view, x, broken)
            # What is too large is not decoded for its evidence either.
            seen = None if rule.code == "chunk-too-large" else x
            if rule.cls == "refused" or self.finished or self.ending:
                self.refuse(rule.code, message, record, expected, seen)
            else:
                endings.violate(self, rule.code, message, record, expected, seen)
        elif record.kind == "provider":
            if self.state.suspended:
                suspension.resume(self)
            call.apply(self, x)
        elif record.kind == "control":
            control.apply(self, x)
        else:
            if x is not self.at:
                self.repair("fields-cut", f"the body has {len(record.body)} bytes")
            apply_agent(self, x)

    def _within_limits(self, x: Input) -> Input:
        """An agent chunk that keeps its limit only without its message history goes on without it."""
        record, limits = x.record, self.limits
        if record.kind != "agent" or not limits.agent_chunk_bytes < len(record.body) <= limits.cut_chunk_bytes:
            return x
        body = shortened(record.body, limits.agent_chunk_bytes)
        return x if body is None else Input(msgspec.structs.replace(record, body=body), limits.depth)

    def _enforcer(self, x: Input) -> None:
        """A record of the enforcer: not sequence-checked, and it does not count as a sign of life."""
        reason = x.fault or control.misplaced(x)
        if reason is not None:
            self.refuse("record-invalid", reason, x.record, records.acceptable(x.record), x)
        elif self.exists and not self.sealed and x.type == "timeout":
            broken = rules.judge(self.view(x.record), x)
            if broken is not None:
                self.refuse("record-invalid", broken.message, x.record, records.acceptable(x.record), x)
            else:
                control.timed_out(self, x)

    def _quarantine(self, record: Record, code: str) -> None:
        message = "the record crashes the process that reads it"
        if not self.exists:
            if record.seq != 1:
                self.refuse(code, message, record)
                return
            self.open(record, "single-call" if record.call else "agent-loop", records.author_of(record.src))
        if records.seen(self, record):
            self.duplicates += 1
        else:
            endings.violate(self, code, message, record)
        records.use_up(self, record)


_OPENERS: Final = ("seq 1 of a provider record", "seq 1 of a run-start", "seq 1 of an agent chunk that opens a run")
