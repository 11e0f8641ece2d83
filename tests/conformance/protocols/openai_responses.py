"""OpenAI's Responses API, as the tests see it."""

import re
from typing import Any

from conformance.spoken import Spoken, lines

_CLOSING = re.compile(rb"response\.(completed|incomplete|failed|cancelled)")
# What a response repeats of its request.
_REQUEST = ("instructions", "tools", "tool_choice", "text")
# Their facts are those of the closing event.
_BEGINNING = ("response.created", "response.in_progress", "response.queued")
# Encrypted anew for each event: what the finished item has is kept.
_ENCRYPTED = ("encrypted_content", "fingerprint")


def _sure(body: bytes) -> int:
    found = _CLOSING.search(body)
    return 0 if found is None else found.start()


def _told(event: dict[str, Any]) -> dict[str, Any]:
    event = dict(event)
    if event["type"] == "response.output_item.added":
        event["item"] = _readable(event["item"])
    if event["type"] == "response.failed":
        # Without any content there is no step that facts about the response could lie in.
        event["response"] = {"error": event["response"]["error"]}
    elif event["type"] in _BEGINNING:
        del event["response"]
    elif "response" in event:
        response = {name: value for name, value in event["response"].items() if name not in _REQUEST}
        response["output"] = [_readable(item) for item in response.get("output", [])]
        event["response"] = response
    return event


def _readable(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in _ENCRYPTED}


SPOKEN = Spoken(
    events=lines,
    sure=_sure,
    # Padding and constants; an item's id repeats the item's own, or is made anew for each event.
    silent=frozenset({"object", "obfuscation", "role", "item_id"}),
    words=frozenset({"type", "status", "execution"}),
    fast=(("runwire.adapters.openai_responses.responses", "decode_delta"),),
    exact=False,  # some arguments are objects, whose members the SDK puts in an order of its own
    told=_told,
)
