"""The floor as a process: the enforcer's own partition runtime with the handler that does nothing. Run as a module."""

import asyncio
import gc
import os
import signal

import uvloop

from runwire.broker.floor import FloorHandler
from runwire.broker.runtime import Node
from runwire.settings import load


async def main() -> None:
    settings = load(os.environ)
    node = Node(settings, FloorHandler(settings.partitions))
    loop = asyncio.get_running_loop()
    await node.start()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    ended = asyncio.create_task(node.wait())
    asked = asyncio.create_task(stopped.wait())
    await asyncio.wait((ended, asked), return_when=asyncio.FIRST_COMPLETED)
    await node.drain()


if __name__ == "__main__":
    # As the enforcer does: a floor that collects more garbage would be no floor.
    gc.set_threshold(50_000, 20, 100)
    uvloop.run(main())
