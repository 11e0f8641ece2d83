"""Adapters: the bytes of one provider response in, the raw chunks of one call out. Pure and incremental."""

from runwire.adapters.auto import Auto, Guess
from runwire.adapters.base import MAX_EVENT, Adapter, Emitted, Framing
from runwire.adapters.registry import PROVIDERS, adapter, choices, feed_event
from runwire.adapters.several import Choices, Chosen
from runwire.errors import UnknownProvider

__all__ = [
    "MAX_EVENT",
    "PROVIDERS",
    "Adapter",
    "Auto",
    "Choices",
    "Chosen",
    "Emitted",
    "Framing",
    "Guess",
    "UnknownProvider",
    "adapter",
    "choices",
    "feed_event",
]
