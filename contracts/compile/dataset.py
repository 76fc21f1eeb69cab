"""Compiles a dataset of a contract to its plan: every rule becomes at least one check, in the order of the document.

A rule that cannot be measured becomes a check with the status `skip` and a reason. An ambiguous or invalid rule (a bound that is
not a number, a pattern that cannot be translated) is a problem of the document; all problems are raised at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.compile.about import dataset_about
from lakegate.contracts.compile.rules.build import NEVER_MEASURED, skipped
from lakegate.contracts.compile.rules.custom import columns_of, optional_columns_of
from lakegate.contracts.compile.rules.nested_fields import of_parts, planned
from lakegate.contracts.compile.rules.service_levels import promises_of, pull_schedule
from lakegate.contracts.compile.rules.table import compile_rule, is_by_field
from lakegate.contracts.compile.slices import merge_key
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.model.origin import FieldLineage
from lakegate.contracts.model.policy import Duplicates, MergeStrategy, PublishAs
from lakegate.contracts.model.storage import Format
from lakegate.contracts.plan.check import BY_SCHEDULE, Check
from lakegate.contracts.plan.plan import Plan, ScheduledCheck
from lakegate.contracts.words import did_you_mean, limited_hints, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.model.contract import Contract, Dataset, Field, Rule
    from lakegate.contracts.model.policy import Policy
    from lakegate.contracts.plan.plan import PlanField

BY_ARGUMENTS = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "sql", "serviceLevel", "foreignKey")
MAX_HINTS = 3


@dataclass(frozen=True, slots=True)
class Compiled:
    """The checks of some rules, and the problems of the rules."""

    fields: tuple[PlanField, ...]
    checks: tuple[Check, ...]
    refused: tuple[Problem, ...]
    """Errors: the document cannot be used."""
    unmeasured: tuple[Problem, ...]
    """Reasons of skipped rules."""
    schedules: tuple[str, ...]
    """By check: that of its rule; empty where it is measured with each delivery."""


def compile_plan(contract: Contract, dataset: Dataset) -> Plan:
    """The plan of one dataset; ContractError with all errors of its rules."""
    with limited_hints():
        compiled = compile_rules(contract, dataset)
    if compiled.refused:
        raise ContractError(compiled.refused)
    checks = tuple(zip(_named_once(compiled.checks), compiled.schedules, strict=True))
    return Plan(
        contract=contract.id,
        contract_version=contract.version,
        dataset=dataset.name,
        fields=compiled.fields,
        checks=tuple(with_delivery(each, schedule) for each, schedule in checks),
        policy=_policy(dataset),
        csv=dataset.csv,
        storage=dataset.storage,
        promises=promises_of(dataset.rules),
        lineage=tuple(_lineage(dataset.fields)),
        scheduled=tuple(ScheduledCheck(schedule, each) for each, schedule in checks if schedule and each.skip is None),
        about=dataset_about(contract.about) if dataset.policy.publish_as is PublishAs.PARQUET else None,
    )


def with_delivery(check: Check, schedule: str) -> Check:
    """A check as it is measured with a delivery: one of a rule with a schedule is skipped there."""
    return replace(check, skip=f"{BY_SCHEDULE}{schedule}") if schedule and check.skip is None else check


def _policy(dataset: Dataset) -> Policy:
    """The policy, with the schedule of what is pulled, and the key by which rows are merged.

    A snapshot may have the content of an earlier one.
    """
    policy = dataset.policy
    if policy.merge_strategy is not MergeStrategy.APPEND:
        policy = replace(policy, merge_key=merge_key(dataset))
    if policy.merge_strategy is MergeStrategy.SNAPSHOT:
        policy = replace(policy, duplicates=Duplicates.ACCEPT)
    if policy.pull is None or policy.pull.schedule:
        return policy
    return replace(policy, pull=replace(policy.pull, schedule=pull_schedule(dataset.rules)))


def _lineage(fields: tuple[Field, ...]) -> Iterator[FieldLineage]:
    for each in fields:
        if each.sources:
            yield FieldLineage(each.name, each.sources)
        yield from _lineage(each.parts)


def compile_rules(contract: Contract, dataset: Dataset) -> Compiled:
    """Compile all rules of a dataset and collect the problems."""
    problems: list[Problem] = []
    planned_fields = planned(dataset.fields, with_inner=dataset.storage.format is not Format.CSV)
    compiled = tuple(_each_rule(contract, dataset, planned_fields, problems))
    checks = tuple(check for _, of_rule in compiled for check in of_rule)
    schedules = tuple(rule.schedule for rule, of_rule in compiled for _ in of_rule)
    refused = tuple(dict.fromkeys(each for each in problems if each.code not in NEVER_MEASURED))
    unmeasured = tuple(dict.fromkeys(each for each in problems if each.code in NEVER_MEASURED))
    return Compiled(planned_fields, checks, refused, unmeasured, schedules)


def checks_by_rule(contract: Contract, dataset: Dataset) -> Iterator[tuple[Rule, tuple[Check, ...]]]:
    """Each rule of a dataset with its checks; the check of a rule with a problem is skipped."""
    planned_fields = planned(dataset.fields, with_inner=dataset.storage.format is not Format.CSV)
    return _each_rule(contract, dataset, planned_fields, [])


def _each_rule(
    contract: Contract, dataset: Dataset, planned_fields: tuple[PlanField, ...], problems: list[Problem]
) -> Iterator[tuple[Rule, tuple[Check, ...]]]:
    """Compile rule by rule; problems are added to `problems`.

    Where a rule has a check for each of its fields, a field for which it cannot be measured leaves the others measured.
    """
    whole = contract.dataset(dataset.name) or dataset
    by_name = {field.name: field for field in planned_fields}
    by_place = {field.place: field for field in reversed(planned_fields)}

    def compiled(rule: Rule) -> tuple[Check, ...]:
        try:
            fields = _fields(dataset, rule)
            return of_parts(rule, fields, compile_rule(contract, whole, rule, fields), by_name, by_place)
        except ContractError as error:
            problems.extend(error.problems)
            return (skipped(rule, (), error.problems[0].message.rstrip(".")),)

    for rule in dataset.rules:
        apart = [replace(rule, fields=(name,)) for name in rule.fields] if is_by_field(rule) else []
        yield rule, tuple(check for each in apart or [rule] for check in compiled(each))


def _fields(dataset: Dataset, rule: Rule) -> tuple[Field, ...]:
    """The fields of a rule, and those in its arguments."""
    named = (*rule.fields, *(columns_of(rule) if rule.kind == "custom" else ()))
    optional = optional_columns_of(rule) if rule.kind == "custom" else ()
    found = {name: dataset.field(name) for name in named}
    unknown = [name for name, field in found.items() if field is None]
    if unknown:
        is_own = set(unknown) & set(rule.fields) and not names_by_arguments(rule)
        hints = "".join(did_you_mean(name, [each.name for each in dataset.fields]) for name in unknown[:MAX_HINTS])
        message = f"{shown(dataset.name)} does not declare {', '.join(map(shown, unknown))}.{hints}"
        code = "unknown-column" if is_own else "undeclared-column"
        raise ContractError((Problem(code, rule.origin.path, rule.origin.line, message),))
    found |= {name: dataset.field(name) for name in optional}
    return tuple(field for field in found.values() if field is not None)


def names_by_arguments(rule: Rule) -> bool:
    """Whether a rule has its fields in arguments, as metrics and service levels do."""
    return rule.kind in BY_ARGUMENTS


def _named_once(checks: Iterable[Check]) -> Iterable[Check]:
    """Checks with unique ids: rules of a document may share an id, results may not."""
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.id] = seen.get(check.id, 0) + 1
        yield check if seen[check.id] == 1 else replace(check, id=f"{check.id}~{seen[check.id]}")
