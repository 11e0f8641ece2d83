"""Options that several commands share, so that they are spelled and explained once."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from runwire.cli.sources import Choice

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
        help="openai-chat, anthropic, gemini, … (a wrong name lists them), raw (NDJSON of raw chunks of one call), "
        "record (NDJSON of records), or auto: told from the first events, saying why. Default: auto, without a word.",
    ),
]
Choices = Annotated[
    str,
    typer.Option(
        "--choice", metavar="N|all", help="Which choice of a response with several; all: each as a run of its own."
    ),
]
Think = Annotated[
    bool | None,
    typer.Option(
        "--think/--no-think",
        help="Whether what stands between <think> tags is reasoning. Default: if the model is known to write them.",
        show_default=False,
    ),
]


def choice_of(text: str) -> "Choice":
    """The value of `--choice`. Raises CommandError."""
    from runwire.cli.failures import CommandError

    if text == "all":
        return "all"
    if text.isdecimal() and text.isascii():
        return int(text)
    raise CommandError(f"--choice {text} is no choice", "give its number, from 0, or all")
