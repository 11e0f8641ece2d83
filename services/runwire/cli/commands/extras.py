"""`runwire bench` and `runwire chaos`: applications of their own, imported only when they are called."""

from importlib import import_module

import typer

from runwire.cli.failures import MissingPart

# Everything after the command's name, --help included, is the other application's to read.
PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True}


def bench(ctx: typer.Context) -> None:
    """Measure throughput, latency and memory on this machine, beside the floor and FastStream's own pipeline.

    [bold]Examples[/bold]

    [cyan]runwire bench --json[/cyan]
    """
    _delegate("runwire.bench.cli", "runwire bench", ctx.args)


def chaos(ctx: typer.Context) -> None:
    """Kill, pause and cut everything at random for a while, and check that nothing was lost, doubled or reordered.

    [bold]Examples[/bold]

    [cyan]runwire chaos --seconds 60 --json[/cyan]
    """
    _delegate("runwire.chaos.cli", "runwire chaos", ctx.args)


def _delegate(module: str, name: str, args: list[str]) -> None:
    try:
        application = import_module(module).app
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"`{name}` needs {error.name}, which is not installed", "pip install 'runwire[all]'"
        ) from error
    application(args=args, prog_name=name)
