"""Options that several commands share, so that they are spelled and explained once."""

from typing import Annotated

import typer

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        "-u",
        metavar="REDIS_URL",
        help="The broker. Default: RUNWIRE_REDIS_URL, else the `runwire up` of the data folder, else local port 6379.",
    ),
]
Data = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Data folder of `runwire up`. Default: RUNWIRE_DATA_DIR, else .runwire"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one value a line, for scripts.")]
Provider = Annotated[
    str | None,
    typer.Option(
        "--provider",
        "-p",
        metavar="NAME",
        help="openai-chat, anthropic, raw (NDJSON of raw chunks of one call) or record (NDJSON of records). "
        "Default: told from the first event.",
    ),
]
Choice = Annotated[int, typer.Option("--choice", min=0, metavar="N", help="Which choice of a response with several.")]
