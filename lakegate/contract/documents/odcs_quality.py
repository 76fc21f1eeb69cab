"""Quality rules of ODCS and DCS, and their schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from lakegate.base.errors import ContractError
from lakegate.base.text import did_you_mean, join_words, quote
from lakegate.contract.contract_model import Comparison, Rule, Severity
from lakegate.contract.documents.document_tree import Notes, Place, exact, rule_id, texts
from lakegate.contract.documents.read_document import parse
from lakegate.contract.field_paths import FieldPath
from lakegate.contract.named_fields import written_names
from lakegate.contract.schedules import CRON, ScheduleError, of_cron, of_quartz, schedule
from lakegate.plan.check import Interval

OPERATORS: dict[str, Callable[..., Interval]] = {
    "mustBe": lambda x: Interval(x, x),
    "mustNotBe": lambda x: Interval(x, x, outside=True),
    "mustBeGreaterThan": lambda x: Interval(low=x, low_open=True),
    "mustBeGreaterOrEqualTo": lambda x: Interval(low=x),
    "mustBeLessThan": lambda x: Interval(high=x, high_open=True),
    "mustBeLessOrEqualTo": lambda x: Interval(high=x),
    "mustBeBetween": Interval,
    "mustNotBeBetween": lambda low, high: Interval(low, high, outside=True),
}

BETWEEN = {"mustBeBetween", "mustNotBeBetween"}


# ---- Schedules of rules ----


QUARTZ: Final = "scheduleCronExpression"
"""The key of DCM."""
LONGEST_SCHEDULE: Final = 200
"""Characters of a schedule: the row of a line holds those of all its rules."""


def schedule_of(place: Place) -> str:
    """The schedule that a rule is measured by, as EventBridge writes it; empty: there is none, or none that is followed."""
    try:
        return _read(place)
    except ScheduleError:
        return ""


def problem_of(place: Place) -> str:
    """The reason why the schedule of a rule is not followed; empty if it is."""
    try:
        _read(place)
    except ScheduleError as wrong:
        return str(wrong)
    return ""


def _read(place: Place) -> str:
    """Raises ScheduleError."""
    if quartz := (place[QUARTZ].text or "").strip():
        return _checked(of_cron(quartz) if len(quartz.split()) == len(CRON) else of_quartz(quartz))
    text = (place["schedule"].text or "").strip()
    if not text:
        return ""
    scheduler = place["scheduler"].text or ""
    if scheduler.casefold() != "cron":
        raise ScheduleError(f"only `scheduler: cron` is followed, not {quote(scheduler)}")
    return _checked(of_cron(text))


def _checked(text: str) -> str:
    if len(text) > LONGEST_SCHEDULE:
        raise ScheduleError(f"write at most {LONGEST_SCHEDULE} characters, not {len(text):,}")
    schedule(text)
    return text


# ---- Quality rules of ODCS and DCS ----


SPELLINGS = {
    **{name: name for name in OPERATORS},
    "mustBeGreaterThanOrEqualTo": "mustBeGreaterOrEqualTo",
    "mustBeLessThanOrEqualTo": "mustBeLessOrEqualTo",
}
"""The operators by spelling; DCS before 1.2.1 spells two of them differently."""
UNITS = {"rows": False, "row": False, "percent": True, "%": True}
"""Units; the value is whether the unit is a share of the rows."""
WARNING = ("info", "warning", "low", "minor")
FAILING = ("error", "critical", "high", "major", "medium", "blocker", "fatal", "severe")
OLDER = {
    **dict.fromkeys(("duplicateCount", "duplicatePercent", "uniqueCheck"), "duplicateValues"),
    **dict.fromkeys(("nullCheck", "nullCount", "nullPercent"), "nullValues"),
    "countCheck": "rowCount",
    "validValues": "invalidValues",
}
"""Metric names of ODCS 3.0 and DCS 1.1, with the current metric."""
NONE_ALLOWED = ("uniqueCheck", "nullCheck", "validValues")
"""The metrics of `OLDER` that allow no bad row if they have no operator."""
LISTS = ("validValues", "missingValues")
UNMEASURED = ("sql", "custom", "text")
"""Kinds without a metric of the library."""
NO_ROW = Comparison("mustBe", (Decimal(0),))
CHECKS_FOR = "checks for "
"""The prefix of a key with a list of checks."""
WRAPPERS = ("checks", "expectations")
"""Keys of a contract of Soda, and of a suite of Great Expectations, with a list of checks."""
AROUND_CHECKS = (
    "dataset",
    "data_source",
    "owner",
    "name",
    "id",
    "description",
    "meta",
    "notes",
    "expectation_suite_name",
    "data_asset_type",
    "ge_cloud_id",
    "suite_parameters",
    "evaluation_parameters",
)
"""Keys beside such a list that do not affect its checks."""
NOT_ARGUMENTS = ("type", "expectation_type", "expectation", "meta", "notes", "name")
"""Keys of an implementation that are not arguments of its check."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The dataset or field whose quality rules are read."""

    place: Place
    subject: str
    """The prefix of generated rule ids."""
    field: FieldPath | None = None
    """The path of the field; None for rules of the dataset."""
    graded: bool = True
    """Whether the format has `severity`."""


