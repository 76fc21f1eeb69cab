"""Forms of dates, timestamps, durations and their parts. The current time is always the judging time."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from sqlglot import exp

from lakegate.contract.logical_types import LogicalType, literal
from lakegate.sql.sql_names import NodeForm, Scope, Translate, Translator, form, without_form
from lakegate.sql.sql_parser import (
    COUNTS_BOUNDARIES,
    COUNTS_COMPLETE_UNITS,
    DAYS_BETWEEN_DATES,
    MOMENTS_APART,
    MONDAY_IS_ONE,
    SECONDS_HAVE_FRACTIONS,
    SUNDAY_IS_ONE,
    SUNDAY_IS_ZERO,
    WEEKS_APART_FROM,
    WEEKS_COUNT_FROM_SUNDAY,
    word_of,
)
from lakegate.sql.typed_sql import (
    SqlKind,
    Texts,
    TypedSql,
    UntranslatedError,
    combine,
    expect_kind,
    fill,
    long,
    micros,
    moment,
    same,
    typed_null,
)

SECOND = 1_000_000
MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3_600 * SECOND,
    "day": 86_400 * SECOND,
    "week": 7 * 86_400 * SECOND,
}

MONTHS = {"month": 1, "quarter": 3, "year": 12}
WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ISO_WEEKS = ("isoweek", "iso_week", "weekiso", "weekofyear")
LONGEST_DURATION = 10_000 * 366 * MICROS["day"]
DAYS_APART = "date_diff('day', {1}, {0})"
"""In DuckDB."""
TRUNCATED = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
PARTS: dict[str, Texts] = {
    **{
        name: same(f"CAST({name}({{}}) AS BIGINT)")
        for name in ("year", "quarter", "month", "day", "hour", "minute", "second")
    },
    **dict.fromkeys(("week", *ISO_WEEKS), same("CAST(weekofyear({}) AS BIGINT)")),
    **dict.fromkeys(("doy", "dayofyear"), same("CAST(dayofyear({}) AS BIGINT)")),
    **dict.fromkeys(
        ("isodow", "dayofweekiso"),
        Texts("CAST((weekday({}) + 1) AS BIGINT)", "CAST(((isodow({}) - 1) + 1) AS BIGINT)"),
    ),
}
"""The parts of a timestamp that are integers, as SQL templates."""
WEEKDAYS = {
    **dict.fromkeys(
        SUNDAY_IS_ZERO, Texts("CAST((dayofweek({}) - 1) AS BIGINT)", "CAST(((dayofweek({}) + 1) - 1) AS BIGINT)")
    ),
    **dict.fromkeys(SUNDAY_IS_ONE, Texts("CAST(dayofweek({}) AS BIGINT)", "CAST((dayofweek({}) + 1) AS BIGINT)")),
    **dict.fromkeys(MONDAY_IS_ONE, PARTS["isodow"]),
}
"""The day of the week, by dialect."""
DEPENDS_ON_DATEFIRST = {
    "dayofweek": "WEEKDAY depends on SET DATEFIRST in sqlserver: `DATEDIFF(day, '1900-01-01', …) % 7`, 0 on Mondays, does not",
    "week": "WEEK depends on SET DATEFIRST in sqlserver: `iso_week` does not",
}
"""Parts of a point in time that are not translated from SQL Server, with what is."""
NOW = TypedSql(Texts("CAST(:now AS TIMESTAMP)", "CAST(CAST($now AS TIMESTAMPTZ) AS TIMESTAMP)"), SqlKind.TIMESTAMP)
TODAY = TypedSql(fill("CAST({} AS DATE)", NOW), SqlKind.DATE)


def typed_constant(sql: TypedSql, logical: LogicalType = LogicalType.TIMESTAMP) -> TypedSql:
    """A constant text parsed as a date or timestamp."""
    written = literal(logical, (sql.constant or "").strip())
    if written is None:
        raise UntranslatedError("a text in it is read as a point in time and writes none")
    if logical is LogicalType.DATE:
        return TypedSql(same(f"DATE '{written}'"), SqlKind.DATE)
    time = datetime.fromisoformat(written)
    in_utc = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    at = in_utc.replace(tzinfo=None).isoformat(" ", "microseconds")
    return TypedSql(same(f"TIMESTAMP '{at}'"), SqlKind.TIMESTAMP)


def plus(dialect: str, left: TypedSql, right: TypedSql) -> TypedSql | None:
    """The sum of a date or timestamp and a duration; None if neither operand is one."""
    if right.kind.temporal and not left.kind.temporal:
        left, right = right, left
    if left.kind is SqlKind.DURATION and right.kind is SqlKind.DURATION:
        return combine("({} + {})", SqlKind.DURATION, left, right)
    return _moved(dialect, left, right, "+") if left.kind.temporal else None


def minus(dialect: str, left: TypedSql, right: TypedSql) -> TypedSql | None:
    """The difference of dates, timestamps and durations; None if the left operand is none of them."""
    if left.kind is SqlKind.DURATION and right.kind is SqlKind.DURATION:
        return combine("({} - {})", SqlKind.DURATION, left, right)
    if not left.kind.temporal:
        return None
    if right.constant is not None:
        right = typed_constant(right)
    if not right.kind.temporal:
        return _moved(dialect, left, right, "-")
    if left.kind is right.kind is SqlKind.DATE:
        if dialect not in DAYS_BETWEEN_DATES:
            raise UntranslatedError(f"a date less a date is not a number in {dialect}")
        return combine(
            "CAST(datediff({}, {}) AS BIGINT)", SqlKind.INTEGER, left, right, duckdb=f"CAST({DAYS_APART} AS BIGINT)"
        )
    if dialect not in MOMENTS_APART:
        raise UntranslatedError(f"a moment less a moment is not a stretch of time in {dialect}")
    return combine(fill("({} - {})", micros(left), micros(right)), SqlKind.DURATION, left, right)


def _moved(dialect: str, point: TypedSql, by: TypedSql, sign: str) -> TypedSql:
    if by.kind is SqlKind.DURATION:
        text = fill(
            f"timestamp_micros(({{}} {sign} {{}}))", micros(point), by, duckdb=f"make_timestamp(({{}} {sign} {{}}))"
        )
        return combine(text, SqlKind.TIMESTAMP, point, by)
    if by.kind is SqlKind.MONTHS:
        return combine(fill(f"({{}} {sign} {{}})", moment(point), by), SqlKind.TIMESTAMP, point, by)
    if point.kind is SqlKind.DATE and by.kind is SqlKind.INTEGER and dialect in DAYS_BETWEEN_DATES:
        moved = "date_add" if sign == "+" else "date_sub"
        duckdb = f"({{}} {sign} CAST(CAST({{}} AS BIGINT) AS INTEGER))"
        return combine(f"{moved}({{}}, CAST({{}} AS INT))", SqlKind.DATE, point, by, duckdb=duckdb)
    raise UntranslatedError(f"it moves a point in time by {by.kind.value}")


def duration(count: int, unit: str) -> TypedSql:
    """A duration of `count` units."""
    name = unit.lower().removesuffix("s")
    if name in MONTHS and abs(count) <= LONGEST_DURATION // MICROS["week"]:
        months = count * MONTHS[name]
        text = Texts(f"make_ym_interval(0, {months})", f"to_months(CAST({months} AS INTEGER))")
        return TypedSql(text, SqlKind.MONTHS)
    if name not in MICROS or abs(count) * MICROS[name] > LONGEST_DURATION:
        raise UntranslatedError("it names a stretch of time that is not known")
    length = long(abs(count) * MICROS[name])
    return TypedSql(length if count >= 0 else fill("(- {})", length), SqlKind.DURATION)


def _interval(_t: Translator, node: exp.Interval, _scope: Scope) -> TypedSql:
    if node.args.get("unit") is None or node.this is None:
        raise UntranslatedError("its interval is not one number of one unit")
    return duration(_count(node.this), node.args["unit"].name)


def _count(node: exp.Expr) -> int:
    sign, node = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if not isinstance(node, exp.Literal) or not re.fullmatch(r"[-+]?[0-9]{1,9}", str(node.this)):
        raise UntranslatedError("its interval is not a constant")
    return sign * int(node.this)


def _shifted(sign: str) -> Translate:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        unit = node.args["unit"].name if node.args.get("unit") else "day"
        by = duration(_count(node.args["expression"]), unit)
        return _moved(t.dialect, _point(t.translate(node.this, scope)), by, sign)

    return translate


def _point(sql: TypedSql) -> TypedSql:
    return expect_kind(typed_constant(sql) if sql.constant is not None else sql, SqlKind.TIMESTAMP, SqlKind.DATE)


def _extract(t: Translator, node: exp.Extract, scope: Scope) -> TypedSql:
    of = t.translate(node.expression, scope)
    if isinstance(node.this, exp.WeekStart):
        return _week_of_year(_point(of), _first_day(node.this))
    return part(t, node.this.name.lower(), of)


def part(t: Translator, name: str, of: TypedSql, *, of_function: bool = False) -> TypedSql:
    """A part of a date, timestamp or duration, such as its year; `of_function`: as the function of that name gives it."""
    if name == "epoch":
        micro = of.text if of.kind is SqlKind.DURATION else micros(_point(of))
        seconds = fill(f"({{}} / {SECOND}D)", micro, duckdb=f"({{}} / CAST('{float(SECOND)!r}' AS DOUBLE))")
        return combine(seconds, SqlKind.DOUBLE, of)
    of = _point(of)
    if name == "second" and not of_function and t.dialect in SECONDS_HAVE_FRACTIONS:
        duckdb = "CAST((microsecond({}) / CAST('1000000.0' AS DOUBLE)) AS DOUBLE)"
        return combine("CAST(extract(SECOND FROM {}) AS DOUBLE)", SqlKind.DOUBLE, of, duckdb=duckdb)
    if t.dialect == "sqlserver" and name in DEPENDS_ON_DATEFIRST:
        raise UntranslatedError(DEPENDS_ON_DATEFIRST[name])
    if name == "week" and t.dialect in WEEKS_COUNT_FROM_SUNDAY:
        return _week_of_year(of, "sunday")
    template = WEEKDAYS.get(t.dialect) if name in {"dow", "dayofweek"} else PARTS.get(name)
    if template is None:
        message = f"{name.upper()[:20]} of a point in time is not translated from {t.dialect} by this version"
        raise UntranslatedError(message)
    text = fill(template.spark, typed_null(of, "TIMESTAMP"), duckdb=template.duckdb)
    return combine(text, SqlKind.INTEGER, of)


def _part_by_name(name: str) -> Translate:
    return lambda t, node, scope: part(t, name, t.translate(node.this, scope), of_function=True)


def _only_utc(node: exp.Expr) -> None:
    """Days and hours are in UTC: another time zone would change the result."""
    zone = node.args.get("zone")
    if zone is not None and zone.name.upper() not in {"UTC", "ETC/UTC", "GMT"}:
        raise UntranslatedError(f"{word_of(node)} in another time zone than UTC is not translated by this version")


def _truncated(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
    _only_utc(node)
    of = moment(_point(t.translate(node.this, scope)))
    unit, first = _unit(node)
    if unit == "week" and t.dialect == "sqlserver" and first is None:
        raise UntranslatedError(DEPENDS_ON_DATEFIRST[unit])
    if unit not in TRUNCATED:
        raise UntranslatedError("it cuts a moment at a unit that is not known")
    if unit == "week":
        return _begin_of_week(t, of, first or "monday")
    return combine(f"date_trunc('{unit}', {{}})", SqlKind.TIMESTAMP, of)


def _unit(node: exp.Func) -> tuple[str, str | None]:
    """A unit of time; of a week the day on which it begins, if the unit says so."""
    unit = node.args["unit"]
    if isinstance(unit, exp.WeekStart):
        return "week", _first_day(unit)
    name = unit.name.lower()
    return ("week", "monday") if name in ISO_WEEKS else (name, None)


def _first_day(week: exp.WeekStart) -> str:
    if week.name.lower() not in WEEK:
        raise UntranslatedError("it names a day on which no week begins")
    return week.name.lower()


def _week_of_year(of: TypedSql, first: str) -> TypedSql:
    """The week of the year, whose week 1 begins on the first day of that name."""
    since_monday = 7 - WEEK.index(first)
    spark = f"CAST((((dayofyear({{0}}) + 6) - ((weekday({{0}}) + {since_monday}) % 7)) div 7) AS BIGINT)"
    duckdb = f"CAST((((dayofyear({{0}}) + 6) - ((isodow({{0}}) + {since_monday - 1}) % 7)) // 7) AS BIGINT)"
    return combine(fill(spark, typed_null(of, "TIMESTAMP"), duckdb=duckdb), SqlKind.INTEGER, of)


def _begin_of_week(t: Translator, of: TypedSql, first: str) -> TypedSql:
    """The midnight at which a week began that begins on the day of that name."""
    shift = duration(WEEK.index(first), "day")
    monday = moment(of) if first == "monday" else _moved(t.dialect, moment(of), shift, "-")
    begin = combine("date_trunc('week', {})", SqlKind.TIMESTAMP, monday)
    return begin if first == "monday" else _moved(t.dialect, begin, shift, "+")


def _apart(t: Translator, node: exp.DateDiff, scope: Scope) -> TypedSql:
    """The number of boundaries of a unit between two dates or timestamps."""
    later, earlier = map(_point, t.operands(node, scope))
    unit, first = _unit(node) if node.args.get("unit") else ("day", None)
    are_dates = later.kind is earlier.kind is SqlKind.DATE
    if unit == "day" and (are_dates or t.dialect in COUNTS_BOUNDARIES or not node.args.get("unit")):
        return _days(later, earlier)
    if t.dialect in COUNTS_COMPLETE_UNITS:
        return _complete(t, unit, later, earlier)
    first = first or WEEKS_APART_FROM.get(t.dialect)
    if t.dialect not in COUNTS_BOUNDARIES or (unit == "week" and first is None):
        raise UntranslatedError(f"a difference in {unit.upper()[:20]} is not translated from {t.dialect}: count days")
    if unit == "week" and first is not None:
        begins = [micros(_begin_of_week(t, sql, first)) for sql in (later, earlier)]
        weeks = fill("(({} - {}) div {})", *begins, long(MICROS[unit]), duckdb="(({} - {}) // {})")
        return combine(weeks, SqlKind.INTEGER, later, earlier)
    if unit in MONTHS:
        months = [
            fill("((year({0}) * 12) + (month({0}) - 1))", typed_null(sql, "TIMESTAMP")) for sql in (later, earlier)
        ]
        counted = [fill(f"({{}} div {MONTHS[unit]})", month, duckdb=f"({{}} // {MONTHS[unit]})") for month in months]
    elif unit in MICROS:
        counted = [_floored(micros(sql), MICROS[unit]) for sql in (later, earlier)]
    else:
        raise UntranslatedError("it counts a unit that is not known")
    return combine(fill("CAST(({} - {}) AS BIGINT)", *counted), SqlKind.INTEGER, later, earlier)


def _days(later: TypedSql, earlier: TypedSql) -> TypedSql:
    days = [fill("CAST({} AS DATE)", sql) for sql in (later, earlier)]
    text = fill("CAST(datediff({}, {}) AS BIGINT)", *days, duckdb=f"CAST({DAYS_APART} AS BIGINT)")
    return combine(text, SqlKind.INTEGER, later, earlier)


def _floored(micro: Texts, unit: int) -> Texts:
    by = long(unit)
    return fill("(({0} - pmod({0}, {1})) div {1})", micro, by, duckdb="(({0} - ((({0} % {1}) + {1}) % {1})) // {1})")


def _elapsed(t: Translator, node: exp.TimestampDiff, scope: Scope) -> TypedSql:
    """The number of complete units between two dates or timestamps."""
    unit = node.args["unit"].name.lower() if node.args.get("unit") else "day"
    later, earlier = map(_point, t.operands(node, scope))
    return _complete(t, unit, later, earlier)


def _complete(t: Translator, unit: str, later: TypedSql, earlier: TypedSql) -> TypedSql:
    if unit in MONTHS:
        return _complete_months(t, unit, later, earlier)
    if unit not in MICROS:
        raise UntranslatedError(
            f"a difference in complete units of {unit.upper()[:20]} is not translated by this version"
        )
    apart = fill("({} - {})", micros(later), micros(earlier))
    text = fill("({} div {})", apart, long(MICROS[unit]), duckdb="({} // {})")
    return combine(text, SqlKind.INTEGER, later, earlier)


def _complete_months(t: Translator, unit: str, later: TypedSql, earlier: TypedSql) -> TypedSql:
    """Dates are compared as numbers of months of 32 days: those that a quotient by 32 leaves are complete."""
    if not later.kind is earlier.kind is SqlKind.DATE:
        raise UntranslatedError(
            f"a difference in complete units of {unit.upper()} is counted between dates in {t.dialect}: cast both to DATE"
        )
    months = "(((year({0}) * 12) + month({0})) * 32)"
    numbers = [fill(f"({months} + day({{0}}))", sql) for sql in (later, earlier)]
    size = MONTHS[unit] * 32
    spark, duckdb = (f"CAST((({{}} - {{}}) {div} {size}) AS BIGINT)" for div in ("div", "//"))
    text = fill(spark, *numbers, duckdb=duckdb)
    if t.dialect in COUNTS_COMPLETE_UNITS:  # the last day of a month stands for day 31
        ended = f"({months} + CASE WHEN day({{1}}) = 1 THEN 31 ELSE day({{0}}) END)"
        days = [fill("date_add({}, 1)", sql, duckdb="({} + CAST(1 AS INTEGER))") for sql in (later, earlier)]
        last = [fill(ended, sql, day) for sql, day in zip((later, earlier), days, strict=True)]
        forward = fill(spark, last[0], numbers[1], duckdb=duckdb)
        backward = fill(spark, numbers[0], last[1], duckdb=duckdb)
        text = fill("CASE WHEN {} >= {} THEN {} ELSE {} END", later, earlier, forward, backward)
    return combine(text, SqlKind.INTEGER, later, earlier)


def _wrapped(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
    _only_utc(node)
    if node.this is None:
        raise without_form(node)
    return _point(t.translate(node.this, scope))


def as_date(sql: TypedSql) -> TypedSql:
    """A date or timestamp as its date in UTC."""
    return replace(sql, text=fill("CAST({} AS DATE)", sql), kind=SqlKind.DATE) if sql.kind is SqlKind.TIMESTAMP else sql


def _by_name(t: Translator, node: exp.Anonymous, scope: Scope) -> TypedSql:
    """Functions for which the parser has no class."""
    name, given = node.name.lower(), node.expressions
    if name in {"now", "getdate"} and not given:
        return NOW
    if name == "date_part" and len(given) == 2 and isinstance(given[0], exp.Literal):  # noqa: PLR2004 - a part, and of what
        return part(t, given[0].name.lower(), t.translate(given[1], scope))
    raise UntranslatedError(f"{name.upper()} is not translated by this version")


SHIFTING = ("this", "expression", "unit")

FORMS: dict[type, NodeForm] = {
    exp.Anonymous: form(_by_name, "this", "expressions"),
    exp.CurrentTimestamp: form(lambda _t, _n, _s: NOW, "this", "sysdate"),
    exp.CurrentDate: form(lambda _t, _n, _s: TODAY),
    exp.Interval: form(_interval, "this", "unit"),
    exp.Extract: form(_extract, "this", "expression"),
    **dict.fromkeys((exp.TimestampTrunc, exp.DatetimeTrunc, exp.DateTrunc), form(_truncated, "this", "unit", "zone")),
    **dict.fromkeys((exp.DateDiff, exp.DatetimeDiff, exp.TsOrDsDiff), form(_apart, *SHIFTING)),
    exp.TimestampDiff: form(_elapsed, *SHIFTING),
    **dict.fromkeys((exp.DateAdd, exp.TimestampAdd, exp.DatetimeAdd, exp.TsOrDsAdd), form(_shifted("+"), *SHIFTING)),
    **dict.fromkeys((exp.DateSub, exp.TimestampSub, exp.DatetimeSub), form(_shifted("-"), *SHIFTING)),
    **dict.fromkeys((exp.TimeStrToTime, exp.TsOrDsToTimestamp), form(_wrapped, "this", "zone")),
    **dict.fromkeys(
        (exp.TsOrDsToDate, exp.Date), form(lambda t, node, scope: as_date(_wrapped(t, node, scope)), "this", "zone")
    ),
    exp.TimeToUnix: form(_part_by_name("epoch"), "this"),
    **{
        each: form(_part_by_name(each.key), "this")
        for each in (exp.Year, exp.Quarter, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second)
    },
    exp.DayOfMonth: form(_part_by_name("day"), "this"),
    exp.DayOfYear: form(_part_by_name("doy"), "this"),
    exp.DayOfWeek: form(_part_by_name("dow"), "this"),
    exp.DayOfWeekIso: form(_part_by_name("isodow"), "this"),
    exp.Week: form(_part_by_name("week"), "this"),
    exp.WeekOfYear: form(_part_by_name("isoweek"), "this"),
}
