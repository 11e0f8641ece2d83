"""The function library on a server: loaded where it is absent, compared where it is there, never replaced."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from runwire.broker.connection import Link, Reply, ServerError
from runwire.errors import LibraryMismatch, ServerUnfit

LIBRARY: Final = "runwire_1"
DIGEST_FUNCTION: Final = "rw_digest_1"
_PLACE: Final = "@DIGEST@"


@cache
def source() -> tuple[str, str]:
    """The library's code, ready to load, and the SHA-256 of the shipped file, which the loaded code answers with."""
    text = files("runwire.broker").joinpath("functions", f"{LIBRARY}.lua").read_text(encoding="utf-8")
    digest = sha256(text.encode()).hexdigest()
    return text.replace(_PLACE, digest), digest


async def load_library(link: Link) -> None:
    """Make sure that this server has exactly the functions that this process was written for.

    Any number of processes may do so at once. Raises LibraryMismatch if other code has the name, ServerUnfit if the
    server forbids functions, LinkLost, or ServerError for a state that passes (LOADING, READONLY).
    """
    code, digest = source()
    if await _known(link, digest):
        return
    try:
        await link.call("FUNCTION", "LOAD", code)
    except ServerError as error:
        if "already exists" not in error.text:
            raise _explained(error) from None
    # Somebody else may have been first, with this code or with another.
    if not await _known(link, digest):
        raise LibraryMismatch(_other("code without a digest"))


async def _known(link: Link, digest: str) -> bool:
    try:
        reply: Reply = await link.call("FCALL", DIGEST_FUNCTION, 0)
    except ServerError as error:
        if error.missing_function:
            return False
        raise _explained(error) from None
    found = reply.decode(errors="replace") if isinstance(reply, bytes) else repr(reply)
    if found != digest:
        raise LibraryMismatch(_other(f"digest {found[:12]}, ours is {digest[:12]}"))
    return True


def _other(detail: str) -> str:
    return (
        f"the server holds other code under the name {LIBRARY} ({detail}). It is never replaced, because its users may "
        f"be running. Stop them, then remove it with FUNCTION DELETE {LIBRARY}, or use another server"
    )


def _explained(error: ServerError) -> ServerError | ServerUnfit:
    if error.code == "NOPERM" or "unknown command" in error.text:
        return ServerUnfit(
            f"the server forbids server-side functions ({error.text}). Runwire commits with them: allow the commands "
            "FUNCTION and FCALL to its user (ACL +function +fcall), or use Redis 7.0 or later, or Valkey 8 or later"
        )
    return error
