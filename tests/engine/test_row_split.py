"""Rows that are rejected alone (`onReject: rows`), against the case files and a second implementation."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.engine.attempt import MAX_SAMPLES, Attempt
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.data_source import LocalStore
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from tests.agreement.engines import Splitting
from tests.deliveries.delivery import measure_natively, request_for
from tests.deliveries.side_by_side import as_csv, side_by_side
from tests.engine.test_cases import ALIKE, BATCH
from tests.reference.cases import contract_of, only_plan, rule_of
from tests.reference.row_split import Rejections, breaking_rows, rejections
from tests.reference.sampling import sampled

SPLIT = Policy(on_reject=OnReject.ROWS, allow_empty=True, samples=False)


def split(plan: Plan, content: bytes, folder: Path) -> Rejections:
    """The rejected rows as the native engine finds them."""
    request = request_for(plan, folder, content)
    with database(folder) as connection:
        process = Splitting(connection, request, plan, LocalStore(), lambda _: None)
        result = Attempt(request, plan, LocalStore(), process).result()
    if not process.kept:
        assert result.rejected_rows == 0
        return {}
    ((_, rejected),) = process.kept
    (partial,) = rejected.partials
    lines, masks = rejected.reasons(partial)
    places = {line: at for at, line in enumerate(sorted(set(lines.tolist())))}
    found = {
        places[line]: tuple(each for at, each in enumerate(rejected.checks) if mask >> at & 1)
        for line, mask in zip(lines.tolist(), masks.tolist(), strict=True)
        if mask
    }
    assert len(found) == result.rejected_rows
    return found


@pytest.mark.parametrize(
    ("rows", "batch"), [(rows, batch) for rows, alike in ALIKE.items() for batch in range(-(-len(alike) // BATCH))]
)
def test_rows_are_rejected_as_a_second_implementation_rejects_them(rows: int, batch: int, tmp_path: Path) -> None:
    """Each case of each kind of rule with its filter, its bounds and both of its tolerances."""
    alike = ALIKE[rows][batch * BATCH : (batch + 1) * BATCH]
    found = split(replace(side_by_side(alike), policy=SPLIT), as_csv(alike), tmp_path)
    wanted: dict[int, list[str]] = {}
    for number, case in alike:
        statuses = [next(iter(each)) for each in case.checks]
        for row, checks in rejections(case.plan, statuses, case.header, case.rows).items():
            wanted.setdefault(row, []).extend(f"{number}.{check}" for check in checks)

    assert {row: sorted(checks) for row, checks in found.items()} == {row: sorted(own) for row, own in wanted.items()}


@pytest.mark.parametrize(
    ("rows", "batch"), [(rows, batch) for rows, alike in ALIKE.items() for batch in range(-(-len(alike) // BATCH))]
)
def test_samples_are_the_rows_that_a_second_implementation_finds(rows: int, batch: int, tmp_path: Path) -> None:
    """Of each check of rows that failed or warned: those that break its first bound, in their order."""
    alike = ALIKE[rows][batch * BATCH : (batch + 1) * BATCH]
    content, policy = as_csv(alike), replace(SPLIT, on_reject=OnReject.FILE, samples=True)
    plan = replace(side_by_side(alike), policy=policy)
    result = measure_natively(request_for(plan, tmp_path, content), plan)
    reader = csv.reader(io.StringIO(content.decode()))
    lines = [1, *(reader.line_num + 1 for _ in reader)][1:]
    found = {each.check: [lines.index(sample.row) for sample in each.samples] for each in result.measurements}
    wanted = {}
    for number, case in alike:
        records = [dict(zip(case.header, row, strict=True)) for row in case.rows]
        for check, words in zip(case.plan.checks, case.checks, strict=True):
            if check.metric is Metric.FAILING_ROWS and not {"fail", "warn"}.isdisjoint(words):
                broken = breaking_rows(case.plan, replace(check, tolerate=None), records)
                wanted[f"{number}.{check.id}"] = sorted(broken)[:MAX_SAMPLES]

    assert {check: found[check] for check in wanted} == wanted


def as_lines(values: Sequence[Decimal | None]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([["a", "b"], *(["" if each is None else f"{each:f}", "x"] for each in values)])
    return text.getvalue().encode()


@sampled(15, 300)
@given(
    st.sampled_from(["min", "max"]),
    st.decimals(1, 100, places=0),
    st.lists(st.sampled_from(["0.05", "0.1", "0.2", "0.5"]), max_size=2, unique=True).map(sorted),
    st.lists(st.none() | st.decimals(1, 200, places=0), min_size=1, max_size=12),
)
def test_rows_within_the_last_tolerance_are_kept(
    kind: str, bound: Decimal, tolerances: list[str], values: list[Decimal | None]
) -> None:
    """DCM: a bound is relaxed by its tolerance for failure; if a row is beyond that, it is rejected, and no other one."""
    named = dict(zip(("warn", "fail") if len(tolerances) > 1 else ("fail",), tolerances, strict=False))
    given_tolerance = {name: float(each) for name, each in named.items()}
    rule = rule_of(kind, {"parameter": float(bound), "tolerance": given_tolerance}, ("a",))
    plan = replace(only_plan(contract_of({"a": "number", "b": "string"}, rule)), policy=SPLIT)
    slack = bound * Decimal(named.get("fail", "0"))

    def is_beyond(value: Decimal | None) -> bool:
        return value is not None and (value < bound - slack if kind == "min" else value > bound + slack)

    with TemporaryDirectory() as folder:
        found = split(plan, as_lines(values), Path(folder))

    assert set(found) == {row for row, value in enumerate(values) if is_beyond(value)}
