"""`lakegate report` without a name: all datasets in words, as JSON, as one page and as a folder of pages."""

from __future__ import annotations

from pathlib import Path

from lakegate.gate.ports import Address
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE


def test_all_datasets_are_shown_without_a_name(lakegate: Lakegate) -> None:
    """A row for each, with what became of the newest deliveries; --json has every number."""
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    (found,) = lakegate.json("report")["datasets"]
    told = lakegate.ok("report").splitlines()
    (rule,) = found["broken_rules"]

    assert {
        name: found[name] for name in ("line", "version", "status", "verdicts", "rows", "rejected_rows", "height")
    } == {
        "line": "shop/orders_v1",
        "version": "1.0.0",
        "status": "active",
        "verdicts": ["rejected", "accepted"],
        "rows": 8,
        "rejected_rows": 4,
        "height": 1,
    }
    assert found["rejected_share"] == 0.5
    assert told[0] == "1 dataset: 1 with a rejected newest delivery."
    assert "shop/orders_v1" in told[2]
    assert told[2].split()[-3:] == ["RA", "50", "%"] or told[2].rstrip().endswith(rule)
    assert told[-1].startswith("Verdicts, the newest first: A accepted")


def test_deliveries_that_are_not_current_are_counted_alike_everywhere(lakegate: Lakegate, tmp_path: Path) -> None:
    """The report of one dataset, its page, the row of letters and `history` say the same of a delivery that was recalled."""
    lakegate.routed()
    lakegate.delivered()
    first = lakegate.delivered(body=b"id,amount\ne,5\nf,6\ng,7\nh,8\n", name="second.csv")
    lakegate.ok("recall", first, "--reason", "twice")
    (row,) = lakegate.json("report")["datasets"]
    one, page = lakegate.json("report", "shop/orders_v1"), tmp_path / "one.html"
    told = lakegate.ok("report", "shop/orders_v1", "--html", str(page)).splitlines()[0]
    listed = [
        (each["verdict"], each["not_current"]) for each in lakegate.json("history", "shop/orders_v1")["deliveries"]
    ]

    assert listed == [("accepted", "recalled"), ("accepted", None)]
    assert told.endswith(": 2 accepted, 1 of them recalled, 0 accepted with warnings, 0 rejected")
    assert (one["deliveries"]["accepted"], one["recalled"], one["superseded"]) == (2, 1, 0)
    assert "2 accepted, 1 of them recalled" in page.read_text()
    assert (row["verdicts"], row["not_current"]) == (["accepted", "accepted"], ["recalled", ""])
    assert " XA " in lakegate.ok("report")


def test_all_datasets_are_narrowed_to_an_owner_and_to_what_needs_attention(lakegate: Lakegate) -> None:
    """Owners as `contracts` has them: in upper or lower case, several are alternatives. Neither goes with a name."""
    for name, owner in (("shop", "sales"), ("till", "retail")):
        lakegate.ok(
            "publish",
            lakegate.contract(
                **{"id: shop": f"id: {name}", "status: active": f"status: active\nteam: {{name: {owner}}}"}
            ),
        )
    lakegate.ok("route", "add", "orders/", "shop")
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")

    def found(*options: str) -> list[str]:
        return [each["line"] for each in lakegate.json("report", *options)["datasets"]]

    assert found() == ["shop/orders_v1", "till/orders_v1"]
    assert found("--owner", "RETAIL") == ["till/orders_v1"]
    assert found("--owner", "retail", "--owner", "sales") == ["shop/orders_v1", "till/orders_v1"]
    assert found("--attention") == ["shop/orders_v1"]
    assert found("--attention", "--owner", "retail") == []
    assert "leave out the name" in str(lakegate("report", "shop/orders_v1", "--attention").exception)


def test_a_folder_gets_a_page_for_each_dataset(lakegate: Lakegate, tmp_path: Path) -> None:
    """The page of all leads to them; one whose plan is lost is named, and stops none of the others; a file has no links."""
    lakegate.routed()
    lakegate.delivered()
    folder, file = tmp_path / "all", tmp_path / "all.html"
    told = lakegate.ok("report", "--html", str(folder))
    lakegate.ok("report", "--html", str(file))
    (page,) = (folder / "datasets").iterdir()

    assert told.endswith(f"{folder}: report written\n")
    assert f'href="datasets/{page.name}"' in (folder / "index.html").read_text()
    assert page.name.startswith("shop_orders_v1-")
    assert "Deliveries over time" in page.read_text()
    assert "href=" not in file.read_text()

    (version,) = lakegate.dependencies.registry.snapshot().versions
    for _, digest in version.plans:
        lakegate.dependencies.objects.delete(Address(LAKE, f"plans/{digest}.json"))
    lakegate.dependencies.plans.clear()

    assert "shop/orders_v1: no page, because the plan of its latest delivery is lost" in lakegate.ok(
        "report", "--html", str(tmp_path / "lost")
    )


def test_a_page_of_all_is_refused_where_it_cannot_be_written(lakegate: Lakegate, tmp_path: Path) -> None:
    """Before the stack is asked; an empty registry has an empty page."""
    (tmp_path / "file").write_text("")
    page = tmp_path / "empty.html"
    told = lakegate.ok("report", "--output", str(page))

    assert "name a file that ends in .html" in str(lakegate("report", "--html", "x.txt").exception)
    assert "this is a file; name a folder" in str(lakegate("report", "--html", str(tmp_path / "file")).exception)
    assert told.splitlines()[0] == "0 datasets: none needs attention."
    assert "No dataset is published." in page.read_text()
