"""Every error has its own code and message, and the tree drawn in the docstring is the real one."""

import pytest

from runwire import errors
from runwire_schemas.errors import RunwireError

CLASSES = [getattr(errors, name) for name in errors.__all__]


def drawn() -> dict[str, str]:
    """Class name -> name of its parent, as the docstring draws it."""
    parents: dict[str, str] = {}
    path = ["RunwireError"]
    for line in (errors.__doc__ or "").splitlines():
        head, mark, rest = line.partition("── ")
        if mark:
            depth = len(head) // 4
            name = rest.split()[0]
            path[depth + 1 :] = [name]
            parents[name] = path[depth]
    return parents


def test_the_drawn_tree_is_the_real_one() -> None:
    assert drawn() == {cls.__name__: cls.__base__.__name__ for cls in CLASSES if cls is not RunwireError}


def test_codes_are_unique() -> None:
    codes = [cls.code for cls in CLASSES]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_docstring_is_the_message(cls: type[RunwireError]) -> None:
    assert cls.__doc__
    assert str(cls()).startswith(cls.__doc__.splitlines()[0])
    assert str(cls("other")) == "other"
