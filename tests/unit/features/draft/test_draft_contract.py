"""The draft of a profile: a valid document within the limits, whatever its columns are called."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.text import dataset_name
from lakegate.contract.contract_model import Shape
from lakegate.contract.delivery_policy import PublishAs, Replaces
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.features.draft import draft_contract
from lakegate.features.draft.draft_contract import draft
from lakegate.features.draft.found_fields import ProfiledColumn
from lakegate.features.draft.suggestions import has_date
from lakegate.lints.linter import examine
from tests.reference.sampling import sampled
from tests.unit.features.draft.columns import column, of

NOW = datetime(2026, 11, 22, tzinfo=UTC)
NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=6)


def _part(name: str, shape: Shape = Shape.VALUE, *parts: ProfiledColumn) -> ProfiledColumn:
    return ProfiledColumn(name, LogicalType.STRING, shape, rows=100, present=100, parts=parts)


@sampled(25, 200)
@given(NAMES, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_a_draft_is_valid_whatever_its_columns_are_called(names: list[str], owner: str) -> None:
    """Names that a contract cannot have are left out and listed; all others are in it unchanged."""
    found = draft(of(column("id"), *map(column, dict.fromkeys(names))), "orders", owner or None, NOW)
    examined = examine(found.text.encode())

    assert examined.errors == ()
    assert examined.contract is not None
    known = [each.own_name for each in examined.contract.datasets[0].fields]
    assert set(known) <= {"id", *names, *map(str.strip, names)}
    assert len(known) == found.columns == 1 + len(dict.fromkeys(names)) - len(found.left_out)


@sampled(25, 200)
@given(NAMES, st.sampled_from([Format.CSV, Format.JSONL, Format.JSON, Format.PARQUET, Format.AVRO]))
def test_a_draft_of_text_offers_a_table(names: list[str], form: Format) -> None:
    """As a comment, which is the setting once its sign is removed: columns of every name that is drafted fit a table."""
    profile = replace(of(column("id"), *map(column, dict.fromkeys(names))), storage=Storage(form))
    found = draft(profile, "orders", None, NOW).text
    as_table = found.replace("# publishAs: iceberg", "publishAs: iceberg")
    forms = []
    for text in (found, as_table):
        examined = examine(text.encode())
        assert (examined.errors, examined.contract is None) == ((), False)
        forms += [each.policy.publish_as for each in examined.contract.datasets] if examined.contract else []

    assert forms == [PublishAs.ORIGINAL, PublishAs.ICEBERG if form.is_text else PublishAs.ORIGINAL]


def test_every_kind_of_column_is_described() -> None:
    """Records, lists and maps are nested; exact numbers and bytes have a physical type; keys have positions."""
    nested = _part("address", Shape.RECORD, _part("street_1"), _part("STREET_1"))
    lists = _part("items", Shape.LIST, _part("[]", Shape.RECORD, _part("sku")))
    maps = _part("prices", Shape.MAP, _part("key"), ProfiledColumn("value", LogicalType.DECIMAL, is_certain=True))
    empty = (
        _part("nothing", Shape.RECORD),
        _part("mixed", Shape.ANY),
        _part("lots", Shape.LIST, _part("[]", Shape.ANY)),
    )
    plain = (
        column("a", "integer", low="1", high="9"),
        column("b", "date"),
        replace(column("c", "decimal", low="1", high="2"), physical="decimal(10,2)", is_certain=True),
        column("d", "binary"),
        column("email"),
        column("code"),
        column("A"),
        column(" d"),
        column("\u200bid"),
        column(""),
        column("\u00a0"),
    )
    storage = Storage(Format.JSONL, Compression.GZIP)
    profile = of(*plain, nested, lists, maps, *empty, pairs=(("a", "b"),), unique=("code",), storage=storage)
    found = draft(replace(profile, unique=()), "Orders of 2026!", "shop", NOW)
    examined = examine(found.text.encode())

    assert (examined.errors, examined.warnings) == ((), ())
    assert found.left_out == (
        "A: another column has the same name but for capitals",
        "' d': its name begins or ends with a blank: remove that",
        "'\\u200bid': its name has characters that nobody sees: remove them",
        *(f"column {number}: it has no name: give it one, or remove it" for number in (10, 11)),
        *(
            f"{each}: its values are of several kinds, or of one that no contract declares"
            for each in ("nothing", "mixed", "lots")
        ),
    )
    assert found.dataset == "orders_of_2026"
    assert examined.contract is not None
    (dataset,) = examined.contract.datasets
    assert [rule.fields for rule in dataset.rules if rule.kind == "primaryKey"] == [("a", "b")]
    assert dataset.storage == storage
    assert [each.name for each in dataset.fields if each.classification] == ["email"]
    assert examined.contract.format == "ODCS v3.2.0"
    assert "left out: STREET_1" in found.text
    assert "unique: true" in draft(of(column("id"), column("code"), unique=("id", "code")), "x", None, NOW).text


def test_faults_of_the_data_stand_above_its_draft() -> None:
    """Ten of them, in lines of a comment that no fault can leave, and how many more there are."""
    faults = ["x" * 30 + "\n- y: " + "z " * 400, *(f"fault {at}" for at in range(11))]
    found = draft(of(column()), "x", None, NOW, faults).text
    lines = found.splitlines()

    assert lines[4] == (
        "# This data is rejected by its own draft. Each of these is a fault of the data, or a rule to correct:"
    )
    assert [each for each in lines if each.startswith("# - ")][1:] == [
        *(f"# - fault {at}" for at in range(9)),
        "# - and 2 more: `lakegate check` names them",
    ]
    assert all(each.startswith("#") for each in lines[: lines.index("apiVersion: v3.1.0")])
    assert examine(found.encode()).errors == ()


def test_a_dialect_is_declared() -> None:
    """The contract reads the file as it was read."""
    csv = Csv(";", "'", header=False, encoding="windows-1252", null_values=("N/A",), multi_line=True)
    examined = examine(draft(of(column(), csv=csv, rows=0), "x", None, NOW).text.encode())

    assert (examined.errors, examined.warnings) == ((), ())
    assert examined.contract is not None
    assert examined.contract.datasets[0].csv == csv


def test_a_draft_within_the_limits_leaves_out_suggestions_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the last columns, by number of nodes and by bytes; what seems personal stays classified."""
    monkeypatch.setattr(draft_contract, "MAX_NODES", 500)
    some = draft(of(column("email"), *(column(f"c{at}") for at in range(60))), "wide", None, NOW)
    many = draft(of(column("email"), *(column(f"c{at}") for at in range(300))), "wide", None, NOW)
    monkeypatch.setattr(draft_contract, "LARGEST_BYTES", 2_000)
    long = draft(of(*(column("x" * 200 + str(at)) for at in range(20))), "wide", None, NOW)
    found = [examine(each.text.encode()) for each in (some, many, long)]

    assert [each.errors + each.warnings for each in found] == [(), (), ()]
    assert (some.columns, some.left_out, some.suggestions) == (61, (), 64)
    assert 60 < many.columns < 95
    assert many.left_out == (f"all columns after c{many.columns - 2}: a document has limits",)
    assert long.columns < 6


