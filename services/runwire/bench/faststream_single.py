"""FastStream's pipeline as its documentation shows it: one message, one handler, one published message. A process.

No logging of messages, and uvloop, so that it is measured at its best. Run as a module with RUNWIRE_REDIS_URL set.
"""

import logging
import os

import uvloop
from faststream import FastStream
from faststream.redis import RedisBroker, StreamSub
from pydantic import BaseModel

INPUT = "faststream:input"
OUTPUT = "faststream:output"
GROUP = "faststream"

# By default it logs two lines a message, which would be most of what is measured.
QUIET = logging.getLogger("runwire.bench.faststream")
QUIET.setLevel(logging.CRITICAL)


class Delta(BaseModel):
    run: str
    seq: int
    text: str


class Chunk(BaseModel):
    type: str
    run: str
    seq: int
    text: str


def make_app(url: str) -> FastStream:
    broker = RedisBroker(url, logger=QUIET)

    @broker.subscriber(stream=StreamSub(INPUT, group=GROUP, consumer="1"))
    @broker.publisher(stream=OUTPUT)
    async def handle(delta: Delta) -> Chunk:
        return Chunk(type="text-delta", run=delta.run, seq=delta.seq, text=delta.text)

    assert handle is not None
    return FastStream(broker)


if __name__ == "__main__":
    uvloop.run(make_app(os.environ["RUNWIRE_REDIS_URL"]).run())
