"""Plan of a dataset: every rule becomes checks, nested fields included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from lakegate.base.errors import ContractError, Problem
from lakegate.base.extension_points import load_extensions
from lakegate.base.text import did_you_mean, limit_hints, quote
from lakegate.contract.contract_model import (
    NESTED_KIND,
    NO_SHAPE,
    Contract,
    Dataset,
    Field,
    FieldLineage,
    Rule,
    Shape,
    shape_of,
)
from lakegate.contract.field_paths import column_name, step_to
from lakegate.contract.file_formats import Format
from lakegate.contract.named_fields import AMBIGUOUS, ambiguous
from lakegate.contract.service_levels import service_levels_of
from lakegate.plan.check import Check, Tier
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField, ScheduledCheck
from lakegate.plan.predicates import All, Not, Present
from lakegate.rules.check_builder import NEVER_MEASURED, Checks, Fields, skip_check
from lakegate.rules.rule_kinds import columns_of, compile_rule, is_by_field, optional_columns_of

if TYPE_CHECKING:
    ByPlace: TypeAlias = dict[tuple[str, ...], PlanField]

    PlanData: TypeAlias = Callable[[Contract, Dataset, Plan], Plan]
    """A row of the extension point `plan data`: adds to the plan of a dataset what a feature needs to know of its contract."""

# ---- Nested fields ----
# A list has a nesting *level* of its own: `items[].sku` is not a value of a row but of each element, so that its checks are
# measured over elements. Fields of records (`address.street`) are values of their row. A nested field is required only if its
# parent is present: a row without an address has no street.


OF_WHOLE = ("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "requiredMember")
"""Kinds of rules about a whole list, map or object."""
NO_PARTS = "a CSV file has no parts of values to measure"
OF_UNION = "which of the types of a union a value has is not measured"
SEVERAL_LEVELS = "fields of several levels of a value are not measured together"


def with_parts(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields, each followed by its nested fields."""
    for field in fields:
        yield field
        yield from with_parts(field.parts)


def plan_fields(fields: Fields, *, with_inner: bool) -> tuple[PlanField, ...]:
    """The fields of a plan, columns first; nested fields only if the file format supports them."""
    columns = [(field, (f".{column_name(field.name)}",)) for field in fields]
    inner = [each for field, path in columns for each in _inner(field, path)] if with_inner else []
    return tuple(
        PlanField(
            field.name,
            f"c{ordinal}",
            field.type,
            field.classification,
            shape_of(field) if with_inner else Shape.VALUE,
            path if path != (f".{field.name}",) else (),
            field.physical if len(path) == 1 and field.physical != field.own_name else None,
            field.scale,
        )
        for ordinal, (field, path) in enumerate([*columns, *inner])
    )


def _inner(field: Field, path: tuple[str, ...]) -> Iterator[tuple[Field, tuple[str, ...]]]:
    for part in field.parts:
        step = step_to(part.name)
        place = (*path, f"{{{step[1:]}}}" if shape_of(field) is Shape.MAP else step)
        yield part, place
        yield from _inner(part, place)


def of_parts(rule: Rule, fields: Fields, checks: Checks, plan: dict[str, PlanField], by_place: ByPlace) -> Checks:
    """The checks of a rule; those that cannot be measured at the level of their fields are skipped.

    `plan` has the planned fields by their names, `by_place` by their places.
    """
    if any(field.name not in plan for field in fields):
        return (skip_check(rule, fields, NO_PARTS),)
    if rule.kind in OF_WHOLE and any(plan[field.name].shape is Shape.VALUE for field in fields):
        return tuple(check if check.skip else skip_check(rule, fields, NO_PARTS) for check in checks)
    if rule.kind == NESTED_KIND and any((field.declared or "").lower() == "union" for field in fields):
        return tuple(replace(check, skip=check.skip or OF_UNION) for check in checks)
    if rule.kind == NESTED_KIND and any(plan[field.name].shape in {Shape.VALUE, Shape.ANY} for field in fields):
        return tuple(replace(check, skip=check.skip or NO_SHAPE) for check in checks)
    return tuple(_placed(check, plan, by_place) for check in checks)


