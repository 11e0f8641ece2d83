"""The marks by which a protocol is told from its first events: the one table that `auto` judges by."""

from typing import Final, NamedTuple

RAW: Final = "raw"
# No provider: files of records are for `runwire check` only.
RECORD: Final = "record"


class Sign(NamedTuple):
    """One mark of a protocol: members, and how the compact JSON of each begins (`""`: any value but null).

    A dot leads into a member. None of `without` may be there. A mark that is not `sure` counts if no later event has a
    sure one. `but` says why this provider, where others send the same. An SDK's event has its members in an order of
    its own, so `ordered` marks say nothing there.
    """

    provider: str
    members: dict[str, str]
    sure: bool = True
    but: str = ""
    ordered: bool = False
    without: tuple[str, ...] = ()


def _typed(provider: str, *types: str, having: str = "", beginning: str = "") -> tuple[Sign, ...]:
    """Marks by `type`, with one more member where the type alone says too little. `*` ends what only begins so."""
    more = {having: beginning} if having else {}
    words = (f'"{kind[:-1]}' if kind.endswith("*") else f'"{kind}"' for kind in types)
    return tuple(Sign(provider, {"type": word, **more}) for word in words)


_SHARED: Final = "several protocols send errors like this one"

# The first mark that fits an event counts, so what is narrow stands before what is wide.
SIGNS: Final[tuple[Sign, ...]] = (
    # Events that say what they are.
    *_typed("anthropic", "message_start", "content_block_*", "message_delta", "message_stop"),
    *_typed("openai-responses", "response.*"),
    *_typed("cohere-v2", "message-start", "message-end", "content-start", "content-delta", "content-end"),
    *_typed("cohere-v2", "tool-plan-delta", "tool-call-start", "tool-call-end", "citation-start", "citation-end"),
    *_typed("cohere-v2", "tool-call-delta", having="delta"),
    *_typed("ai-sdk", "stream-start"),
    *_typed("ai-sdk", "text-start", "text-delta", "text-end", having="id", beginning='"'),
    *_typed("ai-sdk", "reasoning-start", "reasoning-delta", "reasoning-end", having="id", beginning='"'),
    *_typed("ai-sdk", "tool-input-start", "tool-input-delta", "tool-input-end", having="id", beginning='"'),
    *_typed("ai-sdk", "tool-call", "tool-result", having="toolCallId"),
    *_typed("ai-sdk", "response-metadata", having="modelId"),
    *_typed("ai-sdk", "source", having="sourceType"),
    *_typed("ai-sdk", "file", having="mediaType"),
    *_typed("ai-sdk", "finish", having="finishReason"),
    *_typed("ai-sdk", "raw", having="rawValue"),
    *_typed(RAW, "block-start", having="blockKind"),
    *_typed(RAW, "text-delta", "thinking-delta", "tool-call-delta", "block-end", having="index"),
    *_typed(RAW, "usage", having="usage", beginning="{"),
    *_typed(RAW, "finish", having="reason", beginning="{"),
    Sign("gemini-interactions", {"event_type": '"interaction.'}),
    Sign("gemini-interactions", {"event_type": '"step.'}),
    Sign("gemini-interactions", {"event_type": '"content.'}),
    Sign("gemini-interactions", {"event_type": '"error"'}),
    # Models of Bedrock's InvokeModel, and what only Bedrock adds.
    Sign("bedrock-invoke", {"completion": '"', "stop_reason": ""}),
    Sign("bedrock-invoke", {"type": '"completion"'}),
    Sign("bedrock-invoke", {"outputText": ""}),
    Sign("bedrock-invoke", {"generation": '"'}),
    Sign("bedrock-invoke", {"outputs": "["}),
    Sign("bedrock-invoke", {"is_finished": ""}),
    Sign("bedrock-invoke", {"generations": "["}),
    Sign("bedrock-invoke", {"results": "[", "inputTextTokenCount": ""}),
    Sign("bedrock-invoke", {"chunk.bytes": '"'}),
    Sign("bedrock-invoke", {"amazon-bedrock-invocationMetrics": "{"}),
    # Nova, asked through InvokeModel, answers in the events of Converse.
    Sign("bedrock-invoke", {"contentBlockDelta": '{"delta"'}, but="Converse has the delta last", ordered=True),
    Sign("bedrock-converse", {"messageStart.p": '"'}),
    Sign("bedrock-converse", {"messageStart": "{"}, sure=False, but="Nova's begins so too"),
    Sign("bedrock-converse", {"contentBlockStart": "{"}),
    Sign("bedrock-converse", {"contentBlockDelta": "{"}),
    Sign("bedrock-converse", {"contentBlockStop": "{"}),
    Sign("bedrock-converse", {"messageStop": "{"}),
    Sign("bedrock-converse", {"metadata.usage": "{"}),
    Sign("bedrock-converse", {"internalServerException": ""}),
    Sign("bedrock-converse", {"modelStreamErrorException": ""}),
    Sign("bedrock-converse", {"serviceUnavailableException": ""}),
    Sign("bedrock-converse", {"throttlingException": ""}),
    Sign("bedrock-converse", {"validationException": ""}),
    Sign("bedrock-invoke", {"modelTimeoutException": ""}),
    # Events that are all alike.
    Sign(
        "bedrock-invoke",
        {"choices": "[", "usage": "{"},
        but="Jamba on Bedrock counts in each chunk and says neither what it is nor when",
        without=("model", "object", "created"),
    ),
    Sign("openai-chat", {"choices": "["}),
    Sign("openai-chat", {"object": '"chat.completion'}),
    Sign("gemini", {"candidates": "["}),
    Sign("gemini", {"promptFeedback": "{"}),
    Sign("gemini", {"usageMetadata": "{"}),
    # In Google's own envelope, and under the names of google-genai's objects.
    Sign("gemini", {"response.candidates": "["}),
    Sign("gemini", {"prompt_feedback": "{"}),
    Sign("gemini", {"usage_metadata": "{"}),
    Sign("ollama", {"done": "", "message": "{"}),
    Sign("ollama", {"done": "", "response": '"'}),
    # Whole answers, for who asked for a stream and got none.
    Sign("anthropic", {"type": '"message"', "content": "["}),
    Sign("cohere-v2", {"message": "{", "finish_reason": '"'}),
    Sign("bedrock-converse", {"output.message": "{"}),
    Sign("openai-responses", {"object": '"response"'}),
    Sign("gemini-interactions", {"object": '"interaction"'}),
    # Errors. Whichever protocol reads one, the call fails with what the error says.
    *_typed("openai-responses", "error", having="sequence_number"),
    Sign("anthropic", {"type": '"error"', "error.type": '"'}, but=_SHARED),
    Sign("openai-responses", {"type": '"error"', "message": ""}, but=_SHARED),
    Sign("gemini", {"error.status": '"', "error.code": ""}),
    Sign("ollama", {"error": '"'}, but=_SHARED),
    Sign("openai-chat", {"error": "{"}, but=_SHARED),
    Sign("openai-chat", {"object": '"error"'}),
    Sign("openai-chat", {"detail": ""}, but=_SHARED),
    Sign("openai-chat", {"message": '"'}, but=_SHARED),
    Sign("openai-chat", {"errors": "["}, but=_SHARED),
    Sign(RECORD, {"kind": '"', "body": ""}),
    Sign(RECORD, {"kind": '"', "body_base64": ""}),
    Sign(RECORD, {"kind": '"'}, sure=False),
    # Signs of life, which say least.
    Sign("anthropic", {"type": '"ping"'}, sure=False, but="no other protocol has a ping of this form"),
    Sign("openai-responses", {"type": '"keepalive"'}, sure=False, but="no other protocol has one"),
)
# What AWS's binary frames carry, and which of the two may carry anything.
INVOKED: Final = "bedrock-invoke"
IN_FRAMES: Final = frozenset({"bedrock-converse", INVOKED})
# How `framing.eventstream` says that it cannot read on.
BROKEN: Final = Sign("", {"error.code": '"undecodable"'})
