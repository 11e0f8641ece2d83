"""`runwire publish`: a recorded stream, or stdin, as one run."""

import secrets
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from runwire.cli.commands.look import with_broker
from runwire.cli.failures import CommandError, say
from runwire.cli.options import Choice, Data, Json, Provider, Url
from runwire.cli.pace import Pace, Speed
from runwire.cli.sources import CALL, RECORD, Event, events, known, named, opened, provider_of, remark, run_id_of
from runwire.cli.target import Target, find_target, reaching
from runwire_schemas.errors import RunwireError
from runwire_schemas.keys import partition_of

if TYPE_CHECKING:
    from runwire import Producer
    from runwire.broker.connection import Link
    from runwire_schemas.keys import Keys


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
    import asyncio

    from runwire.producer.identity import judge
    from runwire_schemas.record import Record

    target = find_target(url, data)
    if provider is not None:
        known(provider)
        remark(file, provider)
    name = provider or provider_of(file)
    if name == RECORD:
        raise CommandError("records carry their own source and numbers", "only `runwire check` takes provider record")
    if file == "-" and speed is not None:
        raise CommandError("stdin has a pace of its own", "leave out --speed, or name a file")
    run_id = f"{named(run_id_of(file))}-{secrets.token_hex(3)}" if run is None else run
    judge(Record(id="0-1", run=run_id, kind="control", src="check", epoch=0, seq=1, body=b""))
    if not as_json:
        print(f"run {run_id}", flush=True)
    if run is not None and _has_ended(target, run):
        say(f"runwire: run {run} has ended and takes nothing more: what is sent now is refused")
        say(f"         `runwire evidence {run}` will show it; another --run, or none, makes a new run")
    with reaching(target), opened(file) as stream:
        sent = asyncio.run(_publish(target, run_id, name, choice, stream, speed))
    if as_json:
        import msgspec

        line = {"run": run_id, "provider": name, "acknowledged": sent}
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    else:
        print(f"{sent} records acknowledged")


def _has_ended(target: Target, run_id: str) -> bool:
    """Whether the run is over already. A remark for people: the enforcer is the judge."""
    found = False

    async def look(link: "Link", keys: "Keys", partitions: int) -> None:
        nonlocal found
        place = keys.partition(partition_of(run_id, partitions))
        seq, deadline = await link.call_many([("HGET", place.state(run_id), "s"), ("ZSCORE", place.open, run_id)])
        found = seq is not None and deadline is None

    # A broker that is still being started is waited for by the producer, and its errors are the producer's to raise.
    with suppress(RunwireError):
        with_broker(target, look)
    return found


async def _publish(
    target: Target, run_id: str, provider: str, choice: int, stream: BinaryIO, speed: float | None
) -> int:
    from runwire import Producer, ProducerOptions

    options = ProducerOptions.from_settings(target.settings)
    prefix, partitions = target.settings.prefix, target.partitions
    async with Producer(target.url, prefix=prefix, partitions=partitions, options=options) as producer:
        if speed is None:
            return (await producer.publish_bytes(run_id, provider, stream, choice=choice)).records
        return await send_events(producer, run_id, events(stream, provider, choice), Pace(speed))


async def send_events(producer: "Producer", run_id: str, found: Iterable[Event], pace: Pace) -> int:
    """Send the events of one call as a run, in real time; return how many. All are acknowledged then."""
    sent = 0
    async with producer.run(run_id) as run:
        for event in found:
            await pace.tick()
            # Only the first record of a call declares its usage rule.
            await run.call(CALL, usage=None if sent else event.usage).put(event.kind, event.body)
            sent += 1
    return sent
