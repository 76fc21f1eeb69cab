"""Thresholds and tolerances: numbers that no or every delivery meets, or that have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from lakegate.base.text import quote
from lakegate.contract.contract_model import Comparison, Contract, Rule
from lakegate.contract.documents.document_tree import Document
from lakegate.lints.findings import Finding, rules_of

HUNDRED = Decimal(100)
RELATIVE = ("size", "mean", "stdev", "min", "max")
"""Kinds whose tolerance is a share of their parameter."""
SHARES = ("complete", "distinct")
"""Kinds whose tolerance is subtracted from a share of rows."""
TOLERANT = RELATIVE + SHARES
NEVER_NEGATIVE = ("size", "stdev")


def percent(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A percentage lies between 0 and 100."""
    for comparison, path in _comparisons(contract):
        if comparison.percent and not all(0 <= operand <= HUNDRED for operand in comparison.operands):
            yield path, "A percentage lies between 0 and 100: correct the number."


def reversed_between(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The smaller of two bounds is first."""
    for comparison, path in _comparisons(contract):
        if list(comparison.operands) != sorted(comparison.operands):
            yield path, "The bounds are reversed: write the smaller one first."


def impossible(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No threshold of a row count is below 0."""
    for comparison, path in _comparisons(contract):
        highest = max(comparison.operands)
        low = {"mustBe": highest < 0, "mustBeLessThan": highest <= 0, "mustBeLessOrEqualTo": highest < 0}
        if low.get(comparison.operator, comparison.operator == "mustBeBetween" and highest < 0):
            yield path, "No number of rows is below 0: the rule can never hold."


def trivial(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No rule is met by every delivery."""
    for comparison, path in _comparisons(contract):
        operand = comparison.operands[0]
        always = {"mustBeGreaterThan": operand < 0, "mustBeGreaterOrEqualTo": operand <= 0}
        full = comparison.percent and comparison.operator == "mustBeLessOrEqualTo" and operand >= HUNDRED
        if always.get(comparison.operator, False) or full:
            yield path, "Every delivery meets this: ask for more, or remove the rule."


def _comparisons(contract: Contract) -> Iterator[tuple[Comparison, str]]:
    """The comparisons of rules with their operands, each with the path of its operator."""
    for rule in rules_of(contract):
        if rule.comparison is not None and rule.comparison.operands:
            yield rule.comparison, f"{rule.origin.path}.{rule.comparison.operator}"


def share(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The share of rows that must be complete lies between 0 and 1."""
    for rule in rules_of(contract):
        parameter = rule.arguments.get("parameter")
        if rule.kind == "complete" and isinstance(parameter, Decimal) and not 0 <= parameter <= 1:
            yield f"{rule.origin.path}.parameter", f"{quote(parameter)} is not a share of rows: write one from 0 to 1."


def negative_parameter(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A number of rows and a deviation are never negative."""
    for rule in rules_of(contract):
        parameter = rule.arguments.get("parameter")
        if rule.kind in NEVER_NEGATIVE and isinstance(parameter, Decimal) and parameter < 0:
            yield f"{rule.origin.path}.parameter", f"The {rule.kind} is never below 0: correct the parameter."


def negative_tolerance(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A tolerance is not negative."""
    for rule in rules_of(contract):
        for tier, tolerance in _tolerances(rule):
            if tolerance < 0:
                yield (
                    f"{rule.origin.path}.severity.{tier}.tolerance",
                    "A tolerance is never below 0: correct the number.",
                )


def large_tolerance(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A tolerance of more than 1 leaves nothing to ask for; it may have been meant in percent."""
    for rule in rules_of(contract):
        for tier, tolerance in _tolerances(rule):
            if tolerance > 1:
                path = f"{rule.origin.path}.severity.{tier}.tolerance"
                yield path, f"{quote(tolerance)} is {tolerance * HUNDRED:f} percent: write 0.05 for five percent."


def tolerance_order(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A rule warns before it fails."""
    for rule in rules_of(contract):
        warn, fail = rule.tolerance.warn, rule.tolerance.fail
        if warn is not None and fail is not None and warn > fail:
            path = f"{rule.origin.path}.severity.warn.tolerance"
            yield path, f"The rule would fail ({fail}) before it warns ({warn}): make warn the smaller tolerance."


def tolerance_of_zero(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A share of 0 is 0: a relative tolerance needs a parameter to be relative to."""
    for rule in rules_of(contract):
        if (
            rule.kind in RELATIVE
            and rule.arguments.get("parameter") == 0
            and any(tolerance for _, tolerance in _tolerances(rule))
        ):
            yield f"{rule.origin.path}.severity", "The tolerance is a share of the parameter, which is 0: remove it."


def idle_tolerance(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Lists of values and custom rules have no tolerance."""
    for rule in rules_of(contract):
        if rule.kind not in TOLERANT and list(_tolerances(rule)):
            yield f"{rule.origin.path}.severity", f"Rules of type {rule.kind} have no tolerance: it has no effect."


def _tolerances(rule: Rule) -> Iterator[tuple[str, Decimal]]:
    for tier, tolerance in (("warn", rule.tolerance.warn), ("fail", rule.tolerance.fail)):
        if tolerance is not None:
            yield tier, tolerance
