"""The recorded provider streams as stream parts of the AI SDK, made by its own packages in Node.

The corpus has no recordings of this protocol, so the packages read the others' and what they say is kept for the next
run. `answers.jsonl` beside the parts holds what the AI SDK itself makes of them.
"""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "conformance" / "node"
ANSWERS = "answers.jsonl"

_PROGRAMS = ("parts.mjs", "models.mjs", "answers.mjs", "package-lock.json")
_LONG = 20_000
# Parts of so many corpora and programs are kept; each has some megabytes.
_KEPT = 4
# It takes five seconds on two busy cores.
_LIMIT_S = 300


def selected(made: Path) -> list[Path]:
    """One version of each recording, for tests that take long: which one follows from its name. Long ones are left out:
    they have more parts, but no others.
    """
    versions: dict[str, list[Path]] = {}
    for path in sorted(made.glob("v*.jsonl")):
        if 0 < path.stat().st_size < _LONG:
            versions.setdefault(path.name.partition(".")[2], []).append(path)
    return sorted(paths[zlib.crc32(name.encode()) % len(paths)] for name, paths in versions.items())


@functools.cache
def made_from(corpus: Path) -> Path | str:
    """The folder of all parts and answers, made once for this corpus and these programs; or why there is none."""
    files = sorted(path for path in corpus.glob("*/*") if path.suffix in (".sse", ".jsonl", ".json"))
    if not files:
        return f"no recorded streams in {corpus} (RUNWIRE_CORPUS names the corpus folder)"
    node = _node()
    if node is None:
        return "no node on this machine, which makes the AI SDK's parts from the recorded streams"
    # npm writes this file last.
    installed, wanted = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        return "the AI SDK's npm packages are not installed (python tools/node.py installs them)"
    out = FOLDER / "node_modules" / ".cache" / f"parts-{_digest(files)}"
    if not out.exists():
        # Beside its place first: several test processes may begin at the same time, and the first to end wins.
        making = out.with_name(f"{out.name}.{os.getpid()}")
        make(corpus, making / "ai-sdk")
        try:
            making.rename(out)
        except OSError:
            shutil.rmtree(making)
        for old in sorted(out.parent.glob("parts-*"), key=lambda folder: folder.stat().st_mtime)[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return out / "ai-sdk"


def make(corpus: Path, out: Path) -> None:
    """The parts and answers of the recordings in one folder, which must not be empty of protocols."""
    done = subprocess.run(
        [_node() or "node", "parts.mjs", str(corpus), str(out)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the AI SDK's parts could not be made:\n{done.stderr}")


def _node() -> str | None:
    return shutil.which("node", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for program in _PROGRAMS:
        digest.update((FOLDER / program).read_bytes())
    for path in files:
        digest.update(f"{path.parent.name}/{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