def _placed(check: Check, plan: dict[str, PlanField], by_place: ByPlace) -> Check:
    levels = {plan[name].level for name in check.reads} | (set() if check.fields else {()})
    if check.skip is None and (len(levels) > 1 or (check.metric.is_query and levels - {()})):
        return replace(check, skip=SEVERAL_LEVELS)
    accept = _of_parent(check.accept, plan, by_place) if check.metric is Metric.FAILING_ROWS else check.accept
    return replace(check, accept=accept, of_elements=levels - {()} != set())


def _of_parent(tier: Tier, plan: dict[str, PlanField], by_place: ByPlace) -> Tier:
    """A nested field must be present if its parent is."""
    if not isinstance(tier.predicate, Present):
        return tier
    field = plan[tier.predicate.field]
    parent = by_place.get(field.place[:-1])
    if parent is None or parent.level != field.level:
        return tier
    return replace(tier, predicate=Not(All((Present(parent.name), Not(tier.predicate)))))


# ---- From a dataset to its plan ----
# A rule that cannot be measured becomes a check with the status `skip` and a reason. An ambiguous or invalid rule (a bound that
# is not a number, a pattern that cannot be translated) is a problem of the document; all problems are raised at once.


OF_ZONES = ("offset", "timezone")
"""Kinds of rules about the zone of moments."""
BY_ARGUMENTS = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "sql", "serviceLevel", "foreignKey")
MAX_HINTS = 3


@dataclass(frozen=True, slots=True)
class Compiled:
    """The checks of some rules, and the problems of the rules."""

    fields: tuple[PlanField, ...]
    checks: Checks
    refused: tuple[Problem, ...]
    """Errors: the document cannot be used."""
    unmeasured: tuple[Problem, ...]
    """Reasons of skipped rules."""
    schedules: tuple[str, ...]
    """By check: that of its rule; empty where it is measured with each delivery."""


def compile_plan(contract: Contract, dataset: Dataset) -> Plan:
    """The plan of one dataset; ContractError with all errors of its rules."""
    with limit_hints():
        compiled = compile_rules(contract, dataset)
    if compiled.refused:
        raise ContractError(compiled.refused)
    checks = tuple(zip(_named_once(compiled.checks), compiled.schedules, strict=True))
    zones = {} if dataset.storage.format.is_text else dict(_zones(dataset.rules))
    plan = Plan(
        contract=contract.id,
        contract_version=contract.version,
        dataset=dataset.name,
        fields=tuple(replace(field, zone=zones.get(field.name)) for field in compiled.fields),
        checks=tuple(with_delivery(check, schedule) for check, schedule in checks),
        policy=dataset.policy,
        csv=dataset.csv,
        storage=dataset.storage,
        service_levels=service_levels_of(dataset.rules),
        lineage=tuple(_lineage(dataset.fields)),
        scheduled=tuple(
            ScheduledCheck(schedule, check) for check, schedule in checks if schedule and check.skip is None
        ),
    )
    of_features: Iterator[PlanData] = load_extensions("plan data")
    for feature in of_features:
        plan = feature(contract, dataset, plan)
    return plan


def _zones(rules: Iterable[Rule]) -> Iterator[tuple[str, bool]]:
    """The fields whose moments are to have a zone or none."""
    for rule in rules:
        if rule.kind in OF_ZONES:
            yield from ((name, rule.arguments.get("value") is not False) for name in rule.fields)


def with_delivery(check: Check, schedule: str) -> Check:
    """A check as it is measured with a delivery: one of a rule with a schedule is skipped there."""
    return replace(check, skip=f"measured by schedule: {schedule}") if schedule and check.skip is None else check


def _lineage(fields: Fields) -> Iterator[FieldLineage]:
    for field in fields:
        if field.sources:
            yield FieldLineage(field.name, field.sources)
        yield from _lineage(field.parts)


