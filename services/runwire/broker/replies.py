"""Replies as text. Names and ids are UTF-8 and short; contents never come through here."""

from runwire.broker.connection import Reply


def text(reply: Reply) -> str:
    """One reply as text; bytes that are not UTF-8 stay visible as escapes."""
    if isinstance(reply, bytes):
        return reply.decode(errors="backslashreplace")
    return str(reply)


def texts(reply: Reply) -> list[str]:
    """A list of replies as texts; anything else as a list of one."""
    return [text(one) for one in reply] if isinstance(reply, list) else [text(reply)]
