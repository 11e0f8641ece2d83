"""An unwrapper process that dies at the worst moment: all parcels of a batch are written, its commit is not sent.

The fault is put in here, never in the product.
"""

import os
import signal
import sys
from unittest.mock import patch

import msgspec

from runwire.broker.dispatch import Dispatch
from runwire.broker.partition import Partition
from runwire.broker.settling import Settlement
from runwire.settings import Settings
from runwire.unwrapper import app

commit = Dispatch._commit


def dies(self: Dispatch, partition: Partition, work: Settlement) -> object:
    if work.parcels:
        os.kill(os.getpid(), signal.SIGKILL)
    return commit(self, partition, work)


def main() -> None:
    with patch.object(Dispatch, "_commit", dies):
        app.run(msgspec.json.decode(sys.argv[1], type=Settings), json=True)


if __name__ == "__main__":
    main()
