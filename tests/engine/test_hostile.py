"""Names and values that a careless engine would take for something else: names of columns, names of files, constants of rules."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from lakegate.cli.main import app
from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Csv
from lakegate.lints.linter import examine
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Not, OneOf, Predicate
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of
from tests.reference.sampling import sampled
from tests.reference.strategies import texts

QUIET = Policy(samples=False)
NAMES = (
    *(
        "a.b",
        "a`b",
        "a b",
        " a",
        "${x}",
        "${env:HOME}",
        "😀",
        "é",
        "e\u0301",
        "select",
        "*",
        "`",
        "a'b",
        'a"b',
        "a\\b",
        "\\u0061",
    ),
    *(
        "c0",
        "vc0",
        "p0",
        "m0",
        "part",
        "id",
        "bytes",
        "no_record",
        "malformed",
        "value",
        "values",
        "text",
        "plain",
        "line",
        "n",
    ),
    *("ID", "Id", "a,b", "a;b", "--", "/*", "%s", "null", "\u202e", "x" * 300, "items[].sku", "\t"),
)


def as_csv(*rows: tuple[str, ...] | list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def counting(number: int, field: str, predicate: Predicate) -> Check:
    return Check(
        f"check {number}", f"rule {number}", "enum", (field,), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, predicate)
    )


def failing(judged: Judged) -> list[int | None]:
    return [each.accept and each.accept.failing for each in judged.result.measurements]


def test_columns_may_have_any_name(judge_files: Callable[..., Judged]) -> None:
    """Each name reaches just its own column, whatever it means in an engine's language or to our own reading."""
    plan = plan_of(dict.fromkeys(NAMES, "string"))
    plan = replace(plan, checks=tuple(counting(at, name, OneOf(name, (name,))) for at, name in enumerate(NAMES)))

    judged = judge_files(plan, as_csv(NAMES, NAMES))

    assert (judged.verdict, judged.reasons) == (Verdict.ACCEPTED, "")
    assert [0] * len(NAMES) == failing(judged)


def test_each_of_500_columns_is_read_from_its_own_place(judge_files: Callable[..., Judged]) -> None:
    """In a very wide file a column is judged by its own values, wherever it stands."""
    names = [f"column_{number}" for number in range(500)]
    plan = plan_of(dict.fromkeys(names, "integer"), policy=QUIET)
    queried = [0, 1, 249, 250, 251, 498, 499]
    row = [str(number) for number in range(500)]
    bad = [*row[:250], "x", *row[251:]]

    judged = judge_files(replace(plan, checks=tuple(plan.checks[at] for at in queried)), as_csv(names, row, bad))

    assert Verdict.REJECTED is judged.verdict
    assert failing(judged) == [int(at == 250) for at in queried]


@sampled(2, 500)
@given(st.lists(texts, min_size=60, max_size=100, unique=True))
def test_constants_mean_what_was_written(judge_files: Callable[..., Judged], values: list[str]) -> None:
    """A list of one text accepts just the rows equal to it, and its negation all others, whatever the text (P10)."""
    plan = plan_of({"number": "integer", "a": "string"}, csv=Csv(multi_line=True), policy=QUIET)
    only = [counting(at, "a", OneOf("a", (value,))) for at, value in enumerate(values)]
    others = [counting(-1 - at, "a", Not(OneOf("a", (value,)))) for at, value in enumerate(values)]
    rows = [(str(at), value) for at, value in enumerate(values)]

    judged = judge_files(replace(plan, checks=(*only, *others)), as_csv(("number", "a"), *rows))

    assert judged.result.malformed == ()
    assert [len(values) - 1] * len(values) + [1] * len(values) == failing(judged)


LARGE = "é😀'\\\"`" * (65_536 // 10 + 1)
"""64 kB of what a careless compiler of literals trips over."""
ODD = (
    "\0",
    "a\0b",
    "\0\0",
    "😀",
    "\U0010ffff",
    "\ufeff",
    "\u2028",
    "e\u0301",
    "é",
    LARGE,
    LARGE[:-1],
    "\\",
    "\\'",
    "')) OR true --",
)


def test_odd_and_large_constants_are_just_themselves(judge_files: Callable[..., Judged]) -> None:
    """NUL, characters beyond the first plane, 64 kB and what looks like SQL: each accepts its own row alone, none a NUL."""
    rows = [value for value in ODD if "\0" not in value]
    plan = plan_of({"number": "integer", "`a`.b": "string"}, csv=Csv(multi_line=True), policy=QUIET)
    checks = tuple(counting(at, "`a`.b", OneOf("`a`.b", (value,))) for at, value in enumerate(ODD))
    records = [(str(at), value) for at, value in enumerate(rows)]

    judged = judge_files(replace(plan, checks=checks), as_csv(("number", "`a`.b"), *records))

    assert len(LARGE.encode()) > 65_536
    assert judged.result.malformed == ()
    assert [len(rows) - (value in rows) for value in ODD] == failing(judged)


@pytest.mark.parametrize("written", ['"\\ud800"', '"\\udc00x"'])
def test_half_of_a_pair_is_no_text_of_a_contract(written: str) -> None:
    """A lone surrogate, which no file can hold, is refused with the document that writes it."""
    document = CONTRACT + f"        logicalTypeOptions: {{pattern: {written}}}\n"

    assert [problem.code for problem in examine(document.encode()).errors] == ["syntax"]


@sampled(2, 100)
@given(st.lists(texts.filter(lambda text: text and not set(text) & set("\r\n")), min_size=20, max_size=40, unique=True))
def test_random_names_reach_their_own_columns(judge_files: Callable[..., Judged], names: list[str]) -> None:
    """The same holds for random names, each column holding its own name (P10)."""
    plan = plan_of(dict.fromkeys(names, "string"), policy=QUIET)
    plan = replace(plan, checks=tuple(counting(at, name, OneOf(name, (name,))) for at, name in enumerate(names)))

    judged = judge_files(plan, as_csv(names, names))

    assert [0] * len(names) == failing(judged)


CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: names
version: 1.0.0
status: active
schema:
  - name: rows
    properties:
      - name: id
        logicalType: integer
        required: true
"""
FILE_NAMES = (
    "[g]ood.csv",
    "_hidden.csv",
    ".dot.csv",
    "good.csv.gz",
    "good.parquet",
    "{a,b}*?.csv",
    "no good 😀 ação.csv",
)


def test_the_name_of_a_file_means_nothing(tmp_path: Path) -> None:
    """Files with names that Spark would hide, expand or decompress are read as what they are, all in one delivery."""
    contract = tmp_path / "names.yaml"
    contract.write_text(CONTRACT)
    (tmp_path / "x").mkdir()
    (tmp_path / "good.csv").write_text("id\n1\n")
    for name in FILE_NAMES:
        (tmp_path / name).write_text("id\nbad\n")
    paths = [*(str(tmp_path / name) for name in FILE_NAMES), f"{tmp_path}/x/../good.csv"]

    answer = CliRunner().invoke(app, ["check", "--json", "--contract", str(contract), *paths])

    document = json.loads(answer.stdout)
    assert (answer.exit_code, document["verdict"], document["rows"]) == (1, "rejected", 8)
    assert {7} == {each["failing_rows"] for each in document["checks"] if each["failing_rows"]}
