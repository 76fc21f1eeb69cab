"""The JSON Schemas of our own formats, of their dataclasses: `make published-schemas` writes them to `lakegate/schemas`.

Decoding (`lakegate.base.json_codec`) reads the same hints, so that it accepts exactly what a schema accepts.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from lakegate.base.extension_points import load_extension, names
from lakegate.base.json_codec import (
    DECIMAL,
    KEYWORDS,
    TYPES,
    Bounds,
    Constraints,
    Json,
    Pattern,
    Permitted,
    Unique,
    annotate_limits,
    limits,
    members_of,
    tag,
)
from lakegate.diff.change_kinds import DiffDocument
from lakegate.features.anchors.anchors import Anchor
from lakegate.features.notifications.notification_text import NotificationDocument
from lakegate.gate.datasets.freshness_deadlines import LateEvent
from lakegate.gate.datasets.lifecycle import LifecycleEvent
from lakegate.gate.datasets.manifest_documents import Manifest
from lakegate.gate.event_bodies import DATASET_KINDS, RECALLS, DatasetEventDetail, EventDetail, RecallEvent
from lakegate.gate.ledger.blocks import FORMAT, Block, Record
from lakegate.gate.ledger.record_contents import CONTENTS
from lakegate.local_check.check_result import CheckDocument, CheckTablesDocument
from lakegate.plan.plan import Plan
from lakegate.plan.request import BatchRequest, Request
from lakegate.plan.result import Result

FOLDER: Final = Path(__file__).parents[2] / "lakegate/schemas"
FORMATS: Final[dict[str, Json]] = {
    "anchor": Anchor,
    "batch": BatchRequest,
    "check": CheckDocument,
    "check-tables": CheckTablesDocument,
    "diff": DiffDocument,
    "event": EventDetail,
    "block": Block,
    "line-event": DatasetEventDetail,
    "manifest": Manifest,
    "notification": NotificationDocument,
    "plan": Plan,
    "record": Record,
    **{f"record-{kind}": content.form for kind, content in CONTENTS.items()},
    "request": Request,
    "result": Result,
}
"""The dataclass of each published schema, or a union of such."""
WIDTH: Final = 120
TEXT: Final = {"type": "string", "minLength": 1}
INTEGER: Final = {"type": "integer"}
NULL: Final = {"type": "null"}
ACCEPTED: Final = {"enum": ["accepted", "accepted_with_warnings"]}


def _event(kind: str, **members: Json) -> Json:
    """The members of the body of a kind of event."""
    body = {"state": {"const": kind.upper()}} | members
    return {"properties": {"kind": {"const": kind}, "body": {"properties": body}}}


BODIES: Final[dict[str, type]] = {
    **dict.fromkeys(DATASET_KINDS, LifecycleEvent),
    "late": LateEvent,
    **dict.fromkeys(RECALLS, RecallEvent),
    **{kind: load_extension("dataset events", kind) for kind in names("dataset events")},
}
"""By the kind of an event about a dataset."""


def _body_of(kind: str, cls: type) -> Json:
    body = {"properties": {"body": {"$ref": f"#/$defs/{cls.__name__}"}}}
    return {"if": {"properties": {"kind": {"const": kind}}}, "then": body}


BETWEEN_MEMBERS: Final[dict[str, dict[str, Json]]] = {
    "event": {
        "oneOf": [
            _event("published", line=TEXT, height=INTEGER, contract_version=TEXT, verdict=ACCEPTED),
            _event("quarantined", line=TEXT, height=INTEGER, verdict={"const": "rejected"}, reasons={"minItems": 1}),
            _event("failed", height=NULL, verdict=NULL, cause=TEXT),
            _event("gone", height=NULL, verdict={"enum": [None, "rejected"]}),
            _event("awaiting", line=TEXT, height=NULL, contract_version=TEXT, verdict=ACCEPTED),
            _event("passing", line=TEXT, height=NULL, contract_version=TEXT, verdict=TEXT),
        ]
    },
    "line-event": {"allOf": [_body_of(kind, cls) for kind, cls in BODIES.items()]},
    "record": {"properties": {"format": {"const": FORMAT}}},
    "block": {
        "properties": {"format": {"const": FORMAT}},
        "dependentSchemas": {
            "slices": {"properties": {"kind": {"const": "published"}}},
            "supersedes": {"properties": {"kind": {"const": "published"}}},
            "table": {"not": {"required": ["slices"]}, "properties": {"kind": {"const": "published"}}},
            "watermark": {"required": ["slices"], "properties": {"slices": {"minItems": 1}}},
        },
    },
}
"""Rules between members, such as the bodies of events, which follow from their kind."""
NOTHING_MORE: Final[dict[str, Json]] = {}
Definitions: typing.TypeAlias = dict[str, tuple[type, Json]]
"""By their names the dataclasses that are definitions of a schema, and the definitions."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> dict[str, Json]:
    """The schema of a format."""
    return derived(FORMATS[name], BETWEEN_MEMBERS.get(name, {}), name)


def derived(cls: Json, more: dict[str, Json] = NOTHING_MORE, name: str = "") -> dict[str, Json]:
    """The schema of the documents of a dataclass. `more`: what its hints do not say."""
    definitions: Definitions = {}
    whole = _object(cls, definitions) if isinstance(cls, type) else value_schema(cls, definitions)
    for body in BODIES.values() if name == "line-event" else ():
        _defined(body, definitions)
    if more:
        own = more.get("properties", {})
        whole["required"], whole["properties"] = [*own, *whole["required"]], own | whole["properties"]
    title, _, rest = (inspect.getdoc(cls) or "").partition("\n\n") if isinstance(cls, type) else (name, "", "")
    head = {"$schema": DIALECT, "title": title} | ({"description": rest.replace("\n", " ")} if rest else {})
    own = {key: definition for key, (_, definition) in sorted(definitions.items())}
    return head | more | whole | ({"$defs": own} if own else {})


