"""What the official SDKs do with the same bytes: read from a connection that is none into their own typed events.

Nothing here is needed to run Runwire: a protocol whose SDK is not installed is timed without it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from typing import Any, Final, NamedTuple

NOWHERE: Final = "http://provider.invalid"

Read = Callable[[bytes], int]


class Sdk(NamedTuple):
    """`read` takes a body and gives the number of events that came out; it raises what the SDK raises."""

    name: str
    read: Read


def installed(provider: str) -> Sdk | None:
    """The SDK of a protocol, if there is one here."""
    if provider not in _SDKS:
        return None
    package, make = _SDKS[provider]
    try:
        read = make()
    except ModuleNotFoundError:
        return None
    return Sdk(f"{package} {version(package)}", read)


def _counted(events: Iterator[Any]) -> int:
    return sum(1 for _ in events)


def _transport(http: str, body: bytes) -> Any:
    """A transport of httpx, or of what took its place, that answers every request with the body."""
    httpx: Any = import_module(http)

    def answer(request: Any) -> Any:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body, request=request)

    return httpx.MockTransport(answer)


def _openai(call: Callable[[Any], Any]) -> Callable[[], Read]:
    def make() -> Read:
        openai: Any = import_module("openai")

        def read(body: bytes) -> int:
            http = openai.DefaultHttpxClient(transport=_transport("httpx2", body))
            with openai.OpenAI(api_key="none", base_url=NOWHERE, http_client=http, max_retries=0) as client:
                return _counted(call(client))

        return read

    return make


def _anthropic() -> Read:
    anthropic: Any = import_module("anthropic")

    def read(body: bytes) -> int:
        http = anthropic.DefaultHttpxClient(transport=_transport("httpx2", body))
        with anthropic.Anthropic(api_key="none", base_url=NOWHERE, http_client=http, max_retries=0) as client:
            return _counted(client.beta.messages.create(model="m", max_tokens=1, messages=[], stream=True))

    return read


def _cohere() -> Read:
    cohere: Any = import_module("cohere")
    httpx: Any = import_module("httpx")

    def read(body: bytes) -> int:
        with httpx.Client(transport=_transport("httpx", body)) as http:
            client = cohere.ClientV2(api_key="none", base_url=NOWHERE, httpx_client=http)
            return _counted(client.chat_stream(model="m", messages=[]))

    return read


def _ollama() -> Read:
    ollama: Any = import_module("ollama")

    def read(body: bytes) -> int:
        client = ollama.Client(host=NOWHERE, transport=_transport("httpx", body.strip()))
        chat = b'"message"' in body[:4096]
        return _counted(client.chat(model="m", stream=True) if chat else client.generate(model="m", stream=True))

    return read


def _google(call: Callable[[Any], Any]) -> Callable[[], Read]:
    def make() -> Read:
        genai: Any = import_module("google.genai")

        def read(body: bytes) -> int:
            options = {"base_url": NOWHERE, "client_args": {"transport": _transport("httpx", body)}}
            # Held while its stream is read: a client that nobody holds closes itself.
            client = genai.Client(api_key="none", http_options=options)
            return _counted(call(client))

        return read

    return make


class _Raw(BytesIO):
    """As botocore has a response's body from urllib3."""

    def stream(self, size: int = 16 * 1024) -> Iterator[bytes]:
        while piece := self.read(size):
            yield piece


def _bedrock(call: Callable[[Any], Any]) -> Callable[[], Read]:
    def make() -> Read:
        answers: Any = import_module("botocore.awsrequest")
        body = _Raw()

        def answer(request: Any, **_: Any) -> Any:
            return answers.AWSResponse(request.url, 200, {"content-type": "application/vnd.amazon.eventstream"}, body)

        nobody = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
        session: Any = import_module("botocore.session").Session()
        client = session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=NOWHERE, **nobody)
        client.meta.events.register("before-send.bedrock-runtime.*", answer)

        def read(data: bytes) -> int:
            nonlocal body
            body = _Raw(data)
            return _counted(call(client))

        return read

    return make


def _converse(client: Any) -> Any:
    return client.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])["stream"]


def _invoke(client: Any) -> Iterator[Any]:
    """The model's events: botocore leaves decoding them to its caller."""
    for event in client.invoke_model_with_response_stream(modelId="m", body=b"{}")["body"]:
        yield json.loads(event["chunk"]["bytes"])


# Protocol -> the package, and how its reader is made; making it raises ModuleNotFoundError if it is not installed.
_SDKS: Final[Mapping[str, tuple[str, Callable[[], Read]]]] = {
    "openai-chat": (
        "openai",
        _openai(lambda client: client.chat.completions.create(model="m", messages=[], stream=True)),
    ),
    "openai-responses": ("openai", _openai(lambda client: client.responses.create(model="m", stream=True))),
    "anthropic": ("anthropic", _anthropic),
    "gemini": (
        "google-genai",
        _google(lambda client: client.models.generate_content_stream(model="m", contents="x")),
    ),
    "gemini-interactions": (
        "google-genai",
        _google(lambda client: client.interactions.create(model="m", input="x", stream=True)),
    ),
    "bedrock-converse": ("botocore", _bedrock(_converse)),
    "bedrock-invoke": ("botocore", _bedrock(_invoke)),
    "cohere-v2": ("cohere", _cohere),
    "ollama": ("ollama", _ollama),
}

# Protocols without an official SDK in Python: the AI SDK is one for JavaScript.
WITHOUT: Final = frozenset({"ai-sdk"})
