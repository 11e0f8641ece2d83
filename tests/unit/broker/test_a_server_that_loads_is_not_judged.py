"""While a server loads its data it says that it keeps no append-only file. That passes; it is no reason to give up."""

from typing import Any

import pytest

from runwire.broker.checks import check_server
from runwire.broker.connection import ServerError
from runwire_schemas.keys import Keys


class LoadingLink:
    """Answers as Valkey 9.1 does while it reads its append-only file: INFO is served, everything else is refused."""

    address = "127.0.0.1:6379"

    async def call_many(self, commands: list[tuple[str, ...]]) -> list[Any]:
        sections = {
            "server": b"valkey_version:9.1.2\r\n",
            "memory": b"maxmemory_policy:noeviction\r\n",
            "persistence": b"loading:1\r\naof_enabled:0\r\n",
        }
        loading = ServerError("LOADING the server is loading the dataset in memory")
        return [sections[command[1]] if command[0] == "INFO" else loading for command in commands]


async def test_a_server_that_is_still_loading_is_asked_again_later() -> None:
    with pytest.raises(ServerError) as caught:
        await check_server(LoadingLink(), Keys(), 16)  # type: ignore[arg-type]  # what the checks use of a link
    assert caught.value.code == "LOADING"
    assert caught.value.outcome == "refused"
