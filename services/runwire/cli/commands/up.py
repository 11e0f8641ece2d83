"""`runwire up`: an embedded Valkey and every node, kept alive until Ctrl-C."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from runwire.cli.failures import say
from runwire.cli.options import Data, Json

if TYPE_CHECKING:
    from runwire.embedded.datafolder import DataFolder
    from runwire.embedded.deployment import Deployment

# Enforcers take their partitions in a second; after a crash of the last owners they wait for a lease of 3 s.
READY_LIMIT_S: Final = 30.0


def up(
    enforcers: Annotated[
        int, typer.Option("--enforcers", min=1, max=64, help="How many enforcers share the work.")
    ] = 1,
    data: Data = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Where the server listens on 127.0.0.1; 0 takes any free port. "
            "Default: the one this folder used last, else 6379, else any free one.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Start everything on this machine: an embedded Valkey and the enforcers.

    What runs carried survives a restart: it lies in the data folder, which one `runwire up` owns at a time.
    Processes that end are started again. Ctrl-C or SIGTERM drains the enforcers, then stops the server.
    With --json the ready line is {"ready", "url", "pid", "server_pid", "enforcer_pids", "data"}.

    [bold]Examples[/bold]

    [cyan]runwire up[/cyan]

    [cyan]runwire up --enforcers 3 --data /var/lib/runwire --port 6400[/cyan]
    """
    from runwire.embedded.datafolder import DataFolder
    from runwire.embedded.deployment import Deployment
    from runwire.settings import load

    with DataFolder(Path(data or load(os.environ).data_dir)) as folder:
        deployment = Deployment(folder, enforcers, port, say)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _number, _frame: deployment.request_stop())
        try:
            url = deployment.start()
            threading.Thread(target=_announce, args=(deployment, folder, url, as_json), daemon=True).start()
            deployment.run()
            say("stopping")
        finally:
            deployment.stop()


def _announce(deployment: "Deployment", folder: "DataFolder", url: str, as_json: bool) -> None:
    if not deployment.wait_ready(READY_LIMIT_S):
        return
    if as_json:
        import msgspec

        ready = {
            "ready": True,
            "url": url,
            "pid": os.getpid(),
            "server_pid": deployment.server_pid,
            "enforcer_pids": [child.pid for child in deployment.children],
            "data": str(folder.path),
        }
        sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")
        sys.stdout.buffer.flush()
        return
    count = len(deployment.children)
    print(f"Runwire is up: {url}  ({count} enforcer{'s' * (count != 1)}, data in {folder.path})")
    print("  publish   runwire publish FILE --provider openai-chat")
    print("  watch     runwire tail RUN")
    print("  look      runwire status | runwire runs | runwire evidence")
    print("  stop      Ctrl-C", flush=True)
