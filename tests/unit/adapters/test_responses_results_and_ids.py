"""What tools of the provider gave, in Responses, and the ids of calls."""

import json
from typing import Any

import pytest

from conformance.recorded import Seen, decode_raw
from runwire.adapters import adapter
from runwire_schemas.raw import BlockEnd, ImageBlock
from unit.adapters.responding import (
    HOSTED,
    added,
    answered,
    arguments,
    call,
    created,
    done,
    ended,
    event,
    function,
    message,
    responses,
    shell,
)
from unit.adapters.saying import Json, run, sse


def results(seen: Seen) -> list[tuple[str, Any, Any]]:
    return [(one.tool_call_id, json.loads(bytes(one.content)), one.is_error or None) for one in seen.results]


@pytest.mark.parametrize(
    ("item", "content", "error"),
    [
        (call("mcp_call", name="t", output="found", error=None), "found", None),
        (call("mcp_call", name="t", output=None, error={"message": "no"}), {"message": "no"}, True),
        (call("mcp_list_tools", server_label="s", error="no"), "no", True),
        (call("file_search_call", queries=[], results=[{"text": "x"}]), [{"text": "x"}], None),
        (call("web_search_call", action={"type": "search", "sources": [{"url": "u"}]}), [{"url": "u"}], None),
        (call("web_search_call", status="failed"), {"status": "failed"}, True),
        (call("strange_call", result="x"), "x", None),
        (call("image_generation_call", result="eA==", error="no"), {"status": "completed", "error": "no"}, True),
        (call("strange_call", output="x", results=["y"]), {"output": "x", "results": ["y"]}, None),
    ],
)  # fmt: skip
def test_a_call_of_the_providers_own_has_its_result(item: Json, content: Any, error: bool | None) -> None:
    found = results(responses(created(), added({**item, "status": "in_progress"}), done(item), ended(item)))

    assert found == [("it-1", content, error)]


def test_a_result_may_come_with_the_closing_event_only() -> None:
    item = call("code_interpreter_call", code="1", outputs=None)
    seen = responses(created(), done(item), ended({**item, "outputs": [{"logs": "1"}]}))

    assert results(seen) == [("it-1", [{"logs": "1"}], None)]


def test_an_item_answers_a_call_by_its_id() -> None:
    out = {"type": "shell_call_output", "id": "o", "call_id": "sh", "output": [{"stdout": "x"}]}
    seen = responses(
        created(), done(shell("ls", environment=HOSTED)), added({**out, "output": []}, 1),
        event("shell_call_output_content.delta", delta={"stdout": "x"}, command_index=0, item_id="o", output_index=1),
        event("shell_call_output_content.done", output=[{"stdout": "x"}], command_index=0, item_id="o", output_index=1),
        done(out, 1), ended(shell("ls", environment=HOSTED), out),
    )  # fmt: skip

    assert results(seen) == [("sh", [{"stdout": "x"}], None)]
    assert [raw["item"] for raw in seen.beside("raw")] == [{"environment": HOSTED}]


def test_an_answer_that_is_cut_off_is_kept_as_far_as_it_came() -> None:
    seen = responses(
        created(), done(shell("ls", environment=HOSTED)),
        added({"type": "shell_call_output", "id": "o", "call_id": "sh", "output": []}, 1),
        event("shell_call_output_content.delta", delta={"stdout": "x"}, command_index=0, item_id="o", output_index=1),
    )  # fmt: skip

    [kept] = [raw for raw in seen.beside("raw") if "outputDeltas" in raw]
    assert kept["toolCallId"] == "sh"
    assert [delta["delta"] for delta in kept["outputDeltas"]] == [{"stdout": "x"}]


def test_an_item_without_a_call_id_answers_the_first_open_call_of_its_type() -> None:
    search = call("tool_search_call", arguments={}, execution="server", call_id=None)
    out = {"type": "tool_search_output", "execution": "server", "call_id": None, "status": "completed"}
    seen = answered(
        done({**search, "id": "s1"}, 0), done({**search, "id": "s2"}, 1),
        done({**out, "id": "o1", "tools": [{"name": "a"}]}, 2), done({**out, "id": "o2", "tools": [{"name": "b"}]}, 3),
    )  # fmt: skip

    assert results(seen) == [("s1", [{"name": "a"}], None), ("s2", [{"name": "b"}], None)]


def test_an_item_that_answers_nothing_is_kept_beside() -> None:
    out = {"type": "tool_search_output", "id": "o", "call_id": None, "tools": [{"name": "a"}]}

    assert [raw["item"]["tools"] for raw in answered(done(out)).beside("raw")] == [[{"name": "a"}]]


def test_an_item_may_answer_a_call_of_an_earlier_response() -> None:
    seen = answered(done({"type": "program_output", "id": "o", "call_id": "p", "result": "{}", "status": "completed"}))

    assert [(one.tool_call_id, one.tool_name, json.loads(bytes(one.content))) for one in seen.results] == [
        ("p", "program", "{}")
    ]


