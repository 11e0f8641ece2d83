"""Events of models on Bedrock, written by hand, and what the adapter of InvokeModel makes of them."""

import json
from typing import Any

from conformance.recorded import Seen
from runwire_schemas.raw import Usage
from unit.adapters.conversing import lines_of
from unit.adapters.saying import Json, accepted, block, message

METRICS: Json = {
    "amazon-bedrock-invocationMetrics": {
        "inputTokenCount": 4,
        "outputTokenCount": 6,
        "invocationLatency": 100,
        "firstByteLatency": 10,
    }
}
COUNTED = Usage(input_tokens=4, output_tokens=6)


def invoke(*events: Json, choice: int = 0) -> Seen:
    return accepted("bedrock-invoke", lines_of(*events), choice=choice)


def claude(stop: str = "end_turn", **last: Any) -> list[Json]:
    whole = message(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}), stop=stop)
    events: list[Json] = [json.loads(line[6:]) for line in whole.splitlines() if line.startswith(b"data: ")]
    events[-1] |= last
    return events
