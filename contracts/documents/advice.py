"""Advice for keys and values of another format or version: the message shows the form that works.

The schema reports one problem per key; the advice merges the problems that one edit fixes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.documents.quality import OLDER, SPELLINGS
from lakegate.contracts.errors import Problem
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place

OPTIONS = (
    *("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "timezone"),
)
"""Options of a logical type in ODCS. Other formats write them directly at the field."""
LISTED = "quality: [{metric: invalidValues, arguments: {validValues: [...]}, mustBe: 0}]"
WITH_ENUM = "v3.2.0"
WITHOUT_METRICS = ("v3.0.0", "v3.0.1", "v3.0.2")


def advised(problems: Iterable[Problem], document: Document) -> Iterator[Problem]:
    """The problems of a schema with advice; problems with one cause are merged."""
    merged = merge_by_owner(
        problems, lambda each: _older_rule(document, each), lambda rule: _metric_of(rule["rule"].written)
    )
    return (_mended(document, problem) for problem in merged)


def merge_by_owner(
    problems: Iterable[Problem], owner_of: Callable[[Problem], Place | None], words: Callable[[Place], str]
) -> Iterator[Problem]:
    """Replace all problems of an owner by one `missing-key` problem with the message `words(owner)`; keep the others."""
    reported: set[str] = set()
    for problem in problems:
        place = owner_of(problem)
        if place is None:
            yield problem
        elif place.path not in reported:
            reported.add(place.path)
            yield Problem("missing-key", place.path, place.mark.line, words(place))


def _older_rule(document: Document, problem: Problem) -> Place | None:
    """The quality rule of a problem, if it has the key `rule` of ODCS 3.0 in a document of a later version."""
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
    return f"The key `rule` belongs to ODCS 3.0: {form}."


def _mended(document: Document, problem: Problem) -> Problem:
    place = document.at(problem.path)
    key = str(place.steps[-1]) if place.steps else ""
    advice = ""
    if problem.code == "unknown-key" and _is_property(place):
        advice = _of_property(document, key)
    elif problem.code == "wrong-type" and key in SPELLINGS and place.written.strip().endswith("%"):
        advice = _of_percent(document.at(problem.path.removesuffix(f".{key}")), place.written.strip(" %"))
    elif problem.code == "wrong-type" and place.steps[-2:-1] == ("enum",):
        is_mapping = document.top["apiVersion"].present
        form = f"{{value: {place.written}}}" if is_mapping else f'"{place.written}"'
        advice = f"Write `{form}` here, not a {'text' if is_mapping else 'value without quotes'}."
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