@pytest.mark.parametrize(
    ("name", "expected"), [("Orders 2026", "orders_2026"), ("2026", "data_2026"), ("…", "data"), ("a" * 99, "a" * 60)]
)
def test_the_name_of_a_dataset(name: str, expected: str) -> None:
    """A name of a file becomes a path of the lake."""
    assert dataset_name(name) == expected


def test_a_column_of_few_words_is_drafted_with_its_rule() -> None:
    """Suggested quality rules are part of the document, and valid."""
    found = draft(of(column("id"), column("status", words=(("no", 60), ("yes", 40)))), "orders", None, NOW)
    contract = examine(found.text.encode()).contract

    assert contract is not None
    rules = [each.kind for each in contract.datasets[0].rules if each.fields == ("status",)]
    assert rules == ["type", "required", "invalidValues"]


def test_a_column_without_a_name_is_explained_by_its_place() -> None:
    """The first one may be an index, the last one a delimiter at the end of each line."""
    found = draft(of(column(""), column("a"), column(" "), column("")), "x", None, NOW)

    assert found.left_out == (
        "column 1: it has no name: give it one, or remove it (it may be numbers of rows: pandas writes none with index=False)",
        "column 3: it has no name: give it one, or remove it",
        "column 4: it has no name: give it one, or remove it (it may be a delimiter at the end of each line)",
    )


@pytest.mark.parametrize(
    ("name", "dated"),
    [
        ("orders_2026-11-27.csv", True),
        ("20261127.csv", True),
        ("orders.2026_11_27.parquet", True),
        ("orders-2026-11.csv", True),
        ("orders.csv", False),
        ("orders_2026.csv", False),
        ("orders_2026-13-01.csv", False),
        ("orders_2026-11_27.csv", True),  # of the month
        ("0020261127001.csv", False),
        ("v2.1.0.csv", False),
    ],
)
def test_a_date_in_a_name_is_that_of_an_export(name: str, dated: bool) -> None:  # noqa: FBT001 - a column of the table
    """A day or a month; no part of a longer number."""
    assert has_date(name) is dated


@pytest.mark.parametrize(
    ("dated", "unique", "drafted"), [(True, ("id",), True), (True, (), False), (False, ("id",), False)]
)
def test_a_file_of_a_day_with_a_key_replaces_the_one_of_its_name(
    dated: bool,  # noqa: FBT001 - a column of the table
    unique: tuple[str, ...],
    drafted: bool,  # noqa: FBT001 - likewise
) -> None:
    """The draft says so, with its reason; lint has nothing to add."""
    profile = replace(of(column("id"), column("code"), unique=unique), has_dated_names=dated)
    found = draft(profile, "x", None, NOW)
    examined = examine(found.text.encode())

    assert (examined.errors, examined.warnings) == ((), ())
    assert ("replaces: delivery  # suggested: the name has a date" in found.text) is drafted
    assert examined.contract is not None
    assert (examined.contract.datasets[0].policy.replaces is Replaces.DELIVERY) is drafted