def test_an_answer_that_failed_is_an_error() -> None:
    out = {"type": "apply_patch_call_output", "id": "o", "call_id": "c", "status": "failed", "output": "no"}

    assert results(answered(done(out))) == [("c", "no", True)]


# Ids


def test_ids_that_begin_anew_in_each_response_get_the_responses_own() -> None:
    """Bedrock numbers calls by their position."""
    seen = answered(done(function("{}", call_id="call_0")))

    assert [tool.id for tool in seen.tools] == ["resp-1:call_0"]


@pytest.mark.parametrize("identity", ["call_00_xjY8Z2BvSlzgEmmw0DtH0464", "call_3466696471230001", "functions.add:0"])
def test_other_ids_stay(identity: str) -> None:
    assert [tool.id for tool in answered(done(function("{}", call_id=identity))).tools] == [identity]


def test_a_result_finds_its_call_under_the_longer_id() -> None:
    out: Json = {"type": "shell_call_output", "id": "o", "call_id": "call_0", "output": [{}]}
    seen = answered(done({**shell("ls", environment=HOSTED), "call_id": "call_0"}), done(out, 1))

    assert [one.tool_call_id for one in seen.results] == ["resp-1:call_0"]


def test_without_a_responses_id_an_id_stays() -> None:
    assert [tool.id for tool in responses(done(function("{}", call_id="call_0")), ended(id="")).tools] == ["call_0"]


def test_a_call_without_any_id_gets_one() -> None:
    assert [tool.id for tool in answered(done(function("{}", call_id="", id=""))).tools] == ["generated-resp-1-0"]


# Images


PNG = "iVBORw0KGgoAAAANSUhEUg=="


def images(item: Json) -> list[ImageBlock]:
    """The images that the item becomes."""
    body = sse(created(), done(item), ended(), done=False)
    chunks = [decode_raw(chunk) for kind, chunk in run(adapter("openai-responses"), body) if kind == "provider"]
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ImageBlock)]


@pytest.mark.parametrize(
    ("item", "media_type"),
    [
        (call("image_generation_call", result=PNG), "image/png"),
        (call("image_generation_call", result="/9j/4AAQ"), "image/jpeg"),
        (call("image_generation_call", result="UklGRg=="), "image/webp"),
        (call("image_generation_call", result="Zm9v"), "image/*"),
        (call("image_generation_call", result="Zm9v", output_format="webp"), "image/webp"),
        (call("image_generation_call", result="Zm9v", output_format="jpg"), "image/jpeg"),
        (call("image_generation_call", result="data:image/gif;base64,Zm9v"), "image/gif"),
        (message({"type": "output_image", "image_url": {"url": "data:image/gif;base64,Zm9v"}}), "image/gif"),
    ],
)
def test_an_image_has_the_type_that_is_said_or_seen(item: Json, media_type: str) -> None:
    [image] = images(item)

    assert image.media_type == media_type
    assert image.data


@pytest.mark.parametrize(
    "url", ["https://example.org/a.png", "data:image/svg+xml,%3Csvg/%3E", "http://example.org/;base64,"]
)
def test_an_image_may_be_a_url(url: str) -> None:
    [image] = images(call("image_generation_call", result=url))

    assert image.url == url


def test_a_generated_image_is_a_block_and_what_is_said_of_it_the_result() -> None:
    item = call("image_generation_call", result=PNG, size="1x1", output_format="png")
    partial = event("image_generation_call.partial_image", partial_image_b64="abc", item_id="it-1", output_index=0)
    seen = responses(created(), added(call("image_generation_call")), partial, done(item), ended(item))

    assert seen.kinds == ["tool_use", "tool_result", "image"]
    assert results(seen) == [("it-1", {"status": "completed", "size": "1x1", "output_format": "png"}, None)]
    assert [raw["event"]["partial_image_b64"] for raw in seen.beside("raw")] == ["abc"]
    assert [raw["toolCallId"] for raw in seen.beside("raw")] == ["it-1"]


def test_many_open_calls_are_closed_before_there_are_too_many() -> None:
    calls = [added(function(call_id=f"c{number}", id=f"f{number}"), number) for number in range(300)]
    seen = answered(*calls, arguments("{}", item_id="f0", output_index=0))

    assert len(seen.tools) == 300
    assert seen.finish == "tool_calls"
    assert [raw["delta"] for raw in seen.beside("raw")] == ["{}"]


def test_only_a_generated_image_is_one() -> None:
    assert "image" not in answered(done(call("strange_call", result=PNG))).kinds


def test_what_a_call_of_the_clients_seems_to_give_is_no_result() -> None:
    seen = answered(done(function("{}", output="x")))

    assert seen.results == []
    assert [raw["item"] for raw in seen.beside("raw")] == [{"output": "x"}]


