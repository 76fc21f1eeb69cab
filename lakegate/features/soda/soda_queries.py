"""Checks of Soda that ask a query, or other data: user-defined metrics, failed rows, references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from lakegate.contract.contract_model import Comparison, Contract, Dataset, Field, Rule
from lakegate.errors import ContractError
from lakegate.features.soda.soda_checks import (
    NO_BAD,
    SILENT,
    SodaCheck,
    SodaSyntaxError,
    UnmeasuredError,
    Wanted,
    named_check,
    optional_subjects,
    read,
    soda,
    subjects_of,
    wanted,
)
from lakegate.plan.check import Check, Tier
from lakegate.rules.check_builder import Technology, brief, refuse, skipped
from lakegate.rules.relationship_rules import foreign_key
from lakegate.rules.rule_kinds import arguments_of, sql
from lakegate.text import limited

Arguments = Mapping[str, object]

_NAMES = r"\s*[^\s(),]+(?:\s*,\s*[^\s(),]+)*\s*"
REFERENCE = re.compile(
    rf"values\s+in\s*\((?P<own>{_NAMES})\)\s*must\s+exist\s+in\s+(?P<dataset>[^\s(),]+)\s*\((?P<theirs>{_NAMES})\)"
)
"""SodaCL: `values in (a, b) must exist in other (c, d)`."""
LONGEST = 1_000
FAILED_ROWS = "failed rows"
REFERENCE_DATA = "valid values reference data"
_EXPRESSIONS = {"metric_expression": "expression sql", "metric_query": "query sql"}
"""The checks of Soda's contracts that have a metric of their own, and the key of its SQL."""
_TABLE = re.compile(r"\$?\{\s*(?:table_name|soda\.table)\s*\}")
"""Soda's placeholder of the dataset."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the thresholds of its answer."""

    query: str
    parsed: SodaCheck


def asking(contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...] | None:
    """The checks of a call that asks a query or other data; None for any other call."""
    call, arguments = str(rule.arguments.get("call", "")), arguments_of(rule)
    try:
        reference = _reference(rule, fields, call, arguments)
        if reference is not None:
            return _of_reference(contract, dataset, rule, reference)
        asked = _asked(call, arguments)
        return None if asked is None else tuple(_of_query(contract, dataset, rule, fields, asked))
    except SodaSyntaxError as error:
        refuse(rule, "soda-check", str(error))
    except UnmeasuredError as error:
        return (skipped(rule, fields, str(error)),)


def own_columns(call: str) -> tuple[str, ...]:
    """The columns of this dataset in a reference of SodaCL."""
    found = REFERENCE.fullmatch(call.strip()) if len(call) <= LONGEST else None
    return _split(found["own"]) if found else ()


def _split(names: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in names.split(","))


# ---- References to other data ----


@dataclass(frozen=True, slots=True)
class ReferencedData:
    """Fields of this dataset, those that they refer to, and the thresholds of the number of rows without a match."""

    fields: tuple[Field, ...]
    to: str
    parsed: SodaCheck


