"""A dataset of a contract compiled into its plan: every rule becomes at least one check, in the order of the document.

A rule that cannot be measured becomes a check that is only named (`skip`), with its reason. A rule that cannot mean anything
(a bound that is no number, a pattern that does not translate, a column that does not exist) is a problem of the document; all
problems are raised at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.errors import ContractError, Problem
from contracts.model import Format
from contracts.parts import of_parts, planned
from contracts.plan import Plan
from contracts.rules.custom import columns_of
from contracts.rules.table import compile_rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contracts.check import Check
    from contracts.model import Contract, Dataset, Field, Rule


def compile_plan(contract: Contract, dataset: Dataset) -> Plan:
    """The plan of one dataset; ContractError carries every problem of its rules."""
    checks: list[Check] = []
    problems: list[Problem] = []
    whole = contract.dataset(dataset.name) or dataset
    planned_fields = planned(dataset.fields, with_inner=dataset.storage.format is not Format.CSV)
    by_name = {field.name: field for field in planned_fields}
    for rule in dataset.rules:
        try:
            fields = _fields(dataset, rule)
            checks += of_parts(rule, fields, compile_rule(contract, whole, rule, fields), by_name)
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError(tuple(problems))
    return Plan(
        contract=contract.id,
        contract_version=contract.version,
        dataset=dataset.name,
        fields=planned_fields,
        checks=tuple(_named_once(checks)),
        policy=dataset.policy,
        csv=dataset.csv,
        storage=dataset.storage,
    )


def _fields(dataset: Dataset, rule: Rule) -> tuple[Field, ...]:
    named = (*rule.fields, *(columns_of(rule) if rule.kind == "custom" else ()))
    found = {name: dataset.field(name) for name in named}
    unknown = [name for name, field in found.items() if field is None]
    if unknown:
        message = f"the rule names a column that {dataset.name} does not declare: {', '.join(unknown)}"
        raise ContractError((Problem("unknown-column", rule.origin.path, rule.origin.line, message),))
    return tuple(field for field in found.values() if field is not None)


def _named_once(checks: Iterable[Check]) -> Iterable[Check]:
    """Checks whose ids differ: rules of one document may share an id, results may not."""
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.id] = seen.get(check.id, 0) + 1
        yield check if seen[check.id] == 1 else replace(check, id=f"{check.id}~{seen[check.id]}")
