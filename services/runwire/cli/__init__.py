"""The command line: `runwire <command>`. Heavy modules are imported by the command that needs them, not before."""

import sys


def main() -> None:
    """Entry point of the `runwire` script. Ends the process with one of the codes of `runwire.cli.exits`."""
    try:
        from runwire.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        print(f"runwire: the command line needs {error.name}: pip install 'runwire[cli]'", file=sys.stderr)
        sys.exit(5)
    app(prog_name="runwire")
