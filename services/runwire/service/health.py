"""Whether a node lives and whether it does its work: judged from its own status, not from a PING."""

from typing import Any, Final

import msgspec

from runwire.broker.runtime import NodeStatus

# The loop turns every half second; a command may take two, a connection two more, five of them in a row.
DEAD_S: Final = 15.0


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Good, or why not."""

    ok: bool
    reasons: list[str]


def live(status: NodeStatus) -> Health:
    """Only what a restart would cure: an unreachable server is not this process's fault."""
    reasons: list[str] = []
    if status.loop_age_s > DEAD_S:
        reasons.append(f"the loop has not turned for {status.loop_age_s:.0f} s")
    return Health(ok=not reasons, reasons=reasons)


def ready(status: NodeStatus, *, draining: bool) -> Health:
    """Whether this process serves the partitions that it holds."""
    reasons = list(live(status).reasons)
    if draining:
        reasons.append("draining")
    if status.problem is not None:
        reasons.append(f"broker unreachable: {status.problem}")
    reasons += [f"partition {p} is halted: {why}" for p, why in sorted(status.halted.items())]
    reasons += [
        f"partition {p}: {n} records were trimmed by someone else before they were read"
        for p, n in sorted(status.trimmed_unread.items())
    ]
    reasons += [f"partition {p} makes no progress" for p in status.stalled]
    return Health(ok=not reasons, reasons=reasons)


def report(status: NodeStatus, health: Health) -> dict[str, Any]:
    """The JSON body of /readyz."""
    return {
        "ready": health.ok,
        "reasons": health.reasons,
        "name": status.name,
        "broker": "reachable" if status.connected else "unreachable",
        "members": status.members,
        "leases": status.held,
        "lag": {str(p): lag for p, lag in status.lag.items()},
        "halted": {str(p): why for p, why in status.halted.items()},
        "trimmed_unread": {str(p): n for p, n in status.trimmed_unread.items()},
        "last_progress_s": None if status.last_progress_s is None else round(status.last_progress_s, 3),
        "loop_age_s": round(status.loop_age_s, 3),
    }