def quality_rules(owner: Owner, ordinals: Counter[str], notes: Notes) -> Iterator[Rule]:
    """The quality rules of a dataset or field, in order; each operator of a rule (DCS allows several) becomes its own rule."""
    for place in owner.place["quality"].items:
        kind = _kind(place)
        for ordinal, (arguments, comparison) in enumerate(_read_arguments(kind, place, notes), start=1):
            own = place["id"].text
            yield Rule(
                id=(own if ordinal == 1 else f"{own}:{ordinal}") if own else rule_id(ordinals, owner.subject, kind),
                kind=kind,
                origin=place.origin,
                fields=_fields(kind, place, owner.field),
                arguments=arguments,
                comparison=comparison,
                severity=_severity(place["severity"], notes) if owner.graded else Severity.FAIL,
                name=place["name"].text or place["description"].text,
                dimension=place["dimension"].text,
                schedule=schedule_of(place),
            )


def operators(place: Place) -> list[str]:
    """The operators of a rule, in its spelling."""
    return [key for key in SPELLINGS if place[key].present]


def implementations(place: Place) -> list[Place]:
    """The checks of an implementation: one, a list, or those of a whole file of the engine; a text is parsed as YAML.

    A file that holds more than checks and what does not affect them, such as a filter or checks for another dataset, is no check
    that can be read.
    """
    if place.text is not None:
        try:
            place = parse(place.text.encode()).top
        except ContractError:
            return []
    return _unwrap_check(place)


def _unwrap_check(place: Place) -> list[Place]:
    if place.items:
        return [check for item in place.items for check in _unwrap_check(item)]
    held = [name for name in place.entries if name in WRAPPERS or name.startswith(CHECKS_FOR)]
    if len(held) != 1 or any(name not in (*held, *AROUND_CHECKS) for name in place.entries):
        return [place]
    return _unwrap_check(place[held[0]])


def implementation_of(engine: str, place: Place) -> dict[str, object]:
    """The engine, name and arguments of a check. A check of Soda is a text, or a key with its arguments."""
    if place.text is not None:
        return {"engine": engine, "call": place.text, "args": {}}
    call = place["type"].text or place["expectation_type"].text or place["expectation"].text or ""
    entries = list(place.entries.items())
    if not call and len(entries) == 1:
        name, arguments = entries[0]
        return {"engine": engine, "call": name, "args": {key: exact(entry) for key, entry in arguments.entries.items()}}
    return {"engine": engine, "call": call, "args": _foreign_arguments(place)}


