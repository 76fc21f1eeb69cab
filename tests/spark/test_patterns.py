"""P11 in the job: every pattern is answered as the reference does, by whichever engine, and none is hung by a text."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import ContractError
from contracts.matching.engine import Engine, parts_of
from contracts.model import Csv, OnReject, Origin, Policy, Rule
from contracts.rules.patterns import translate
from contracts.verdict import Verdict
from tests.reference.evaluator import measure
from tests.reference.sampling import sampled
from tests.security.patterns import patterns, texts
from tests.spark.delivery import plan_of, rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from contracts.result import Result
    from tests.spark.delivery import Judged

pytestmark = pytest.mark.spark
RULE = Rule("r", "pattern", Origin("$"))
MEBIBYTE = 2**20
EMAIL = r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$"
SLOW = ("(.*a){12}$", "^(a|aa)+$", EMAIL, r"^(\w+\s?)*$", "^(?!.*x.*y)(a|bc)*$")


def is_usable(pattern: str) -> bool:
    try:
        translate(RULE, pattern)
    except ContractError:
        return False
    return True


def engines(pattern: str) -> set[Engine]:
    return {part.engine for part in parts_of(translate(RULE, pattern))}


def as_csv(values: list[str]) -> bytes:
    text = io.StringIO("number,a\n")
    text.seek(0, io.SEEK_END)
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(enumerate(values))
    return text.getvalue().encode()


def failing(result: Result) -> dict[str, int | None]:
    return {each.check: each.accept and each.accept.failing for each in result.measurements}


@sampled(2, 100)
@given(st.lists(patterns.filter(is_usable), min_size=40, max_size=60), st.lists(texts, min_size=30, max_size=60))
def test_both_engines_answer_as_the_reference(
    judge_files: Callable[..., Judged], asked: list[str], values: list[str]
) -> None:
    """Random patterns on random texts: as many rows fail by the job as by the reference evaluator, also beside each other."""
    rules = [rule("pattern", "a", pattern=each) for each in [*asked, *SLOW]]
    plan = plan_of({"number": "integer", "a": "string"}, *rules, csv=Csv(multi_line=True), policy=Policy(samples=False))

    judged = judge_files(plan, as_csv(values))

    reference = measure(plan, ("number", "a"), [(str(at), value) for at, value in enumerate(values)])
    assert judged.result.malformed == ()
    assert failing(judged.result) == failing(reference)


def test_no_text_hangs_a_job(judge_files: Callable[..., Judged]) -> None:
    """Values of nearly a mebibyte that would keep a backtracking engine busy, or end its stack, are answered at once."""
    attacks = ["a" * (MEBIBYTE - 100) + "!", "a@" + "a." * (MEBIBYTE // 2 - 100), "bc" * (MEBIBYTE // 2 - 100) + "!"]
    rules = [rule("pattern", "a", pattern=each) for each in SLOW]
    forms = [rule("format", "a", value=each) for each in ("email", "hostname", "ipv6", "uri")]
    plan = plan_of({"number": "integer", "a": "string"}, *rules, *forms, policy=Policy(samples=False))

    judged = judge_files(plan, as_csv(attacks))

    assert all(Engine.RE2 in engines(pattern) for pattern in SLOW)
    assert (judged.result.rows, judged.result.malformed) == (3, ())
    counted = [each.accept and each.accept.failing for each in judged.result.measurements][2:]
    assert counted == [3, 3, 3, 3, 3, 3, 3, 3, 3]


def test_a_row_is_blamed_by_the_engine_that_counted_it(judge_files: Callable[..., Judged]) -> None:
    """With a policy of rows, the rows that RE2 refused are those that are set aside, and the samples show one of them."""
    plan = plan_of(
        {"number": "integer", "a": "string"},
        rule("pattern", "a", pattern=EMAIL),
        policy=Policy(on_reject=OnReject.ROWS),
    )

    judged = judge_files(plan, b"number,a\n1,ana@example.org\n2,nobody\n3,\n4,a@b\n")

    shares = judged.result.shares
    assert shares is not None
    written = [b"".join(read(each.uri) for each in share) for share in (shares.accepted, shares.rejected)]
    assert (judged.verdict, judged.result.rejected_rows) == (Verdict.ACCEPTED_WITH_WARNINGS, 2)
    assert written == [
        b"number,a\n1,ana@example.org\n3,\n",
        b'_reasons,number,a\n"pattern/a",2,nobody\n"pattern/a",4,a@b\n',
    ]
    samples = [(each.row, each.shapes) for each in judged.result.measurements[2].samples]
    assert samples == [(3, ("aaaaaa",)), (5, ("a@a",))]


def read(uri: str) -> bytes:
    from spark_jobs.store import store_for  # noqa: PLC0415 - Spark's settings must be made first

    return store_for(uri).read(uri)


def test_python_starts_only_for_patterns_that_need_it(spark: SparkSession) -> None:
    """A cheap pattern is a part of Spark's own scan; only others go through Arrow."""
    from spark_jobs.conditions import condition  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_of({"a": "string"}, rule("pattern", "a", pattern="^[A-Z]{2}$"), rule("pattern", "a", pattern=EMAIL))
    frame = spark.createDataFrame([("x",)], "c0 string")
    plans = [
        frame.select(condition(check.accept.predicate, plan))._jdf.queryExecution().toString()  # noqa: SLF001 - PySpark prints it only
        for check in plan.checks
        if check.kind == "pattern" and check.accept.predicate
    ]

    assert ["ArrowEvalPython" in each for each in plans] == [False, True]
