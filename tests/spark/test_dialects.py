"""The job gives the results of the corpus of dialects, as the native engine does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.sql.sql_parser import FILES
from tests.deliveries.delivery import Judged
from tests.reference.sampling import FULL
from tests.spark.test_queries import as_csv, plan_of_queries
from tests.unit.sql.dialects import BY_DIALECT, DIALECTS, FOUR, expected, spelled

pytestmark = pytest.mark.spark


def test_every_function_has_the_meaning_of_the_dialect(judge_files: Callable[..., Judged]) -> None:
    """Each text of Spark that the corpus is translated to is measured as written down; a text of several dialects once.

    Those of DuckDB are asked in `test_queries`; here only nightly.
    """
    asked: dict[str, tuple[tuple[str, str], str]] = {}
    known: set[str] = set()
    for dialect in sorted(DIALECTS, key=FILES.__ne__):
        cases = [(spelled(case, dialect), expected(case, dialect)) for case in BY_DIALECT]
        checks = plan_of_queries(*(sql for sql, _ in cases), dialect=dialect).checks
        for check, (sql, wanted) in zip(checks, cases, strict=True):
            assert check.query is not None, (sql, check.skip)
            text = f"{check.query.text} {check.query.texts}"
            if FULL or dialect != FILES:
                asked |= {} if text in known else {text: ((sql, dialect), wanted)}
            known.add(text)
    judged = judge_files(plan_of_queries(*(each for each, _ in asked.values())), as_csv(FOUR))
    found = {each.check: each for each in judged.result.measurements}
    wrong = {}
    for at, (each, wanted) in enumerate(asked.values()):
        value = (accept := found[f"q{at}"].accept) and accept.exact
        measured = found[f"q{at}"].error or (str(value) if value is None else format(value, "f"))
        if measured != wanted:
            wrong[each] = (measured, wanted)

    assert wrong == {}
