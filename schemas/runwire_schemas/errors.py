"""The root of every error that a caller of Runwire may catch.

It lives with the schemas so that the contract package stays a leaf; `runwire.errors` draws the whole tree.
"""

from inspect import cleandoc
from typing import ClassVar


class RunwireError(Exception):
    """Base of every error a caller may catch. `code` is its stable name, for scripts and logs."""

    code: ClassVar[str] = "runwire-error"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or cleandoc(self.__doc__ or ""))
