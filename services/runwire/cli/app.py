"""The typer application: every command registered, none of their heavy modules imported."""

from typing import Any

import typer
from typer.core import TyperGroup

from runwire.cli.commands import check
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
    help="Carry the streams of AI agents through Redis and let nothing through that breaks the protocol.",
    epilog="Settings are read from RUNWIRE_*; exit codes are in docs/cli.md.",
)
app.command("check")(check.check)
