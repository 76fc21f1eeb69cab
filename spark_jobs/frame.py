"""The narrow frame: all that any check needs of the delivery, a few bits a row, read from the file once.

Each predicate is one bit of a few whole numbers (`m0`, `m1`, …; set where the predicate does not hold), keys and numbers keep
their values (`vc0`). The frame is kept in memory and, past that, on disk: it is small, several passes need it, and filling it is
the only parsing of the file. The **census** fills it. Read back, each predicate is a boolean column again (`p0`, `p1`, …).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.errors import InputError
from contracts.matching.engine import Engine, parts_of
from contracts.predicate import All, Matches, Not, Present, together
from contracts.result import Malformed
from spark_jobs.automaton import compile_re2
from spark_jobs.conditions import condition
from spark_jobs.delivery import POSITION_BITS
from spark_jobs.limits import BROKEN, unreadable
from spark_jobs.lines import has_giant_line
from spark_jobs.typed import value_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from py4j.java_gateway import JVMView
    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.predicate import Predicate
    from spark_jobs.delivery import Delivery

UNUSABLE = "the rule's own values cannot be used by the engine (a pattern, a bound or a list entry)"
MASK_BITS = 62
"""Predicates in one whole number of 64 bits."""
OVER_ROWS = {Metric.FAILING_ROWS, Metric.ROW_COUNT}
"""Metrics of rows, not of the values present."""


def length_name(alias: str) -> str:
    """The column that holds the length of a field's text, in code points."""
    return f"l{alias}"


@dataclass(frozen=True, slots=True)
class Base:
    """Records in which all of these fields hold a value of their type, and for which the condition surely holds."""

    fields: tuple[str, ...] = ()
    given: Predicate | None = None

    @property
    def otherwise(self) -> Predicate | None:
        """What fails exactly where the condition surely holds."""
        return None if self.given is None else Not(self.given)


def base_of(check: Check) -> Base | None:
    """What a check's number is taken of; None where that is every judged record."""
    if check.metric is Metric.MEAN_LENGTH:
        return Base(given=together(check.given, *map(Present, check.fields)))
    fields = () if check.metric in OVER_ROWS or check.nulls_alike else check.fields
    return Base(fields, check.given) if fields or check.given is not None else None


