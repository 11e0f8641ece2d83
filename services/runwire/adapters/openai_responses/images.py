"""Images, as base64, as a URL, or as a URL that holds the base64."""

from typing import Final

from runwire.adapters.opaque import fields_of, text_of
from runwire.adapters.openai_responses.stage import Stage
from runwire.adapters.openai_responses.wire import NULL, Members

# How the base64 of an image begins, where nobody says its format.
_BEGINS: Final = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}
# Formats whose media type is another word.
_MEDIA: Final = {"jpg": "image/jpeg", "svg": "image/svg+xml"}
_HOLDS: Final = ("image_url", "image_b64", "b64_json", "image", "result")


def image(stage: Stage, members: Members) -> bool:
    """Writes the image that these members hold. False if they hold none."""
    holds = [members.get(name, NULL) for name in _HOLDS]
    inner = [(fields_of(raw) or {}).get("url", NULL) for raw in holds]
    data = next((text for raw in (*holds, *inner) if (text := text_of(raw))), None)
    if data is None:
        return False
    head, found, base64 = data.partition(";base64,")
    if found and head.startswith("data:"):
        stage.call.image(head.removeprefix("data:"), "data", base64)
    elif data.startswith(("http://", "https://", "data:")):
        stage.call.image("image/*", "url", data)
    else:
        stage.call.image(_media_type(members, data), "data", data)
    return True


def _media_type(members: Members, data: str) -> str:
    said = text_of(members.get("output_format"))
    if said:
        return _MEDIA.get(said, f"image/{said}")
    return next((media for begin, media in _BEGINS.items() if data.startswith(begin)), "image/*")