def _reference(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> ReferencedData | None:
    known = {each.name: each for each in fields}
    found = REFERENCE.fullmatch(call.strip()) if len(call) <= LONGEST else None
    if found:
        settings = {name.replace("_", " "): value for name, value in arguments.items()}
        _refuse_settings(call, set(settings))
        own = tuple(known[name] for name in _split(found["own"]) if name in known)
        to = ",".join(f"{found['dataset']}.{each}" for each in _split(found["theirs"]))
        return ReferencedData(own, to, SodaCheck("values", (), None, {}, settings))
    if REFERENCE_DATA not in {name.replace("_", " ") for name in arguments}:
        return None
    parsed = read(call, arguments)
    given = parsed.settings[REFERENCE_DATA]
    if not isinstance(given, Mapping) or not given.get("dataset") or not given.get("column"):
        raise SodaSyntaxError("reference data has a `dataset` and a `column`")
    if parsed.metric not in {"no_invalid_values", "invalid_count"}:
        raise UnmeasuredError(f"reference data of {brief(parsed.metric)} is not measured by this version")
    _refuse_settings(parsed.metric, set(parsed.settings) - {REFERENCE_DATA})
    own = tuple(known[name] for name in parsed.columns or rule.fields if name in known)
    return ReferencedData(own, f"{given['dataset']}.{given['column']}", parsed)


def _of_reference(contract: Contract, dataset: Dataset, rule: Rule, reference: ReferencedData) -> tuple[Check, ...]:
    """The check of a relationship, with the thresholds of this one."""
    own = replace(rule, arguments={"to": reference.to})
    (found,) = foreign_key(contract, dataset, own, reference.fields)
    if found.skip is not None:
        return (found,)
    return tuple(
        _with(found, rule, each, found.wanted if each[1] == NO_BAD else f"{limited(each[1], 'row')} not {found.wanted}")
        for each in wanted(rule, reference.parsed, NO_BAD)
    )


# ---- Queries ----


def _asked(call: str, arguments: Arguments) -> Asked | None:
    """The query of a call: of Soda's contracts by its type, of SodaCL by a setting that is named like the metric."""
    settings = {name.replace("_", " "): value for name, value in arguments.items()}
    if call.strip() == FAILED_ROWS:
        return _failed_rows(arguments, settings)
    name = call.split(maxsplit=1)[0] if call.strip() else ""
    if name in _EXPRESSIONS:
        key = _EXPRESSIONS[name]
        parsed = read(call, arguments)
        _refuse_settings(name, set(parsed.settings) - {key, "metric", "query", "expression"})
        return Asked(_select(str(settings.get(key) or ""), is_whole=name == "metric_query"), parsed)
    for kind in ("expression", "query"):
        if isinstance(arguments.get(f"{name} {kind}"), str):
            parsed = read(call, {key: each for key, each in arguments.items() if key != f"{name} {kind}"})
            _refuse_settings(name, set(parsed.settings))
            return Asked(_select(str(arguments[f"{name} {kind}"]), is_whole=kind == "query"), parsed)
    return None


def _failed_rows(arguments: Arguments, settings: Arguments) -> Asked:
    """No row meets a condition, or is in the result of a query."""
    condition, failing = settings.get("fail condition"), settings.get("fail query")
    if (condition is None) == (failing is None):
        raise SodaSyntaxError("failed rows have a `fail condition` or a `fail query`")
    rest = {
        name: each for name, each in arguments.items() if name.replace("_", " ") not in {"fail condition", "fail query"}
    }
    parsed = replace(read("failed_rows", rest), good=None)
    _refuse_settings(FAILED_ROWS, set(parsed.settings))
    source = "{model} WHERE (" + str(condition) + ")" if failing is None else f"({_whole(str(failing))}) AS failed"
    query = f"SELECT count(*) FROM {source}"  # noqa: S608 - read by `sql`, as every query of a contract
    return Asked(_TABLE.sub("{model}", query), replace(parsed, good=parsed.good or NO_BAD))


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
        found = sql(contract, dataset, own, fields)
    except ContractError as error:
        at = rule.origin
        raise ContractError(tuple(replace(each, path=at.path, line=at.line) for each in error.problems)) from None
    if any(each.skip is not None for each in found):
        yield from found
        return
    for threshold in wanted(rule, asked.parsed, None):
        yield from (_with(each, rule, threshold, f"an answer of {threshold[1]}") for each in found)


def _with(base: Check, rule: Rule, threshold: Wanted, words: str) -> Check:
    part, good, worst = threshold
    return replace(named_check(base, rule, part), accept=Tier(good), worst=worst or base.worst, wanted=words)


def _refuse_settings(name: str, settings: set[str]) -> None:
    foreign = sorted(settings - (SILENT - {"filter"}))
    if foreign:
        raise UnmeasuredError(f"the setting {brief(foreign[0])} of {brief(name)} is not measured by this version")


def _subjects(call: str, arguments: Arguments) -> tuple[str, ...]:
    return own_columns(call) or subjects_of(call, arguments)


ENGINE = Technology(
    frozenset({"soda", "sodacl", "sodacore"}),
    soda,
    _subjects,
    optional_subjects,
    condition="filter",
    is_sql=True,
    asking=asking,
)
