"""From errors to exit codes: one table, with no entry for an error that does not exist."""

import pytest

from runwire import errors
from runwire.cli import failures, target
from runwire.cli.exits import BY_ERROR_CODE, Exit
from runwire.cli.failures import CommandError, exit_of, report
from runwire.embedded import datafolder, deployment
from runwire_schemas.errors import RunwireError

MODULES = (errors, failures, target, datafolder, deployment)


def known_codes() -> set[str]:
    classes = [value for module in MODULES for value in vars(module).values() if isinstance(value, type)]
    return {cls.code for cls in classes if issubclass(cls, RunwireError)}


def test_the_table_names_only_errors_that_exist() -> None:
    assert set(BY_ERROR_CODE) - known_codes() == set()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RunUnknown(), Exit.NO_RUN),
        (errors.LogExpired(), Exit.NO_RUN),
        (errors.CursorAhead(), Exit.NO_RUN),
        (errors.CursorInvalid(), Exit.USAGE),
        (errors.UnknownProvider(), Exit.USAGE),
        (errors.SettingUnknown(), Exit.USAGE),
        (errors.LinkLost(), Exit.UNREACHABLE),
        (errors.ServerTooOld(), Exit.UNFIT),
        (errors.PartitionMismatch(), Exit.UNFIT),
        (datafolder.FolderInUse(), Exit.IN_USE),
        (deployment.PortInUse(), Exit.IN_USE),
        (CommandError("wrong"), Exit.USAGE),
        (ConnectionRefusedError(), Exit.UNREACHABLE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (BrokenPipeError(), Exit.BROKEN_PIPE),
        (ZeroDivisionError(), Exit.INTERNAL),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_error_decides_the_exit_code(error: BaseException, code: Exit) -> None:
    assert exit_of(error) is code


def test_an_expected_error_is_one_line_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(CommandError("this is\n  wrong", "do that")) is Exit.USAGE
    assert capsys.readouterr().err == "runwire: this is wrong\n         do that\n"


def test_a_bug_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError) as caught:
        dict[str, int]()["lost"]
    assert report(caught.value) is Exit.INTERNAL
    assert "Traceback" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(ModuleNotFoundError("no", name="faststream")) is Exit.UNFIT
    assert "faststream is not installed" in capsys.readouterr().err
