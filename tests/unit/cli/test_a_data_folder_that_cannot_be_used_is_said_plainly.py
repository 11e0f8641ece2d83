"""`--data` names a folder: what is wrong with it is said, and what to do."""

import errno
import os
from pathlib import Path

import pytest

from runwire.cli.failures import report
from runwire.embedded.datafolder import DataFolder, FolderUnusable


def refused(path: Path) -> FolderUnusable:
    with pytest.raises(FolderUnusable) as raised, DataFolder(path):
        pass
    return raised.value


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answer.sse"
    file.touch()
    assert str(refused(file)) == f"data folder {file}: {file} is a file, not a folder"
    assert str(refused(file / "deep" / "er")) == f"data folder {file}/deep/er: {file} is a file, not a folder"
    report(refused(file))
    assert "name a folder with --data; it is made if there is none" in capsys.readouterr().err


def test_a_part_of_the_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    assert str(refused(tmp_path)) == f"data folder {tmp_path}: {tmp_path}/logs is a file, not a folder"


def test_a_folder_without_permission_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        # Root, who may run the tests, is refused nothing.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert str(refused(tmp_path / "data")) == f"data folder {tmp_path}/data: Permission denied"


def test_other_reasons_are_those_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    assert str(refused(tmp_path)) == f"data folder {tmp_path}: Is a directory"
