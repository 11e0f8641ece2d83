"""Reading: runs, evidence and status. Docs: docs/clients.md."""

from runwire.readers.chunks import Chunk
from runwire.readers.options import ReaderOptions
from runwire.readers.reader import Reader

__all__ = ["Chunk", "Reader", "ReaderOptions"]
