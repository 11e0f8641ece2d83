"""The five invariants of every log, judged from the log alone; dialects rest on them."""

from typing import Any

Chunk = dict[str, Any]

STOPS = ("error", "abort", "tripwire")
CLOSED_AT = (*STOPS, "step-finish", "data-run-suspended", "finish")
ANSWERS = ("tool-result", "tool-error", "tool-output-denied")


def broken(log: list[Chunk]) -> list[str]:
    """What is wrong with a log that may still grow; empty if nothing is."""
    return [*_frame(log), *_blocks(log), *_steps(log), *_tools(log), *_stops(log)]


def _frame(log: list[Chunk]) -> list[str]:
    types = [chunk["type"] for chunk in log]
    found: list[str] = []
    if types and (types[0] != "start" or types.count("start") != 1):
        found.append("start is not first and once")
    if "finish" in types and types.index("finish") != len(types) - 1:
        found.append("something follows finish")
    return found


def _blocks(log: list[Chunk]) -> list[str]:
    found: list[str] = []
    opened: dict[str, str] = {}
    ended: set[str] = set()
    for chunk in log:
        stem, _, part = chunk["type"].partition("-")
        if stem in ("text", "reasoning") and part in ("start", "delta", "end"):
            id_ = chunk["payload"]["id"]
            if part == "start":
                if id_ in opened or id_ in ended:
                    found.append(f"block {id_} started twice")
                opened[id_] = stem
            elif opened.get(id_) != stem:
                found.append(f"{chunk['type']} {id_} without its block")
            if part == "end":
                opened.pop(id_, None)
                ended.add(id_)
        elif chunk["type"] in CLOSED_AT and opened:
            found.append(f"blocks {list(opened)} open at {chunk['type']}")
    return found


def _steps(log: list[Chunk]) -> list[str]:
    found: list[str] = []
    inside = False
    for chunk in log:
        kind = chunk["type"]
        if kind == "step-start":
            if inside:
                found.append("steps nest")
            inside = True
        elif kind == "step-finish":
            if not inside:
                found.append("step-finish without a step")
            inside = False
        elif kind == "finish" and inside:
            found.append("a step is open at finish")
        elif kind.startswith(("text-", "reasoning-", "tool-call")) and not inside:
            found.append(f"{kind} outside of a step")
    return found


def _tools(log: list[Chunk]) -> list[str]:
    found: list[str] = []
    opened: set[str] = set()
    named: set[str] = set()
    called: set[str] = set()
    for chunk in log:
        kind = chunk["type"]
        if kind.startswith("tool-"):
            found += _tool(chunk, opened, named, called)
    if opened and log[-1]["type"] == "finish":
        found.append(f"tool inputs {opened} open at finish")
    return found


def _tool(chunk: Chunk, opened: set[str], named: set[str], called: set[str]) -> list[str]:
    kind, id_ = chunk["type"], chunk["payload"]["toolCallId"]
    wrong = {
        "tool-call-input-streaming-start": id_ in named,
        "tool-call-delta": id_ not in opened,
        "tool-call-input-streaming-end": id_ not in opened,
        "tool-call": id_ in opened or id_ in called,
    }.get(kind, kind in ANSWERS and id_ not in named and not chunk["payload"].get("metadata", {}).get("orphan"))
    if kind == "tool-call-input-streaming-start":
        opened.add(id_)
        named.add(id_)
    elif kind == "tool-call-input-streaming-end":
        opened.discard(id_)
    elif kind == "tool-call":
        called.add(id_)
        named.add(id_)
    return [f"{kind} {id_} out of place"] if wrong else []


def _stops(log: list[Chunk]) -> list[str]:
    types = [chunk["type"] for chunk in log]
    stops = [kind for kind in types if kind in STOPS]
    found: list[str] = []
    if len(stops) > 1:
        found.append(f"several of {STOPS}: {stops}")
    if stops and not set(types[types.index(stops[0]) + 1 :]) <= {"step-finish", "finish"}:
        found.append(f"something else follows {stops[0]}")
    if types and types[-1] == "finish":
        reason = log[-1]["payload"]["stepResult"]["reason"]
        if stops != ([reason] if reason in STOPS else []):
            found.append(f"finish says {reason}, the log has {stops}")
    return found