@dataclass(frozen=True, slots=True)
class Census:
    """What the delivery holds, counted while the narrow frame is filled."""

    rows: int
    """Records, malformed ones included."""
    malformed: tuple[Malformed, ...]
    lines_before: dict[tuple[int, int], int]
    """Lines of a part before a task's first one, by (part, task)."""
    present: dict[Base, int]
    """Judged records that the numbers of some checks are taken of."""
    first: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Part and identity of the first malformed record, by reason."""

    @property
    def judged(self) -> int:
        """Records that checks are measured over."""
        return self.rows - sum(each.rows for each in self.malformed)

    def line(self, part: int, identity: int) -> int:
        """The line, from 1, of the record with that identity."""
        task, position = identity >> POSITION_BITS, identity & ((1 << POSITION_BITS) - 1)
        return self.lines_before[part, task] + position + 1


@dataclass(frozen=True, slots=True)
class Narrow:
    """The kept frame and the names of its columns."""

    packed: DataFrame
    """What is kept."""
    frame: DataFrame
    """The same with a boolean column for each predicate."""
    predicates: dict[Predicate, str]
    errors: dict[Predicate, str]
    """Predicates that cannot be evaluated, with the reason: their checks are errors, all others are answered."""
    bases: dict[Base, Column]
    """For each base, whether a record of the frame is one of its own."""

    @property
    def judged(self) -> DataFrame:
        """The records that checks are measured over."""
        return self.frame.where(~F.col("no_record") & F.col("malformed").isNull())

    def error_of(self, check: Check) -> str | None:
        """Why a check cannot be measured, if it cannot."""
        return next((self.errors[each] for each in _predicates((check,)) if each in self.errors), None)


def narrow(
    spark: SparkSession, plan: Plan, delivery: Delivery, checks: tuple[Check, ...], asked: Iterable[str] = ()
) -> Narrow:
    """The narrow frame of the given checks, marked to be kept when first read; `asked` are fields whose values it keeps too."""
    bases = {base: None for check in checks if (base := base_of(check))}
    values = _values(plan, checks) | {value_name(plan.field(name).alias) for name in asked}
    kept = ["part", "id", "bytes", "no_record", "malformed", *delivery.kept, *sorted(values)]
    columns, errors = _columns(spark, plan, list(dict.fromkeys(_predicates(checks))))
    frame = delivery.frame.withColumns(_lengths(plan, checks))
    try:
        judged = _judged(frame, kept, columns)
    except PySparkException:
        refused = [predicate for predicate, column in columns.items() if not _analyses(frame, column)]
        errors |= dict.fromkeys(refused, UNUSABLE)
        columns = {predicate: column for predicate, column in columns.items() if predicate not in errors}
        judged = _judged(frame, kept, columns)
    names = {predicate: f"p{number}" for number, predicate in enumerate(columns)}
    packed = judged.selectExpr(*kept, *_masks(len(columns))).persist(StorageLevel.MEMORY_AND_DISK)
    unpacked = [f"m{at // MASK_BITS} & {1 << at % MASK_BITS}L = 0 AS p{at}" for at in range(len(columns))]
    known = {base: _is_of(base, plan, names) for base in bases if base.otherwise not in errors}
    return Narrow(packed, packed.selectExpr("*", *unpacked), names, errors, known)


def census(narrowed: Narrow, delivery: Delivery) -> Census:
    """Count the delivery; InputError where not the pinned bytes were read, UnreadableError where they have no good end."""
    task = F.shiftright("id", POSITION_BITS).alias("task")
    reason = F.when(~F.col("no_record"), F.coalesce("malformed", F.lit(""))).alias("reason")
    whole = [
        F.count(F.when(is_of, 1)).alias(f"present{number}") for number, is_of in enumerate(narrowed.bases.values())
    ]
    counts = [
        F.count(F.lit(1)).alias("lines"),
        F.sum("bytes").alias("bytes"),
        F.min("id").alias("first"),
        F.max("id").alias("last"),
    ]
    counted = _collected(narrowed.frame.groupBy("part", task, reason).agg(*counts, *whole))
    for row in counted:
        if row["reason"] in BROKEN:
            raise unreadable(row["reason"]).of_part(row["part"])
    _account_for_bytes(delivery, [(row["part"], row["bytes"]) for row in counted])
    before = _lines_before([(row["part"], row["task"], row["lines"]) for row in counted])
    present = {
        base: sum(row[f"present{number}"] for row in counted if row["reason"] == "")
        for number, base in enumerate(narrowed.bases)
    }
    found = Census(sum(row["lines"] for row in counted if row["reason"] is not None), (), before, present)
    return _with_malformed(found, [row for row in counted if row["reason"] is not None])


def _collected(counted: DataFrame) -> list[Row]:
    """The rows; Avro alone is read by Spark's own reader, which ends a job where a record cannot be read."""
    try:
        return counted.collect()
    except Py4JJavaError as error:
        if "org.apache.avro." in str(error):
            raise unreadable("inside") from None
        raise


def _masks(predicates: int) -> list[str]:
    """Whole numbers with one bit for each predicate, set where it does not hold: a good row's are all zero."""
    bits = [f"IF(coalesce(p{at}, true), 0L, {1 << at % MASK_BITS}L)" for at in range(predicates)]
    groups = [bits[start : start + MASK_BITS] for start in range(0, predicates, MASK_BITS)]
    return [f"{_union(group)} AS m{number}" for number, group in enumerate(groups)]


def _union(bits: list[str]) -> str:
    """All of them at once, as a balanced tree: Spark writes the code of every node anew for the one above it."""
    half = len(bits) // 2
    return f"({_union(bits[:half])} | {_union(bits[half:])})" if half else bits[0]


def _columns(
    spark: SparkSession, plan: Plan, predicates: list[Predicate]
) -> tuple[dict[Predicate, Column], dict[Predicate, str]]:
    """The predicates' columns, and why the others have none: one bad rule must not poison the scan of all."""
    columns: dict[Predicate, Column] = {}
    errors: dict[Predicate, str] = {}
    for predicate in predicates:
        try:
            _compile_patterns(spark._jvm, predicate)  # noqa: SLF001 - the JVM alone knows what its patterns may be
            columns[predicate] = condition(predicate, plan)
        except (ValueError, ArithmeticError):
            errors[predicate] = UNUSABLE
    return columns, errors


