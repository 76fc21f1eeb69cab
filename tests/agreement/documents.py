"""Generated contracts: documents of ODCS, DCS and DCM over a draw of fields, with rules and options of every kind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.agreement.fields import FLAT, NESTED, NUMERIC, Field, literal
from tests.agreement.quality import of_dataset, of_field, options

Document = dict[str, Any]
DATASET = "orders"
REFERENCED = "shops"
"""Another dataset of the contract, to whose accepted data a field may refer."""
ODCS_TYPES: dict[str, Document] = {
    "decimal": {"logicalType": "number", "physicalType": "decimal(38,18)"},
    "decimal(38,0)": {"logicalType": "number", "physicalType": "decimal(38)"},
    "decimal(38,30)": {"logicalType": "number", "physicalType": "DECIMAL(38, 30)"},
    "binary": {"logicalType": "string", "physicalType": "bytes"},
    "day": {"logicalType": "date"},
}
DCS_TYPES = {"integer": "long", "binary": "bytes", "day": "string", "time": "string"}
DCS_DIGITS = {"decimal(38,0)": {"precision": 38}, "decimal(38,30)": {"precision": 38, "scale": 30}}
DCM_TYPES = {"integer": "bigint", "string": "text", "day": "text"}
TABLES = ("parquet", "orc", "avro")
CODECS = ("none", "none", "none", "gzip", "bzip2", "zstd")
CLASSIFICATIONS = (None, None, "public", "confidential")


def fields_of(draw: random.Random, form: str) -> list[Field]:
    """The fields of a contract for files of a format."""
    chosen = draw.sample(FLAT, draw.randint(3, 10))
    if form != "csv" and draw.random() < 0.6:
        chosen += draw.sample(NESTED, draw.randint(1, 2))
    return chosen


def extension(draw: random.Random) -> Document:
    """The `lakegate` extension: policy, file format and CSV dialect."""
    form = draw.choice(["csv", "csv", "csv", "jsonl", "jsonl", "json", "any-json", *TABLES])
    packed = {} if form in TABLES else {"compression": draw.choice(CODECS)}
    settings: Document = {"format": form, **packed, "allowEmpty": draw.random() < 0.5}
    settings |= {
        "additionalFields": draw.choice(["allow", "warn", "forbid"]),
        "mode": draw.choice(["enforce", "observe"]),
    }
    if form in {"csv", "jsonl", *TABLES} and packed.get("compression") != "zstd" and draw.random() < 0.25:
        settings |= {"onReject": "rows", "maxRejectedShare": draw.choice([0.2, 0.9, 1]), "mode": "enforce"}
    if draw.random() < 0.1:
        settings["samples"] = False
    aside = random.Random(repr(draw.getstate()))  # what a seed draws beside this stays what it was
    if form == "csv":
        settings["csv"] = _csv(draw) | ({"skipRows": aside.randint(1, 3)} if aside.random() < 0.5 else {})
    if form == "json" and aside.random() < 0.5:
        settings["records"] = aside.choice(["data", "result.items", "a b.data"])
    return settings


def _csv(draw: random.Random) -> Document:
    chosen = {
        "delimiter": draw.choice([";", "\t", "|"]),
        "quote": "'",
        "header": False,
        "encoding": draw.choice(["us-ascii", "iso-8859-1", "windows-1252"]),
        "nullValues": draw.sample(["NULL", "N/A", "-"], draw.randint(1, 2)),
        "multiLine": True,
    }
    return {name: value for name, value in chosen.items() if draw.random() < 0.35}


def odcs(draw: random.Random, fields: Sequence[Field], settings: Document) -> Document:
    """An ODCS document."""
    schema: Document = {"name": DATASET, "customProperties": [{"property": "lakegate", "value": settings}]}
    schema["properties"] = [_property(draw, each) for each in fields]
    keys = draw.sample(schema["properties"], draw.randint(1, 2)) if draw.random() < 0.3 else []
    for position, each in enumerate(keys, 1):
        each |= {"primaryKey": True, "primaryKeyPosition": position}
    rules = [of_dataset(draw, fields) for _ in range(draw.randint(2, 8))]
    schema["quality"] = [each for each in rules if each]
    other = {"name": REFERENCED, "properties": [{"name": "key", "logicalType": "string"}]}
    document = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "agreement",
        "version": "1.0.0",
        "status": "active",
        "schema": [schema, other],
    }
    moments = [each.name for each in fields if each.kind in {"timestamp", "date"}]
    if moments and draw.random() < 0.3:
        level = {"property": draw.choice(["freshness", "retention"]), "value": draw.choice([1, 30, 900]), "unit": "d"}
        document["slaProperties"] = [level | {"element": f"{DATASET}.{draw.choice(moments)}"}]
    texts = [each for each in schema["properties"] if each["name"] in {"id", "status", "name", "note"}]
    if texts and draw.random() < 0.25:
        draw.choice(texts)["relationships"] = [{"to": f"{REFERENCED}.key"}]
    return document


def _property(draw: random.Random, field: Field) -> Document:
    settings: Document = {"name": field.name} if field.name else {}
    settings |= ODCS_TYPES.get(field.kind, {"logicalType": field.kind})
    if field.kind in {"object", "array", "map"}:
        return settings | _parts(draw, field)
    settings |= {"logicalTypeOptions": own} if (own := _options(draw, field)) else {}
    for flag, share in (("required", 0.3), ("unique", 0.15)):
        if draw.random() < share:
            settings[flag] = True
    if field.kind in {"string", "boolean", "integer"} and draw.random() < 0.15:
        listed = {str(value): value for value in (literal(draw, field.kind) for _ in range(3))}
        settings["enum"] = [{"value": value} for value in listed.values()]
    if (word := draw.choice(CLASSIFICATIONS)) is not None:
        settings["classification"] = word
    if field.kind != "day" and draw.random() < 0.35:
        settings["quality"] = [of_field(draw, field) for _ in range(draw.randint(1, 2))]
    return settings


def _options(draw: random.Random, field: Field) -> Document:
    return options(draw, field.kind) if field.kind == "day" or draw.random() < 0.4 else {}


def _parts(draw: random.Random, field: Field) -> Document:
    if field.kind == "object":
        return {"properties": [_property(draw, each) for each in field.parts]}
    item = _property(draw, field.parts[0])
    if field.kind == "array":
        return {"items": item}
    return {"map": {"key": {"logicalType": "string"}, "value": item}}


def dcs(draw: random.Random, fields: Sequence[Field], settings: Document) -> Document:
    """A DCS document of the fields without parts."""
    flat = [each for each in fields if not each.parts]
    rules = [of_dataset(draw, flat) for _ in range(draw.randint(2, 8))]
    model = {
        "config": {"lakegate": settings},
        "fields": {each.name: _dcs_field(draw, each) for each in flat},
        "quality": [each for each in rules if each],
    }
    info = {"title": "Agreement", "version": "1.0.0"}
    return {"dataContractSpecification": "1.2.1", "id": "agreement", "info": info, "models": {DATASET: model}}


def _dcs_field(draw: random.Random, field: Field) -> Document:
    settings: Document = {
        "type": DCS_TYPES.get(field.kind, field.kind.partition("(")[0]),
        "required": draw.random() < 0.3,
    }
    settings |= DCS_DIGITS.get(field.kind, {})
    settings |= {"unique": True} if draw.random() < 0.15 else {}
    settings |= (
        {"quality": [of_field(draw, field)]} if field.kind in {"string", *NUMERIC} and draw.random() < 0.4 else {}
    )
    if field.kind in {"string", "integer", "number"} and draw.random() < 0.4:
        settings |= {name: value for name, value in options(draw, field.kind).items() if name != "multipleOf"}
    return settings


def dcm(draw: random.Random, fields: Sequence[Field], settings: Document) -> Document:
    """A DCM document of the fields without parts: metrics with tolerances."""
    flat = [each for each in fields if not each.parts]
    columns = [
        {"name": each.name, "dataType": DCM_TYPES.get(each.kind, each.kind.partition("(")[0])}
        | ({"constraint": draw.choice(["UNIQUE", "NOT_NULL"])} if draw.random() < 0.3 else {})
        for each in flat
    ]
    rules = [{"id": f"r{at}", "name": f"r{at}"} | _dcm_rule(draw, flat) for at in range(draw.randint(3, 9))]
    return {
        "specVersion": "0.1.3",
        "kind": "DataContract",
        "id": "agreement-1.0.0",
        "name": "Agreement",
        "version": "1.0.0",
        "description": "Generated.",
        "tags": [],
        "dataSharingAgreements": {},
        "consumer": {"name": "c", "group": "g"},
        "producer": {"name": "p", "group": "g"},
        "access": {"eventType": "push", "protocol": "HTTP", "location": "/", "accessConfiguration": {}},
        "dataset": {"name": DATASET, "schema": columns},
        "specific": {"lakegate": settings},
        "quality": rules,
    }


def _dcm_rule(draw: random.Random, fields: Sequence[Field]) -> Document:
    numbers = [each for each in fields if each.kind in NUMERIC] or list(fields)
    kind = draw.choice(["size", "mean", "stdev", "complete", "unique", "min", "max", "allowedValues"])
    warn, fail = sorted(draw.sample([0.01, 0.05, 0.1, 0.3, 0.6], 2))
    severity = draw.choice(
        [{}, {"fail": {"tolerance": fail}}, {"warn": {"tolerance": warn}, "fail": {"tolerance": fail}}]
    )
    tolerant: Document = {"severity": severity} if severity else {}
    match kind:
        case "size":
            return {"type": kind, "parameter": draw.choice([5, 10, 20]), **tolerant}
        case "complete":
            return {
                "type": kind,
                "columns": [draw.choice(fields).name],
                "parameter": draw.choice([0.5, 0.9, 1]),
                **tolerant,
            }
        case "unique":
            named = draw.sample(fields, min(len(fields), draw.randint(1, 2)))
            return {"type": kind, "columns": [each.name for each in named], **tolerant}
        case "allowedValues":
            field = draw.choice(fields)
            listed = {str(value): value for value in (literal(draw, field.kind) for _ in range(3))}
            return {"type": kind, "columns": [field.name], "parameter": list(listed.values())}
        case _:
            field = draw.choice(numbers)
            return {"type": kind, "columns": [field.name], "parameter": draw.choice([0.5, 1, 5, 20]), **tolerant}


def document(draw: random.Random, fields: Sequence[Field], settings: Document) -> Document:
    """A document of one of the formats, most often of ODCS."""
    return draw.choice([odcs, odcs, odcs, odcs, dcs, dcm])(draw, fields, settings)
