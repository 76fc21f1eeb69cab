"""The corpus of exploding patterns is what it says on the JVM in use, and the searches that take their place are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from contracts.matching.engine import Engine
from contracts.rules.patterns import rewritten
from contracts.rules.strftime import compile_format
from contracts.rules.textforms import TEXT_FORMS
from tests.security.exploding import FULL, MEBIBYTE, Exploding, sample
from tests.security.test_exploding import MOST_SECONDS, searches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
STACK = "StackOverflowError"
OWN = {name: form.pattern for name, form in TEXT_FORMS.items()} | {
    written: compile_format(written)
    for written in ("%Y-%m-%d", "%H:%M", "%d%m%y%H%M%S", "%B %d, %Y %I:%M %p", "%Y %d %m %H", "%S%f")
}
PUMPS = ("a", "1", " ", "a.", "1:", ":", "-a", "1 ", "é", "00", "2020-01-01", "::1:")


def seconds(spark: SparkSession, pattern: str, text: str) -> float:
    """Time of a processor that java.util.regex takes to search a text; StackOverflowError counts as without end."""
    jvm = spark._jvm  # noqa: SLF001 - PySpark has no other way to java.util.regex
    clock = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    matcher = jvm.java.util.regex.Pattern.compile(pattern).matcher(text)
    began = clock.getCurrentThreadCpuTime()
    try:
        matcher.find()
    except Py4JJavaError as error:
        if STACK in str(error.java_exception):
            return float("inf")
        raise
    taken: float = (clock.getCurrentThreadCpuTime() - began) / 1e9
    return taken


def explodes(spark: SparkSession, each: Exploding) -> bool:
    """Whether the attack takes over a second, on a fast machine with some more of the same."""
    times = each.times
    while len((text := each.text(times)).encode()) < MEBIBYTE:
        if seconds(spark, rewritten(each.pattern), text) > MOST_SECONDS:
            return True
        times = max(times + 1, times * 5 // 4)
    return False


@pytest.mark.parametrize("each", sample(4), ids=lambda each: each.pattern)
def test_the_corpus_explodes(spark: SparkSession, each: Exploding) -> None:
    """Each pattern keeps java.util.regex busy for more than a second, or ends its stack, with less than a mebibyte."""
    assert explodes(spark, each)


@pytest.mark.parametrize("each", sample(20), ids=lambda each: each.pattern)
def test_what_java_gets_instead_does_not(spark: SparkSession, each: Exploding) -> None:
    """What is left to java.util.regex of such a pattern ends with a mebibyte of the attack, nightly within a second."""
    for part in searches(each):
        if part.engine is Engine.JAVA:
            taken = seconds(spark, part.pattern, each.mebibyte)

            assert taken < (MOST_SECONDS if FULL else float("inf"))


@pytest.mark.parametrize("name", OWN)
def test_our_own_patterns_do_not(spark: SparkSession, name: str) -> None:
    """Forms of text and formats of dates end with a mebibyte of whatever repeats, and never on the stack."""
    for pump in PUMPS:
        taken = seconds(spark, OWN[name], f"a@{pump * ((MEBIBYTE - 100) // len(pump.encode()))}!")
        again = seconds(spark, OWN[name], pump * ((MEBIBYTE - 100) // len(pump.encode())) + "!")

        assert max(taken, again) < (MOST_SECONDS if FULL else float("inf"))
