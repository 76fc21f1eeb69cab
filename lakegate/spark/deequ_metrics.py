"""Checks measured by Deequ over sums and key frequencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import partial, reduce
from operator import and_
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it
from pyspark.sql.pandas.types import from_arrow_schema

from lakegate.engine.evaluate.predicate_sql import KEY_METRICS, NUMBER_METRICS, Program
from lakegate.engine.evaluate.typed_values import value_name
from lakegate.engine.measure.duckdb_tables import identity
from lakegate.engine.measure.metric_values import AGGREGATES, Aggregate, LevelMetrics, micros
from lakegate.engine.measure.partial_results import LevelCounts, Moments, Partial
from lakegate.plan.check import Check, Keys, Tier, keys_of
from lakegate.plan.check_numbers import tier_holds
from lakegate.plan.result import Measured, Measurement
from lakegate.spark.spark_session import INTERPRETED, pydeequ, settings
from lakegate.spark.spark_tasks import Pass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# ---- Deequ through PyDeequ ----
# The JVM calls the assertion of a constraint. Without PySpark's own callback server (daemon threads, a free port) the process
# would never end (docs/decisions/0001).


class Analyzer(Enum):
    """An analyzer of Deequ."""

    SIZE = "size"
    SUM = "sum"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    QUANTILE = "quantile"
    """Exact, by interpolation; PyDeequ does not know it, Deequ does."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One PyDeequ Check with one constraint."""

    name: str
    """The Check's description, unique in a run: by it the result is found again."""
    analyzer: Analyzer
    column: str
    """A generated name; empty for the size."""
    holds: Callable[[float], bool]
    is_warning: bool = False
    quantile: float = 0.0
    """The share of the values below a quantile."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Deequ's result of a constraint."""

    metric: float | None
    """None if there was no value."""
    passed: bool


def run(frame: DataFrame, constraints: Sequence[Constraint]) -> dict[str, Finding]:
    """Measure all constraints in one scan of the frame; findings by the constraints' names."""
    if not constraints:
        return {}
    spark = frame.sparkSession
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]  # noqa: SLF001 - PySpark's own way
    seen: dict[str, float] = {}
    suite = pydeequ("verification").VerificationSuite(spark).onData(frame)
    for constraint in constraints:
        suite.addCheck(_check(spark, constraint, seen))
    measured = {result["check"]: result["constraint_status"] == "Success" for result in suite.run().checkResults}
    return {each.name: Finding(seen.get(each.name), measured[each.name]) for each in constraints}


def _check(spark: SparkSession, constraint: Constraint, seen: dict[str, float]) -> object:
    checks = pydeequ("checks")

    def asserted(metric: float) -> bool:
        seen[constraint.name] = metric
        return constraint.holds(metric)

    level = checks.CheckLevel.Warning if constraint.is_warning else checks.CheckLevel.Error
    check = checks.Check(spark, level, constraint.name)
    column = constraint.column
    add: dict[Analyzer, Callable[[], object]] = {
        Analyzer.SIZE: lambda: check.hasSize(asserted),
        Analyzer.SUM: lambda: check.hasSum(column, asserted),
        Analyzer.MINIMUM: lambda: check.hasMin(column, asserted),
        Analyzer.MAXIMUM: lambda: check.hasMax(column, asserted),
        Analyzer.QUANTILE: lambda: _exact_quantile(check, constraint, asserted),
    }
    return add[constraint.analyzer]()


def _exact_quantile(check: Any, constraint: Constraint, asserted: Callable[[float], bool]) -> object:  # noqa: ANN401 - PyDeequ has no types
    session = check._spark_session  # noqa: SLF001 - as PyDeequ's own methods do
    holds = pydeequ("scala_utils").ScalaFunction1(session.sparkContext._gateway, asserted)  # noqa: SLF001 - likewise
    hint = session._jvm.scala.Option.apply(None)  # noqa: SLF001 - likewise
    check._Check = check._Check.hasExactQuantile(constraint.column, constraint.quantile, holds, hint)  # noqa: SLF001 - likewise
    return check


# ---- How often each key occurs ----


MOST_COMMON = "most_common"


def frequencies(program: Program, rows: DataFrame, keys: Keys) -> DataFrame:
    """The rows (`n`) of each key; for keys in more than one row `shared` is the same number and `repeated` is 1, else zero.

    `most_common` is 1 for keys that meet the predicate, else zero.
    """
    meets = F.min(~F.col(program.predicates[keys.predicate])) if keys.predicate else F.lit(True)
    grouped = _keyed(program, rows, keys).groupBy(*_columns(program, keys))
    counted = grouped.agg(F.count(F.lit(1)).alias("n"), meets.cast("int").alias(MOST_COMMON))
    many = F.col("n") > 1
    return counted.withColumns(
        {"shared": F.when(many, F.col("n")).otherwise(0), "repeated": F.when(many, 1).otherwise(0)}
    )


