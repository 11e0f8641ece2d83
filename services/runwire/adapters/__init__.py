"""Adapters: the bytes of one provider response in, the raw chunks of one call out. Pure and incremental."""

from runwire.adapters.base import MAX_EVENT, Adapter, Emitted, Framing
from runwire.adapters.registry import PROVIDERS, adapter, feed_event
from runwire.errors import UnknownProvider

__all__ = ["MAX_EVENT", "PROVIDERS", "Adapter", "Emitted", "Framing", "UnknownProvider", "adapter", "feed_event"]
