"""Rules that this version does not measure are bound to registered validators, when a contract is published.

A rule is bound if its technology is one that a validator answers, and the compiler has named it as not measured. So a rule that
the engines measure stays theirs. A rule that has a problem of its own (a column that is not declared) stays skipped, as does one
with a schedule: it is about all accepted data, of which validators get none.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from lakegate.contracts.compile.dataset import checks_by_rule, compile_rules
from lakegate.contracts.compile.rules.build import brief
from lakegate.contracts.lake.validators import folded
from lakegate.contracts.model.policy import DeliveryUnit, PublishAs
from lakegate.contracts.plan.check import NONE, Tier, Unit
from lakegate.contracts.plan.external import ExternalRule
from lakegate.contracts.plan.metrics import Metric

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.model.contract import Contract, Dataset, Rule
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan


LONGEST_RULE: Final = 32 << 10
"""Characters of a rule in DCM's form; a longer one stays skipped."""
LARGEST: Final = 2**63
"""Below it, whole numbers are written as such."""


@dataclass(frozen=True, slots=True)
class AnsweredTechnology:
    """A technology, and who answers its rules."""

    name: str
    """As it was registered."""
    validator: str


def with_validators(
    contract: Contract, dataset: Dataset, plan: Plan, answered: Mapping[str, AnsweredTechnology]
) -> Plan:
    """The plan with each rule bound that a validator answers; `answered`: by the folded name of a technology."""
    bound = list(_each_check(contract, dataset, answered))
    checks, external = [], []
    for check, (rule, by) in zip(plan.checks, bound, strict=True):
        checks.append(check if by is None else _measured(check, rule, by))
        if by is not None:
            external.append(ExternalRule(check.id, by.name, by.validator, _as_dcm(check, rule, by.name)))
    return replace(plan, checks=tuple(checks), external=tuple(external)) if external else plan


def bound_rules(contract: Contract, dataset: Dataset, answered: Mapping[str, AnsweredTechnology]) -> frozenset[str]:
    """The paths of the rules that are bound, which are not reported as not measured."""
    return frozenset(rule.origin.path for rule, by in _each_check(contract, dataset, answered) if by is not None)


def _each_check(
    contract: Contract, dataset: Dataset, answered: Mapping[str, AnsweredTechnology]
) -> Iterator[tuple[Rule, AnsweredTechnology | None]]:
    """The rule of each check of the plan, in its order, and who answers it."""
    policy = dataset.policy
    # only a delivery of one object that is published as it arrives is one address that a service can read
    is_one = policy.delivery is DeliveryUnit.OBJECT and policy.publish_as is PublishAs.ORIGINAL
    wrong = {problem.path for problem in compile_rules(contract, dataset).unmeasured} if answered else set()
    for rule, checks in checks_by_rule(contract, dataset):
        by = answered.get(_technology(rule)) if is_one else None
        is_skipped = all(each.skip is not None for each in checks)
        is_bound = bool(_call(rule)) and not rule.schedule and rule.origin.path not in wrong and is_skipped
        for check in checks:
            is_short = by is None or len(_as_dcm(check, rule, by.name)) <= LONGEST_RULE
            yield rule, by if is_bound and is_short else None


def _technology(rule: Rule) -> str:
    return folded(str(rule.arguments.get("engine", "")))


def _call(rule: Rule) -> str:
    return str(rule.arguments.get("call", "")).strip()


def _measured(check: Check, rule: Rule, by: AnsweredTechnology) -> Check:
    """The check of what the validator answers: no answer may say that the rule is broken; a warning only warns."""
    wanted = f"{brief(_call(rule))} (measured by {by.name})"
    return replace(
        check, metric=Metric.EXTERNAL, unit=Unit.VALUE, accept=Tier(NONE), tolerate=Tier(NONE), wanted=wanted, skip=None
    )


def _as_dcm(check: Check, rule: Rule, technology: str) -> str:
    """The rule as DCM's validators read it (DCM table A.3, `custom`), as JSON."""
    written = {
        "id": check.id,
        "name": rule.name or None,
        "dimension": rule.dimension,
        "ruleType": "custom",
        "technology": technology,
        "columns": list(check.fields) or None,
        "call": _call(rule),
        "args": _plain(rule.arguments.get("args") or {}),
    }
    return json.dumps(
        {name: value for name, value in written.items() if value is not None}, sort_keys=True, allow_nan=False
    )


def _plain(value: object) -> object:
    """A value of a document as JSON has it: exact numbers become numbers, anything else that JSON does not have a text."""
    if isinstance(value, Decimal):
        number = float(value) if value.is_finite() else math.inf
        if math.isinf(number):
            return str(value)
        return int(value) if abs(value) < LARGEST and value == value.to_integral_value() else number
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | bool | int) else str(value)
