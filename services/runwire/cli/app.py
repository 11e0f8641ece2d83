"""The typer application: every command registered, none of their heavy modules imported."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from runwire.cli.commands import check, demo, enforcer, extras, look, publish, read, up
from runwire.cli.failures import report


class ReportingGroup(TyperGroup):
    """Turns what a command raises into one line on stderr and a documented exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            if _is_typers(error):
                raise
            raise typer.Exit(int(report(error))) from error


def _is_typers(error: BaseException) -> bool:
    """Exits, aborts and usage errors are typer's to print. Its usage errors have no public base class."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message")


app = typer.Typer(
    name="runwire",
    cls=ReportingGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A traceback with locals would print what runs carry.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Settings are read from RUNWIRE_*; exit codes are in docs/cli.md.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"runwire {version('runwire')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Carry the streams of AI agents through Redis and let nothing through that breaks the protocol."""


RUN, LOOK, TRY = "Run", "Publish, read, look", "Try and measure"

app.command("up", rich_help_panel=RUN)(up.up)
app.command("enforcer", rich_help_panel=RUN)(enforcer.enforcer)
app.command("publish", rich_help_panel=LOOK)(publish.publish)
app.command("tail", rich_help_panel=LOOK)(read.tail)
app.command("replay", rich_help_panel=LOOK)(read.replay)
app.command("runs", rich_help_panel=LOOK)(look.runs)
app.command("evidence", rich_help_panel=LOOK)(look.evidence)
app.command("status", rich_help_panel=LOOK)(look.status)
app.command("check", rich_help_panel=TRY)(check.check)
app.command("demo", rich_help_panel=TRY)(demo.demo)
for name, command in (("bench", extras.bench), ("chaos", extras.chaos)):
    app.command(name, rich_help_panel=TRY, context_settings=extras.PASS_THROUGH, add_help_option=False)(command)
