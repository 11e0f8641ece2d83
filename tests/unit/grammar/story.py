"""A run told as a story: records are written one after the other, and what came out can be asked."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from runwire.grammar import Limits, RunMachine
from runwire.grammar.invariants import Judge
from runwire_schemas.events import AnyRunEvent
from runwire_schemas.evidence import Evidence
from runwire_schemas.record import Kind, Record, UsageRule

Body = dict[str, Any]


def encoded(body: Body | bytes) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


class Story:
    """One run and its machine. Records get the next seq of their source and ids one millisecond apart.

    Every story is held to the five invariants.
    """

    def __init__(self, limits: Limits | None = None, run: str = "r", machine: type[RunMachine] = RunMachine) -> None:
        self.limits = limits or Limits()
        self.machine = machine(run, self.limits)
        self.judge = Judge(run)
        self.chunks: list[Body] = []
        self.raw: list[bytes] = []
        self.evidence: list[Evidence] = []
        self.events: list[AnyRunEvent] = []
        self.records: list[Record] = []
        self.now = 1_000
        self._seqs: dict[tuple[str, int], int] = {}

    def record(
        self,
        body: Body | bytes,
        *,
        call: str | None = "c1",
        kind: Kind = "provider",
        src: str = "p",
        epoch: int = 0,
        seq: int | None = None,
        usage: UsageRule | None = None,
    ) -> Record:
        if seq is None:
            seq = self._seqs.get((src, epoch), 0) + 1
        self._seqs[src, epoch] = seq
        self.now += 1
        return Record(
            id=f"{self.now}-0",
            run=self.machine.run_id,
            kind=kind,
            src=src,
            epoch=epoch,
            seq=seq,
            body=encoded(body),
            call=call,
            usage=usage,
        )

    def feed(self, record: Record) -> list[Body]:
        self.records.append(record)
        self.machine.feed(record)
        return self.take()

    def take(self) -> list[Body]:
        produced = self.machine.take()
        assert produced.base_seq == len(self.chunks)
        for chunk in produced.chunks:
            self.judge.see(chunk)
        assert self.judge.broken == []
        new = [json.loads(chunk) for chunk in produced.chunks]
        self.raw += produced.chunks
        self.chunks += new
        self.evidence += produced.evidence
        self.events += produced.events
        return new

    def write(self, body: Body | bytes, **fields: Any) -> list[Body]:
        return self.feed(self.record(body, **fields))

    def all(self, bodies: Iterable[Body | bytes], **fields: Any) -> list[Body]:
        return [chunk for body in bodies for chunk in self.write(body, **fields)]

    def control(self, body: Body | bytes, **fields: Any) -> list[Body]:
        return self.write(body, kind="control", call=None, **fields)

    def agent(self, body: Body | bytes, **fields: Any) -> list[Body]:
        return self.write(body, kind="agent", **fields)

    def say(self, type_: str, src: str = "p", /, **payload: Any) -> list[Body]:
        """An agent chunk without a call."""
        return self.write({"type": type_, "payload": payload}, kind="agent", call=None, src=src)

    def enforcer(self, body: Body | bytes) -> list[Body]:
        record = msgspec.structs.replace(self.record(body, kind="control", call=None, src="~enforcer"), seq=0)
        return self.feed(record)

    def wait(self) -> list[Body]:
        """Nothing comes until time must act: the enforcer writes its timeout."""
        body = self.machine.due()
        assert body is not None
        self.now += self.machine.deadline_ms()
        return self.enforcer(body)

    def reload(self) -> None:
        """As another process does it: the state is stored, loaded and given its parked records."""
        parked = set(self.machine.parked)
        self.machine = type(self.machine)(self.machine.run_id, self.limits, self.machine.blob(), self.machine.seq)
        self.machine.restore_parked(record for record in self.records if record.id in parked)

    @property
    def types(self) -> list[str]:
        return [chunk["type"] for chunk in self.chunks]

    @property
    def codes(self) -> list[str]:
        return [evidence.code for evidence in self.evidence]

    @property
    def reason(self) -> str | None:
        """The reason of `finish`, None before."""
        finished = self.chunks and self.chunks[-1]["type"] == "finish"
        return self.chunks[-1]["payload"]["stepResult"]["reason"] if finished else None

    def of(self, type_: str) -> list[Body]:
        """Payloads, or data, of the chunks of one type."""
        return [chunk["payload" if "payload" in chunk else "data"] for chunk in self.chunks if chunk["type"] == type_]


# --- bodies ----------------------------------------------------------------------------------------------------------

USAGE: Body = {"type": "usage", "usage": {"inputTokens": 3, "outputTokens": 4}}
RUN_END: Body = {"type": "run-end", "reason": "stop"}
HEARTBEAT: Body = {"type": "heartbeat"}


def start(index: int = 0, kind: str = "text") -> Body:
    return {"type": "block-start", "index": index, "blockKind": kind}


def text(words: str, index: int = 0, **more: Any) -> Body:
    return {"type": "text-delta", "index": index, "text": words, **more}


def thinking(words: str, index: int = 0, **more: Any) -> Body:
    return {"type": "thinking-delta", "index": index, "text": words, **more}


def tool(args: str, index: int = 0, id: str = "t1", **more: Any) -> Body:  # noqa: A002 - the field's name
    return {"type": "tool-call-delta", "index": index, "id": id, "argumentsDelta": args, **more}


def end(index: int = 0, kind: str = "text", **more: Any) -> Body:
    return {"type": "block-end", "index": index, "block": {"kind": kind, **more}}


def tool_end(args: str, index: int = 0, id: str = "t1", name: str = "f", **more: Any) -> Body:  # noqa: A002
    return end(index, "tool_use", id=id, name=name, arguments=args, **more)


def result(id: str = "t1", content: Any = None, index: int = 1, **more: Any) -> list[Body]:  # noqa: A002
    return [start(index, "tool_result"), end(index, "tool_result", toolCallId=id, content=content, **more)]


def finish(kind: str = "stop", **more: Any) -> Body:
    failure = {"failure": {"message": "broke"}} if kind in ("error", "aborted") else {}
    return {"type": "finish", "reason": {"kind": kind, **failure, **more}}


def text_block(words: str = "hi", index: int = 0) -> list[Body]:
    return [start(index), text(words, index), end(index, text=words)]


def tool_block(args: str = "{}", index: int = 0, id: str = "t1", name: str = "f") -> list[Body]:  # noqa: A002
    return [start(index, "tool_use"), tool(args, index, id, name=name), tool_end(args, index, id, name)]


def loop(story: Story | None = None, **fields: Any) -> Story:
    """A story in agent-loop mode."""
    told = story or Story()
    told.control({"type": "run-start", "mode": "agent-loop", **fields})
    return told


def said(*chunks: tuple[str, Body]) -> Story:
    """A story of agent chunks that opens with an agent's `start`."""
    told = Story()
    told.say("start")
    for type_, payload in chunks:
        told.say(type_, **payload)
    return told
