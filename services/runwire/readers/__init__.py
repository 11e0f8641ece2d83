"""Reading: runs, runs in runs, evidence and status. Docs: docs/clients.md."""

from runwire.readers.chunks import Chunk
from runwire.readers.lineage import ChildRun, Lineage
from runwire.readers.options import ReaderOptions
from runwire.readers.reader import Reader
from runwire.readers.trees import RunNode

__all__ = ["ChildRun", "Chunk", "Lineage", "Reader", "ReaderOptions", "RunNode"]
