"""Folders are looked through, files are counted once, and the table adds up."""

from pathlib import Path

import pytest

from runwire.cli.failures import CommandError
from runwire.cli.files import Named, files_of
from runwire.cli.options import choice_of
from runwire.cli.summary import Summary, markdown


def test_folders_are_looked_through_and_every_file_comes_once(tmp_path: Path) -> None:
    for name in ("b/two.sse", "b/one.sse", "a.sse", ".hidden/x.sse", "b/.y.sse"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    folder, one = str(tmp_path), str(tmp_path / "b" / "one.sse")

    assert list(files_of(["-", one, folder, folder, one])) == [
        Named("-"),
        Named(one),
        Named(f"{folder}/a.sse", found=True),
        Named(f"{folder}/b/two.sse", found=True),
        Named(one),
    ]
    assert list(files_of([f"{folder}/empty", "nowhere"])) == [Named(f"{folder}/empty"), Named("nowhere")]


def summary() -> Summary:
    total = Summary()
    total.add("openai-chat", [None, None])
    total.add("gemini", ["usage-missing"])
    total.add("gemini", [None])
    total.add("openai-chat", [None, "usage-missing", "delta-without-block"])
    total.add("", ["provider-unclear"])
    total.add("", ["not-a-stream"])
    total.passed_over()
    return total


def test_the_table_adds_up() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in summary().table().splitlines()]
    assert rows[0] == ["protocol", "files", "ok", "violations"]
    assert rows[2:] == [
        ["(not a stream)", "1", "0", "not-a-stream 1"],
        ["(passed over)", "1", "0", ""],
        ["(provider unclear)", "1", "0", "provider-unclear 1"],
        ["gemini", "2", "1", "usage-missing 1"],
        ["openai-chat", "2", "1", "delta-without-block 1, usage-missing 1"],
        ["all", "7", "2", "delta-without-block 1, not-a-stream 1, provider-unclear 1, usage-missing 2"],
    ]


def test_the_same_as_one_object() -> None:
    result = summary().result()
    assert result["protocols"][3] == {"protocol": "gemini", "files": 2, "ok": 1, "violations": {"usage-missing": 1}}
    assert (result["files"], result["ok"], result["violations"]["usage-missing"]) == (7, 2, 2)


def test_only_what_was_judged_can_be_wrong() -> None:
    total = Summary()
    total.passed_over()
    total.add("gemini", [None])
    assert total.everything_ok
    total.add("gemini", [None, "x"])
    assert not total.everything_ok


def test_columns_are_as_wide_as_what_they_hold() -> None:
    assert markdown(("a", "b"), [("long", "1")], numbers={1}).splitlines() == [
        "| a    |   b |",
        "| ---- | --: |",
        "| long |   1 |",
    ]


def test_a_choice_is_a_number_or_all() -> None:
    assert (choice_of("0"), choice_of("12"), choice_of("all")) == (0, 12, "all")
    for text in ("-1", "1.0", "", "every", "²"):
        with pytest.raises(CommandError, match="is no choice"):
            choice_of(text)
