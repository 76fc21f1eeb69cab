"""Runs Deequ through PyDeequ: constraints in, the metric and Deequ's own status of each out.

The JVM calls the assertion of a constraint. Without PySpark's own callback server (daemon threads, a free port) the process
would never end (docs/decisions/0001).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pyspark
from pyspark.java_gateway import ensure_callback_server_started

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession


PROPERTIES: Final = "/META-INF/maven/com.amazon.deequ/deequ/pom.properties"
"""What Maven wrote into the jar of Deequ."""


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
    """The Check's description, unique in a run: by it the answer is found again."""
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


def version(session: SparkSession) -> str:
    """The version of the jar that runs; PyDeequ knows only the one that it was made for."""
    jvm: Any = session._jvm  # noqa: SLF001 - PySpark has no other way to the JVM
    properties = jvm.java.util.Properties()
    properties.load(jvm.com.amazon.deequ.VerificationSuite().getClass().getResourceAsStream(PROPERTIES))
    return str(properties.getProperty("version"))


def pydeequ(module: str) -> Any:  # noqa: ANN401 - PyDeequ has no types
    """A module of PyDeequ, which reads SPARK_VERSION when it is imported, and takes a second (pandas)."""
    os.environ.setdefault("SPARK_VERSION", ".".join(pyspark.__version__.split(".")[:2]))
    return import_module(f"pydeequ.{module}")


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
    answers = {each["check"]: each["constraint_status"] == "Success" for each in suite.run().checkResults}
    return {each.name: Finding(seen.get(each.name), answers[each.name]) for each in constraints}


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
