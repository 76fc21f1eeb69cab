"""What validators answer (DCM 3.3.3), read strictly, and merged with the result of the attempt.

An answer is text of a service that may fail or lie. It counts only if it has the form of DCM's, names the validation that was
started, and has a result for each rule that was asked and for no other one; else the attempt has no answer.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.result import Measured, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Result

ENGINE: Final = "external:"
"""How the name of a validator's technology begins in the engines of a result: no engine of the gate has such a name."""
RAISED: Final = "the validator could not measure this rule"
VERSION: Final = re.compile(r"[!-~]{1,64}", re.ASCII)
UNKNOWN: Final = "unknown"
"""The version of a technology, where no result names it."""
SEVERITIES: Final = ("fail", "warn")


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
    """What a validation has come to; None: it still runs.

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
    if status != "OK" or not isinstance(results, list) or not all(isinstance(each, dict) for each in results):
        _refuse("the answer has no results")
    asked = {check.id: check for check in checks}
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in asked}
    for each in results:
        name = each.get("id")
        if not isinstance(name, str) or name not in found:
            _refuse("the answer has a result of a rule that was not asked")
        if each.get("technology") not in (None, technology):
            _refuse("the answer is that of another technology")
        found[name].append(each)
    return ExternalAnswer(_version(results), tuple(_measurement(asked[name], found[name]) for name in asked))


def merged(plan: Plan, result: Result, answers: Mapping[str, ExternalAnswer]) -> Result:
    """The result with the answers of all technologies; what the attempt's own run says about external checks does not count."""
    external = {each.check for each in plan.external}
    own = tuple(each for each in result.measurements if each.check not in external)
    others = (each for name in sorted(answers) for each in answers[name].measurements)
    engines = {f"{ENGINE}{name}": answer.version for name, answer in sorted(answers.items())}
    return replace(result, measurements=(*own, *others), engines={**result.engines, **engines})


def _json(body: bytes) -> object:
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InputError("the answer is not JSON") from None


def _version(results: list[dict[str, Any]]) -> str:
    """The version that the results name; all of them have to name the same one."""
    found = [each["version"] for each in results if each.get("version") is not None]
    if not all(isinstance(each, str) and VERSION.fullmatch(each) for each in found) or len(set(found)) > 1:
        _refuse("the results name several versions, or none that can be read")
    return found[0] if found else UNKNOWN


def _measurement(check: Check, results: list[Mapping[str, Any]]) -> Measurement:
    """The measurement of a check: of one result for all its columns, which names none, or of one for each column."""
    columns = [each.get("column") for each in results]
    is_for_each = bool(results) and sorted(map(repr, columns)) == sorted(map(repr, check.fields))
    if columns != [None] and not is_for_each:
        _refuse("the answer has no result of a rule, or several")
    kept = [_kept(each) for each in results]
    if None in kept:
        return Measurement(check.id, error=RAISED)
    fails = sum(not fail for fail, _ in filter(None, kept))
    broken = sum(not (fail and warn) for fail, warn in filter(None, kept))
    number = _number(results[0].get("metric")) if len(results) == 1 else None
    return Measurement(check.id, Measured(len(results), broken, number), tolerate=Measured(len(results), fails, number))


def _kept(result: Mapping[str, Any]) -> tuple[bool, bool] | None:
    """Whether a rule is kept to, by its severities `fail` and `warn`; one that it does not have is. None: it was not measured."""
    severity = result.get("severity")
    if not isinstance(severity, dict) or not set(severity) <= set(SEVERITIES):
        _refuse("a result has severities that are unknown")
    tiers = [each for each in severity.values() if each is not None]
    if not tiers or not all(isinstance(each, dict) and isinstance(each.get("success"), bool) for each in tiers):
        _refuse("a result does not say whether its rule is kept to")
    if any(_has_raised(each) for each in tiers):
        return None
    fail, warn = ((severity.get(name) or {"success": True})["success"] for name in SEVERITIES)
    return fail, warn


def _has_raised(tier: Mapping[str, Any]) -> bool:
    info = tier.get("exception_info") or {}
    raised = info.get("raised_exception", False) if isinstance(info, dict) else None
    if not isinstance(raised, bool):
        _refuse("a result does not say whether its rule could be measured")
    return raised


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
