"""Files that a model made, in every form in which the AI SDK gives their bytes, and the sources of an answer."""

import base64
from typing import Any

import pytest

from conformance.recorded import decode_raw
from runwire.adapters import adapter
from runwire.adapters.writing.writer import MAX_BLOCK
from runwire_schemas.raw import BlockEnd, ImageBlock
from unit.adapters.saying import Json, run
from unit.adapters.sdk_parts import beside, body, part, said, v2, v3

BYTES = bytes(range(256))
BASE64 = base64.b64encode(BYTES).decode()
NUMBERED = {str(at): byte for at, byte in enumerate(BYTES)}


def images(*parts: Json) -> list[ImageBlock]:
    emitted = run(adapter("ai-sdk"), body(*parts, v2()))
    ends = [decode_raw(one.body) for one in emitted if one.kind == "provider"]
    return [one.block for one in ends if isinstance(one, BlockEnd) and isinstance(one.block, ImageBlock)]


@pytest.mark.parametrize(
    "data",
    [
        BASE64,
        NUMBERED,
        list(BYTES),
        {"type": "Buffer", "data": list(BYTES)},
        {"type": "data", "data": BASE64},
        {"type": "data", "data": NUMBERED},
    ],
)
def test_bytes_in_every_form(data: Any) -> None:
    image = part("file", mediaType="image/png", data=data)
    sound = part("file", mediaType="audio/mp3", data=data)

    assert images(image) == [ImageBlock(media_type="image/png", data=BASE64)]
    assert said(image, v3()).beside("raw") == []
    assert said(image, sound, v2()).beside("file") == [{"data": BASE64, "mimeType": "audio/mp3"}]


def test_a_url() -> None:
    data = {"type": "url", "url": "https://host/a.png"}

    assert images(part("file", mediaType="image/png", data=data)) == [
        ImageBlock(media_type="image/png", url="https://host/a.png")
    ]
    gs = {**data, "originalUrl": "gs://b/a.pdf"}
    assert said(part("file", mediaType="application/pdf", data=gs), v3()).beside("file") == [
        {"data": "gs://b/a.pdf", "mimeType": "application/pdf"}
    ]


def test_a_text() -> None:
    data = {"type": "text", "text": "words"}

    for media_type in ("text/plain", "image/svg+xml"):
        seen = said(part("file", mediaType=media_type, data=data), v3())
        assert seen.beside("file") == [{"data": "words", "mimeType": media_type}]


@pytest.mark.parametrize(
    "data",
    [
        None, "", {}, [], 17, True, {"0": 256}, {"0": -1}, {"0": "x"}, {"1": 1}, [1.5], {"type": "Buffer", "data": "x"},
        {"type": "reference", "reference": {"openai": "file-1"}}, {"type": "data"}, {"type": "url", "url": {}},
    ],
)  # fmt: skip
def test_what_has_no_bytes_is_kept_as_it_came(data: Any) -> None:
    file = part("file", mediaType="image/png", data=data)
    seen = said(file, v3())

    assert (seen.kinds, seen.beside("file")) == ([], [])
    assert beside(seen, "part") == [file]


def test_a_file_without_a_media_type() -> None:
    assert said(part("file", data=BASE64), v3()).beside("file") == [
        {"data": BASE64, "mimeType": "application/octet-stream"}
    ]


def test_metadata_of_a_file_is_kept() -> None:
    meta = {"google": {"thoughtSignature": "s"}}
    image = said(part("file", mediaType="image/png", data=BASE64, meta=meta), v3())
    sound = said(part("file", mediaType="audio/mp3", data=BASE64, meta=meta), v3())

    assert beside(image, "file") == [{"providerMetadata": meta}]
    assert sound.beside("file") == [{"data": BASE64, "mimeType": "audio/mp3", "providerMetadata": meta}]


def test_a_file_of_the_reasoning_is_no_part_of_the_answer() -> None:
    seen = said(part("reasoning-file", mediaType="image/png", data=BASE64), v3())

    assert seen.beside("file") == [{"data": BASE64, "mimeType": "image/png", "reasoning": True}]
    assert "image" not in seen.kinds


def test_a_large_image_is_a_file() -> None:
    data = "A" * (MAX_BLOCK + 4)

    assert said(part("file", mediaType="image/png", data=data), v3()).beside("file") == [
        {"data": data, "mimeType": "image/png"}
    ]


def test_sources() -> None:
    page = {"sourceType": "url", "url": "http://u", "title": "T", "providerMetadata": {"p": {"a": 1}}}
    document = {"sourceType": "document", "mediaType": "text/plain", "title": "D", "filename": "d.txt"}
    seen = said(
        part("response-metadata", id="r", modelId="m"),
        part("source", "s1", **page),
        part("source", "s2", **document),
        part("source", sourceType="url", url="http://v", title=None),
        v3(),
    )

    assert seen.beside("source") == [
        {"id": "s1", **page},
        {"id": "s2", **document},
        {"sourceType": "url", "url": "http://v", "id": "r:source:1", "title": ""},
    ]


def test_a_source_of_no_known_kind_is_kept_as_it_came() -> None:
    source = part("source", "s", sourceType="video", url="http://u")
    seen = said(source, v3())

    assert (seen.beside("source"), beside(seen, "part")) == ([], [source])