def _foreign_arguments(place: Place) -> Mapping[str, object]:
    """The arguments: beside the check's name, and in Great Expectations also below `kwargs`."""
    beside = {key: entry for key, entry in place.entries.items() if key not in (*NOT_ARGUMENTS, "kwargs")}
    return {key: exact(value) for key, value in {**beside, **place["kwargs"].entries}.items()}


def _kind(place: Place) -> str:
    """The `type` of SQL, custom and text rules, else the name of the metric, else `text`."""
    rule_type = place["type"].text
    if rule_type in UNMEASURED:
        return rule_type
    metric = _metric(place)
    return OLDER.get(metric, metric) if metric else "text"


def _metric(place: Place) -> str | None:
    return place["metric"].text or place["rule"].text


def _fields(kind: str, place: Place, field: FieldPath | None) -> tuple[FieldPath, ...]:
    named = written_names(texts(place["arguments"]["properties"]))
    if kind == "rowCount":
        return ()
    return named or (() if field is None else (field,))


def _read_arguments(kind: str, place: Place, notes: Notes) -> Iterator[tuple[dict[str, object], Comparison | None]]:
    """The arguments of a rule, with the comparison of each of its operators."""
    if kind == "custom":
        engine, parts = place["engine"].text or "", implementations(place["implementation"])
        unread: dict[str, object] = {"engine": engine, "call": ""}
        beside = {key: exact(place[key]) for key in operators(place)}
        for member in [implementation_of(engine, part) for part in parts] or [unread]:
            args = member.get("args")
            yield {**member, "args": beside | (args if isinstance(args, dict) else {})}, None
    elif kind == "sql":
        comparisons = {SPELLINGS[key]: exact(place[key]) for key in operators(place)}
        dialect = {"dialect": place["dialect"].text} if place["dialect"].text else {}
        percent = {"percent": True} if UNITS.get((place["unit"].text or "").lower()) else {}
        yield {"query": place["query"].text or "", **comparisons, **dialect, **percent}, None
    else:
        arguments = {key: exact(entry) for key, entry in place["arguments"].entries.items() if key != "properties"}
        lists = {key: place["arguments"][key] if key in arguments else place[key] for key in LISTS}
        arguments = arguments | {
            key: tuple(None if item.scalar is None else item.written for item in entry.items)
            for key, entry in lists.items()
            if entry.present
        }
        spelled = operators(place) if kind != "text" else []
        yield from ((arguments, _comparison(place, key, notes)) for key in spelled)
        if not spelled:
            yield arguments, NO_ROW if _metric(place) in NONE_ALLOWED else None


def _comparison(place: Place, spelled: str, notes: Notes) -> Comparison | None:
    operator, operand = SPELLINGS[spelled], place[spelled]
    values = operand.items if operator in BETWEEN else [operand]
    operands = tuple(value.number for value in values if value.number is not None)
    if len(operands) < len(values):
        if not notes.blames(operand):
            percent = operand.written.strip().endswith("%")
            form = f"`{operand.written.strip(' %')}`, and `unit: percent` beside it" if percent else "one"
            notes.error("operand", operand, f"`{spelled}` compares a number: write {form}.")
        return None
    return Comparison(operator, operands, _is_percent(place["unit"], notes))


def _is_percent(place: Place, notes: Notes) -> bool:
    unit = place.text
    if unit is None:
        return False
    if unit.lower() not in UNITS:
        message = (
            f"{quote(unit)} is not a unit of rows: write {join_words(('rows', 'percent'))}.{did_you_mean(unit, UNITS)}"
        )
        notes.error("unknown-unit", place, message)
    return UNITS.get(unit.lower(), False)


def _severity(place: Place, notes: Notes) -> Severity:
    declared = (place.text or FAILING[0]).lower()
    if declared not in WARNING + FAILING:
        hint = did_you_mean(declared, WARNING + FAILING)
        notes.warning(
            "unknown-severity", place, f"{quote(declared)} is not a usual severity and counts as error.{hint}"
        )
    return Severity.WARN if declared in WARNING else Severity.FAIL
