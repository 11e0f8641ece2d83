"""Images and files, which Gemini has in the same form everywhere: base64 or a URL."""

from typing import Final

from runwire.adapters.gemini.wire import Members, object_of
from runwire.adapters.opaque import quote
from runwire.adapters.writing.call import Call

# Google's SDK writes base64 with the letters for URLs.
_STANDARD: Final = str.maketrans("-_", "+/")


def write_media(call: Call, media_type: str, data: str, url: str, more: Members, kind: str = "file") -> bool:
    """An image is a block, anything else a `file` chunk; False if there is neither data nor a URL.

    `kind` `reasoning-file`: what the model made while it thought is no part of the answer. `more`: what else is said.
    """
    value = data.translate(_STANDARD) or url
    media_type = media_type or "application/octet-stream"
    if not value:
        return False
    if kind == "file" and media_type.startswith("image/"):
        call.image(media_type, "data" if data else "url", value)
        if more:
            call.beside("raw", {"file": object_of(more)})
        return True
    payload = {"data": quote(value), "mimeType": quote(media_type)}
    if more:
        payload["providerMetadata"] = b"{%s:%s}" % (quote(call.provider), object_of(more))
    call.beside(kind, payload, named=False)
    return True
