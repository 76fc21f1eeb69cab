"""What authors mean who write a key or a value of another format or version: the form that works, instead of what is missing.

A problem of the schema names one key at a time; the advice is one problem for what a person would mend at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.formats.quality import OLDER, SPELLINGS
from contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contracts.document import Document
    from contracts.errors import Problem
    from contracts.nodes import Place

OPTIONS = (
    *("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "timezone"),
)
"""Options of a logical type; other formats write them at the field itself."""
LISTED = "quality: [{metric: invalidValues, arguments: {validValues: [...]}, mustBe: 0}]"
WITH_ENUM = "v3.2.0"
WITHOUT_METRICS = ("v3.0.0", "v3.0.1", "v3.0.2")


def advised(problems: list[Problem], document: Document) -> Iterator[Problem]:
    """The problems of a schema, those that are one mistake together, with the form that works."""
    told: set[str] = set()
    for problem in problems:
        rule = _older_rule(document, problem)
        if rule is None:
            yield _mended(document, problem)
        elif rule.path not in told:
            told.add(rule.path)
            yield replace(
                problem,
                code="missing-key",
                path=rule.path,
                line=rule.mark.line,
                message=_metric_of(rule["rule"].written),
            )


def _older_rule(document: Document, problem: Problem) -> Place | None:
    """The quality rule that a problem is about, if it has the key `rule` of ODCS 3.0 in a document of a later version."""
    if document.top["apiVersion"].written in (*WITHOUT_METRICS, "") or ".quality[" not in problem.path:
        return None
    stem, _, rest = problem.path.rpartition(".quality[")
    place = document.at(f"{stem}.quality[{rest.partition(']')[0]}]")
    return place if place["rule"].text is not None and not place["metric"].present else None


def _metric_of(rule: str) -> str:
    if rule == "validValues":
        form = "write `metric: invalidValues` with `arguments: {validValues: [...]}` and `mustBe: 0`"
    else:
        form = f"write `metric: {OLDER.get(rule, rule)}` and an operator, e.g. `mustBe: 0`"
    return f"The key `rule` is of ODCS 3.0: {form}."


def _mended(document: Document, problem: Problem) -> Problem:
    place = document.at(problem.path)
    key = str(place.steps[-1]) if place.steps else ""
    advice = ""
    if problem.code == "unknown-key" and _is_property(place):
        advice = _of_property(document, key)
    elif problem.code == "wrong-type" and key in SPELLINGS and place.written.strip().endswith("%"):
        advice = _of_percent(document.at(problem.path.removesuffix(f".{key}")), place.written.strip(" %"))
    elif problem.code == "wrong-type" and place.steps[-2:-1] == ("enum",):
        advice = f"Write `{{value: {place.written}}}` here, not a text."
    return replace(problem, message=advice) if advice else problem


def _is_property(place: Place) -> bool:
    return "properties" in place.steps and place.steps[:1] == ("schema",)


def _of_property(document: Document, key: str) -> str:
    if key in OPTIONS:
        return f"The key {shown(key)} is an option of the type: write it into `logicalTypeOptions`."
    if key != "enum":
        return ""
    version = document.top["apiVersion"].written
    own = "" if version in WITHOUT_METRICS else f"write `{LISTED}`, or "
    return f"The key `enum` came with ODCS 3.2: {own}say `apiVersion: {WITH_ENUM}` and `enum: [{{value: ...}}]`."


def _of_percent(rule: Place, number: str) -> str:
    if rule["type"].text == "sql":
        return f"Write a number here, `{number}`: the query itself answers in percent."
    return f"Write a number here, `{number}`, and `unit: percent` beside it."
