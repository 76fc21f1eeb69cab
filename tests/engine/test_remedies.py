"""Remedies that messages name: each is a setting that lint accepts, and with which the same file is accepted."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from lakegate.contract.file_formats import Format, Storage
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from lakegate.verdict.verdict import ACCEPTING, Verdict
from tests.deliveries.delivery import Judged
from tests.deliveries.written import written
from tests.engine.formats import FIELDS, TABLE
from tests.reference.cases import only_plan

LOGICAL = {"decimal": "number"}
"""ODCS names of types, where they are others."""
SETTING = re.compile(r"\b((?:csv\.[A-Za-z]+|format|compression): (?:\[[^\]]*\]|\"[^\"]*\"|[a-z0-9-]+))")
NUMBERS = {"id": "integer", "price": "number"}
CASES: dict[str, tuple[dict[str, str], dict[str, Any], bytes]] = {
    "another delimiter": (NUMBERS, {}, b"id;price\n1;2.5\n"),
    "a tab": (NUMBERS, {"delimiter": ";"}, b"id\tprice\n1\t2.5\n"),
    "Windows-1252 in the header": ({"id": "integer", "größe": "string"}, {}, "id,größe\n1,a\n".encode("windows-1252")),
    "Windows-1252 in a value": ({"id": "integer", "name": "string"}, {}, "id,name\n1,5 €\n".encode("windows-1252")),
    "UTF-8 where another is declared": (
        {"id": "integer", "name": "string"},
        {"encoding": "us-ascii"},
        "id,name\n1,é\n".encode(),
    ),
    "a byte order mark in another encoding": (
        {"id": "integer", "name": "string"},
        {"encoding": "windows-1252"},
        "\ufeffid,name\n1,é\n".encode(),
    ),
    "no header": (NUMBERS, {}, b"1,2.5\n2,3\n"),
    "words without a header": ({"a": "string", "b": "string"}, {}, b"x,y\nz,w\n"),
    "a header that is not declared": (NUMBERS, {"header": False}, b"id,price\n1,2.5\n"),
    "a line break in quotes": ({"id": "integer", "name": "string"}, {}, b'id,name\n1,"a\nb"\n'),
    "a line break in the header": ({"id": "integer", "name": "string"}, {}, b'id,name,"free\nnote"\n1,a,b\n'),
    "a word for null": (NUMBERS, {}, b"id,price\n1,N/A\n2,N/A\n"),
    "an empty text": (NUMBERS, {}, b'id,price\n1,""\n'),
    "a decimal comma": (NUMBERS, {"delimiter": ";"}, b"id;price\n1;2,5\n2;-,25\n"),
    "a decimal comma and points": (NUMBERS, {"delimiter": ";"}, b"id;price\n1;1.234,5\n2;7,25\n"),
    "a decimal comma and blanks": (NUMBERS, {"delimiter": ";"}, "id;price\n1;1\u202f234,5\n".encode()),
    "thousands": (NUMBERS, {"delimiter": ";"}, b"id;price\n1,000;1,234.5\n2,000;3,000\n"),
    "thousands of whole numbers": (NUMBERS, {"delimiter": ";"}, b"id;price\n1.000;1\n2.000;3\n"),
    "Swiss thousands": (NUMBERS, {"delimiter": ";"}, b"id;price\n1;1'234.5\n"),
    "JSON lines": (NUMBERS, {}, b'{"id": 1, "price": 2.5}\n{"id": 2, "price": 3}\n'),
    "a JSON array": (NUMBERS, {}, b'[{"id": 1, "price": 2.5}, {"id": 2, "price": 3}]'),
    "a gzip": (NUMBERS, {}, gzip.compress(b"id,price\n1,2.5\n")),
    "a bzip2": (NUMBERS, {}, bz2.compress(b"id,price\n1,2.5\n")),
    **{
        f"a file of {form.value}": (FIELDS, {}, written(TABLE, Storage(form)))
        for form in (Format.PARQUET, Format.ORC, Format.AVRO)
    },
    "an array": (NUMBERS, {"format": "jsonl"}, b'[{"id": 1, "price": 2.5}]'),
    "lines of objects": (NUMBERS, {"format": "json"}, b'{"id": 1, "price": 2.5}\n{"id": 2}\n'),
}


def plan_with(fields: dict[str, str], extension: dict[str, Any]) -> Plan:
    """The plan of a contract that lint accepts."""
    properties = [{"name": name, "logicalType": LOGICAL.get(kind, kind)} for name, kind in fields.items()]
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "remedies",
        "version": "1.0.0",
        "status": "active",
        "schema": [{"name": "rows", "properties": properties}],
        "customProperties": [{"property": "lakegate", "value": extension}],
    }
    found = examine(yaml.safe_dump(document, allow_unicode=True).encode())
    assert found.errors == ()
    assert found.contract is not None
    return only_plan(found.contract)


@pytest.mark.parametrize("name", CASES)
def test_the_remedy_of_a_message_is_a_setting_with_which_the_file_is_accepted(
    name: str, judge_files: Callable[..., Judged]
) -> None:
    """Each setting that the reasons name is applied, linted, and the same file is judged again."""
    fields, settings, content = CASES[name]
    extension = {key: value for key, value in settings.items() if key == "format"}
    csv = {key: value for key, value in settings.items() if key != "format"}

    refused = judge_files(plan_with(fields, extension | ({"csv": csv} if csv else {})), content)
    named = [each.partition(": ") for each in SETTING.findall(refused.reasons)]
    for key, _, value in named:
        target, last = (csv, key.removeprefix("csv.")) if key.startswith("csv.") else (extension, key)
        target[last] = yaml.safe_load(value)
    again = judge_files(plan_with(fields, extension | ({"csv": csv} if csv else {})), content)

    assert refused.verdict is Verdict.REJECTED
    assert named, refused.reasons
    assert again.verdict in ACCEPTING, json.dumps([refused.reasons, extension, csv, again.reasons])
