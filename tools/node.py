"""Installs the npm packages that make the AI SDK's stream parts for the tests, and says why if it cannot.

They come to tests/conformance/node/node_modules, which is not part of the tree. Node itself comes with the Python
packages of the tests; where it does not, the one on PATH will do.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "conformance" / "node"
# The packages of the AI SDK 7 ask for Node 22, and work with 20.
OLDEST = 20
LIMIT_S = 600


def main() -> int:
    reason = install()
    print("AI SDK     ", f"left out: {reason}" if reason else f"{FOLDER.relative_to(FOLDER.parents[2])}/node_modules")
    if reason and os.environ.get("RUNWIRE_REQUIRE_ALL") == "1":
        print("RUNWIRE_REQUIRE_ALL=1, so it may not be left out")
        return 1
    return 0


def install() -> str:
    """Why they cannot be installed; "" if they are."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is None or npm is None:
        return "no node and npm on this machine"
    if _run([node, "-e", f"process.exit(parseInt(process.versions.node) < {OLDEST} ? 1 : 0)"], path):
        return f"node is not version {OLDEST} or later"
    installed, wanted = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= wanted.stat().st_mtime:
        return ""
    print("installing the AI SDK's packages; the first time this takes half a minute", file=sys.stderr)
    failed = _run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], path)
    return f"npm ci failed: {failed}" if failed else ""


def _run(command: list[str], path: str) -> str:
    """How it failed, in one line; "" if it did not."""
    try:
        subprocess.run(  # noqa: S603 - node and npm, as found on this machine
            command,
            cwd=FOLDER,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr).strip().splitlines()
        return lines[0] if lines else f"exit code {error.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main())
