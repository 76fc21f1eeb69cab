"""A dataset of a contract compiled into its plan: every rule becomes at least one check, in the order of the document.

A rule that cannot be measured becomes a check that is only named (`skip`), with its reason. A rule that is ambiguous, or would
be judged wrongly (a bound that is no number, a pattern that does not translate), is a problem of the document; all problems are
raised at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contracts.errors import ContractError, Problem
from contracts.model import Format
from contracts.parts import of_parts, planned
from contracts.plan import Plan
from contracts.rules.build import NEVER_MEASURED, skipped
from contracts.rules.custom import columns_of
from contracts.rules.table import compile_rule
from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contracts.check import Check
    from contracts.model import Contract, Dataset, Field, Rule
    from contracts.plan import PlanField

BY_ARGUMENTS = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "sql", "serviceLevel", "foreignKey")
MOST_HINTS = 3


@dataclass(frozen=True, slots=True)
class Compiled:
    """The checks of some rules, and what is wrong with the rules."""

    fields: tuple[PlanField, ...]
    checks: tuple[Check, ...]
    refused: tuple[Problem, ...]
    """Why the document cannot be used."""
    unmeasured: tuple[Problem, ...]
    """Why rules are only named; their checks are skipped."""


def compile_plan(contract: Contract, dataset: Dataset) -> Plan:
    """The plan of one dataset; ContractError carries every problem that keeps the document from being used."""
    compiled = compile_rules(contract, dataset)
    if compiled.refused:
        raise ContractError(compiled.refused)
    return Plan(
        contract=contract.id,
        contract_version=contract.version,
        dataset=dataset.name,
        fields=compiled.fields,
        checks=tuple(_named_once(compiled.checks)),
        policy=dataset.policy,
        csv=dataset.csv,
        storage=dataset.storage,
    )


def compile_rules(contract: Contract, dataset: Dataset) -> Compiled:
    """Every rule of a dataset, compiled; problems are collected."""
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
            checks.append(skipped(rule, (), error.problems[0].message.rstrip(".")))
    refused = tuple(each for each in problems if each.code not in NEVER_MEASURED)
    unmeasured = tuple(each for each in problems if each.code in NEVER_MEASURED)
    return Compiled(planned_fields, tuple(checks), refused, unmeasured)


def _fields(dataset: Dataset, rule: Rule) -> tuple[Field, ...]:
    """The fields that a rule stands at, and those that its arguments name."""
    named = (*rule.fields, *(columns_of(rule) if rule.kind == "custom" else ()))
    found = {name: dataset.field(name) for name in named}
    unknown = [name for name, field in found.items() if field is None]
    if unknown:
        is_own = set(unknown) & set(rule.fields) and not names_by_arguments(rule)
        hints = "".join(did_you_mean(name, [each.name for each in dataset.fields]) for name in unknown[:MOST_HINTS])
        message = f"{shown(dataset.name)} does not declare {', '.join(map(shown, unknown))}.{hints}"
        code = "unknown-column" if is_own else "undeclared-column"
        raise ContractError((Problem(code, rule.origin.path, rule.origin.line, message),))
    return tuple(field for field in found.values() if field is not None)


def names_by_arguments(rule: Rule) -> bool:
    """Whether a rule names its fields by arguments, as metrics and service levels do, and not as its subject."""
    return rule.kind in BY_ARGUMENTS


def _named_once(checks: Iterable[Check]) -> Iterable[Check]:
    """Checks whose ids differ: rules of one document may share an id, results may not."""
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.id] = seen.get(check.id, 0) + 1
        yield check if seen[check.id] == 1 else replace(check, id=f"{check.id}~{seen[check.id]}")
