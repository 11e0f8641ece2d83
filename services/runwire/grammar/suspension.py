"""Legs: a run that waits for somebody is suspended, and whatever comes then begins its next leg."""

from runwire.grammar import normalize, steps
from runwire.grammar.run import Run
from runwire.grammar.state import State


def asked(state: State) -> bool:
    """Whether something of this leg waits for somebody outside."""
    return state.pausing or any(tool.waiting for tool in state.tools.values())


def settled(state: State) -> bool:
    """Nothing but the suspended is still at work: silence now means suspension."""
    return state.call is None and asked(state) and all(tool.waiting or tool.told for tool in state.tools.values())


def suspend(run: Run) -> None:
    """The leg is over, its step stays open: blocks are ended, and the mark says who waits."""
    state = run.state
    if state.suspended:
        return
    steps.close_leg(run)
    waiting = [out for out, tool in state.tools.items() if tool.waiting]
    # A producer may suspend a run whose calls did not ask for it: then whatever has no answer waits.
    ids = waiting or [out for out, tool in state.tools.items() if not tool.told]
    listed = b"[" + b",".join(map(normalize.text, ids)) + b"]"
    run.emit_data("data-run-suspended", normalize.obj(("leg", b"%d" % state.leg), ("toolCallIds", listed)))
    state.suspended = True


def resume(run: Run) -> None:
    """The next leg begins. What waited was answered or will ask again."""
    state = run.state
    state.suspended = state.pausing = False
    state.leg += 1
    for tool in state.tools.values():
        tool.waiting = False
