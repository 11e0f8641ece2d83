"""A client of botocore for Bedrock that never leaves this process: every request is answered with the given body."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from typing import Any

import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from conformance.expected import quiet

_CONTENT_TYPE = {"content-type": "application/vnd.amazon.eventstream"}


class _Body:
    """As urllib3's response: bytes in pieces."""

    def __init__(self, body: bytes) -> None:
        self._body = BytesIO(body)

    def stream(self, size: int = 1000) -> Iterator[bytes]:
        while piece := self._body.read(size):
            yield piece

    def close(self) -> None:
        self._body.close()


class _Answer:
    """Answers requests before they are sent."""

    def __init__(self) -> None:
        self.body = b""

    def __call__(self, request: Any, **_: Any) -> AWSResponse:
        return AWSResponse(request.url, 200, _CONTENT_TYPE, _Body(self.body))


@cache
def _made() -> tuple[Any, _Answer]:
    session = botocore.session.Session()
    bedrock = session.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        endpoint_url="http://provider.invalid",
        config=Config(retries={"max_attempts": 0}),
    )
    answer = _Answer()
    bedrock.meta.events.register("before-send.bedrock-runtime.*", answer)
    return bedrock, answer


@contextmanager
def client(body: bytes) -> Iterator[Any]:
    """The client while it answers with this body, which may be read as long as the context is open."""
    with quiet():
        bedrock, answer = _made()
        answer.body = body
        yield bedrock
