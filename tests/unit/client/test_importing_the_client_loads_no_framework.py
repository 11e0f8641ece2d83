"""`import runwire` is what an application pays for publishing a chunk: no framework and no CLI."""

import subprocess
import sys

FOREIGN = ("faststream", "starlette", "uvicorn", "typer", "rich", "structlog", "psycopg", "pydantic", "httpx")


def test_import_loads_no_framework() -> None:
    script = (
        "import sys, runwire; "
        "runwire.Producer, runwire.Reader; "
        f"print([n for n in {FOREIGN!r} if any(m.split('.')[0] == n for m in sys.modules)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"
