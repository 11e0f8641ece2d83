"""Says on which servers the tests will run here, and why not on the others."""

import os
import sys

from runwire.embedded.server import KINDS, find_server


def main() -> int:
    missing = 0
    for kind in KINDS:
        found = find_server(kind)
        missing += found.path is None
        print(f"{kind:11}", f"{found.version}, {found.path}" if found.path else f"left out: {found.reason}")
    if missing and os.environ.get("RUNWIRE_REQUIRE_ALL") == "1":
        print("RUNWIRE_REQUIRE_ALL=1, so no server may be left out")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