def text_of(name: str) -> str:
    """The file of a schema."""
    return _written(schema_of(name), 0) + "\n"


def _written(node: Json, indent: int) -> str:
    """A part of a file: on one line if it fits."""
    line = json.dumps(node, ensure_ascii=False)
    if not node or not isinstance(node, dict | list) or indent + len(line) <= WIDTH:
        return line
    blank = " " * (indent + 2)
    if isinstance(node, list):
        return "[\n" + ",\n".join(blank + _written(each, indent + 2) for each in node) + "\n" + " " * indent + "]"
    members = (f"{blank}{json.dumps(key)}: {_written(each, indent + 2)}" for key, each in node.items())
    return "{\n" + ",\n".join(members) + "\n" + " " * indent + "}"


def main() -> None:
    """Write every file."""
    for name in FORMATS:
        (FOLDER / f"{name}.json").write_text(text_of(name))


def _object(cls: type, definitions: Definitions) -> Json:
    texts, own = _docstrings(cls), members_of(cls)
    members = {
        each.key: value_schema(each.hint, definitions)
        | ({"description": texts[each.name]} if each.name in texts else {})
        for each in own
    }
    required = [each.key for each in own if each.is_required]
    kind = tag(cls)
    if kind is not None:
        members, required = {"kind": {"const": kind}} | members, ["kind", *required]
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": members,
    }


def value_schema(hint: Json, definitions: Definitions) -> dict[str, Json]:
    """The schema of the values of a hint; that of a dataclass becomes a definition."""
    base, constraints = limits(hint)
    origin: Json = typing.get_origin(base)
    kind: Json = base if origin is None else origin
    if kind in {typing.Union, types.UnionType}:
        return _union(typing.get_args(base), constraints, definitions)
    if is_dataclass(kind):
        return {"$ref": f"#/$defs/{_defined(typing.cast('type', kind), definitions)}"}
    permitted = _permitted(kind, base, constraints)
    if permitted:
        return {"const": permitted[0]} if len(permitted) == 1 else {"enum": permitted}
    return {} if kind in {object, Any} else _bounded(kind, typing.get_args(base), constraints, definitions)


def _permitted(kind: Json, base: Json, constraints: Constraints) -> list[Json]:
    """The values of a hint that lists them; else none."""
    if Permitted in constraints:
        return list(constraints[Permitted].values)
    if kind is typing.Literal:
        return list(typing.get_args(base))
    return [each.value for each in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def _bounded(kind: Json, members: tuple[Json, ...], constraints: Constraints, definitions: Definitions) -> Json:
    """Of a text, a number, an array or an object with any names."""
    if kind is Decimal:
        kind, constraints = str, {Pattern: DECIMAL} | constraints
    found: dict[str, Json] = {"type": TYPES[kind]}
    if kind is tuple:
        found |= _elements(members, definitions)
    if kind in {dict, Mapping}:
        names = {} if members[0] is str else {"propertyNames": value_schema(members[0], definitions)}
        found |= names | {"additionalProperties": value_schema(members[1], definitions)}
    if Pattern in constraints:
        expression = constraints[Pattern].expression
        found["pattern"] = f"^(?:{expression})$(?!\\n)" if "|" in expression else f"^{expression}$(?!\\n)"
    if Bounds in constraints:
        ends = zip(KEYWORDS[kind], (constraints[Bounds].least, constraints[Bounds].most), strict=True)
        found |= {keyword: end for keyword, end in ends if end is not None}
    return found | ({"uniqueItems": True} if Unique in constraints else {})


def _union(members: tuple[Json, ...], constraints: Constraints, definitions: Definitions) -> dict[str, Json]:
    present = [member for member in members if member is not types.NoneType]
    if len(present) > 1:
        own = [value_schema(each, definitions) for each in present]
        return {"anyOf": own + ([{"type": "null"}] if len(present) < len(members) else [])}
    found = value_schema(annotate_limits(present[0], constraints), definitions)
    if "enum" in found:
        return {"enum": [*found["enum"], None]}
    if isinstance(found.get("type"), str):
        return found | {"type": [found["type"], "null"]}
    return {"anyOf": [found, {"type": "null"}]} if found else {}


def _elements(members: tuple[Json, ...], definitions: Definitions) -> dict[str, Json]:
    if members[-1] is Ellipsis:
        return {"items": value_schema(members[0], definitions)}
    own = [value_schema(member, definitions) for member in members]
    return {"prefixItems": own, "items": False, "minItems": len(own)}


def _defined(cls: type, definitions: Definitions) -> str:
    """The name of the definition of a dataclass."""
    name = cls.__name__
    if name not in definitions:
        definitions[name] = cls, {}
        text = {"description": (inspect.getdoc(cls) or "").replace("\n\n", " ").replace("\n", " ")}
        definitions[name] = cls, text | _object(cls, definitions)
    if definitions[name][0] is not cls:
        raise TypeError(f"two dataclasses of one format are named {name}")
    return name


@cache
def _docstrings(cls: type) -> dict[str, str]:
    """The texts below the fields of a dataclass and of its bases."""
    found: dict[str, str] = {}
    for base in filter(is_dataclass, reversed(cls.__mro__)):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = typing.cast("ast.ClassDef", definition).body
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match text:
                    case ast.Expr(value=ast.Constant(value=str() as words)):
                        found[field.target.id] = inspect.cleandoc(words).replace("\n", " ")
    return found


if __name__ == "__main__":
    main()
