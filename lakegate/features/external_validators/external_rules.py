"""Rules bound to a validator; validations started, reports merged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn

from lakegate.base.errors import InputError, PortError, Throttled, Unanswered
from lakegate.base.json_codec import sha256_of
from lakegate.contract.contract_model import Contract, Dataset, Rule
from lakegate.contract.delivery_policy import DeliveryUnit, PublishAs
from lakegate.contract.field_paths import column_name
from lakegate.features.external_validators.registered_validators import (
    Validators,
    ValidatorService,
    fold_technology,
    validator_named,
    validators_of,
)
from lakegate.features.external_validators.validator_client import ExternalValidation, services
from lakegate.gate.delivery.decide_verdict import Companion, Lost
from lakegate.gate.delivery.delivery_row import FailureCause, Workload
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import PublishedPlans
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.external_rule import ENGINE, AnsweredTechnology, ExternalRule
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.result import Measured, Measurement, ObservedValues, Result
from lakegate.rules.check_builder import brief
from lakegate.rules.compile_plan import checks_by_rule, compile_rules
from lakegate.verdict.measured_values import reads_classified

# ---- Binding of rules at publication ----
# A rule is bound if its technology is one that a validator answers, and the compiler has named it as not measured. So a rule
# that the engines measure stays theirs. A rule that has a problem of its own (a column that is not declared) stays skipped, as
# does one with a schedule: it is about all accepted data, of which validators get none.


LONGEST_RULE: Final = 32 << 10
"""Characters of a rule in DCM's form; a longer one stays skipped."""
LARGEST: Final = 2**63
"""Below it, whole numbers are written as such."""


def with_validators(contract: Contract, dataset: Dataset, plan: Plan, answering: Validators) -> Plan:
    """The plan with each rule bound that a validator answers."""
    bound = list(_each_check(contract, dataset, answering))
    checks, external = [], []
    for check, (rule, by) in zip(plan.checks, bound, strict=True):
        checks.append(check if by is None else _measure_by(check, rule, by))
        if by is not None:
            external.append(ExternalRule(check.id, by.name, by.validator, _as_dcm(check, rule, by.name)))
    return replace(plan, checks=tuple(checks), external=tuple(external)) if external else plan


def bound_rules(contract: Contract, dataset: Dataset, answering: Validators) -> frozenset[str]:
    """The paths of the rules that are bound, which are not reported as not measured."""
    return frozenset(rule.origin.path for rule, by in _each_check(contract, dataset, answering) if by is not None)


def _each_check(
    contract: Contract, dataset: Dataset, answering: Validators
) -> Iterator[tuple[Rule, AnsweredTechnology | None]]:
    """The rule of each check of the plan, in its order, and who answers it."""
    policy = dataset.policy
    # nobody is looked up for a dataset without rules of other engines
    answered = answering(dataset.name) if any(rule.kind == "custom" for rule in dataset.rules) else {}
    # only a delivery of one object that is published as it arrives is one address that a service can read
    is_one = policy.delivery is DeliveryUnit.OBJECT and policy.publish_as is PublishAs.ORIGINAL
    wrong = {problem.path for problem in compile_rules(contract, dataset).unmeasured} if answered else set()
    for rule, checks in checks_by_rule(contract, dataset):
        by = answered.get(fold_technology(str(rule.arguments.get("engine", "")))) if is_one else None
        is_skipped = all(entry.skip is not None for entry in checks)
        is_bound = bool(_call(rule)) and not rule.schedule and rule.origin.path not in wrong and is_skipped
        for check in checks:
            is_short = by is None or len(_as_dcm(check, rule, by.name)) <= LONGEST_RULE
            yield rule, by if is_bound and is_short else None


def _call(rule: Rule) -> str:
    return str(rule.arguments.get("call", "")).strip()


def _measure_by(check: Check, rule: Rule, by: AnsweredTechnology) -> Check:
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
        "columns": list(map(column_name, check.fields)) or None,
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
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value if value is None or isinstance(value, str | bool | int) else str(value)


# ---- Responses of validators (DCM 3.3.3) ----
# An answer is text of a service that may fail or lie. It counts only if it has the form of DCM's, names the validation that was
# started, and has a result for each rule that was asked and for no other one; else the attempt has no answer.


RAISED: Final = "the validator could not measure this rule"
VERSION: Final = re.compile(r"[!-~]{1,64}", re.ASCII)
UNKNOWN: Final = "unknown"
"""The version of a technology, where no result names it."""
SEVERITIES: Final = ("fail", "warn")
MOST_VALUES: Final = 100


@dataclass(frozen=True, slots=True)
class ExternalAnswer:
    """All results of one validation."""

    version: str
    """Of the technology."""
    measurements: tuple[Measurement, ...]
    """One for each check that was asked."""


class ValidationFailed(InputError):  # noqa: N818 - the name is what happened
    """The validator answers that it could not validate (`NOK`)."""


