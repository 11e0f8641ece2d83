"""Which broker a command talks to, and with which settings. The only reader of the environment besides `up`."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import msgspec

from runwire.cli.failures import CommandError
from runwire.errors import SettingInvalid
from runwire.settings import Settings, load


class Unreachable(CommandError):
    """The broker does not answer."""

    code = "unreachable"


class NeverReached(CommandError):
    """A reader waited, and no server came. The text says what the last attempt met."""

    code = "unreachable"


class Target(NamedTuple):
    """The settings with `redis_url` filled in, and where that URL came from, for error messages."""

    settings: Settings
    origin: str

    @property
    def url(self) -> str:
        return self.settings.redis_url

    @property
    def partitions(self) -> int | None:
        """The partition count, if somebody has set one: then it must be the deployment's."""
        return self.settings.partitions if "RUNWIRE_PARTITIONS" in os.environ else None


def find_target(url: str | None, data: str | None) -> Target:
    """An explicit URL wins, then RUNWIRE_REDIS_URL, then the `runwire up` that owns the data folder, then the default.

    Raises SettingUnknown, SettingInvalid.
    """
    settings = load(os.environ)
    if url is not None:
        try:
            return Target(load({**os.environ, "RUNWIRE_REDIS_URL": url}), "--url")
        except SettingInvalid as error:
            raise CommandError(f"--url {without_password(url)}: {error}") from None
    if "RUNWIRE_REDIS_URL" in os.environ and data is None:
        return Target(settings, "RUNWIRE_REDIS_URL")
    from runwire.embedded.datafolder import is_owned, read_endpoint

    folder = Path(data or settings.data_dir)
    endpoint = read_endpoint(folder)
    if endpoint is not None and is_owned(folder):
        found = msgspec.structs.replace(settings, redis_url=endpoint.url)
        return Target(found, f"the runwire up of {folder}")
    if data is not None:
        raise Unreachable(f"no runwire up owns {folder}", f"start it with: runwire up --data {folder}")
    return Target(settings, "the default")


@contextmanager
def reaching(target: Target) -> Generator[None]:
    """Add to a lost connection what the user needs: which broker, why that one, what to do."""
    from runwire.errors import LinkLost

    try:
        yield
    except (LinkLost, NeverReached, ConnectionError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Unreachable(
            f"no answer from {without_password(target.url)} ({target.origin}): {' '.join(str(error).split())}",
            "start a broker with `runwire up`, or name yours with --url",
        ) from error


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    shown = parts.netloc.replace(f":{parts.password}@", ":***@")
    return urlunsplit(parts._replace(netloc=shown))
