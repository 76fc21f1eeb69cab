"""Datasets with columns named like the paths of nested fields: each field has a bound of its own, and values around it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakegate.contract.file_formats import Format, Storage
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.written import written

FORMATS = (Format.JSONL, Format.JSON, Format.PARQUET, Format.ORC, Format.AVRO)
NAMES = (*("a", "b", "key", "value", "x.y", "l[]"), '"b"')
PLAIN = ("a", "b", "key", "value")
"""What Avro takes for names of members."""
MOST = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A field: `integer`, `object`, `array` or `map`."""

    kind: str
    parts: tuple[tuple[str, Node], ...] = ()
    """Of an object by name; the one part of an array and of a map has an empty name."""
    bound: int = 0
    """The least allowed value of an integer."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A dataset, its rows, and what is measured on them."""

    columns: tuple[tuple[str, Node], ...]
    rows: tuple[dict[str, Any], ...]

    @property
    def expected(self) -> dict[tuple[str, ...], tuple[int, int]]:
        """By steps, the values below the bound, and all records or elements of the level."""
        found: dict[tuple[str, ...], tuple[int, int]] = {}
        for name, node in self.columns:
            for steps, leaf, values in _leaves((f".{name}",), node, [row.get(name) for row in self.rows]):
                found[steps] = (sum(each is not None and each < leaf.bound for each in values), len(values))
        return found

    def plan(self, form: Format, *without: str) -> Plan:
        """The plan of a contract of ODCS for files of a format; some columns of the file are not declared."""
        return plan_of_properties(
            [{"name": name} | _written(node) for name, node in self.columns if name not in without], form
        )

    def file(self, form: Format) -> bytes:
        """The rows as a file of a format."""
        if form in {Format.JSON, Format.JSONL}:
            records = [
                json.dumps({name: _as_json(node, row[name]) for name, node in self.columns}) for row in self.rows
            ]
            return ("\n".join(records) if form is Format.JSONL else f"[{', '.join(records)}]").encode()
        schema = pa.schema([(name, _arrow(node)) for name, node in self.columns])
        return written(pa.Table.from_pylist(list(self.rows), schema=schema), Storage(form))


def plan_of_properties(properties: list[dict[str, Any]], form: Format) -> Plan:
    """The plan of a contract of ODCS with these properties, for files of a format."""
    extension = {"property": "lakegate", "value": {"format": form.value}}
    dataset = {"name": "d", "customProperties": [extension], "properties": properties}
    about = {"apiVersion": "v3.2.0", "kind": "DataContract", "id": "names", "version": "1.0.0", "status": "active"}
    examined = examine(json.dumps(about | {"schema": [dataset]}).encode())
    assert examined.errors == ()
    assert examined.contract is not None
    return compile_plan(examined.contract, examined.contract.datasets[0])


def of_bounds(plan: Plan, result: Result) -> dict[tuple[str, ...], tuple[int, int]]:
    """By the steps of its field, what an engine measured of each bound: failing values, and all."""
    measured = {each.check: each.accept for each in result.measurements}
    checks = [(each, measured[each.id]) for each in plan.checks if each.kind == "minimum" and each.id in measured]
    return {plan.field(each.fields[0]).place: (found.failing or 0, found.of) for each, found in checks if found}


def hostile_dataset(seed: int, form: Format) -> Hostile:
    """The dataset of a seed: nested columns, and columns with the joined names of what is inside them."""
    draw, names = random.Random(f"names/{seed}"), PLAIN if form is Format.AVRO else NAMES

    def node(depth: int) -> Node:
        kind = draw.choice(("integer", "object", "array", "map")) if depth else "integer"
        if kind == "object":
            return Node(kind, tuple((name, node(depth - 1)) for name in draw.sample(names, draw.randint(1, 3))))
        return Node(kind, (("", node(depth - 1)),)) if kind != "integer" else Node(kind, (), draw.randint(1, MOST))

    nested = [(name, node(3)) for name in draw.sample(names, 3)]
    joined = [each for name, one in nested for each in _joined(name, one)]
    flat = [each for each in dict.fromkeys(joined) if each not in {name for name, _ in nested}]
    columns = [*nested, *((each, Node("integer", (), draw.randint(1, MOST))) for each in flat[:8])]
    draw.shuffle(columns)
    nulls = 0.0 if form is Format.ORC else 0.1  # Arrow loses its place in an ORC file behind a null record in a record
    rows = [{name: _value(draw, one, nulls) for name, one in columns} for _ in range(draw.randint(1, 12))]
    return Hostile(tuple(columns), tuple(rows))


def _joined(path: str, node: Node) -> Iterator[str]:
    """The paths inside a field, joined by points without regard for the names: what a column may be named, too."""
    steps = {"array": ("[]",), "map": (".key", ".value"), "object": tuple(f".{name}" for name, _ in node.parts)}
    for at, step in enumerate(steps.get(node.kind, ())):
        yield path + step
        if node.kind == "object" or step in {"[]", ".value"}:
            yield from _joined(path + step, node.parts[at if node.kind == "object" else 0][1])


def _value(draw: random.Random, node: Node, nulls: float) -> Any:
    if draw.random() < nulls:
        return None
    match node.kind:
        case "object":
            return {name: _value(draw, each, nulls) for name, each in node.parts}
        case "array":
            return [_value(draw, node.parts[0][1], nulls) for _ in range(draw.randint(0, 3))]
        case "map":
            keys = draw.sample(("p", "q.r", "s[]"), draw.randint(0, 3))
            return [(key, _value(draw, node.parts[0][1], nulls)) for key in keys]
        case _:
            return draw.randint(0, MOST)


def _leaves(steps: tuple[str, ...], node: Node, values: list[Any]) -> Iterator[tuple[tuple[str, ...], Node, list[Any]]]:
    match node.kind:
        case "object":
            for name, each in node.parts:
                yield from _leaves((*steps, f".{name}"), each, [None if it is None else it[name] for it in values])
        case "array":
            yield from _leaves((*steps, "[]"), node.parts[0][1], [one for it in values for one in it or ()])
        case "map":
            yield from _leaves((*steps, "{value}"), node.parts[0][1], [one for it in values for _, one in it or ()])
        case _:
            yield steps, node, values


def _written(node: Node) -> dict[str, Any]:
    match node.kind:
        case "object":
            return {
                "logicalType": "object",
                "properties": [{"name": name} | _written(each) for name, each in node.parts],
            }
        case "array":
            return {"logicalType": "array", "items": _written(node.parts[0][1])}
        case "map":
            return {
                "logicalType": "map",
                "map": {"key": {"logicalType": "string"}, "value": _written(node.parts[0][1])},
            }
        case _:
            return {"logicalType": "integer", "logicalTypeOptions": {"minimum": node.bound}}


def _arrow(node: Node) -> pa.DataType:
    match node.kind:
        case "object":
            return pa.struct([(name, _arrow(each)) for name, each in node.parts])
        case "array":
            return pa.list_(_arrow(node.parts[0][1]))
        case "map":
            return pa.map_(pa.string(), _arrow(node.parts[0][1]))
        case _:
            return pa.int64()


def _as_json(node: Node, value: Any) -> Any:
    if value is None:
        return None
    match node.kind:
        case "object":
            return {name: _as_json(each, value[name]) for name, each in node.parts}
        case "array":
            return [_as_json(node.parts[0][1], each) for each in value]
        case "map":
            return {key: _as_json(node.parts[0][1], each) for key, each in value}
        case _:
            return value