def read_answer(body: bytes, validation: str, technology: str, checks: Iterable[Check]) -> ExternalAnswer | None:
    """The result of a validation; None: it still runs.

    Raises ValidationFailed, and InputError for what is not an answer to this validation: another id, rules that were not asked,
    missing or repeated results, another technology, or another form.
    """
    document = _json(body)
    if not isinstance(document, dict) or document.get("workloadId") != validation:
        _refuse("the answer belongs to another validation")
    status, results = document.get("status"), document.get("result")
    if status == "Running":
        return None
    if status == "NOK":
        raise ValidationFailed("the validator could not validate")
    if status != "OK" or not isinstance(results, list) or not all(isinstance(entry, dict) for entry in results):
        _refuse("the answer has no results")
    asked = {check.id: check for check in checks}
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in asked}
    for result in results:
        name = result.get("id")
        if not isinstance(name, str) or name not in found:
            _refuse("the answer has a result of a rule that was not asked")
        if result.get("technology") not in (None, technology):
            _refuse("the answer is that of another technology")
        found[name].append(result)
    return ExternalAnswer(_version(results), tuple(_measurement(asked[name], found[name]) for name in asked))


def merge_answers(plan: Plan, result: Result, answers: Mapping[str, ExternalAnswer]) -> Result:
    """The result with the answers of all technologies; what the attempt's own run says about external checks does not count."""
    external = {entry.check for entry in plan.external}
    own = tuple(measurement for measurement in result.measurements if measurement.check not in external)
    others = [
        _without_classified(plan, measurement) for name in sorted(answers) for measurement in answers[name].measurements
    ]
    engines = {f"{ENGINE}{name}": answer.version for name, answer in sorted(answers.items())}
    return replace(result, measurements=(*own, *others), engines={**result.engines, **engines})


def _without_classified(plan: Plan, measurement: Measurement) -> Measurement:
    """The measurement without the values that a validator has for a classified field."""
    check = next(entry for entry in plan.checks if entry.id == measurement.check)
    if measurement.observed is None or not reads_classified(plan, check):
        return measurement
    return replace(measurement, observed=replace(measurement.observed, values=()))


def _json(body: bytes) -> object:
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InputError("the answer is not JSON") from None


def _version(results: list[dict[str, Any]]) -> str:
    """The version that the results name; all of them have to name the same one."""
    found = [result["version"] for result in results if result.get("version") is not None]
    if not all(isinstance(entry, str) and VERSION.fullmatch(entry) for entry in found) or len(set(found)) > 1:
        _refuse("the results name several versions, or none that can be read")
    return found[0] if found else UNKNOWN


def _measurement(check: Check, results: list[Mapping[str, Any]]) -> Measurement:
    """The measurement of a check: of one result for all its columns, which names none, or of one for each column."""
    columns = [result.get("column") for result in results]
    is_for_each = bool(results) and sorted(map(repr, columns)) == sorted(
        repr(column_name(field)) for field in check.fields
    )
    if columns != [None] and not is_for_each:
        _refuse("the answer has no result of a rule, or several")
    kept = [_kept(result) for result in results]
    if None in kept:
        return Measurement(check.id, error=RAISED)
    fails = sum(not fail for fail, _ in filter(None, kept))
    broken = sum(not (fail and warn) for fail, warn in filter(None, kept))
    metric = results[0].get("metric") if len(results) == 1 else None
    number = _number(metric)
    has = tuple(name for name in SEVERITIES if any(result["severity"].get(name) is not None for result in results))
    observed = ObservedValues(values=_values(metric), severities=has)
    accept, tolerate = Measured(len(results), broken, number), Measured(len(results), fails, number)
    return Measurement(check.id, accept, tolerate=tolerate, observed=observed)


