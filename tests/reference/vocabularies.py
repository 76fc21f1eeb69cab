"""What becomes of each word of other tools, found by compiling a rule that has it; the tables of docs/vocabularies.md.

The lists of words are in `vocabularies.yaml`, by the references of the tools. `python -m tests.reference.tables` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Contract
from lakegate.features.convert import dbt_manifest
from lakegate.features.deequ.deequ_constraints import CONSTRAINTS
from lakegate.features.great_expectations.expectations import EXPECTATIONS
from lakegate.features.great_expectations.expectations import NAMED as ONLY_NAMED
from lakegate.features.soda.soda_checks import MISSING, UNJUDGED_CONDITIONS, VALIDITY
from lakegate.lints.linter import examine
from lakegate.plan.check import Check
from lakegate.rules.compile_plan import compile_plan
from tests.reference.cases import contract_of, rule_of

FIELDS = {"a": "string", "b": "string", "n": "number", "m": "number", "t": "timestamp"}
ENGINES = {
    "soda-3": "soda",
    "soda-4": "soda",
    "sodacl": "soda",
    "great-expectations": "great-expectations",
    "deequ": "deequ",
}
DOCUMENTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "odcs": lambda rule: {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "x",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": "rows",
                "properties": [{"name": name, "logicalType": kind} for name, kind in FIELDS.items()],
                "quality": [rule],
            }
        ],
    },
    "dcs": lambda rule: {
        "dataContractSpecification": "1.2.1",
        "id": "x",
        "info": {"title": "x", "version": "1.0.0"},
        "models": {
            "rows": {"fields": {name: {"type": kind} for name, kind in FIELDS.items()}, "quality": [rule]},
        },
    },
}
"""A document with one rule of quality, by its format."""
VOCABULARIES = (*ENGINES, "dbt", *DOCUMENTS)
KNOWN = {
    "great-expectations": {*EXPECTATIONS, *ONLY_NAMED},
    "deequ": {*CONSTRAINTS},
    "sodacl": {*MISSING, *VALIDITY, *UNJUDGED_CONDITIONS},
}
"""What the code reads or names, by vocabulary."""
READ, NAMED, REFUSED, NO_EFFECT = "read", "named", "refused", "no effect on the data"


@dataclass(frozen=True)
class Word:
    """A word of a tool, and what becomes of it."""

    key: str
    outcome: str
    why: str = ""


@cache
def words(vocabulary: str) -> tuple[Word, ...]:
    """The words of a vocabulary, in the order of its list."""
    path = Path(__file__).with_name("vocabularies.yaml")
    lines = yaml.load(path.read_text(), yaml.CSafeLoader)[vocabulary]
    if vocabulary == "dbt":
        return tuple(Word(key, *_of_test(name, config)) for key, name, config in lines)
    if vocabulary in DOCUMENTS:
        return tuple(_of_quality(vocabulary, *line) for line in lines)
    return tuple(_of_call(ENGINES[vocabulary], *line) for line in lines)


def table(vocabulary: str) -> str:
    """Key, what becomes of it, and why; neighbours of which the same is true share a row."""
    rows: list[tuple[str, ...]] = [("key", "is", "why"), ("---",) * 3]
    for (outcome, why), group in groupby(words(vocabulary), key=lambda word: (word.outcome, word.why)):
        keys = ", ".join(each.key if "`" in each.key else f"`{each.key}`" for each in group)
        rows.append((keys, outcome, why))
    return "\n".join(f"| {' | '.join(each.replace('|', '¦') for each in row)} |" for row in rows)


def _of_call(engine: str, key: str, call: str, arguments: dict[str, Any], added: dict[str, Any] | None = None) -> Word:
    """Of a setting: whether the checks are those without it."""
    found = _compiled(engine, call, {**arguments, **(added or {})})
    if isinstance(found, str):
        return Word(key, REFUSED, found)
    skips = [check.skip for check in found if check.skip is not None]
    if skips:
        return Word(key, NAMED, skips[0])
    return Word(key, NO_EFFECT if added and found == _compiled(engine, call, arguments) else READ)


def _compiled(engine: str, call: str, arguments: dict[str, Any]) -> tuple[Check, ...] | str:
    rule = rule_of("custom", {"engine": engine, "call": call, "args": arguments}, ())
    contract = contract_of(FIELDS, replace(rule, fields=()))
    try:
        return compile_plan(contract, contract.datasets[0]).checks
    except ContractError as error:
        return error.problems[0].message


def _of_quality(form: str, key: str, rule: dict[str, Any], added: dict[str, Any] | None = None) -> Word:
    found = examine(json.dumps(DOCUMENTS[form]({**rule, **(added or {})})).encode())
    if found.errors:
        return Word(key, REFUSED, found.errors[0].message)
    if found.unmeasured:
        return Word(key, NAMED, found.unmeasured[0].message.removeprefix("The rule is named and not measured: "))
    checks = _of_dataset(found.contract)
    skips = [check.skip for check in checks if check.skip is not None]
    if skips:
        return Word(key, NAMED, skips[0])
    plain = examine(json.dumps(DOCUMENTS[form](rule)).encode())
    return Word(key, NO_EFFECT if added and checks == _of_dataset(plain.contract) else READ)


def _of_dataset(contract: Contract | None) -> list[Check]:
    """The checks of the rule of quality, without what only names them."""
    assert contract is not None
    checks = compile_plan(contract, contract.datasets[0]).checks
    return [replace(check, id="x", rule="x") for check in checks if check.kind != "type"]


def _of_test(name: str, config: dict[str, Any]) -> tuple[str, str]:
    """Of a configuration: whether the rules are those without it."""
    contract, lost = _read(name, config)
    if lost:
        return "listed", lost[0].partition(": ")[2]
    plain, _ = _read(name, {})
    return NO_EFFECT if config and contract.datasets == plain.datasets else READ, ""


def _read(name: str, config: dict[str, Any]) -> tuple[Contract, tuple[str, ...]]:
    namespace, _, plain = name.rpartition(".")
    given = {"accepted_values": {"values": ["x"]}, "relationships": {"to": "ref('orders')", "field": "id"}}
    about = {"name": plain, "namespace": namespace or None, "kwargs": {"column_name": "id", **given.get(plain, {})}}
    test = {"resource_type": "test", "attached_node": "model", "column_name": "id", "test_metadata": about}
    columns = {"id": {"name": "id", "data_type": "varchar"}}
    nodes = {
        "model": {"resource_type": "model", "name": "orders", "columns": columns},
        "test": test | {"config": config},
    }
    schema = "https://schemas.getdbt.com/dbt/manifest/v12.json"
    return dbt_manifest.read(json.dumps({"metadata": {"dbt_schema_version": schema}, "nodes": nodes}).encode(), "shop")