def _judged(frame: DataFrame, kept: list[str], columns: dict[Predicate, Column]) -> DataFrame:
    predicates = [column.alias(f"p{number}") for number, column in enumerate(columns.values())]
    return frame.select(*map(F.col, kept), *predicates)


def _analyses(frame: DataFrame, column: Column) -> bool:
    try:
        frame.select(column)
    except PySparkException:
        return False
    return True


def _values(plan: Plan, checks: tuple[Check, ...]) -> set[str]:
    """The columns of values that are kept: of keys and of numbers; texts as their lengths."""
    over_values = [
        check for check in checks if check.metric not in OVER_ROWS and check.metric is not Metric.MEAN_LENGTH
    ]
    values = {value_name(plan.field(name).alias) for check in over_values for name in check.fields}
    return values | set(_lengths(plan, checks))


def _lengths(plan: Plan, checks: tuple[Check, ...]) -> dict[str, Column]:
    names = {name for check in checks if check.metric is Metric.MEAN_LENGTH for name in check.fields}
    aliases = [plan.field(name).alias for name in sorted(names)]
    return {length_name(alias): F.length(alias) for alias in aliases}


def _is_of(base: Base, plan: Plan, names: dict[Predicate, str]) -> Column:
    there = [F.col(value_name(plan.field(name).alias)).isNotNull() for name in base.fields]
    given = [~F.col(names[base.otherwise])] if base.otherwise is not None else []
    return reduce(and_, [*there, *given])


def _predicates(checks: tuple[Check, ...]) -> Iterator[Predicate]:
    for check in checks:
        yield from (tier.predicate for tier in (check.accept, check.tolerate) if tier and tier.predicate)
        base = base_of(check)
        if base is not None and base.otherwise is not None:
            yield base.otherwise


def _compile_patterns(jvm: JVMView, predicate: Predicate) -> None:
    match predicate:
        case Matches(_, pattern):
            for part in parts_of(pattern):
                _COMPILERS[part.engine](jvm, part.pattern)
        case Not(inner):
            _compile_patterns(jvm, inner)
        case All(inner):
            for each in inner:
                _compile_patterns(jvm, each)


def _compile_java(jvm: JVMView, pattern: str) -> None:
    try:
        jvm.java.util.regex.Pattern.compile(pattern)
    except Exception as error:  # py4j has one exception for all of Java's
        raise ValueError("java.util.regex refuses the pattern") from error


_COMPILERS: dict[Engine, Callable[[JVMView, str], None]] = {
    Engine.JAVA: _compile_java,
    Engine.RE2: lambda _, pattern: compile_re2(pattern),
}


def _account_for_bytes(delivery: Delivery, read: list[tuple[int, int]]) -> None:
    """Every record accounts for its bytes; of a file that counts its rows itself, for one row."""
    for part, size in enumerate(delivery.sizes):
        total = sum(count for number, count in read if number == part)
        if size <= total <= size + delivery.slack:
            continue
        if delivery.slack and total < size and has_giant_line(delivery.addresses[part]):
            raise unreadable("too-long")
        raise InputError(
            f"Spark read {total:,} {delivery.unit} of an object of {size:,}: the staged name must not be interpreted"
        )


def _lines_before(counted: list[tuple[int, int, int]]) -> dict[tuple[int, int], int]:
    lines: dict[tuple[int, int], int] = {}
    for part, task, count in counted:
        lines[part, task] = lines.get((part, task), 0) + count
    return {
        (part, task): sum(count for (other, earlier), count in lines.items() if other == part and earlier < task)
        for part, task in lines
    }


def _with_malformed(found: Census, records: list[Row]) -> Census:
    """The census with the malformed records by reason; `records` are counted by part, task and reason."""
    malformed, firsts = [], {}
    for reason in sorted({row["reason"] for row in records if row["reason"]}):
        same = [row for row in records if row["reason"] == reason]
        part, first = firsts[reason] = min((row["part"], row["first"]) for row in same)
        last = max(row["last"] for row in records if row["part"] == part)
        rows = sum(row["lines"] for row in same)
        malformed.append(Malformed(reason, rows, found.line(part, first), part, is_last=first == last))
    return replace(found, malformed=tuple(malformed), first=firsts)