def _kept(result: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Whether a rule is kept to, by its severities `fail` and `warn`; one that it does not have is. None: it was not measured."""
    severity = result.get("severity")
    if not isinstance(severity, dict) or not set(severity) <= set(SEVERITIES):
        _refuse("a result has severities that are unknown")
    tiers = [value for value in severity.values() if value is not None]
    if not tiers or not all(isinstance(tier, dict) and isinstance(tier.get("success"), bool) for tier in tiers):
        _refuse("a result does not say whether its rule is kept to")
    if any(_has_raised(tier) for tier in tiers):
        return None
    fail, warn = ((severity.get(name) or {"success": True})["success"] for name in SEVERITIES)
    return fail, warn


def _has_raised(tier: Mapping[str, Any]) -> bool:
    info = tier.get("exception_info") or {}
    raised = info.get("raised_exception", False) if isinstance(info, dict) else None
    if not isinstance(raised, bool):
        _refuse("a result does not say whether its rule could be measured")
    return raised


def _values(metric: object) -> tuple[str, ...]:
    """A metric that is a list of at most 100 numbers, as JSON has them; of anything else nothing is kept."""
    numbers = metric if isinstance(metric, list) and len(metric) <= MOST_VALUES else []
    return (
        tuple(json.dumps(number) for number in numbers)
        if all(_number(number) is not None for number in numbers)
        else ()
    )


def _number(metric: object) -> float | None:
    """A metric, where it is a number; anything else is text of the service, and is not kept."""
    if isinstance(metric, bool) or not isinstance(metric, int | float):
        return None
    try:
        number = float(metric)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _refuse(message: str) -> NoReturn:
    raise InputError(message)


# ---- Validations of an attempt ----
# The id of a validation is derived from workload, attempt and technology: started again, it is the same one, and an answer to
# another attempt has another id. Validators are asked when the attempt has its own result.


TRANSIENT: Final = (Unanswered, Throttled)


class RuleGroup(NamedTuple):
    """The rules of one technology."""

    technology: str
    validator: str
    rules: tuple[str, ...]
    checks: tuple[Check, ...]


def start_validations(turn: DeliveryTurn) -> Steps[None]:
    """Start the validations of an attempt. Raises Lost where one of them cannot be started.

    Raises ConcurrentUpdate where the caller may start none: nothing changes, and the next sweep continues.
    """
    if not turn.gate.is_function:
        raise ConcurrentUpdate
    from lakegate.plan.plan import Plan  # noqa: PLC0415 - intake of other deliveries starts without it

    for group in groups_of(Plan.from_bytes(turn.plan)):
        service = service_of(turn.gate, group)
        if service is None:
            raise Lost(FailureCause.NO_VALIDATOR)
        staged = turn.row.staged
        assert staged is not None
        validation = ExternalValidation(
            validation_id(turn.row, group.technology),
            group.rules,
            Address(staged.bucket, staged.key, staged.version),
            turn.terms.dialect,
            int(TIME_OF_VALIDATOR.total_seconds()),
        )
        try:
            yield from perform(Effect.START_VALIDATION, services(turn.gate).start, service, validation)
        except TRANSIENT:
            raise Lost(FailureCause.VALIDATOR_UNREACHABLE) from None
        except PortError:
            raise Lost(FailureCause.VALIDATOR_REFUSED) from None


def groups_of(plan: Plan) -> Iterator[RuleGroup]:
    """The external rules by technology, in the order of their names."""
    checks = {check.id: check for check in plan.checks}
    for technology, validator in sorted({(entry.technology, entry.validator) for entry in plan.external}):
        own = [entry for entry in plan.external if (entry.technology, entry.validator) == (technology, validator)]
        rules, asked = tuple(entry.rule for entry in own), tuple(checks[entry.check] for entry in own)
        yield RuleGroup(technology, validator, rules, asked)


def service_of(dependencies: Dependencies, group: RuleGroup) -> ValidatorService | None:
    """The service as it is registered now; None if it is not, or not for this technology."""
    service = validator_named(dependencies, group.validator)
    return (
        service
        if service is not None and fold_technology(group.technology) in map(fold_technology, service.technologies)
        else None
    )


def validation_id(workload: Workload, technology: str) -> str:
    """The id of a validation of the current attempt."""
    return sha256_of(f"{workload.id}:{workload.attempt}:{technology}")


def ask_validators(turn: DeliveryTurn, body: bytes) -> bytes | None:
    """The result of the attempt's run with what the services answer now; None: one of them has not answered yet.

    What could not be read is measured by nobody, and asked of nobody. Raises Lost.
    """
    plan, result = Plan.from_bytes(turn.plan), Result.from_bytes(body)
    answers: dict[str, ExternalAnswer] = {}
    for group in groups_of(plan) if result.unreadable is None else ():
        answer = _answer(turn, group)
        if answer is None:
            return None
        answers[group.technology] = answer
    return merge_answers(plan, result, answers).to_bytes()


def _answer(turn: DeliveryTurn, group: RuleGroup) -> ExternalAnswer | None:
    """The response of a service; None: nothing yet. Raises Lost, and ConcurrentUpdate where the caller may not ask."""
    if not turn.gate.is_function:
        raise ConcurrentUpdate
    service, name = service_of(turn.gate, group), validation_id(turn.row, group.technology)
    if service is None:
        raise Lost(FailureCause.NO_VALIDATOR)
    is_late = turn.row.deadline is not None and turn.now >= turn.row.deadline
    try:
        body = services(turn.gate).poll(service, name, is_last=is_late)
        answer = read_answer(body, name, group.technology, group.checks)
    except TRANSIENT:
        if is_late:
            raise Lost(FailureCause.VALIDATOR_UNREACHABLE) from None
        return None
    except (PortError, ValidationFailed):
        raise Lost(FailureCause.VALIDATOR_REFUSED) from None
    except InputError:
        raise Lost(FailureCause.WRONG_ANSWER) from None
    if answer is None and is_late:
        raise Lost(FailureCause.VALIDATOR_LATE)
    return answer


TIME_OF_VALIDATOR: Final = timedelta(hours=1)
"""The time for which a validator may work, and read its data."""
IN_PLANS: Final = PublishedPlans(validators_of, with_validators, bound_rules)
COMPANION: Final = Companion(start_validations, ask_validators, TIME_OF_VALIDATOR)
