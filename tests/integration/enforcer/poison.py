"""An enforcer process that dies of one record: the fault is put in here, never in the product."""

import os
import signal
import sys
from unittest.mock import patch

import msgspec

from runwire.enforcer import app
from runwire.enforcer.handler import RunHandler
from runwire.grammar.machine import RunMachine
from runwire.settings import Settings
from runwire_schemas.record import Malformed, Record

POISON = b"poison"


class FatalMachine(RunMachine):
    """Kills its process, as a fault in native code would."""

    def feed(self, record: Record | Malformed) -> None:
        if POISON in record.body:
            os.kill(os.getpid(), signal.SIGKILL)
        super().feed(record)


class FatalHandler(RunHandler):
    machine = FatalMachine


def main() -> None:
    with patch.object(app, "RunHandler", FatalHandler):
        app.run(msgspec.json.decode(sys.argv[1], type=Settings))


if __name__ == "__main__":
    main()
