"""Soda's checks by their own names and settings (`custom` rules), compiled to the same checks as every other rule.

`warn` and `fail` zones are checks of their own. Nulls are missing and never invalid; percentages are of all rows; duplicates are
counted by the value, as Soda does, and not by the row. What has no honest equivalent here becomes a check that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.model import Severity
from contracts.rules.build import brief, conditioned, refuse, skipped
from contracts.rules.conditions import UnreadError, condition_of
from contracts.rules.soda_checks import METRICS, Site, UnmeasuredError
from contracts.rules.soda_schema import schema
from contracts.rules.sodacl import Asked, MalformedError, read, zone

if TYPE_CHECKING:
    from contracts.check import Check, Interval
    from contracts.model import Field, Rule
    from contracts.predicate import Predicate

Arguments = Mapping[str, object]
Wanted = tuple[str, "Interval", Severity | None]
"""What a check's id says beside the rule's, the good numbers, and the worst the check can be (None: what the rule says)."""

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
"""Settings that say nothing of the data, or are read for every check."""
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
"""How checks begin that have no equivalent, and why."""


def soda(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one check of Soda: one for its threshold, or one for each zone."""
    elsewhere = next((reason for start, reason in ELSEWHERE.items() if call.startswith(start)), None)
    if elsewhere is not None:
        return (skipped(rule, fields, elsewhere),)
    try:
        asked = read(call, arguments)
        known = {field.name: field for field in fields}
        if asked.metric == "schema":
            return tuple(_named(check, rule, part) for part, check in schema(rule, known, asked))
        names = subjects_of(call, arguments) or rule.fields
        subjects = tuple(known[name] for name in names if name in known)
        return tuple(_compiled(rule, known, subjects, asked))
    except MalformedError as error:
        refuse(rule, "soda-check", str(error))
    except UnmeasuredError as error:
        return (skipped(rule, fields, str(error)),)


def subjects_of(call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns that a check is about, as far as it can be read."""
    try:
        asked = read(call, arguments)
    except MalformedError:
        return ()
    return asked.columns[:1] if asked.metric == "percentile" else asked.columns


def _compiled(rule: Rule, known: dict[str, Field], fields: tuple[Field, ...], asked: Asked) -> list[Check]:
    metric = METRICS.get(asked.metric)
    if metric is None:
        raise UnmeasuredError(f"the check {brief(asked.metric)} of Soda is not measured by this version")
    foreign = sorted(set(asked.settings) - SILENT - metric.knows)
    if foreign:
        raise UnmeasuredError(f"the setting {brief(foreign[0])} of {asked.metric} is not measured by this version")
    given = _filter(rule, known, asked)
    found: list[Check] = []
    for part, good, worst in _wanted(rule, asked, metric.default):
        compiled = metric.compile(Site(rule, fields, asked, good))
        checks = compiled if isinstance(compiled, tuple) else (compiled,)
        found += (conditioned(replace(_named(each, rule, part), worst=worst or each.worst), given) for each in checks)
    return found


def _named(check: Check, rule: Rule, part: str) -> Check:
    return replace(check, id=f"{rule.id}{part}{check.id.removeprefix(rule.id)}")


def _wanted(rule: Rule, asked: Asked, default: Interval | None) -> list[Wanted]:
    """Of the threshold, or of each zone."""
    if asked.zones:
        return [
            (f":{name}", zone(said), Severity.WARN if name == "warn" else None) for name, said in asked.zones.items()
        ]
    good = asked.good or default
    if good is None:
        refuse(rule, "no-argument", f"the check {asked.metric} needs a threshold, `> 0` for example")
    return [("", good, None)]


def _filter(rule: Rule, known: dict[str, Field], asked: Asked) -> Predicate | None:
    said = asked.settings.get("filter")
    if said is None:
        return None
    try:
        return condition_of(rule, str(said), known, is_sql=True)
    except UnreadError:
        raise UnmeasuredError("the filter is written in a language that is not read here") from None
