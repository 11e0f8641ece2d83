"""`runwire publish`: a recorded stream, or stdin, as one run."""

import asyncio
import secrets
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from runwire.cli.failures import CommandError
from runwire.cli.options import Choice, Data, Json, Provider, Url
from runwire.cli.pace import Pace, Speed
from runwire.cli.sources import CALL, RECORD, Event, events, opened, provider_of, run_id_of
from runwire.cli.target import Target, find_target, reaching

if TYPE_CHECKING:
    from runwire import Producer

# Events of stdin that may wait for the producer: enough to never starve it, little enough to stay small.
QUEUE_EVENTS: Final = 256


def publish(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A provider's response body; - is stdin.")],
    provider: Provider = None,
    run: Annotated[
        str | None,
        typer.Option("--run", "-r", metavar="ID", help="Run id. Default: the file's stem and a random part."),
    ] = None,
    speed: Speed = None,
    choice: Choice = 0,
    url: Url = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Publish a provider's response as a run and wait until all of it is acknowledged.

    Prints the run id and the number of acknowledged records; with --json {"run", "provider", "acknowledged"}.

    [bold]Examples[/bold]

    [cyan]runwire publish answer.sse --provider anthropic --speed 1[/cyan]

    [cyan]curl -sN $URL -d @body.json | runwire publish - --provider openai-chat --run chat-7[/cyan]
    """
    target = find_target(url, data)
    name = provider or provider_of(file)
    if name == RECORD:
        raise CommandError("records carry their own source and numbers", "only `runwire check` takes provider record")
    run_id = run or f"{run_id_of(file)}-{secrets.token_hex(3)}"
    if not as_json:
        print(f"run {run_id}", flush=True)
    with reaching(target), opened(file) as stream:
        found = events(stream, name, choice)
        sent = asyncio.run(
            _publish(target, run_id, _from_thread(found) if file == "-" else _directly(found), Pace(speed))
        )
    if as_json:
        import msgspec

        line = {"run": run_id, "provider": name, "acknowledged": sent}
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    else:
        print(f"{sent} records acknowledged")


async def _publish(target: Target, run_id: str, found: AsyncIterator[Event], pace: Pace) -> int:
    from runwire import Producer

    async with Producer(target.url, prefix=target.settings.prefix) as producer:
        sent = await send_events(producer, run_id, found, pace)
        await producer.flush()
        return sent


async def send_events(producer: "Producer", run_id: str, found: AsyncIterator[Event], pace: Pace) -> int:
    """Send the events of one call as a run; return how many. They are acknowledged after `producer.flush()`."""
    count = 0
    async with producer.run(run_id) as run:
        async for event in found:
            await pace.tick()
            if count == 0:
                call = run.call(CALL, usage=event.usage)
            if event.kind == "agent":
                await call.agent(event.body)
            else:
                await call.send(event.body)
            count += 1
    return count


async def _directly(found: Iterator[Event]) -> AsyncIterator[Event]:
    """A file answers at once: no thread needed."""
    for event in found:
        yield event


async def _from_thread(found: Iterator[Event]) -> AsyncIterator[Event]:
    """A pipe may be silent for long, and the producer must go on meanwhile: it is read by a thread.

    A daemon, so that Ctrl-C does not wait for the pipe.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Event | BaseException | None] = asyncio.Queue(QUEUE_EVENTS)

    def put(item: Event | BaseException | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    def read() -> None:
        try:
            for event in found:
                put(event)
            put(None)
        except BaseException as error:  # noqa: BLE001  # handed to the reader of the queue, which raises it
            put(error)

    threading.Thread(target=read, daemon=True).start()
    while (item := await queue.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        yield item
