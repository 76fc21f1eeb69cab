"""The configuration of a test of dbt: the numbers of failures that are good, and their severities.

A test counts its failures. With the severity `error` it fails where `error_if` holds, else it warns where `warn_if` holds; with
the severity `warn` only `warn_if` counts (dbt documentation, Data test configs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from lakegate.base.text import quote
from lakegate.contract.contract_model import Comparison, Severity
from lakegate.contract.documents.odcs_quality import NO_ROW, OPERATORS

DEFAULT: Final = "!= 0"
_CONDITION: Final = re.compile(r"\s*(!=|<>|==|=|>=|<=|>|<)\s*([0-9]{1,18})\s*")
_BETWEEN: Final = re.compile(r"\s*between\s+([0-9]{1,18})\s+and\s+([0-9]{1,18})\s*", re.IGNORECASE)
_GOOD: Final[dict[str, str]] = {
    "!=": "mustBe",
    "<>": "mustBe",
    "==": "mustNotBe",
    "=": "mustNotBe",
    ">": "mustBeLessOrEqualTo",
    ">=": "mustBeLessThan",
    "<": "mustBeGreaterOrEqualTo",
    "<=": "mustBeGreaterThan",
}
"""The operator of the good numbers, by that of the bad ones."""
_NONE_GOOD: Final = (Comparison("mustBeLessOrEqualTo", (Decimal(0),)), Comparison("mustBeLessThan", (Decimal(1),)))
"""Other ways to say that no failure is good."""
_COUNT: Final = re.compile(r"count\s*\(\s*(\*|1)\s*\)", re.IGNORECASE)


class UnreadConfigError(Exception):
    """The test has no equivalent; the message is the reason."""


@dataclass(frozen=True, slots=True)
class AllowedFailures:
    """What a test demands of the number of its failures."""

    severity: Severity
    good: Comparison
    written: str
    """The key and its condition."""


def allowed_failures(config: Mapping[str, object]) -> tuple[AllowedFailures, ...]:
    """The demands of a test, the strictest first; UnreadConfigError if a contract cannot say what it counts."""
    if config.get("enabled") is False:
        raise UnreadConfigError("it is disabled")
    if config.get("where"):
        raise UnreadConfigError(f"`where: {quote(config['where'])[1:-1]}` leaves rows out")
    calc = config.get("fail_calc")
    if calc and not _COUNT.fullmatch(str(calc).strip()):
        raise UnreadConfigError(f"`fail_calc: {quote(calc)[1:-1]}` is no count of failures")
    found = tuple(_read_allowed_failures(config))
    if config.get("limit") is not None and (
        str(config["limit"]) == "0" or any(failures.good != NO_ROW for failures in found)
    ):
        raise UnreadConfigError(f"`limit: {quote(config['limit'])[1:-1]}` bounds what is counted")
    return found


def _read_allowed_failures(config: Mapping[str, object]) -> Iterator[AllowedFailures]:
    severity = str(config.get("severity") or "error").lower()
    if severity not in {"error", "warn"}:
        raise UnreadConfigError(f"the severity {quote(severity)} is not one of dbt")
    error, warning = (_read(config, *entry) for entry in (("error_if", Severity.FAIL), ("warn_if", Severity.WARN)))
    if severity == "error":
        yield error
    # where no failure is good, a test that warns of failures says nothing more
    if severity == "warn" or (
        warning.good != error.good
        and not (error.good == NO_ROW and OPERATORS[warning.good.operator](*warning.good.operands).holds(Fraction(0)))
    ):
        yield warning


def _read(config: Mapping[str, object], key: str, severity: Severity) -> AllowedFailures:
    written = str(config.get(key) or DEFAULT).strip()
    compared, between = _CONDITION.fullmatch(written), _BETWEEN.fullmatch(written)
    if between is not None:
        good = Comparison("mustNotBeBetween", tuple(map(Decimal, between.groups())))
    elif compared is None:
        raise UnreadConfigError(f"`{key}: {quote(written)[1:-1]}` is no comparison with a number")
    else:
        good = Comparison(_GOOD[compared[1]], (Decimal(compared[2]),))
    return AllowedFailures(severity, NO_ROW if good in _NONE_GOOD else good, f"`{key}: {quote(written)[1:-1]}`")
