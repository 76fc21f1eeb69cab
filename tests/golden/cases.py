"""Golden documents: a base and a patch each, in every version of its format, with what is read of them or why they are refused.

A case of `odcs.yaml`, `dcs.yaml` or `dcm.yaml`::

    - name: open bounds as numbers
      set: {'$.schema[0].properties[1].logicalTypeOptions': {exclusiveMinimum: 0}}      remove: [$.status]
      expect:
        v3.0.0 v3.0.1 v3.0.2: {errors: ['wrong-type @ $.schema[0].properties[1].logicalTypeOptions.exclusiveMinimum']}
        v3.1.0 v3.2.0: {added: ['orders: minimum(amount) exclusive=True value=0']}

`added` are the lines of the summary that the base has not, `removed` those of the base that are gone; `warnings` are their codes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.documents.document_tree import steps_of
from lakegate.lints.linter import Examined, examine

HERE = Path(__file__).parent
FILES = {"odcs": "apiVersion", "dcs": "dataContractSpecification", "dcm": "specVersion"}
Outcome = dict[str, list[str]]


@dataclass(frozen=True)
class Golden:
    """One document of one version, and what is expected of it."""

    id: str
    text: bytes
    base: bytes
    expected: Outcome


def golden(name: str) -> Iterator[Golden]:
    """All documents of a format."""
    file = yaml.load((HERE / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    for case in file["cases"]:
        for versions, expected in case["expect"].items():
            for version in versions.split():
                base = {**file["base"], FILES[name]: version}
                text = _written(_patched(base, case.get("set", {}), case.get("remove", [])))
                yield Golden(f"{name} {version}: {case['name']}", text, _written(base), expected)


@cache
def examined(text: bytes) -> Examined:
    """What reading a document finds, read once per process: three tests look at it, and hundreds of cases have one base."""
    return examine(text)


def outcome(text: bytes, base: bytes) -> Outcome:
    """What is read of a document beside its base's own lines, or its errors; and its warnings."""
    own, before = examined(text), examined(base)
    found: Outcome = {
        "warnings": sorted({each.code for each in own.warnings} - {each.code for each in before.warnings})
    }
    if own.errors:
        found["errors"] = [f"{each.code} @ {each.path}" for each in own.errors]
    elif own.contract is not None and before.contract is not None:
        lines, known = list(summary(own.contract)), list(summary(before.contract))
        found["added"] = [line for line in lines if line not in known]
        found["removed"] = [line for line in known if line not in lines]
    return {key: value for key, value in found.items() if value}


def summary(contract: Contract) -> Iterator[str]:
    """A contract in lines: what it is, its fields with their types, its rules with all they say."""
    yield f"{contract.id} {contract.version} {contract.status} {contract.name} {contract.about.owner}"
    yield from (f"server {server.name}: {server.type} {_plain(server.settings)}" for server in contract.about.servers)
    if contract.about.deprecation is not None:
        yield f"ends {contract.about.deprecation.sunset_date}, then {contract.about.deprecation.replacement}"
    for dataset in contract.datasets:
        yield from (f"{dataset.name}: {line}" for line in _dataset(dataset))


def _dataset(dataset: Dataset) -> Iterator[str]:
    policy = dataset.policy
    yield f"{policy.mode.value}, other fields {policy.additional_fields.value}, delimiter {dataset.csv.delimiter}"
    for field in dataset.fields:
        yield from _field(field)
    yield from map(_rule, dataset.rules)


def _field(field: Field) -> Iterator[str]:
    yield f"{field.name} is {field.type.value}"
    for part in field.parts:
        yield from _field(part)


def _rule(rule: Rule) -> str:
    words = [
        f"{rule.kind}({', '.join(rule.fields)})",
        *(f"{key}={_plain(rule.arguments[key])}" for key in sorted(rule.arguments)),
    ]
    if rule.name and rule.kind in {"nested", "text"}:
        words.append(f"'{rule.name}'")
    if rule.comparison is not None:
        operands = " ".join(f"{each:f}" for each in rule.comparison.operands)
        words.append(f"{rule.comparison.operator} {operands}{' percent' if rule.comparison.percent else ''}")
    tiers = (("warn", rule.tolerance.warn), ("fail", rule.tolerance.fail))
    words += [f"{name} {each:f}" for name, each in tiers if each is not None]
    return " ".join([*words, *(["only warns"] if rule.severity.value == "warn" else [])])


def _plain(value: object) -> str:
    return json.dumps(value, default=_jsonable, sort_keys=True)


def _jsonable(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return dict(value)  # type: ignore[call-overload]  # arguments hold mappings and numbers


def _written(document: Any) -> bytes:
    return json.dumps(document, indent=1, default=str).encode()


def _patched(base: Any, sets: dict[str, Any], removed: list[str]) -> Any:
    document = json.loads(json.dumps(base, default=str))
    for path, value in sets.items():
        *steps, last = steps_of(path)
        _holder(document, steps)[last] = value
    for path in removed:
        *steps, last = steps_of(path)
        del _holder(document, steps)[last]
    return document


def _holder(document: Any, steps: list[Any]) -> Any:
    for step in steps:
        document = document[step]
    return document
