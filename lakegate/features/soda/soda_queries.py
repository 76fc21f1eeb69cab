"""Checks of Soda that ask a query, or other data: user-defined metrics, failed rows, references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from lakegate.base.errors import ContractError
from lakegate.base.text import format_limit, join_words
from lakegate.contract.contract_model import Comparison, Contract, Dataset, Field, Rule, by_written_name
from lakegate.contract.logical_types import text_of
from lakegate.features.soda.soda_checks import named_check, optional_subjects, soda, subjects_of
from lakegate.features.soda.soda_syntax import (
    ALIASES,
    NO_ROW,
    QUERIES,
    ZONES,
    SodaCheck,
    SodaSyntaxError,
    UnmeasuredError,
    Wanted,
    parse_check,
    refuse_variables,
    unknown_setting,
    wanted_intervals,
)
from lakegate.plan.check import Check, HeaderRequirement, Interval, Tier, Unit
from lakegate.rules.check_builder import Technology, brief, not_measured, refuse, skip_check
from lakegate.rules.column_aggregates import of_header
from lakegate.rules.relationship_rules import foreign_key
from lakegate.rules.rule_kinds import arguments_of, sql

Arguments = Mapping[str, object]

_NAMES = r"\s*[^\s(),]+(?:\s*,\s*[^\s(),]+)*\s*"
REFERENCE = re.compile(
    rf"values\s+in\s*\((?P<own>{_NAMES})\)\s*must\s+exist\s+in\s+(?P<dataset>[^\s(),]+)\s*\((?P<theirs>{_NAMES})\)"
)
"""SodaCL: `values in (a, b) must exist in other (c, d)`."""
LONGEST_SODA_QUERY = 1_000
FAILED_ROWS = ("failed rows", "failed_rows")
REFERENCE_DATA = "valid values reference data"
_TABLE = re.compile(r"\$?\{\s*(?:table_name|soda\.table)\s*\}")
"""Soda's placeholder of the dataset."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the thresholds of its answer."""

    query: str
    parsed: SodaCheck


def asking(contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...] | None:
    """The checks of a call that asks a query, other data, or all columns; None for any other call."""
    call, arguments = str(rule.arguments.get("call", "")), arguments_of(rule)
    try:
        refuse_variables((call, arguments))
        reference = _reference(rule, fields, call, arguments)
        if reference is not None:
            return _of_reference(contract, dataset, rule, reference)
        if call.strip() == "schema" and not set(arguments) & set(ZONES):
            return (_declared_columns(dataset, rule, parse_check(call, arguments)),)
        asked = _read_query(call, arguments)
        return None if asked is None else tuple(_of_query(contract, dataset, rule, fields, asked))
    except SodaSyntaxError as error:
        refuse(rule, "soda-check", str(error))
    except UnmeasuredError as error:
        return (skip_check(rule, fields, str(error)),)


def own_columns(call: str) -> tuple[str, ...]:
    """The columns of this dataset in a reference of SodaCL."""
    match = REFERENCE.fullmatch(call.strip()) if len(call) <= LONGEST_SODA_QUERY else None
    return _split(match["own"]) if match else ()


def _split(names: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in names.split(","))


# ---- References to other data ----


@dataclass(frozen=True, slots=True)
class ReferencedData:
    """Fields of this dataset, those that they refer to, and the thresholds of the number of rows without a match."""

    fields: tuple[Field, ...]
    to: str
    parsed: SodaCheck


