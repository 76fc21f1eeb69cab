"""Soda's checks by their own names and settings (`custom` rules), compiled to the same checks as every other rule.

`warn` and `fail` zones are checks of their own. Nulls are missing and never invalid; percentages are of all rows; duplicates are
counted by the value, as Soda does, and not by the row. A check without an exact equivalent is skipped, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import brief, conditioned, refuse, skipped
from lakegate.contracts.compile.rules.conditions import UnreadConditionError, condition_of
from lakegate.contracts.compile.rules.soda_checks import METRICS, Site, UnmeasuredError
from lakegate.contracts.compile.rules.soda_schema import schema, typed_columns
from lakegate.contracts.compile.rules.sodacl import SodaCheck, SodaSyntaxError, read, zone
from lakegate.contracts.model.contract import Severity

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Field, Rule
    from lakegate.contracts.plan.check import Check, Interval
    from lakegate.contracts.plan.predicate import Predicate

Arguments = Mapping[str, object]
Wanted = tuple[str, "Interval", Severity | None]
"""The suffix of a check's id, the interval of good numbers, and the severity of the check (None: that of the rule)."""

SILENT = {
    "name",
    "title",
    "identity",
    "attributes",
    "samples limit",
    "samples columns",
    "description",
    "type",
    "filter",
}
"""Settings that do not affect the data, or that every check has."""
ELSEWHERE = {
    "change ": "changes over time need earlier deliveries, which no rule sees",
    "anomaly": "anomalies need earlier deliveries, which no rule sees",
    "distribution": "distributions need earlier deliveries, which no rule sees",
    "values in ": "references between datasets are rules of their own: say a relationship",
    "row_count same as": "datasets are not compared by their number of rows",
    "failed rows": "failed rows are found by a query: say it as a rule in SQL",
    "group by": "groups are found by a query: say it as a rule in SQL",
    "freshness using": "an older spelling of freshness: say `freshness(column) < 1d`",
}
"""Prefixes of checks without an equivalent, with the reason."""


def soda(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one check of Soda: one for its threshold, or one for each zone."""
    elsewhere = next((reason for start, reason in ELSEWHERE.items() if call.startswith(start)), None)
    if elsewhere is not None:
        return (skipped(rule, fields, elsewhere),)
    try:
        parsed = read(call, arguments)
        known = {field.name: field for field in fields}
        if parsed.metric == "schema":
            return tuple(_named(check, rule, part) for part, check in schema(rule, known, parsed))
        names = subjects_of(call, arguments) or rule.fields
        subjects = tuple(known[name] for name in names if name in known)
        return tuple(_compiled(rule, known, subjects, parsed))
    except SodaSyntaxError as error:
        refuse(rule, "soda-check", str(error))
    except UnmeasuredError as error:
        return (skipped(rule, fields, str(error)),)


def subjects_of(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns of a check, as far as it can be read."""
    try:
        parsed = read(call, arguments)
    except SodaSyntaxError:
        return ()
    return parsed.columns[:1] if parsed.metric == "percentile" else parsed.columns


def optional_subjects(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns that a check mentions, whether or not the contract declares them."""
    return typed_columns(arguments) if call.strip() == "schema" else ()


def _compiled(rule: Rule, known: dict[str, Field], fields: tuple[Field, ...], parsed: SodaCheck) -> list[Check]:
    metric = METRICS.get(parsed.metric)
    if metric is None:
        raise UnmeasuredError(f"the check {brief(parsed.metric)} of Soda is not measured by this version")
    foreign = sorted(set(parsed.settings) - SILENT - metric.knows)
    if foreign:
        raise UnmeasuredError(f"the setting {brief(foreign[0])} of {parsed.metric} is not measured by this version")
    given = _filter(rule, known, parsed)
    found: list[Check] = []
    for part, good, worst in _wanted(rule, parsed, metric.default):
        compiled = metric.compile(Site(rule, fields, parsed, good))
        checks = compiled if isinstance(compiled, tuple) else (compiled,)
        found += (conditioned(replace(_named(each, rule, part), worst=worst or each.worst), given) for each in checks)
    return found


def _named(check: Check, rule: Rule, part: str) -> Check:
    return replace(check, id=f"{rule.id}{part}{check.id.removeprefix(rule.id)}")


def _wanted(rule: Rule, parsed: SodaCheck, default: Interval | None) -> list[Wanted]:
    """The intervals of the threshold, or of each zone."""
    if parsed.zones:
        return [
            (f":{name}", zone(threshold), Severity.WARN if name == "warn" else None)
            for name, threshold in parsed.zones.items()
        ]
    good = parsed.good or default
    if good is None:
        refuse(rule, "no-argument", f"the check {parsed.metric} needs a threshold, `> 0` for example")
    return [("", good, None)]


def _filter(rule: Rule, known: dict[str, Field], parsed: SodaCheck) -> Predicate | None:
    condition = parsed.settings.get("filter")
    if condition is None:
        return None
    try:
        return condition_of(rule, str(condition), known, is_sql=True)
    except UnreadConditionError:
        raise UnmeasuredError("the filter is written in a language that is not read here") from None
