"""The example of docs/adapters.md is a whole adapter."""

import re

from conformance.recorded import Seen, judge
from helpers import PROJECT
from runwire.adapters.wire import WireAdapter
from unit.adapters.saying import run, sse


def _parrot() -> type[WireAdapter]:
    code = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / "adapters.md").read_text(), re.DOTALL)[-1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 40
    space: dict[str, type[WireAdapter]] = {}
    exec(compile(code, "docs/adapters.md", "exec"), space)
    return space["Parrot"]


def test_the_example_is_a_whole_adapter() -> None:
    body = sse({"say": "Hello"}, {"mood": "good"}, {"say": " there"}, {"tokens": [3, 4]}, {"over": True})
    emitted = run(_parrot()(), body)

    seen = Seen(emitted)

    assert judge(emitted, "required")[1] == []
    assert (seen.text, seen.finish) == ("Hello there", "stop")
    assert seen.beside("raw") == [{"provider": "parrot", "event": {"mood": "good"}}]


def test_the_example_is_cut_off_and_broken_like_any_other() -> None:
    assert Seen(run(_parrot()(), sse({"say": "Hel"}))).finish == "aborted"
    assert Seen(run(_parrot()(), sse({"say": "Hel"}, "data: {oops\n\n"))).finish == "error"
