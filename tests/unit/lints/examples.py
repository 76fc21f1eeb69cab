"""The good and bad examples of every code: parts of documents, merged into a base document."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import yaml

from lakegate.gate.registry.publish_contract import DocumentRefused, ReferredDocuments, compile_document
from lakegate.inheritance.inherited_documents import parents_by_name, resolve
from lakegate.lints.linter import Examined
from lakegate.lints.product_lints import examined_product
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow

CASES: list[dict[str, Any]] = yaml.load(Path(__file__).with_name("cases.yaml").read_text(), yaml.CSafeLoader)
BASES = {
    "dcm": Template("""\
specVersion: 0.1.3
id: x-p-$number
name: $name
kind: DataContract
version: $version
description: d
tags: []
producer: {name: p, group: g}
access: {eventType: $event, protocol: HTTP, location: /, accessConfiguration: {$files}}
dataSharingAgreements: {}
dataset: {name: d, schema: [{name: n, dataType: number}, {name: t, dataType: text}, {name: d, dataType: date}, $columns]}
quality: [$rules]
$top
"""),
    "product": Template("""\
metadata: {name: x, version: $version, owner: shop, description: d}
output_ports: [{name: t, description: d, columns: [{name: a, type: date, description: d}]}]
input_ports: [$inputs]
"""),
    "odcs": Template("""\
apiVersion: $apiVersion
kind: $kind
id: $id
version: $version
status$status
schema: $schema
$top
"""),
    "dcs": Template("""\
dataContractSpecification: $spec
id: x
info: {title: t, version: $version, $info}
models:
  m:
    fields: {n: {type: long}, t: {type: text}, d: {type: date}, $fields}
    $model
$top
"""),
}
OBJECT = Template("""
  - name: d
    properties: [{name: n, logicalType: number}, {name: t, logicalType: string}, {name: d, logicalType: date}, $properties]
    quality: [$quality]
    $objectKeys
""")
SCHEDULED = "{metric: rowCount, mustBe: 1, scheduler: cron, schedule: '0 6 * * *'}"
WORDS = {
    **dict.fromkeys(
        (
            "columns",
            "rules",
            "top",
            "properties",
            "quality",
            "objectKeys",
            "fields",
            "model",
            "info",
            "files",
            "inputs",
        ),
        "",
    ),
    "status": ": active",
    "name": "x",
    "id": "x",
    "kind": "DataContract",
    "version": "1.0.0",
    "event": "push",
    "apiVersion": "v3.1.0",
    "spec": "1.2.1",
}


def document(base: str, parts: dict[str, Any]) -> bytes:
    """The complete document: the base with replaced parts; or a text, repeated as often as the example requires."""
    if "latin" in parts:
        return str(parts["latin"]).encode("latin-1")
    if "text" in parts:
        return (str(parts["text"]) * int(parts.get("times", 1))).encode()
    if "scheduled" in parts:
        return document(base, {"quality": ", ".join([SCHEDULED] * parts["scheduled"])})
    words = WORDS | (_chain(parts["chain"]) if "chain" in parts else parts)
    words["number"] = str(words["version"]).strip('"')
    return BASES[base].substitute({"schema": OBJECT.substitute(words)} | words).encode()


def examined(case: dict[str, Any], side: str) -> Examined:
    """What is found in the bad or the good example of a case, which several tests look at."""
    key = repr((case, side))
    if key not in _EXAMINED:
        _EXAMINED[key] = _examined(case, side)
    return _EXAMINED[key]


_EXAMINED: dict[str, Examined] = {}


def _examined(case: dict[str, Any], side: str) -> Examined:
    """Its `parents` are documents by name.

    With the names of `workflows` that are published, it is what refuses to publish the example.
    """
    if case["base"] == "product":
        return examined_product(document(case["base"], case[side]), {"shop.orders"})
    parents = parents_by_name({name: document(case["base"], parts) for name, parts in case.get("parents", {}).items()})
    text = document(case["base"], case[side])
    if "workflows" in case:
        asks = (PlannedTransition("VALIDATING", "accepted", "AWAITING"),)
        named = {
            each: PlannedWorkflow(f"{each}.0.0", 3, asks if each.startswith("asking") else ())
            for each in case["workflows"]
        }
        lookups = {
            "workflows": lambda _, name: named.get(name),
            "external_validators": lambda _: {},
            "derived": lambda *_: None,
            "pull": lambda *_: False,
        }
        try:
            compile_document(text, ReferredDocuments(parents, lookups))
        except DocumentRefused as refused:
            return refused.examined
    return resolve(text, parents).examined


def _chain(length: int) -> dict[str, str]:
    """A field whose definition holds one field, whose definition holds one field, …"""
    links = [f"d{at}: {{type: record, fields: {{f: {{$ref: '#/definitions/d{at + 1}'}}}}}}" for at in range(length)]
    return {
        "fields": "x: {$ref: '#/definitions/d0'}",
        "top": f"definitions: {{{', '.join(links)}, d{length}: {{type: text}}}}",
    }
