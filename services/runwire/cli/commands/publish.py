"""`runwire publish`: a recorded stream, or stdin, as one run."""

import secrets
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from runwire.cli.commands.look import with_broker
from runwire.cli.failures import CommandError, say
from runwire.cli.options import Choices, Data, Json, Provider, Think, Url, choice_of
from runwire.cli.pace import Pace, Speed
from runwire.cli.recognizing import AUTO, Body, known, recognized, remark
from runwire.cli.sources import CALL, RECORD, Choice, Event, events, named, run_id_of
from runwire.cli.target import Target, find_target, reaching
from runwire_schemas.errors import RunwireError
from runwire_schemas.keys import partition_of

if TYPE_CHECKING:
    from runwire import Producer, Run
    from runwire.broker.connection import Link
    from runwire_schemas.keys import Keys


def publish(  # noqa: PLR0913, PLR0917 - each is an option of the command
    file: Annotated[str, typer.Argument(metavar="FILE", help="A provider's response body; - is stdin.")],
    provider: Provider = None,
    run: Annotated[
        str | None,
        typer.Option("--run", "-r", metavar="ID", help="Run id. Default: the file's stem and a random part."),
    ] = None,
    speed: Speed = None,
    choice: Choices = "0",
    think: Think = None,
    url: Url = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Publish a provider's response as a run and wait until all of it is acknowledged.

    Prints the run id and the number of acknowledged records; with --json {"run", "provider", "acknowledged"}. With
    --choice all each choice is a run of its own (the run id, then the run id with .1, .2, …) and has its own line.

    [bold]Examples[/bold]

    [cyan]runwire publish answer.sse --provider anthropic --speed 1[/cyan]

    [cyan]curl -sN $URL -d @body.json | runwire publish - --provider openai-chat --run chat-7[/cyan]
    """
    import asyncio

    from runwire.producer.identity import judge
    from runwire_schemas.record import Record

    target, wanted = find_target(url, data), choice_of(choice)
    if provider is not None:
        known(provider)
    elif file == "-":
        raise CommandError(
            "stdin is read as nothing until somebody says what it is", "--provider auto looks for itself"
        )
    if provider is not None and provider != AUTO:
        remark(file, provider)
    with recognized(file, provider, think) as body:
        if body.provider == RECORD:
            text = "records carry their own source and numbers"
            raise CommandError(text, "only `runwire check` takes provider record")
        if file == "-" and speed is not None:
            raise CommandError("stdin has a pace of its own", "leave out --speed, or name a file")
        run_id = f"{named(run_id_of(file))}-{secrets.token_hex(3)}" if run is None else run
        judge(Record(id="0-1", run=run_id, kind="control", src="check", epoch=0, seq=1, body=b""))
        if provider == AUTO:
            say(f"runwire: read as {body.provider}: {body.reason}")
        if not as_json:
            print(f"run {run_id}", flush=True)
        if run is not None and _has_ended(target, run):
            say(f"runwire: run {run} has ended and takes nothing more: what is sent now is refused")
            say(f"         `runwire evidence {run}` will show it; another --run, or none, makes a new run")
        with reaching(target):
            sent = asyncio.run(_publish(target, run_id, body, wanted, speed))
    _report(sent, body.provider, as_json)


def _report(sent: dict[str, int], provider: str, as_json: bool) -> None:
    for run_id, records in sent.items():
        if as_json:
            import msgspec

            line = {"run": run_id, "provider": provider, "acknowledged": records}
            sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        else:
            print(f"{records} records acknowledged" + (f" in run {run_id}" if len(sent) > 1 else ""))


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


async def _publish(target: Target, run_id: str, body: Body, choice: Choice, speed: float | None) -> dict[str, int]:
    """Publish; return how many records each run has got."""
    from runwire import Producer, ProducerOptions

    options = ProducerOptions.from_settings(target.settings)
    prefix, partitions = target.settings.prefix, target.partitions
    framing, think = body.options
    async with Producer(target.url, prefix=prefix, partitions=partitions, options=options) as producer:
        if speed is not None:
            return await _at_pace(
                producer, run_id, events(body.stream, body.provider, choice, body.options), Pace(speed)
            )
        if choice == "all":
            done = await producer.publish_bytes(
                run_id, body.provider, body.stream, choice="all", framing=framing, think=think
            )
            return {one.run_id: one.records for one in done}
        one = await producer.publish_bytes(
            run_id, body.provider, body.stream, choice=choice, framing=framing, think=think
        )
        return {one.run_id: one.records}


async def send_events(producer: "Producer", run_id: str, found: Iterable[Event], pace: Pace) -> int:
    """Send the events of one call as a run, in real time; return how many. All are acknowledged then."""
    return (await _at_pace(producer, run_id, found, pace))[run_id]


async def _at_pace(producer: "Producer", run_id: str, found: Iterable[Event], pace: Pace) -> dict[str, int]:
    from runwire.adapters.several import run_of

    sent = Counter[str]({run_id: 0})
    runs: dict[str, Run] = {}
    async with AsyncExitStack() as stack:
        for event in found:
            await pace.tick()
            name = run_of(run_id, event.choice)
            if name not in runs:
                runs[name] = await stack.enter_async_context(producer.run(name))
            # Only the first record of a call declares its usage rule.
            call = runs[name].call(CALL, usage=None if sent[name] else event.usage)
            await call.put(event.kind, event.body)
            sent[name] += 1
    return dict(sent)