def test_a_fingerprint_that_is_made_anew_is_kept_once() -> None:
    item = call("program", call_id="p", code="x", fingerprint="1")
    seen = responses(created(), added({**item, "fingerprint": "0"}), done(item), ended({**item, "fingerprint": "2"}))

    assert [raw["item"] for raw in seen.beside("raw")] == [{"fingerprint": "1"}]


def test_an_answer_without_a_call_id_is_not_that_of_a_call_with_one() -> None:
    search = call("tool_search_call", arguments={}, execution="server", call_id="c")
    out = {"type": "tool_search_output", "id": "o", "call_id": None, "tools": [{"name": "a"}]}

    assert answered(done(search), done(out, 1)).results == []


def test_an_answer_may_change_and_its_last_form_is_kept() -> None:
    out = {"type": "shell_call_output", "id": "o", "call_id": "sh", "output": [{"stdout": "x"}]}
    seen = responses(created(), done(out), ended({**out, "output": [{"stdout": "y"}]}))

    assert results(seen) == [("sh", [{"stdout": "x"}], None)]
    assert [raw["item"]["output"] for raw in seen.beside("raw")] == [[{"stdout": "y"}]]


def test_many_pieces_of_an_answer_do_not_wait() -> None:
    pieces = [
        event("shell_call_output_content.delta", delta={"stdout": "x" * 40_000}, item_id="o", output_index=0)
        for _ in range(3)
    ]
    kept = [raw for raw in responses(created(), *pieces).beside("raw") if "outputDeltas" in raw]

    assert [len(raw["outputDeltas"]) for raw in kept] == [2, 1]
    assert not any("toolCallId" in raw for raw in kept)
    assert answered(*pieces).beside("raw") == responses(created(), *pieces).beside("raw") == kept


def test_an_answer_that_was_announced_only_is_one_if_the_response_ends_well() -> None:
    out = {"type": "program_output", "id": "o", "call_id": "p", "result": "x"}

    assert results(answered(added(out))) == [("p", "x", None)]
    assert [raw["item"]["result"] for raw in responses(created(), added(out)).beside("raw")] == ["x"]


def test_what_else_an_answer_says_is_kept() -> None:
    out: Json = {"type": "shell_call_output", "id": "o", "call_id": "sh", "output": [], "max_output_length": 5}
    seen = answered(done(out))

    assert results(seen) == [("sh", [], None)]
    assert [raw["item"] for raw in seen.beside("raw")] == [{"max_output_length": 5}]


def test_a_call_that_its_program_calls_directly_says_nothing_of_it() -> None:
    assert answered(done(function("{}", caller={"type": "direct"}))).beside("raw") == []


def test_an_answer_under_another_id_is_the_same_if_its_call_is() -> None:
    out = {"type": "shell_call_output", "id": "o", "call_id": "sh", "output": [{"stdout": "x"}]}
    same = responses(created(), done(out), ended({**out, "id": "p"}))
    other = responses(created(), done(out), ended({**out, "id": "p", "call_id": "other"}))
    other_type = responses(created(), done(out), ended({**out, "id": "p", "type": "strange_output"}))

    assert (results(same), same.beside("raw")) == ([("sh", [{"stdout": "x"}], None)], [])
    assert [one.tool_call_id for one in other.results] == ["sh", "other"]
    assert len(other_type.beside("raw")) == 1


def test_an_answer_may_name_its_call_only_when_it_begins() -> None:
    out = {"type": "tool_search_output", "id": "o", "tools": [{"name": "t"}]}

    assert results(answered(added({**out, "call_id": "c", "tools": []}), done(out))) == [("c", [{"name": "t"}], None)]


@pytest.mark.parametrize(
    ("members", "content"),
    [
        ({"output": None, "result": "x"}, "x"),
        ({"output": []}, []),
        ({"note": "n"}, {"note": "n"}),
    ],
)
def test_what_an_answer_says_is_wherever_it_says_it(members: Json, content: Any) -> None:
    out = {"type": "strange_output", "id": "o", "call_id": "c", "status": "completed", **members}

    assert results(answered(done(out))) == [("c", content, None)]


@pytest.mark.parametrize("kind", [{"type": "strange", "call_id": "c"}, {"type": "strange_output"}])
def test_what_may_be_no_answer_is_kept_as_it_is(kind: Json) -> None:
    item = {**kind, "id": "o", "output": "x"}

    assert [raw["item"] for raw in answered(done(item)).beside("raw")] == [item]


def test_the_last_form_of_an_answer_that_is_cut_off_is_kept() -> None:
    whole = event("shell_call_output_content.done", output=[{"stdout": "x"}], item_id="o", output_index=1)

    [kept] = responses(created(), whole).beside("raw")
    assert kept["outputDeltas"][0]["output"] == [{"stdout": "x"}]


def test_a_partial_image_of_no_call_is_kept() -> None:
    partial = event("image_generation_call.partial_image", partial_image_b64="abc", item_id="it-1", output_index=0)

    assert [raw.get("toolCallId") for raw in answered(partial).beside("raw")] == [None]
