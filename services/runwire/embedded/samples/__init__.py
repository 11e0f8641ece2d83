"""Sample streams, written by hand from the providers' protocols: no recording, no real id, no real signature."""

from importlib.resources import files
from typing import Final, NamedTuple


class Sample(NamedTuple):
    """One body as its provider would send it. `file` is its path below this package; `shows` says why it is here."""

    name: str
    file: str
    provider: str
    shows: str

    def read(self) -> bytes:
        """The bytes as they would come over the wire."""
        return (files(__name__) / self.file).read_bytes()


SAMPLES: Final[tuple[Sample, ...]] = (
    Sample("harbour", "openai-chat/harbour.sse", "openai-chat", "text, usage in a chunk of its own"),
    Sample("weather", "openai-chat/weather.sse", "openai-chat", "a tool call in many pieces, cached input"),
    Sample("trip", "openai-chat/trip.sse", "openai-chat", "text, then three tool calls at once"),
    Sample("riddle", "openai-chat/riddle.sse", "openai-chat", "reasoning_content, usage on the finish chunk"),
    Sample("haiku", "openai-chat/haiku.sse", "openai-chat", "reasoning, usage under x_groq and again at the end"),
    Sample("languages", "openai-chat/languages.sse", "openai-chat", "many scripts, joined emoji, escapes"),
    Sample("tides", "openai-chat/tides.sse", "openai-chat", "a longer text"),
    Sample("upstream-error", "openai-chat/upstream-error.sse", "openai-chat", "an error beside choices, in the middle"),
    Sample("cut-off", "openai-chat/cut-off.sse", "openai-chat", "a body that stops without an end"),
    Sample("letter", "anthropic/letter.sse", "anthropic", "text, pings, padding inside the JSON"),
    Sample("thinking", "anthropic/thinking.sse", "anthropic", "thinking with its signature, then text"),
    Sample("tools", "anthropic/tools.sse", "anthropic", "text and three tool calls, one without arguments"),
    Sample("search", "anthropic/search.sse", "anthropic", "a search run by the provider, and citations"),
    Sample("overloaded", "anthropic/overloaded.sse", "anthropic", "an error event in the middle"),
)
# Raw chunks that break the grammar: a delta into a block that was closed.
BROKEN: Final = Sample("broken", "broken.ndjson", "raw", "a delta into a closed block")