def _reference(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> ReferencedData | None:
    known = by_written_name(fields)
    match = REFERENCE.fullmatch(call.strip()) if len(call) <= LONGEST_SODA_QUERY else None
    if match:
        parsed = replace(parse_check("values", arguments), metric=call)
        _refuse_settings(parsed)
        own = tuple(known[name] for name in _split(match["own"]) if name in known)
        to = ",".join(f"{match['dataset']}.{entry}" for entry in _split(match["theirs"]))
        return ReferencedData(own, to, parsed)
    if REFERENCE_DATA not in {
        ALIASES.get(name, name) for name in (argument.replace("_", " ") for argument in arguments)
    }:
        return None
    parsed = parse_check(call, arguments)
    given = parsed.settings[REFERENCE_DATA]
    if not isinstance(given, Mapping) or not given.get("dataset") or not given.get("column"):
        raise SodaSyntaxError("reference data has a `dataset` and a `column`")
    if parsed.metric not in {"no_invalid_values", "invalid_count", "invalid_percent"}:
        raise UnmeasuredError(not_measured(f"reference data of {brief(parsed.metric)}"))
    _refuse_settings(parsed, REFERENCE_DATA)
    own = tuple(known[name] for name in parsed.columns or rule.fields if name in known)
    return ReferencedData(own, f"{given['dataset']}.{given['column']}", parsed)


def _of_reference(contract: Contract, dataset: Dataset, rule: Rule, reference: ReferencedData) -> tuple[Check, ...]:
    """The check of a relationship, with the thresholds of this one; a percentage is one of all rows."""
    own = replace(rule, arguments={"to": reference.to})
    unit = Unit.PERCENT if reference.parsed.metric == "invalid_percent" else Unit.ROWS
    (check,) = foreign_key(contract, dataset, own, reference.fields, unit)
    if check.skip is not None:
        return (check,)
    default = None if reference.parsed.metric in {"invalid_count", "invalid_percent"} else NO_ROW
    thresholds = wanted_intervals(rule, reference.parsed, default)
    if default is not None and any(good != default for part, good, _ in thresholds if not part):
        raise SodaSyntaxError(
            f"{reference.parsed.metric} has no threshold of its own: name `invalid_count`, or remove it"
        )
    return tuple(_with(check, rule, threshold, _words(threshold[1], check)) for threshold in thresholds)


def _words(good: Interval, check: Check) -> str:
    if good == NO_ROW:
        return check.wanted
    return f"{f'{good} % of rows' if check.unit is Unit.PERCENT else format_limit(good, 'row')} not {check.wanted}"


# ---- All columns ----


def _declared_columns(dataset: Dataset, rule: Rule, parsed: SodaCheck) -> Check:
    """Version 4: the file has the declared columns in their order; their types are rules of the contract itself."""
    unknown = unknown_setting(parsed, {"allow extra columns", "allow other column order"})
    if unknown is not None:
        raise unknown
    if parsed.thresholds:
        raise UnmeasuredError(not_measured("a threshold of schema"))
    settings = parsed.settings
    closed, ordered = (
        text_of(settings.get(name)).casefold() != "true" for name in ("allow extra columns", "allow other column order")
    )
    names = tuple(field.physical or field.own_name for field in dataset.fields)
    order = " in this order" if ordered else ""
    others = " and no others" if closed else ""
    check = of_header(
        rule,
        HeaderRequirement(names, closed=closed, ordered=ordered),
        f"the columns {brief(', '.join(names))}{order}{others}",
    )
    return replace(check, worst=parsed.level or check.worst)


# ---- Queries ----


def _read_query(call: str, arguments: Arguments) -> Asked | None:
    """The query of a call: of Soda's contracts by its type, of SodaCL by a setting that is named like the metric."""
    name = call.split(maxsplit=1)[0] if call.strip() else ""
    if call.strip() in FAILED_ROWS:
        return _failed_rows(arguments)
    if name in QUERIES:
        parsed = parse_check(call, arguments)
        given = {key: parsed.settings[key] for key in QUERIES[name] if parsed.settings.get(key) is not None}
        _refuse_settings(parsed, *QUERIES[name], "metric")
        if len(given) > 1:
            raise SodaSyntaxError(f"{join_words(given)} exclude each other")
        ((key, text),) = given.items() or (("", ""),)
        return Asked(_select(str(text), is_whole=key.startswith("query")), parsed)
    for kind in ("expression", "query"):
        if isinstance(arguments.get(f"{name} {kind}"), str):
            parsed = parse_check(
                call, {key: argument for key, argument in arguments.items() if key != f"{name} {kind}"}
            )
            _refuse_settings(parsed)
            return Asked(_select(str(arguments[f"{name} {kind}"]), is_whole=kind == "query"), parsed)
    return None


def _failed_rows(arguments: Arguments) -> Asked:
    """No row meets a condition, or is in the result of a query."""
    parsed = parse_check("failed_rows", arguments)
    conditions, queries = (
        [parsed.settings[name] for name in names if parsed.settings.get(name) is not None]
        for names in (("fail condition", "expression"), ("fail query", "query"))
    )
    if len(conditions) + len(queries) != 1:
        raise SodaSyntaxError("failed rows have a `fail condition` or a `fail query`")
    _refuse_settings(parsed, "fail condition", "fail query", "expression", "query")
    source = "{model} WHERE (" + str(conditions[0]) + ")" if conditions else f"({_whole(str(queries[0]))}) AS failed"
    query = f"SELECT count(*) FROM {source}"  # noqa: S608 - read by `sql`, as every query of a contract
    has_thresholds = bool(parsed.thresholds or parsed.zones)
    default = () if has_thresholds else (("", NO_ROW, parsed.level),)
    return Asked(_TABLE.sub("{model}", query), replace(parsed, thresholds=(*parsed.thresholds, *default)))


def _select(text: str, *, is_whole: bool) -> str:
    if not text.strip():
        raise SodaSyntaxError("a metric of its own has a query or an expression in SQL")
    query = _whole(text) if is_whole else f"SELECT {text} FROM {{model}}"  # noqa: S608 - likewise
    return _TABLE.sub("{model}", query)


def _whole(query: str) -> str:
    return query.strip().removesuffix(";")


def _of_query(
    contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...], asked: Asked
) -> Iterator[Check]:
    """The check of a query, once for each threshold; it says itself why it is not measured."""
    own = replace(rule, arguments={"query": asked.query}, comparison=Comparison("mustBe", (Decimal(0),)))
    try:
        checks = sql(contract, dataset, own, fields)
    except ContractError as error:
        at = rule.origin
        raise ContractError(tuple(replace(problem, path=at.path, line=at.line) for problem in error.problems)) from None
    if any(entry.skip is not None for entry in checks):
        yield from checks
        return
    for threshold in wanted_intervals(rule, asked.parsed, None):
        yield from (_with(entry, rule, threshold, f"an answer of {threshold[1]}") for entry in checks)


def _with(base: Check, rule: Rule, threshold: Wanted, words: str) -> Check:
    part, good, worst = threshold
    return replace(named_check(base, rule, part), accept=Tier(good), worst=worst or base.worst, wanted=words)


def _refuse_settings(parsed: SodaCheck, *known: str) -> None:
    """Raise UnmeasuredError for another setting than the known ones, and for a filter."""
    if "filter" in parsed.settings:
        raise UnmeasuredError(not_measured(f"the setting {parsed.spelled['filter']} of {brief(parsed.metric)}"))
    unknown = unknown_setting(parsed, known)
    if unknown is not None:
        raise unknown


ENGINE = Technology(
    frozenset({"soda", "sodacl", "sodacore"}),
    soda,
    lambda call, arguments: own_columns(call) or subjects_of(call, arguments),
    optional_subjects,
    conditions=("filter", "filter_sql"),
    is_sql=True,
    asking=asking,
)
