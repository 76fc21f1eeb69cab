"""Datasets as schemas of Open Data Fabric (RFC-016)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from lakegate.base.errors import InputError
from lakegate.features.odf.exchange.odf_schema import odf
from tests.unit.features.convert.test_convert_targets import HOSTILE, contract, converted

TEXT = {"kind": "String"}
MOMENT = {"kind": "Timestamp", "unit": "Millisecond", "timezone": "UTC"}


def option(kind: Any) -> dict[str, Any]:
    """A type whose values may be null."""
    return {"kind": "Option", "inner": kind}


def test_every_type_has_one_of_odf() -> None:
    """ODF's common columns are first; what is not required is optional; nested fields are records, lists and maps."""
    integer, number = {"kind": "Int64"}, {"kind": "Float64"}
    of_text = {"kind": "Map", "keyType": TEXT, "valueType": option(TEXT)}
    wanted = {
        "offset": {"kind": "UInt64"},
        "op": {"kind": "UInt8"},
        "system_time": MOMENT,
        "event_time": MOMENT,
        "id": integer,
        "code": TEXT,
        HOSTILE: option(TEXT),
        "state": TEXT,
        "level": option(integer),
        "ok": option({"kind": "Bool"}),
        "share": option(number),
        "price": option({"kind": "Decimal", "precision": 38, "scale": 18}),
        "fine": option({"kind": "Decimal", "precision": 38, "scale": 30}),
        "day": option({"kind": "Date"}),
        "clock": option({"kind": "Time", "unit": "Microsecond"}),
        "at": option({"kind": "Timestamp", "unit": "Microsecond", "timezone": "UTC"}),
        "raw": option({"kind": "Binary"}),
        "who": option({"kind": "Struct", "fields": [{"name": "age", "type": integer}]}),
        "tags": option({"kind": "List", "itemType": TEXT}),
        "more": option({"kind": "List", "itemType": option(TEXT)}),
        "prices": option({"kind": "Map", "keyType": TEXT, "valueType": option(number)}),
        "some": option(of_text),
        "none": option(TEXT),
    }
    extra = {"extra": {"opendatafabric.org/description": "the number"}}

    assert yaml.safe_load(converted(odf).text) == {
        "kind": "SetDataSchema",
        "schema": {
            "fields": [{"name": name, "type": kind} | (extra if name == "id" else {}) for name, kind in wanted.items()]
        },
    }


def test_only_required_is_expressed() -> None:
    """Every other rule is listed."""
    rules = contract().datasets[0].rules

    assert converted(odf).omitted == (
        "price (`decimal(10,2)`: written as the type that slices have)",
        *(each.id for each in rules if each.kind not in {"type", "nested", "required"}),
    )


@pytest.mark.parametrize("names", [["op"], ["event_time", "offset"]])
def test_a_field_with_the_name_of_a_common_column_is_refused(names: list[str]) -> None:
    """ODF has these columns itself."""
    found = contract()
    (dataset,) = found.datasets
    renamed = [replace(each, name=name) for each, name in zip(dataset.fields, names, strict=False)]

    with pytest.raises(InputError) as error:
        odf(found, replace(dataset, fields=(*renamed, *dataset.fields[len(names) :])))

    assert str(error.value) == f"ODF has columns of its own with the names {', '.join(names)}: rename the fields"
