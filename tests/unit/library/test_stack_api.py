"""`lakegate.deliver`, `wait`, `reasons`, `read` and `contracts`, over a stack in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pandas as pd
import pyarrow as pa
import pytest

import lakegate as api
from lakegate.base.errors import InputError
from lakegate.gate.ports import Address
from lakegate.gate.registry import publish_contract
from tests.unit.cli.deployed_stack import LANDING
from tests.unit.docs.consumer_page import CONTRACT

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Lakegate

KEY = "orders/day.csv"
HOSTILE = "<img src=x>"


def test_contracts_are_those_of_the_command(lakegate: Lakegate) -> None:
    """The same versions, as a document and as a table; conditions hold together."""
    lakegate.routed()

    found = api.contracts(status="active")

    assert found.to_json() == lakegate.json("contracts")
    assert [(one.contract, one.version) for one in found] == [("shop", "1.0.0")]
    assert "<td>orders/</td>" in found._repr_html_()
    assert len(api.contracts(status=["retired"])) == 0
    assert len(api.contracts(owner="nobody")) == 0


def test_a_file_is_delivered_and_its_end_is_a_result(lakegate: Lakegate) -> None:
    """It lands under its key; a rejected delivery is a result with its reasons, first in a notebook, and no error."""
    lakegate.routed()
    path = lakegate.file(b"id,amount\n,1\nb,2\nc,3\nd,4\n")

    landed = api.deliver(path, "orders/", wait=False)
    lakegate.intake(KEY)
    lakegate.answer(landed.workload, failing=1)
    ended = api.wait(landed.workload)

    assert (landed.key, landed.verdict, landed.state) == (KEY, None, "landed, not yet taken in")
    assert (ended.verdict, ended.rows) == (api.Verdict.REJECTED, 4)
    assert [each.id for each in ended.checks if each.status.value == "fail"] == ["id:required:1/id"]
    assert ended.to_json() == lakegate.json("reasons", KEY)
    assert ended._repr_html_().index("<td>fail</td>") < ended._repr_html_().index("<details>")
    assert str(api.reasons(KEY)) == str(ended)
    assert str(ended).startswith(f"{KEY} (workload {landed.workload})\nfail  id:required:1")


def test_a_table_is_delivered_in_the_format_of_its_contract(lakegate: Lakegate) -> None:
    """As `to_csv` writes it, without its index, and with integers where pandas made floats of them."""
    lakegate.routed()

    landed = api.deliver(pd.DataFrame({"id": ["a", "b"], "amount": [1, None]}), KEY, wait=False)

    body = lakegate.dependencies.objects.read(Address(LANDING, KEY))
    assert (landed.key, body) == (KEY, b"id,amount\na,1\nb,\n")


@pytest.mark.parametrize(
    ("data", "to", "message"),
    [
        (5, "orders/", "data is a path or a table, not int"),
        (pa.table({"id": ["a"]}), "orders/", "a table has no name: end `to` with one, such as orders/day.csv"),
        (pa.table({"id": ["a"]}), "bills/day.csv", "no route covers bills/day.csv"),
        ("nowhere.csv", "orders/", "nowhere.csv cannot be read"),
    ],
)
def test_what_cannot_be_delivered_is_refused(data: object, to: str, message: str, lakegate: Lakegate) -> None:
    """Nothing lands."""
    lakegate.routed()

    with pytest.raises(InputError, match=message):
        api.deliver(data, to, wait=False)

    assert lakegate.clients["s3"].list_objects_v2(Bucket=LANDING)["KeyCount"] == 0


def test_accepted_rows_are_read_with_the_types_of_the_contract(lakegate: Lakegate) -> None:
    """In the order of their deliveries, without the rejected one; integers stay integers where some are missing."""
    lakegate.begin(_fill)

    rows = api.read("orders_v1")

    table = pa.table({"id": ["a", "b", "c", "d", "e", "f"], "amount": pa.array([1, 2, None, 4, 5, 6], pa.int64())})
    assert rows.to_arrow().equals(table)
    assert pa.table(rows).equals(table)
    frame = rows.to_pandas()
    assert (str(frame["amount"].dtype), frame["amount"].isna().sum(), int(frame["amount"].sum())) == ("Int64", 1, 18)
    assert repr(rows) == "<DatasetTable shop/orders_v1, 6 rows of 2 deliveries, height 2>"
    assert len(api.read("orders_v1", since=0)) == 2
    nothing = api.read("orders_v1", since=rows.height)
    assert (nothing.to_arrow(), nothing.deliveries) == (table.slice(0, 0), 0)
    assert (nothing.removed, nothing.restored) == ((), ())
    with pytest.raises(InputError, match=r"`since` of lakegate.read is a height"):
        api.read("orders_v1", since="2026-11-30")  # type: ignore[arg-type] # as people try it


def test_rows_below_titles_and_within_an_object_are_read(lakegate: Lakegate) -> None:
    """By the plan of each delivery; the manifest says how other programs read them."""
    settings = CONTRACT.rpartition("value: ")[2].strip()
    for version, own, body in (
        ("1.0.0", '{csv: {delimiter: ";", skipRows: 2}}', 'Orders "of November\n;\norder_id;country\n1;BR\n'),
        (
            "1.1.0",
            "{format: json, records: data.orders}",
            '{"count": 1, "data": {"orders": [{"order_id": "2", "country": "PT"}]}}',
        ),
    ):
        path = lakegate.folder / f"orders-{version}.yaml"
        path.write_text(CONTRACT.replace("VERSION", version).replace(settings, own))
        with patch.object(publish_contract, "refuse_incompatible", lambda *_: None):
            lakegate.ok("publish", str(path))
        lakegate.ok("route", "add", "orders/", "5f0c8a52-8f2e-4d07-9a60-0b7c1a3f6d11")
        lakegate.delivered(name=f"{version}.txt", body=body.encode())

    rows = api.read("orders_v1").to_arrow()
    lakegate.ok("get", "orders_v1", str(lakegate.folder / "data"))
    listed = json.loads((lakegate.folder / "data/_manifest.json").read_text())["deliveries"]

    assert rows.select(["order_id", "country"]).to_pylist() == [
        {"order_id": "1", "country": "BR"},
        {"order_id": "2", "country": "PT"},
    ]
    assert [(each["format"], (each["csv"] or {}).get("skip_rows"), each.get("records")) for each in listed] == [
        ("csv", 2, None),
        ("json", None, "data.orders"),
    ]


def test_rows_of_a_recalled_delivery_are_not_read(lakegate: Lakegate) -> None:
    """The current state of the dataset, until the delivery is restored."""
    lakegate.routed()
    lakegate.delivered(name="a.csv", body=b"id,amount\na,1\n")
    lakegate.delivered(name="b.csv", body=b"id,amount\nb,2\n")

    lakegate.ok("recall", "orders/a.csv", "--reason", "wrong month")
    current = api.read("orders_v1").to_arrow()
    lakegate.ok("restore", "orders/a.csv", "--reason", "it was right")

    assert current.to_pydict() == {"id": ["b"], "amount": [2]}
    assert len(api.read("orders_v1")) == 2


def test_who_reads_what_is_new_hears_what_does_not_count_any_more(lakegate: Lakegate) -> None:
    """Else rows of a recalled delivery would stay in what was read before, and nobody would know."""
    lakegate.routed()
    lakegate.delivered(name="a.csv", body=b"id,amount\na,1\n")
    before = api.read("orders_v1")
    lakegate.ok("recall", "orders/a.csv", "--reason", "wrong month")
    with pytest.warns(UserWarning, match=r"not current any more \(heights \[0\]\).*read the whole dataset"):
        recalled = api.read("orders_v1", since=before.height)
    lakegate.ok("restore", "orders/a.csv", "--reason", "it was right")
    with pytest.warns(UserWarning, match=r"or are again \(\[0\]\)"):
        restored = api.read("orders_v1", since=recalled.height)
    same = api.read("orders_v1", since=before.height)

    assert [(each.removed, each.restored, len(each)) for each in (recalled, restored, same)] == [
        ((0,), (), 0),
        ((), (0,), 0),
        ((), (), 0),
    ]


def test_texts_of_data_are_escaped_in_a_notebook(lakegate: Lakegate) -> None:
    """A producer can put no markup into a notebook."""
    lakegate.routed()
    lakegate.delivered(body=f"id,amount\n{HOSTILE},1\n".encode())

    shown = api.read("orders_v1")._repr_html_()

    assert ("&lt;img src=x&gt;" in shown, HOSTILE in shown) == (True, False)


def test_an_object_that_was_changed_is_not_read(lakegate: Lakegate) -> None:
    """What is read is what the manifest lists."""
    lakegate.begin(_fill)
    places = lakegate.dependencies.places
    key = "accepted/shop/orders_v1/_manifest.json"
    head = json.loads(lakegate.dependencies.read_lake(key))
    head["deliveries"][0]["objects"][0]["size"] = 3
    lakegate.dependencies.objects.put(Address(places.lake, key), json.dumps(head).encode())

    with pytest.raises(InputError, match="has another size or checksum than the manifest lists"):
        api.read("orders_v1")


def test_a_frame_that_was_read_can_be_checked(lakegate: Lakegate, tmp_path: Path) -> None:
    """A table goes out and in: the contract accepts what it had accepted."""
    lakegate.begin(_fill)
    contract = tmp_path / "shop.odcs.yaml"
    contract.write_text(Path(lakegate.contract()).read_text())

    assert api.check(contract, api.read("orders_v1").to_pandas()).verdict is api.Verdict.ACCEPTED
    assert api.check(contract, api.read("orders_v1")).verdict is api.Verdict.ACCEPTED


def _fill(lakegate: Lakegate) -> None:
    lakegate.routed()
    lakegate.delivered(name="a.csv", body=b"id,amount\na,1\nb,2\nc,\nd,4\n")
    lakegate.delivered(1, name="bad.csv", body=b"id,amount\n,1\nb,2\nc,3\nd,4\n")
    lakegate.delivered(name="b.csv", body=b"id,amount\ne,5\nf,6\n")
