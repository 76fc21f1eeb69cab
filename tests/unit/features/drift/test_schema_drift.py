"""The schemas of accepted objects, as the engine reads them of a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from lakegate.base.errors import Throttled
from lakegate.contract.delivery_policy import FieldTreatment, PublishAs
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.engine.read.data_source import path_of
from lakegate.features.drift.schema_drift import SchemaDifference, compare_object
from lakegate.gate.ports import Address
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.sliced import slices
from tests.deliveries.written import written
from tests.fakes import Memory

PLAN = plan_of({"id": "integer", "name": "string"})
TABLE = pa.table({"id": [1, 2]})
LAKE = "lake"


def found(body: bytes, *plans: bytes, memory: Memory | None = None) -> tuple[SchemaDifference, ...]:
    objects = (memory or Memory.of(LAKE)).objects
    data = objects.put(Address(LAKE, "accepted/x"), body)
    return compare_object(objects, *plans, data)


@pytest.mark.parametrize("form", [Format.CSV, Format.PARQUET, Format.ORC, Format.AVRO])
def test_an_object_is_read_in_the_form_that_accepted_it(form: Format) -> None:
    """The format of the version that accepted it counts, whatever the compared version declares."""
    own = replace(PLAN, storage=Storage(form)).to_bytes()

    assert found(written(TABLE, Storage(form)), PLAN.to_bytes(), own) == (SchemaDifference("absent", "name"),)


def test_a_column_that_the_contract_lets_a_file_lack_is_no_difference() -> None:
    """The gate says nothing of it either; one that a rule requires is missed."""
    lenient = replace(PLAN, policy=replace(PLAN.policy, missing_fields=FieldTreatment.ALLOW))
    required = plan_of({"id": "integer", "name": "string"}, rule("required", "name"), policy=lenient.policy)
    body = written(TABLE, Storage(Format.CSV))

    assert found(body, lenient.to_bytes(), lenient.to_bytes()) == ()
    assert found(body, required.to_bytes(), required.to_bytes()) == (SchemaDifference("absent", "name"),)


def test_the_dialect_is_that_of_the_accepting_version() -> None:
    """Delimiter and quote, too."""
    own = plan_of({"id": "integer", "name": "string"}, csv=Csv(delimiter=";"))

    assert found(b"id;name\n1;a\n", PLAN.to_bytes(), own.to_bytes()) == ()


def test_slices_are_read_as_parquet_whatever_was_delivered(tmp_path: Path) -> None:
    """Their common columns are no difference; a column that the contract lacks since is."""
    own = replace(PLAN, policy=replace(PLAN.policy, publish_as=PublishAs.PARQUET))
    (each,) = slices(own, tmp_path / "a", b"id,name\n1,a\n")
    body, more = path_of(each.uri).read_bytes(), plan_of({"id": "integer", "name": "integer"})

    assert found(body, own.to_bytes(), own.to_bytes()) == ()
    assert found(body, more.to_bytes(), own.to_bytes()) == (SchemaDifference("type", "name", "string"),)


def test_an_object_of_another_kind_is_one_difference() -> None:
    """With the reason of the gate."""
    (difference,) = found(b"PAR1", PLAN.to_bytes(), PLAN.to_bytes())

    assert (difference.difference, difference.field) == ("unreadable", "")
    assert "Parquet" in difference.found


@pytest.mark.parametrize("form", [Format.CSV, Format.PARQUET, Format.ORC, Format.AVRO])
def test_what_the_store_refuses_says_nothing_about_an_object(form: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error passes through every reader."""

    def refused(*_: object) -> bytes:
        raise Throttled

    memory = Memory.of(LAKE)
    monkeypatch.setattr(memory.objects, "read", refused)
    own = replace(PLAN, storage=Storage(form)).to_bytes()
    with pytest.raises(Throttled):
        found(written(TABLE, Storage(form)), own, own, memory=memory)
