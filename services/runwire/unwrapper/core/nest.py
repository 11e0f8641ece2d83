"""One run's nesting: what its log wraps becomes records of child runs.

Pure, and a function of the log: the same chunks give the same records with the same numbers, wherever the state was
stored and loaded in between. So whoever writes them again writes duplicates, which their readers recognize.
"""

from typing import Final, NamedTuple

import msgspec

from runwire.unwrapper.core.child import Child
from runwire.unwrapper.core.looking import Look
from runwire.unwrapper.core.names import is_above, made_name, renamed, unfit
from runwire.unwrapper.core.state import Above, Limits, Nest
from runwire.unwrapper.core.wrappers import Inner, Output
from runwire_schemas.control import Parent, RunEnd, RunStart
from runwire_schemas.lineage import Ancestry, ChildLink
from runwire_schemas.raw import Failure
from runwire_schemas.record import Kind

_encode: Final = msgspec.json.Encoder().encode


class Letter(NamedTuple):
    """Record `seq` of a child. The first one has a `claim`: the lineage that the child's own partition will find."""

    run_id: str
    seq: int
    kind: Kind
    body: bytes
    claim: bytes | None = None


class Complaint(NamedTuple):
    """Why a chunk stays wrapped: it stands for `times` of its kind."""

    code: str
    message: str
    look: Look
    times: int


class Taken(NamedTuple):
    """What came of some chunks. `links` are new children by number, `closed` the children whose stored form changed."""

    letters: list[Letter]
    links: list[tuple[int, ChildLink]]
    closed: list[tuple[str, Child]]
    complaints: list[Complaint]


