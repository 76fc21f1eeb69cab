"""Rules read the current rows of a dataset of upserts: those of a dictionary that each delivery updates."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.timestamps import moment
from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.delivery_policy import MergeStrategy, PublishAs
from lakegate.contract.logical_types import LogicalType
from lakegate.features.odf.slices import merge_strategies
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference, Request
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.verdict import judge
from tests.deliveries.delivery import measure_natively, plan_of, request_for
from tests.engine.test_snapshots import FIRST, POLICY, SNAPSHOT, Line, Row, csv
from tests.reference.sampling import sampled

PEOPLE = "shop/people_v1"
UPSERTS = replace(POLICY, merge_strategy=MergeStrategy.UPSERT, publish_as=PublishAs.PARQUET)
PLAN = replace(plan_of({"id": "integer", "name": "string"}), policy=UPSERTS)
WIDER = replace(plan_of({"id": "integer", "word": "string", "name": "string"}), policy=UPSERTS)
Engine = Callable[[Request, Plan], Result]


def dataset(name: str, fields: dict[str, str], *rules: Rule) -> Dataset:
    columns = tuple(Field(field, LogicalType(logical), Origin("$")) for field, logical in fields.items())
    return Dataset(name, columns, rules, Origin("$"))


def referring(*rules: Rule) -> Plan:
    """The plan of a dataset whose rules refer to the dataset of upserts."""
    people = dataset("people", {"id": "integer", "name": "string", "word": "string"})
    own = dataset("lines", {"id": "integer", "name": "string"}, *rules)
    return compile_plan(Contract("shop", "1.0.0", "test", (people, own)), own)


def upserted(folder: Path, *deliveries: tuple[Plan, bytes]) -> Reference:
    """The slices of deliveries, each accepted a day after the one before, as a request lists them."""
    line, parts = Line(folder, keeps=True), []
    for number, (plan, body) in enumerate(deliveries):
        line.plan, line.system_time = plan, moment(FIRST + dt.timedelta(days=number))
        line.deliver(body, time="")
        where = folder / f"{plan.digest}.json"
        where.write_bytes(plan.to_bytes())
        found = line.results[-1].slices
        parts += [AcceptedPart(each.uri, each.size, where.as_uri(), plan.digest) for each in found]
    return Reference(PEOPLE, len(deliveries) - 1, tuple(parts), is_corrected=True)


def measured(engine: Engine, folder: Path, plan: Plan, rows: Sequence[Row], *references: Reference) -> list[str]:
    """What an engine measures of each check of a plan."""
    folder.mkdir()
    request = replace(request_for(plan, folder, csv(list(rows))), references=references)
    return [each.measured for each in judge(plan, engine(request, plan)).outcomes]


def query(text: str) -> Rule:
    return Rule("q", "sql", Origin("$"), (), {"query": text, "mustBe": 0})


KEYS = Rule("fk", "foreignKey", Origin("$"), ("id", "name"), {"to": "people.id,people.name"})
ROWS = query("SELECT count(*) FROM people")
NAMED = query("SELECT count(*) FROM people p WHERE p.name = 'a'")
WITHOUT = query("SELECT count(*) FROM people p WHERE p.name IS NULL")
NEW = query("SELECT count(*) FROM people p WHERE p.word = 'new'")
OLDER = query("SELECT count(*) FROM people p WHERE p.word IS NULL")
ALL: list[Row] = [(key, name) for key in range(-2, 8) for name in "abc"]


@sampled(5, 300)
@given(st.lists(SNAPSHOT, min_size=1, max_size=5).filter(lambda each: bool(each[0])), st.sampled_from([2, 1 << 20]))
def test_rules_read_a_dictionary(deliveries: list[list[Row]], rows_of_slice: int) -> None:
    """Of any deliveries: how many rows there are, how many have a value, and which pairs of key and value."""
    known: dict[int, str | None] = {}
    for rows in deliveries:
        known.update(rows)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_strategies, "FILE_ROWS", rows_of_slice)
        folder = Path(name)
        reference = upserted(folder, *((PLAN, csv(rows)) for rows in deliveries))
        plan = referring(KEYS, ROWS, NAMED, WITHOUT)
        found = measured(measure_natively, folder / "own", plan, ALL, reference)

    counts = Counter(known.values())
    pairs = sum(name is not None for name in known.values())
    assert found[0].split(" of ")[0] == str(len(ALL) - pairs)
    assert found[1:] == [str(each) for each in (len(known), counts["a"], counts[None])]


VERSIONS = (
    (PLAN, b"id,name\n1,a\n2,b\n3,\n"),
    (WIDER, b"id,word,name\n1,,x\n4,new,a\n"),
    (WIDER, b"id,word,name\n1,old,x\n3,new,\n2,,b\n"),
)
"""Of the rows (1, x, old), (2, b, null), (3, null, new), (4, a, new)."""
DELIVERED: list[Row] = [(1, "a"), (1, "x"), (2, "b"), (3, "c"), (4, "a")]


def of_versions(engine: Engine, folder: Path) -> list[str]:
    """What an engine measures of rows that two versions of a contract accepted."""
    plan = referring(KEYS, ROWS, NEW, OLDER)
    folder.mkdir()
    return measured(engine, folder / "own", plan, DELIVERED, upserted(folder, *VERSIONS))


EXPECTED_OF_VERSIONS = ["2 of 5 keys are found nowhere (40 %)", "4", "2", "1"]


def test_rows_of_several_versions_are_one_state(tmp_path: Path) -> None:
    """A column that a later version adds is null in rows of before, also in the events that take them back."""
    assert of_versions(measure_natively, tmp_path / "native") == EXPECTED_OF_VERSIONS