def compile_rules(contract: Contract, dataset: Dataset) -> Compiled:
    """Compile all rules of a dataset and collect the problems."""
    problems: list[Problem] = []
    planned_fields = plan_fields(dataset.fields, with_inner=dataset.storage.format is not Format.CSV)
    compiled = tuple(_each_rule(contract, dataset, planned_fields, problems))
    checks = tuple(check for _, of_rule in compiled for check in of_rule)
    schedules = tuple(rule.schedule for rule, of_rule in compiled for _ in of_rule)
    refused = tuple(dict.fromkeys(problem for problem in problems if problem.code not in NEVER_MEASURED))
    unmeasured = tuple(dict.fromkeys(problem for problem in problems if problem.code in NEVER_MEASURED))
    return Compiled(planned_fields, checks, refused, unmeasured, schedules)


def checks_by_rule(contract: Contract, dataset: Dataset) -> Iterator[tuple[Rule, Checks]]:
    """Each rule of a dataset with its checks; the check of a rule with a problem is skipped."""
    planned_fields = plan_fields(dataset.fields, with_inner=dataset.storage.format is not Format.CSV)
    return _each_rule(contract, dataset, planned_fields, [])


def _each_rule(
    contract: Contract, dataset: Dataset, planned_fields: tuple[PlanField, ...], problems: list[Problem]
) -> Iterator[tuple[Rule, Checks]]:
    """Compile rule by rule; problems are added to `problems`.

    Where a rule has a check for each of its fields, a field for which it cannot be measured leaves the others measured.
    """
    whole = contract.dataset(dataset.name) or dataset
    by_name = {field.name: field for field in planned_fields}
    by_place = {field.place: field for field in reversed(planned_fields)}

    def compiled(rule: Rule) -> Checks:
        try:
            fields = _fields(dataset, rule)
            return of_parts(rule, fields, compile_rule(contract, whole, rule, fields), by_name, by_place)
        except ContractError as error:
            problems.extend(error.problems)
            return (skip_check(rule, (), error.problems[0].message.rstrip(".")),)

    for rule in dataset.rules:
        apart = [replace(rule, fields=(name,)) for name in rule.fields] if is_by_field(rule) else []
        yield rule, tuple(check for each in apart or [rule] for check in compiled(each))


def _fields(dataset: Dataset, rule: Rule) -> Fields:
    """The fields of a rule, and those in its arguments."""
    required, optional = (columns_of(rule), optional_columns_of(rule)) if rule.kind == "custom" else ((), ())
    own = {name: dataset.field(name) for name in rule.fields}
    called = {name: _named(dataset, rule, name) for name in (*required, *optional)}
    unknown: list[str] = [name for name, field in own.items() if field is None]
    unknown += [name for name in dict.fromkeys(required) if called[name] is None]
    if unknown:
        is_own = set(unknown) & set(rule.fields) and not names_by_arguments(rule)
        hints = "".join(did_you_mean(name, [field.name for field in dataset.fields]) for name in unknown[:MAX_HINTS])
        message = f"{quote(dataset.name)} does not declare {', '.join(map(quote, unknown))}.{hints}"
        code = "unknown-column" if is_own else "undeclared-column"
        raise ContractError((Problem(code, rule.origin.path, rule.origin.line, message),))
    fields = (field for field in (*own.values(), *called.values()) if field is not None)
    return tuple({field.name: field for field in fields}.values())


def _named(dataset: Dataset, rule: Rule, text: str) -> Field | None:
    """The field that a call names; ContractError where that may be one of two."""
    fields = dataset.named(text)
    if len(fields) > 1:
        message = ambiguous(text, (field.name for field in fields))
        raise ContractError((Problem(AMBIGUOUS, rule.origin.path, rule.origin.line, message),))
    return fields[0] if fields else None


def names_by_arguments(rule: Rule) -> bool:
    """Whether a rule has its fields in arguments, as metrics and service levels do."""
    return rule.kind in BY_ARGUMENTS


def _named_once(checks: Iterable[Check]) -> Iterable[Check]:
    """Checks with unique ids: rules of a document may share an id, results may not."""
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.id] = seen.get(check.id, 0) + 1
        yield check if seen[check.id] == 1 else replace(check, id=f"{check.id}~{seen[check.id]}")
