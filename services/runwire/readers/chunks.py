"""A chunk as readers get it."""

from typing import Any, Final, NamedTuple

import msgspec

# Every log's chunks are compact JSON that begins with their type (CONTRACT: key order is as written).
_TYPE: Final = b'{"type":"'
FINISH: Final = b'{"type":"finish"'


class _Typed(msgspec.Struct):
    type: str = ""


_decode_type = msgspec.json.Decoder(_Typed).decode


class Chunk(NamedTuple):
    """One chunk of a run's log. Keep `cursor` to resume after it; `data` is the JSON as stored."""

    cursor: str
    seq: int
    attempt: int
    data: bytes

    @property
    def type(self) -> str:
        """The chunk's type, without decoding the rest."""
        data = self.data
        if data.startswith(_TYPE):
            end = data.find(b'"', len(_TYPE))
            if b"\\" not in data[:end]:
                return data[len(_TYPE) : end].decode()
        return _decode_type(data).type

    def json(self) -> Any:
        """The chunk as Python values."""
        return msgspec.json.decode(self.data)
