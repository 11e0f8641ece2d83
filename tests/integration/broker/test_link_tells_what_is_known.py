"""A link answers in order, and says what is known about a command that failed."""

import asyncio
import os
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from helpers import left_out, wait_until
from runwire.broker.connection import Link, LinkLost, ServerError, open_link, outcome_of
from runwire.embedded.server import FolderInUse, Server
from runwire.errors import ServerUnfit, SettingInvalid


async def test_overlapping_calls_get_their_own_replies_in_order(link: Link) -> None:
    first = link.send_many([("ECHO", "a"), ("NOSUCH",), ("ECHO", b"\xff")])
    second = link.send_many([("ECHO", 7)])
    assert await second == [b"7"]
    a, error, c = await first
    assert (a, c) == (b"a", b"\xff")
    assert isinstance(error, ServerError)
    assert (error.code, error.outcome) == ("ERR", "bug")


async def test_a_cancelled_caller_does_not_shift_the_replies_of_others(link: Link) -> None:
    given_up = asyncio.ensure_future(link.call("BLPOP", "{none}:no-such-list", 0.2))
    await asyncio.sleep(0)
    after = link.send_many([("ECHO", "mine")])
    given_up.cancel()
    assert await after == [b"mine"]


async def test_a_large_reply_arrives_whole(link: Link) -> None:
    text = b"x" * 3_000_000
    assert await link.call("ECHO", text) == text


async def test_a_killed_server_makes_the_outcome_of_everything_in_flight_unknown(own_server: Server) -> None:
    link = await open_link(own_server.url)
    waiting = [link.send_many([("BLPOP", "nothing", 0)]) for _ in range(3)]
    own_server.kill()
    for future in waiting:
        with pytest.raises(LinkLost) as caught:
            await future
        assert outcome_of(caught.value) == "unknown"
    assert not link.connected
    with pytest.raises(LinkLost):
        await link.call("PING")
    with pytest.raises(LinkLost, match="cannot connect"):
        await link.connect()
    own_server.restart()
    await link.connect()
    assert await link.call("PING") == b"PONG"
    await link.close()


async def test_a_paused_server_is_a_lost_link_after_the_limit(own_server: Server) -> None:
    async with await open_link(own_server.url, limit=0.2) as link:
        own_server.pause()
        with pytest.raises(LinkLost, match="no answer in time"):
            await link.call("PING")
        own_server.resume()


async def test_a_refused_login_and_a_wrong_address_are_said_at_once(own_server: Server) -> None:
    async with await open_link(own_server.url) as link:
        await link.call("CONFIG", "SET", "requirepass", "secret")
    at = own_server.url.removeprefix("redis://")
    with pytest.raises(ServerUnfit, match=r"WRONGPASS .*The user name and password in its URL are not right"):
        await open_link(f"redis://:wrong@{at}")
    with pytest.raises(
        ServerUnfit, match=rf"NOAUTH .*It wants a password: redis://:PASSWORD@{at.removesuffix('/0')}"
    ) as raised:
        await open_link(own_server.url)
    assert "redis://USER:PASSWORD@" in str(raised.value)
    async with await open_link(f"redis://:secret@{at.removesuffix('/0')}/3", "named") as link:
        info = await link.call("CLIENT", "INFO")
        assert isinstance(info, bytes)
        assert b"db=3" in info
        assert b"name=named" in info
    with pytest.raises(SettingInvalid):
        await open_link("http://nowhere")


async def test_a_unix_socket_serves_as_well(start_server: Callable[..., Server]) -> None:
    path = f"/tmp/runwire-{os.getpid()}.sock"  # a temporary folder's name may be too long for a socket
    start_server(extra=("--unixsocket", path))
    async with await open_link(f"unix://{path}?db=2") as link:
        info = await link.call("CLIENT", "INFO")
        assert isinstance(info, bytes)
        assert b"db=2" in info


def test_a_link_works_on_uvloop(server: Server) -> None:
    async def talk() -> None:
        async with await open_link(server.url, limit=5) as link:
            big = b"x" * 3_000_000
            overlapping = [link.send_many([("ECHO", n), ("ECHO", big)]) for n in range(5)]
            assert [(await future)[0] for future in overlapping] == [b"%d" % n for n in range(5)]

    uvloop.run(talk())


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1, and its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        left_out("openssl is missing: no certificate can be made")
    key, pem = tmp_path / "key.pem", tmp_path / "pem.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(pem)]
    subprocess.run(made, check=True, capture_output=True)
    pem.write_text(pem.read_text() + key.read_text())
    return pem


async def test_tls_is_spoken_and_certificates_are_checked(server: Server, certificate: Path) -> None:
    """TLS ends in front of the server, so that it does not matter how the server was built."""

    async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
        target.close()

    carrying = set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", server.port)
        carrying.update(asyncio.ensure_future(carry(*way)) for way in ((reader, forth), (back, writer)))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    front = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"rediss://127.0.0.1:{front.sockets[0].getsockname()[1]}/0"
    async with await open_link(f"{url}?ssl_ca_certs={certificate}") as link:
        big = b"x" * 1_000_000
        assert await link.call("ECHO", big) == big
    with pytest.raises(LinkLost, match="certificate"):
        await open_link(url)
    front.close()
    await front.wait_closed()
    await asyncio.wait(carrying, timeout=5)


async def test_published_messages_reach_the_subscriber(server: Server, prefix: str) -> None:
    heard: asyncio.Queue[tuple[bytes, bytes]] = asyncio.Queue()
    async with await open_link(server.url) as link, await open_link(server.url) as speaker:
        await link.subscribe(f"{prefix}:nudge:g", lambda channel, data: heard.put_nowait((channel, data)))
        await speaker.call("PUBLISH", f"{prefix}:nudge:g", "join")
        assert await asyncio.wait_for(heard.get(), 2) == (f"{prefix}:nudge:g".encode(), b"join")


def test_two_servers_never_share_a_data_folder(own_server: Server) -> None:
    with pytest.raises(FolderInUse):
        Server.start(own_server.kind, own_server.folder)


async def test_a_power_loss_is_a_cut_of_the_append_only_file(own_server: Server) -> None:
    async with await open_link(own_server.url) as link:
        await link.call("SET", "kept", "1")
        await link.call("SET", "lost", "1")
    with pytest.raises(RuntimeError):
        own_server.truncate_aof(1)
    # While a slow fsync runs, the server may put off writing for up to 2 s what it has answered already.
    file = own_server.aof_file()
    assert file is not None
    await wait_until(lambda: b"lost" in file.read_bytes(), "the server has written what it answered")
    own_server.kill()
    assert own_server.truncate_aof(1) == 1
    own_server.restart()
    async with await open_link(own_server.url) as link:
        assert await link.call("MGET", "kept", "lost") == [b"1", None]


async def test_a_link_may_connect_again_at_once(server: Server) -> None:
    link = await open_link(server.url)
    for _ in range(20):
        waiting = link.send_many([("BLPOP", "{none}:no-such-list", 0)])
        link.lose("given up")
        with pytest.raises(LinkLost, match="given up"):
            await waiting
        await link.connect()
        assert await link.call("PING") == b"PONG"
    await link.close()
    assert not link.connected


async def test_a_server_without_a_free_connection_is_lost_not_unfit(own_server: Server) -> None:
    """Everybody comes back at once after a restart: who is refused waits and tries again, instead of giving up."""
    async with await open_link(own_server.url) as link:
        await link.call("CONFIG", "SET", "maxclients", 1)
        with pytest.raises(LinkLost, match="max number of clients"):
            await open_link(own_server.url)
