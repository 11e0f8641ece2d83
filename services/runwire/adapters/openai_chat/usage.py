"""The counts of the OpenAI family as the contract wants them: disjoint, as reported, never made up."""

from runwire.adapters.openai_chat.wire import UsageIn
from runwire_schemas.raw import Usage

# Counts above are no integers for most JSON readers, and no provider's truth.
SURE = 2**53


def usage_of(said: UsageIn) -> Usage | None:
    """None if one of the two counts is missing (null until the end, on some servers): that says nothing.

    `prompt_tokens` includes what was read from and written to a cache; both are taken out of it, never below 0.
    Reasoning belongs inside the output. xAI reports it beside `completion_tokens`, and its own total says so; then
    the two are one output. Without such a total `completion_tokens` is passed on as it is: nothing is guessed.
    """
    prompt, completion = count(said.prompt_tokens), count(said.completion_tokens)
    if prompt is None or completion is None:
        return None
    details, inner = said.prompt_tokens_details, said.completion_tokens_details
    # DeepSeek documents its own count as part of prompt_tokens; older streams have only that one.
    read = first(None if details is None else details.cached_tokens, said.prompt_cache_hit_tokens)
    written = None if details is None else count(details.cache_write_tokens)
    reasoning = None if inner is None else count(inner.reasoning_tokens)
    beside = reasoning is not None and count(said.total_tokens) == prompt + completion + reasoning
    return Usage(
        input_tokens=max(0, prompt - (read or 0) - (written or 0)),
        output_tokens=completion + reasoning if beside and reasoning else completion,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
    )


def count(number: int | None) -> int | None:
    """The number if it can be a count."""
    return number if number is not None and 0 <= number < SURE else None


def first(*numbers: int | None) -> int | None:
    """The first that is a count: spellings of the same thing, best known first."""
    return next((number for number in numbers if count(number) is not None), None)
