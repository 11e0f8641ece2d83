"""The data folder of `runwire up`: one owner at a time, and where others find the running deployment.

<folder>/lock            held (flock) while a `runwire up` owns the folder
<folder>/endpoint.json   url, server pid and port of the deployment that runs or ran last
<folder>/server/         the server's append-only file
<folder>/logs/           one log per process
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

import msgspec

from runwire_schemas.errors import RunwireError

DEFAULT_FOLDER: Final = ".runwire"


class FolderInUse(RunwireError):
    """Another `runwire up` owns this data folder."""

    code: ClassVar[str] = "in-use"
    hint: ClassVar[str] = "stop it, or choose another folder with --data"


class FolderUnusable(RunwireError):
    """The data folder cannot be created or written."""

    code: ClassVar[str] = "setting-invalid"
    hint: ClassVar[str] = "name a folder with --data; it is made if there is none"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a deployment listens. `pid` is the server's; `up` the pid of the `runwire up` that owns it."""

    url: str
    port: int
    pid: int
    up: int


class DataFolder:
    """Use as a context manager: entering takes the lock, FolderInUse says who has it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None

    @property
    def server(self) -> Path:
        return self.path / "server"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def __enter__(self) -> Self:
        try:
            for folder in (self.path, self.server, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FolderUnusable(f"data folder {self.path}: {_reason(error)}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(lock, 32, 0).decode(errors="replace").strip()
            os.close(lock)
            raise FolderInUse(f"data folder {self.path} is in use by another runwire up (pid {owner})") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def write_endpoint(self, endpoint: Endpoint) -> None:
        """Publish where the deployment listens, atomically."""
        draft = self.path / "endpoint.json.new"
        draft.write_bytes(msgspec.json.encode(endpoint))
        draft.replace(self.path / "endpoint.json")

    def last_endpoint(self) -> Endpoint | None:
        """Where the deployment of this folder listens, or listened last; None if there never was one."""
        return read_endpoint(self.path)


def _reason(error: OSError) -> str:
    """What stands in the way, where a folder was to be."""
    wanted = Path(str(error.filename))
    in_the_way = next((path for path in (wanted, *wanted.parents) if path.is_file()), None)
    if isinstance(error, FileExistsError | NotADirectoryError) and in_the_way is not None:
        return f"{in_the_way} is a file, not a folder"
    return error.strerror or str(error)


def read_endpoint(folder: Path) -> Endpoint | None:
    """The endpoint a data folder names, whether or not it still runs; None without a readable one."""
    try:
        return msgspec.json.decode((folder / "endpoint.json").read_bytes(), type=Endpoint)
    except (OSError, msgspec.DecodeError):
        return None


def is_owned(folder: Path) -> bool:
    """Whether a `runwire up` owns the folder right now."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
