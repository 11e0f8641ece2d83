"""What a caller may give as a chunk, as the bytes of its record."""

import math
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from runwire.errors import ChunkTooLarge, RecordInvalid
from runwire.producer.options import ProducerOptions
from runwire_schemas.record import Kind

ChunkLike = bytes | bytearray | memoryview | str | Mapping[str, Any] | msgspec.Struct
"""JSON as bytes or text, which is sent exactly as given; or a mapping or struct, which is encoded."""

_encode = msgspec.json.Encoder().encode
# An error chunk is read by people, and its text may come from anywhere.
_LONGEST_MESSAGE: Final = 1000


def body_of(chunk: ChunkLike) -> bytes:
    """The JSON of a chunk. Bytes are not looked at: the enforcer judges them. Raises RecordInvalid."""
    if isinstance(chunk, bytes):
        return chunk
    if isinstance(chunk, (bytearray, memoryview)):
        return bytes(chunk)
    if not isinstance(cast("object", chunk), (str, Mapping, msgspec.Struct)):
        raise RecordInvalid(f"A chunk is bytes, text, a mapping or a struct, not {type(chunk).__name__}.")
    try:
        body = chunk.encode() if isinstance(chunk, str) else _encode(chunk)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordInvalid(f"This chunk cannot be written as JSON: {error}.") from None
    # The encoder writes a float that JSON has no word for as null, which is another chunk than was meant.
    if b"null" in body and _has_no_json(chunk):
        raise RecordInvalid("This chunk cannot be written as JSON: it has a number that is NaN or infinite.")
    return body


def _has_no_json(value: object) -> bool:
    """Whether a float in it, at any depth, is NaN or infinite."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, Mapping):
        return any(map(_has_no_json, cast("Mapping[object, object]", value).values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_no_json, cast("list[object]", value)))
    return False


def check_size(body: bytes, kind: Kind, options: ProducerOptions) -> None:
    """Raises ChunkTooLarge: the enforcer would end the run for it, so it is better not sent."""
    limit = options.max_agent_chunk_bytes if kind == "agent" else options.max_chunk_bytes
    if len(body) > limit:
        raise ChunkTooLarge(
            f"The body of this {kind} record has {len(body)} bytes, the limit is {limit}. Nothing was sent and no "
            "sequence number used: split it, or send a reference instead."
        )


def run_start(fields: Mapping[str, object]) -> bytes:
    """The control body that declares a run; fields that are None are left out."""
    return _encode({"type": "run-start", **{name: value for name, value in fields.items() if value is not None}})


def run_end(reason: str, error: BaseException | None = None) -> bytes:
    """The control body that ends a run, with the error as its failure."""
    body: dict[str, object] = {"type": "run-end", "reason": reason}
    if error is not None:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        # Text that is not Unicode would be refused as a whole, and the reason with it.
        clean = text.encode(errors="replace").decode()
        body["failure"] = {"message": clean[:_LONGEST_MESSAGE], "code": type(error).__name__}
    return _encode(body)
