"""Quality rules as ODCS writes them: library metrics, SQL, calls of other engines and text (ODCS 3.2 §quality)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.odcs import BETWEEN
from lakegate.contracts.convert.odcs_site import STABLE_ID, listed, number
from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.convert.odcs_site import Plain, Quality, RuleSite, Write
    from lakegate.contracts.model.contract import Comparison

_LISTS = ("validValues", "missingValues")
_NOT_OPERATORS = ("query", "dialect", "percent")
_PAIR = 2


def metric(site: RuleSite) -> Quality:
    """A library metric: of one field at its property, of several at the object; without an operator it is none."""
    rule = site.rule
    is_of_one = len(rule.fields) == 1
    kind = site.type(rule.fields[0]) if is_of_one else LogicalType.STRING
    arguments: Plain = {} if is_of_one or not rule.fields else {"properties": [*rule.fields]}
    for key, each in rule.arguments.items():
        arguments[key] = listed(each, kind) if key in _LISTS else each
    if rule.comparison is not None:
        yield site.owner, library(rule.kind, arguments) | _compared(rule.comparison)


def library(name: str, arguments: Plain) -> Plain:
    """A metric with its arguments, if it has any."""
    return {"metric": name} | ({"arguments": arguments} if arguments else {})


def _compared(comparison: Comparison) -> Plain:
    values = [number(each) for each in comparison.operands]
    operand = values if comparison.operator in BETWEEN else values[0]
    return {comparison.operator: operand} | ({"unit": "percent"} if comparison.percent else {})


def sql(site: RuleSite) -> Quality:
    """A query; a rule of ODCS has one operator."""
    given = site.rule.arguments
    dialect = {"dialect": given["dialect"]} if "dialect" in given else {}
    unit = {"unit": "percent"} if given.get("percent") else {}
    for operator, value in given.items():
        if operator not in _NOT_OPERATORS:
            yield site.owner, {"type": "sql", "query": given["query"]} | dialect | unit | {operator: value}


def custom(site: RuleSite) -> Quality:
    """The call of another engine; where it has a check for each of several fields, once for each of them."""
    rule, given = site.rule, site.rule.arguments.get("args")
    arguments = given if isinstance(given, dict) else {}
    call = str(rule.arguments.get("call") or "")
    if not call.strip():
        return
    if len(rule.fields) > 1 and all(len(each.fields) == 1 for each in site.checks):
        for at, path in enumerate(rule.fields, start=1):
            own = {"id": f"{rule.id}_{at}"} if STABLE_ID.fullmatch(rule.id) else {}
            yield path, own | _call(site, call, arguments)
    else:
        yield site.owner, _call(site, call, _columns(call, rule.fields) | arguments)


def _call(site: RuleSite, call: str, arguments: Mapping[str, object]) -> Plain:
    implementation = {"type": call, "kwargs": dict(arguments)}
    return {"type": "custom", "engine": site.rule.arguments.get("engine"), "implementation": implementation}


def _columns(call: str, fields: tuple[str, ...]) -> Plain:
    """The arguments that name the columns of a call about several."""
    if len(fields) == _PAIR and "pair" in call:
        return {"column_A": fields[0], "column_B": fields[1]}
    return {"column_list": [*fields]} if len(fields) > 1 else {}


def text(site: RuleSite) -> Quality:
    """A rule in words."""
    yield site.owner, {"type": "text"}


QUALITY: dict[str, Write] = {
    **dict.fromkeys(("rowCount", "nullValues", "missingValues", "invalidValues", "duplicateValues"), metric),
    "sql": sql,
    "custom": custom,
    "text": text,
}
"""The writer of each kind of quality rule."""
