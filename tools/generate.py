"""Writes what is generated from the code: schemas/json, and the tables of docs/. With --check it only compares.

Run it with `make schemas`; `make lint` and a unit test check that the files are current.
"""

import sys
from pathlib import Path
from typing import Any, get_args

import msgspec

from runwire.grammar.docs import render as render_grammar
from runwire.settings import PREFIX, Settings
from runwire_schemas import chunks, control, events, evidence, keys, lineage, raw, record

ROOT = Path(__file__).resolve().parents[1]
DIALECT = "https://json-schema.org/draft/2020-12/schema"

# File name -> (title, description, the type it is generated from).
SCHEMAS: dict[str, tuple[str, str, Any]] = {
    "raw": ("Raw chunk", "Body of a `provider` record: the closed union of 7.", raw.RawChunk),
    "chunks": (
        "Chunk",
        "What readers get. Fields that are not listed may be there and must be passed on.",
        chunks.TaggedChunk | chunks.Data | chunks.Network,
    ),
    "record": (
        "Record",
        "A record as JSON, where a tool shows one. On the wire it is a stream entry: docs/wire-format.md.",
        record.Record,
    ),
    "evidence": ("Evidence", "Field `d` of an entry of an evidence stream.", evidence.Evidence),
    "events": ("Run event", "Published to the stream of run events, at least once.", events.AnyRunEvent),
    "control": ("Control", "Body of a `control` record.", control.AnyControl),
    "ancestry": ("Ancestry", "Field `l` of a nest: the runs above a run, the root first.", lineage.Ancestry),
    "account": ("Account", "Field `i` of a nest: what a run says of itself.", lineage.Account),
    "child-link": ("Child", "A numbered field of a nest: one child of a run.", lineage.ChildLink),
}


def schema(title: str, description: str, struct: Any) -> dict[str, Any]:
    """The JSON Schema of a type. msgspec refuses unions of tagged and plain structs, so those are joined here."""
    tagged = [part for part in get_args(struct) or (struct,) if part not in (chunks.Data, chunks.Network)]
    plain = [part for part in get_args(struct) if part not in tagged]
    joined = tagged[0]
    for part in tagged[1:]:
        joined = joined | part
    (first, *others), defs = msgspec.json.schema_components([joined, *plain], ref_template="#/$defs/{name}")
    body = {"anyOf": [first, *others]} if others else first
    return {"$schema": DIALECT, "title": title, "description": description, **body, "$defs": defs}


def keys_catalogue() -> dict[str, Any]:
    """Every kind of key, for tools in other languages."""
    return {
        "description": "P stands for {<prefix>:<partition>}, R for the prefix; the default prefix is rw.",
        "defaultPrefix": keys.DEFAULT_PREFIX,
        "partition": "CRC-16/XMODEM of the UTF-8 run id, mod the number of partitions",
        "wireVersion": record.WIRE_VERSION,
        "keys": [spec._asdict() for spec in keys.CATALOGUE],
    }


def keys_table() -> str:
    rows = [f"| `{s.pattern}` | {s.type} | {s.owner} | {s.lifetime} |" for s in keys.CATALOGUE]
    return "\n".join(["| key | type | written by | lives |", "|---|---|---|---|", *rows])


def settings_table() -> str:
    rows = [
        f"| `{PREFIX}{field.name.upper()}` | `{msgspec.json.encode(field.default).decode()}` |"
        for field in msgspec.structs.fields(Settings)
    ]
    return "\n".join(["| variable | default |", "|---|---|", *rows])


def between(path: Path, name: str, table: str) -> str:
    """The page with the part between its two marks replaced."""
    page = path.read_text(encoding="utf-8")
    begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        message = f"{path}: the marks of the generated part {name} are not there exactly once"
        raise SystemExit(message)
    head, rest = page.split(begin)
    return head + begin + table + "\n" + end + rest.split(end)[1]


def pretty(value: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode() + "\n"


def outputs() -> dict[Path, str]:
    """Every generated file with the text that it must have."""
    folder, docs = ROOT / "schemas" / "json", ROOT / "docs"
    files = {folder / f"{name}.schema.json": pretty(schema(*spec)) for name, spec in SCHEMAS.items()}
    files[folder / "keys.json"] = pretty(keys_catalogue())
    files[docs / "grammar.md"] = render_grammar()
    files[docs / "wire-format.md"] = between(docs / "wire-format.md", "keys", keys_table())
    files[docs / "settings.md"] = between(docs / "settings.md", "settings", settings_table())
    return files


def stale() -> list[Path]:
    """The generated files that differ from what is checked in, or lie in schemas/json without being generated."""
    files = outputs()
    left_over = [path for path in (ROOT / "schemas" / "json").glob("*.json") if path not in files]
    return left_over + [p for p, text in files.items() if not p.exists() or p.read_text(encoding="utf-8") != text]


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        for path in (old := stale()):
            print(f"{path.relative_to(ROOT)} is not current: run make schemas")
        return bool(old)
    if arguments:
        print(__doc__)
        return 2
    for path, text in outputs().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