def most_common(frequencies: DataFrame) -> DataFrame:
    """One row: how many of the keys that occur as often as any meet the predicate."""
    by_number = frequencies.groupBy("n").agg(F.sum(MOST_COMMON).alias(MOST_COMMON))
    return by_number.agg(F.max_by(MOST_COMMON, "n").alias(MOST_COMMON))


def sharing(program: Program, rows: DataFrame, keys: Keys, limit: int) -> DataFrame:
    """See `lakegate.engine.measure.duckdb_tables.Sharing`."""
    own, names = identity(program), _columns(program, keys)
    few = F.broadcast(_repeated(program, rows, keys).orderBy(*names).limit(limit))
    return _having(program, rows, keys, few).orderBy(*names, *own).limit(limit).select(*own)


def find_shared(program: Program, rows: DataFrame, keys: Keys) -> Iterator[pa.Array]:
    """See `lakegate.engine.measure.duckdb_tables.Shared`."""

    def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row of Spark takes the driver some hundred bytes: here it holds the ids of a batch."""
        for batch in batches:
            yield pa.record_batch([pa.array([batch.column(0).to_numpy().tobytes()], pa.binary())], names=["ids"])

    frame = _having(program, rows, keys, _repeated(program, rows, keys)).select("id")
    for row in frame.mapInArrow(packed, "ids BINARY").toLocalIterator():
        yield pa.Array.from_buffers(pa.int64(), len(row["ids"]) // 8, [None, pa.py_buffer(row["ids"])])


def _repeated(program: Program, rows: DataFrame, keys: Keys) -> DataFrame:
    return frequencies(program, rows, keys).where("n > 1").select(*_columns(program, keys))


def _having(program: Program, rows: DataFrame, keys: Keys, some: DataFrame) -> DataFrame:
    """The rows that have one of some keys."""
    names = _columns(program, keys)
    same = reduce(and_, (F.col(f"one.{name}").eqNullSafe(F.col(f"other.{name}")) for name in names))
    return _keyed(program, rows, keys).alias("one").join(some.alias("other"), same, "leftsemi")


def _keyed(program: Program, rows: DataFrame, keys: Keys) -> DataFrame:
    return rows.where(F.col(program.populations[keys.population]))


def _columns(program: Program, keys: Keys) -> list[str]:
    return [value_name(program.plan.field(name).alias) for name in keys.fields]


# ---- Partial results as a frame with a row for each share ----


JUDGED = "judged"
"""The column of the number of judged records."""


def sums(
    spark: SparkSession, program: Program, total: LevelCounts, partials: list[Partial], judged_at: str
) -> DataFrame:
    """A row for each share: counts of each bit, and the aggregates of numbers that checks need, null without a number."""
    counts = [each.levels.get(program.level, LevelCounts()) for each in partials]
    columns = {JUDGED: pa.array([each.rows for each in counts], pa.int64())}
    for name in (*program.predicates.values(), *program.populations.values()):
        columns[name] = pa.array([each.bits.get(name, 0) for each in counts], pa.int64())
    kinds = {name: numbers.kind for numbers, name in program.numbers.items()}
    for check in program.checks:
        metric = NUMBER_METRICS.get(check.metric)
        if metric is not None and metric.aggregate is not None:
            name, aggregate = program.number(check), AGGREGATES[metric.aggregate]
            values = [_value(each.numbers.get(name), total.numbers.get(name), aggregate, judged_at) for each in counts]
            columns[aggregate_name(name, metric.aggregate)] = _column(values, aggregate, kinds[name])
    return local_frame(spark, pa.table(columns))


def aggregate_name(numbers: str, aggregate: str) -> str:
    """The column of an aggregate of a column of numbers."""
    return f"{numbers}_{aggregate}"


def _value(own: Moments | None, total: Moments | None, aggregate: Aggregate, judged_at: str) -> float | int | None:
    """The aggregate of one share."""
    return aggregate.of(own, total, micros(judged_at)) if own and total and own.count else None


def _column(values: list[float | int | None], aggregate: Aggregate, kind: str) -> pa.Array:
    """The values of shares: of whole numbers exact ones, whose sum may exceed 64 bits."""
    if aggregate.is_float or kind == "float":
        return pa.array(values, pa.float64())
    if aggregate.merge != "sum":
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else Decimal(int(value)) for value in values], pa.decimal128(38, 0))


def local_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A small table as a frame of one partition that the driver holds.

    Rows given to `createDataFrame` would pass through Python workers, and a shuffle would follow.
    """
    jvm = spark._jvm  # noqa: SLF001 - PySpark converts Arrow this way, but from pandas alone
    assert jvm is not None
    with NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_stream(file.file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        batches = jvm.PythonSQLUtils.readArrowStreamFromFile(file.name)
    schema = from_arrow_schema(table.schema).json()
    frame = jvm.PythonSQLUtils.toDataFrame(batches, schema, spark._jsparkSession)  # noqa: SLF001 - likewise
    return DataFrame(frame, spark).coalesce(1)


# ---- The measurement of every check ----
# 1. The partial results are a small frame with a row for each share: Deequ computes sums, minima and maxima of its columns.
#    There is one PyDeequ Check for each check and tier, at level Error for the tier that decides about failing, at level
#    Warning for the stricter one.
# 2. Keys are grouped once for each set of fields and rows, and Deequ measures the frequencies; quantiles over their numbers.
# 3. A check without records is not measured by Deequ, which has no metric of an empty frame: its counts are zero.


Scan = tuple[str, "Keys | None"]
"""The frame that is measured: `shares`, `rows` of records, `keys` or the `most_common` of them."""
SHARES: Scan = "shares", None
UNMEASURED = "Deequ could not measure this check"


@dataclass(frozen=True, slots=True)
class MetricReader:
    """The reading of a measurement from an analyzer of Deequ."""

    scan: Scan
    analyzer: Analyzer
    column: str
    read: Callable[[float], Measured]


@dataclass(frozen=True, slots=True)
class TierRequest:
    """One tier of one check, on its way through Deequ."""

    name: str
    check: Check
    tier: Tier
    reader: MetricReader
    population: int
    """Records or values that the check is measured over."""
    is_warning: bool

    @property
    def constraint(self) -> Constraint:
        """The constraint that Deequ measures."""
        reader = self.reader
        return Constraint(
            self.name,
            reader.analyzer,
            reader.column,
            lambda metric: tier_holds(self.check, self.tier, reader.read(metric)),
            self.is_warning,
            float(self.check.quantile.of(self.population)) if self.check.quantile else 0,
        )

    def measured(self, finding: Finding | None) -> Measured | None:
        """The measurement; None where Deequ had rows and returned no number."""
        if self.population == 0:
            return Measured(of=0, failing=0)
        if finding is None or finding.metric is None:
            return None
        return replace(self.reader.read(finding.metric), engine_passed=finding.passed)


@dataclass(frozen=True, slots=True)
class DeequMetrics(LevelMetrics):
    """The metrics of a level's checks, computed by Deequ."""

    spark: SparkSession
    partials: list[Partial]
    passed: Pass

    def measurements(self) -> Iterator[Measurement]:
        """The measurement of each check, errors included."""
        yield from self.errors()
        requests = [request for check in self.program.checks for request in self._requests(check)]
        constraints: dict[Scan, list[Constraint]] = {}
        for request in requests:
            if request.population:
                constraints.setdefault(request.reader.scan, []).append(request.constraint)
        findings: dict[str, Finding] = {}
        for scan, own in constraints.items():
            with settings(self.spark, INTERPRETED if scan == SHARES else {}):
                findings |= run(self._frame(scan), own)
        measured = {request.name: request.measured(findings.get(request.name)) for request in requests}
        for check in self.program.checks:
            accept, tolerate = measured[check.id], measured.get(_tolerance(check))
            if accept is None or (check.tolerate and tolerate is None):
                yield Measurement(check.id, error=UNMEASURED)
            else:
                yield Measurement(check.id, accept=accept, tolerate=tolerate, observed=self.observed(check))

    def _requests(self, check: Check) -> Iterator[TierRequest]:
        population, has_two = self.population(check), check.tolerate is not None
        yield TierRequest(check.id, check, check.accept, self._reader(check, check.accept), population, has_two)
        if check.tolerate:
            reader = self._reader(check, check.tolerate)
            yield TierRequest(_tolerance(check), check, check.tolerate, reader, population, is_warning=False)

    def _reader(self, check: Check, tier: Tier) -> MetricReader:
        if check.metric in KEY_METRICS:
            count = KEY_METRICS[check.metric].count
            scan = MOST_COMMON if count == MOST_COMMON else "keys", keys_of(check, tier)
            analyzer, column = (Analyzer.SIZE, "") if count == "keys" else (Analyzer.SUM, count)
            return MetricReader(scan, analyzer, column, lambda found: self.of_keys(check, round(found)))
        if check.metric in NUMBER_METRICS:
            aggregate, column = NUMBER_METRICS[check.metric].aggregate, self.program.number(check)
            read = partial(self.of_numbers, check)
            if aggregate is None:
                return MetricReader(("rows", None), Analyzer.QUANTILE, column, read)
            analyzer = Analyzer(AGGREGATES[aggregate].merge)
            return MetricReader(SHARES, analyzer, aggregate_name(column, aggregate), read)
        if tier.predicate is None:
            column = self.program.population(check) or JUDGED
            return MetricReader(SHARES, Analyzer.SUM, column, lambda found: Measured(of=round(found)))
        column = self.program.predicates[tier.predicate]
        return MetricReader(SHARES, Analyzer.SUM, column, lambda found: self.of_predicate(check, round(found)))

    def _frame(self, scan: Scan) -> DataFrame:
        kind, keys = scan
        if scan == SHARES:
            return sums(self.spark, self.program, self.counts, self.partials, self.judged_at)
        if kind == "rows":
            return self.passed.rows(self.program)
        assert keys is not None
        frame = frequencies(self.program, self.passed.rows(self.program), keys)
        return most_common(frame) if kind == MOST_COMMON else frame


def _tolerance(check: Check) -> str:
    return f"{check.id} (tolerance)"
