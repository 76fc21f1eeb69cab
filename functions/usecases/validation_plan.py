"""The plan of a validation: the caller's rules, over the fields and the file format of the contract of the data.

The rules are read as those of a DCM document that has no other content, so that they mean what they mean in a contract, and are
refused for the same reasons. Nothing of the document is published.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.lint.examine import examine
from lakegate.contracts.model.policy import Policy
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Plan, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TYPES: Final[Mapping[LogicalType, str]] = {
    LogicalType.STRING: "string",
    LogicalType.INTEGER: "int",
    LogicalType.NUMBER: "number",
    LogicalType.DECIMAL: "decimal",
    LogicalType.BOOLEAN: "boolean",
    LogicalType.DATE: "date",
    LogicalType.TIME: "time",
    LogicalType.TIMESTAMP: "timestamp",
    LogicalType.BINARY: "binary",
}
"""Of DCM."""
FRAME: Final = {
    "specVersion": "0.1.3",
    "id": "validation",
    "name": "validation",
    "kind": "DataContract",
    "version": "1.0.0",
    "producer": {"name": "-", "group": "-"},
    "access": {"eventType": "push", "protocol": "HTTP", "location": "-", "accessConfiguration": {}},
}
"""What a document of DCM must have beside columns and rules."""
OF_RULE: Final = re.compile(r"\$\.quality\[(\d+)\](.*)", re.DOTALL)


def plan_of(base: Plan, rules: Sequence[Mapping[str, Any]]) -> Plan:
    """The plan of some rules in DCM's form (`ruleType` for `type`).

    Raises ContractError with the problems of all rules, by JSON Pointer into the request; a rule that cannot be measured is one.
    """
    columns = list(_columns(base, rules)) or [{"name": "-", "dataType": "string"}]
    quality = [{"name": each["id"], **_renamed(each)} for each in rules]
    document = {**FRAME, "dataset": {"name": base.dataset, "schema": columns}, "quality": quality}
    examined = examine(json.dumps(document).encode())
    if problems := examined.errors + examined.unmeasured:
        raise ContractError(tuple(map(_located, problems)))
    contract = examined.contract
    assert contract is not None
    (dataset,) = contract.datasets
    own = tuple(each for each in dataset.rules if OF_RULE.match(each.origin.path))
    dataset = replace(dataset, rules=own, csv=base.csv, storage=base.storage)
    compiled = compile_plan(replace(contract, datasets=(dataset,)), dataset)
    policy = Policy(samples=False, allow_empty=True)
    return replace(
        compiled, contract=base.contract, contract_version=base.contract_version, fields=base.fields, policy=policy
    )


def _columns(base: Plan, rules: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """The declared columns that rules name, in DCM's form; all of them where a rule may have some in its arguments."""
    named = {column for each in rules for column in each.get("columns") or ()}
    every = any(each["ruleType"] == "custom" for each in rules)
    for each in base.columns:
        if each.shape is Shape.VALUE and (every or each.name in named):
            yield {"name": each.name, "dataType": TYPES[each.type]}


def _renamed(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {"type" if name == "ruleType" else name: value for name, value in rule.items()}


def _located(problem: Problem) -> Problem:
    """The problem with the place of the rule in the request."""
    found = OF_RULE.match(problem.path)
    if found is None:
        return replace(problem, path="/validations")
    return replace(problem, path="".join(("/validations/", found[1], *_steps(found[2]))))


def _steps(path: str) -> Iterator[str]:
    for step in re.findall(r"[^.\[\]]+", path):
        yield f"/{'ruleType' if step == 'type' else step}"
