"""The helper that replaces sleeps: it returns what it waited for, or fails with the last state it saw."""

import asyncio

import pytest

from helpers import corpus, left_out, wait_until, wait_until_sync


async def test_it_returns_what_the_predicate_gave() -> None:
    answers = iter([0, "", None, "ready"])
    assert await wait_until(lambda: next(answers), "ready", 5) == "ready"


async def test_the_predicate_may_be_async() -> None:
    async def ready() -> int:
        await asyncio.sleep(0)
        return 7

    assert await wait_until(ready, "ready", 5) == 7


async def test_it_fails_with_the_last_state_seen() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"3 of 5 arrive\nlast seen: 0"):
        await wait_until(lambda: 0, "3 of 5 arrive", 0.02)


async def test_a_predicate_that_hangs_has_the_same_limit() -> None:
    with pytest.raises(pytest.fail.Exception, match="did not return"):
        await wait_until(asyncio.Event().wait, "an answer", 0.02)


async def test_only_named_errors_count_as_not_yet() -> None:
    answers = iter([ConnectionError("refused")])

    def connect() -> str:
        for error in answers:
            raise error
        return "connected"

    assert await wait_until(connect, "a connection", 5, ignoring=ConnectionError) == "connected"
    with pytest.raises(ZeroDivisionError):
        await wait_until(lambda: 1 / 0, "nothing", 5, ignoring=ConnectionError)


def test_without_a_loop() -> None:
    answers = iter([None, "ready"])
    assert wait_until_sync(lambda: next(answers), "ready", 5) == "ready"
    with pytest.raises(pytest.fail.Exception, match="last seen: False"):
        wait_until_sync(lambda: False, "never", 0.02)


def test_what_is_missing_fails_where_everything_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNWIRE_REQUIRE_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no server"):
        left_out("no server")
    monkeypatch.setenv("RUNWIRE_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="no server"):
        left_out("no server")


def test_the_corpus_says_where_it_looked(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.delenv("RUNWIRE_REQUIRE_ALL", raising=False)
    monkeypatch.setenv("RUNWIRE_CORPUS", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=str(tmp_path)):
        corpus("anthropic")