class Nesting:
    """The children of one run's attempt. What happens to them grows in its lists until `take`."""

    def __init__(self, run_id: str, limits: Limits, state: Nest) -> None:
        self.run_id = run_id
        self.limits = limits
        self.state = state
        self.closed: dict[str, Child | None] = {}
        """Children that are done, as far as they were asked for; None for a name that is no child."""
        self.changed = False
        """Whether the state is another than the stored one."""
        self._letters: list[Letter] = []
        self._links: list[tuple[int, ChildLink]] = []
        self._complaints: list[Complaint] = []
        self._closing: set[str] = set()
        self._above = {above.run_id for above in state.path}

    def take(self) -> Taken:
        """All that came since the last call."""
        closed = [(name, child) for name in sorted(self._closing) if (child := self.closed.get(name)) is not None]
        taken = Taken(self._letters, self._links, closed, self._complaints)
        self._letters, self._links, self._complaints, self._closing = [], [], [], set()
        self.changed = False
        return taken

    def touch(self, look: Look) -> None:
        """This chunk changes the state."""
        self.changed = True
        self.state.seq = look.seq

    def unknown(self, output: Output) -> str | None:
        """The child whose stored form must be loaded before this output is taken, or None."""
        inner = output.inner
        if inner is None or output.twin or not self.state.closed:
            return None
        name = self._name_of(output, inner)
        return None if name is None or name in self.state.open or name in self.closed else name

    # --- outputs -----------------------------------------------------------------------------------------------------

    def output(self, look: Look) -> None:
        """A wrapper: its inner chunk, if it is one, is the next record of its run."""
        output = look.output
        if output is None:
            self.complain("wrapper-unreadable", f"chunk {look.seq} cannot be read", look)
            return
        inner = output.inner
        name = None if inner is None or output.twin else self._name_of(output, inner)
        if inner is None or name is None:
            return
        body = inner.body if inner.run_id in (None, name) else renamed(inner.type, inner.body, name)
        if problem := self._problem(output, name, body):
            self.complain(*problem, look)
            return
        self.touch(look)
        child = self._known(name) or self._open(look, output, name)
        self._carried(name, child, output.channel)
        self._write(name, child, "agent", body)
        child.note(inner.type, body)
        self._close_passed(name)

    def _name_of(self, output: Output, inner: Inner) -> str | None:
        """The run that the chunk is for; None if it is for none, and stays plain data."""
        if not inner.addressed:
            last = self.state.channels.get(output.channel)
            named = inner.run_id
            if last is None or named in (None, last):
                return last
            # One that was renamed still names the run above.
            return last if last.startswith("~") and is_above(named or "", self.run_id, self._above) else None
        named = inner.run_id or ""
        return (
            made_name(self.run_id, output.wrapper, output.key) if is_above(named, self.run_id, self._above) else named
        )

    def _problem(self, output: Output, name: str, body: bytes) -> tuple[str, str] | None:
        """Why the chunk stays wrapped: a code and a message."""
        state, limits = self.state, self.limits
        if len(body) > limits.chunk_bytes:
            return "chunk-too-large", f"with its run renamed the chunk has {len(body)} bytes, over {limits.chunk_bytes}"
        if name in state.open:
            return None
        # One that is done stays for chunks that name no run, until another takes its place.
        last = state.open.get(state.channels.get(output.channel, ""))
        if len(state.open) >= limits.open_children + (last is not None and last.finished):
            return "too-many-children", f"{len(state.open)} runs nested in this one are not over"
        return None if self.closed.get(name) is not None else self._problem_of_new(output, name)

    def _problem_of_new(self, output: Output, name: str) -> tuple[str, str] | None:
        state, limits = self.state, self.limits
        depth = len(state.path) + 2
        made = name.startswith("~") and name == made_name(self.run_id, output.wrapper, output.key)
        if not made and (reason := unfit(name)):
            return "child-invalid", f"the chunk names a run that nobody may name: {reason}"
        if depth > limits.depth:
            return "nesting-too-deep", f"the chunk would be of a run {depth} deep, over {limits.depth}"
        if state.children >= limits.children:
            return "too-many-children", f"{state.children} runs were nested in this one"
        if len(output.key.encode()) > limits.key_bytes:
            return "child-invalid", f"what carries the chunk has a name of over {limits.key_bytes} bytes"
        return None

    def _known(self, name: str) -> Child | None:
        child = self.state.open.get(name)
        if child is None and (child := self.closed.pop(name, None)) is not None:
            self.state.open[name] = child
        return child

    def _open(self, look: Look, output: Output, name: str) -> Child:
        state = self.state
        state.children += 1
        child = state.open[name] = Child(state.children, "", state.attempt)
        self._links.append(
            (child.ordinal, ChildLink(run_id=name, wrapper=output.wrapper, key=output.key, seq=look.seq))
        )
        path = [*state.path, Above(self.run_id, output.wrapper, output.key)]
        parents = tuple(Parent(run_id=up.run_id, wrapper=up.wrapper, key=up.key) for up in path)
        start = RunStart(mode="agent-loop", parent=parents[-1])
        self._write(name, child, "control", _encode(start), _encode(Ancestry(path=parents)))
        return child

    def _carried(self, name: str, child: Child, channel: str) -> None:
        """Note what carries the child now. Chunks without a run of their own are for who came last."""
        channels = self.state.channels
        if child.channel == channel and channel in channels:
            return
        if channels.get(child.channel) == name:
            del channels[child.channel]
        child.channel = channel
        before, channels[channel] = channels.get(channel), name
        if before is not None:
            self._close_passed(before)

    def _close_passed(self, name: str) -> None:
        """A child that is done leaves the state as soon as nothing can be for it without naming it."""
        child = self.state.open.get(name)
        if child is not None and child.finished and self.state.channels.get(child.channel) != name:
            self.close(name)

    # --- ends --------------------------------------------------------------------------------------------------------

    def end(self, name: str, *, failed: bool) -> None:
        """What carries an open child is over: it ends with it, unless it waits for somebody."""
        child = self.state.open[name]
        if child.must_end:
            failure = Failure(
                message=f"the run {self.run_id} failed or was stopped around this one", code="parent-ended"
            )
            body = RunEnd(reason="error", failure=failure) if failed else RunEnd(reason="stop")
            self._write(name, child, "control", _encode(body))
            child.finished = True

    def close(self, name: str) -> None:
        """Move a child out of the state; it is still known by its name."""
        self.closed[name] = self.state.open.pop(name)
        self._closing.add(name)
        self.state.closed += 1

    def complain(self, code: str, message: str, look: Look) -> None:
        """A chunk stays wrapped. Told in ranges of 1, 1, 2, 4 …: they stay few, however long somebody goes on."""
        self.touch(look)
        number = self.state.complaints[code] = self.state.complaints.get(code, 0) + 1
        if number & (number - 1) == 0:
            self._complaints.append(Complaint(code, message, look, max(1, number // 2)))

    def _write(self, name: str, child: Child, kind: Kind, body: bytes, claim: bytes | None = None) -> None:
        child.seq += 1
        self._letters.append(Letter(name, child.seq, kind, body, claim))
