"""`lakegate route import`: routes that a dbt project declares, per stage, outside the contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.features.convert import dbt_manifest
from lakegate.features.convert.dbt_manifest import DeclaredRoute, declared_routes
from lakegate.gate.registry import routes
from tests.unit.cli.conftest import Lakegate

DATA = Path(__file__).parent / "dbt"
MANIFESTS = sorted(DATA.glob("manifest-*.json"))
NEWEST = MANIFESTS[-1]
SHOP = {"contract": "shop", "prefix": "dbt/a/"}


def manifest(**declarations: object) -> bytes:
    """A manifest of models with these declarations."""
    nodes = {
        f"model.shop.{name}": {"name": name, "config": {"meta": {"lakegate": each}}}
        for name, each in declarations.items()
    }
    schema = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}
    return json.dumps({"metadata": schema, "nodes": nodes, "sources": {}}).encode()


def imported(lakegate: Lakegate, *words: str, path: Path = NEWEST, code: int = 0) -> Any:
    result = lakegate("route", "import", "--dbt", str(path), "--json", *words)
    assert (result.exit_code, result.stderr) == (code, ""), result.output
    return json.loads(result.stdout)


def prefixes(lakegate: Lakegate) -> list[str]:
    return [each["prefix"] for each in lakegate.json("route", "list")["routes"]]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_declares_routes_for_a_stage(path: Path) -> None:
    """Models, seeds and sources, in each schema; a resource without a prefix for the stage has none."""
    source = DeclaredRoute("source.shop.raw.clicks", "clicks", "shop", "dbt/clicks/")
    seed = DeclaredRoute("seed.shop.countries", "countries", "shop", "dbt/countries/", "orders", 1)
    orders = DeclaredRoute("model.shop.orders", "orders", "shop", "dbt/orders/")

    assert declared_routes(path.read_bytes(), "prod") == (orders, seed, source)
    assert [each.prefix for each in declared_routes(path.read_bytes(), "dev")] == [
        "dev/dbt/orders/",
        "dbt/countries/",
        "",
    ]


def test_routes_are_imported_once(lakegate: Lakegate) -> None:
    """Added, then unchanged; the report has each resource with its line."""
    lakegate.ok("publish", lakegate.contract())
    first, second = imported(lakegate), imported(lakegate)

    assert first == {
        "stage": "prod",
        "dry_run": False,
        "routes": [
            {
                "resource": resource,
                "outcome": "added",
                "prefix": prefix,
                "line": "shop/orders_v1",
                "version": "1.0.0",
                "reason": None,
            }
            for resource, prefix in (
                ("model.shop.orders", "dbt/orders/"),
                ("seed.shop.countries", "dbt/countries/"),
                ("source.shop.raw.clicks", "dbt/clicks/"),
            )
        ],
    }
    assert [each["outcome"] for each in second["routes"]] == ["unchanged"] * 3
    assert prefixes(lakegate) == ["dbt/clicks/", "dbt/countries/", "dbt/orders/"]


def test_another_stage_has_its_own_prefixes(lakegate: Lakegate) -> None:
    """What declares none for the stage is skipped, and counted."""
    lakegate.ok("publish", lakegate.contract())
    shown = lakegate.ok("route", "import", "--dbt", str(NEWEST), "--stage", "dev")

    assert shown.splitlines() == [
        "added      model.shop.orders: dev/dbt/orders/ → shop/orders_v1 1.0.0",
        "added      seed.shop.countries: dbt/countries/ → shop/orders_v1 1.0.0",
        "Stage dev: 2 added, 0 unchanged, 0 refused, 1 skipped.",
    ]
    assert prefixes(lakegate) == ["dbt/countries/", "dev/dbt/orders/"]


def test_a_dry_run_writes_nothing(lakegate: Lakegate) -> None:
    """It answers as the import would."""
    lakegate.ok("publish", lakegate.contract())
    shown = lakegate.ok("route", "import", "--dbt", str(NEWEST), "--dry-run")

    assert (
        shown.splitlines()[-1]
        == "Stage prod: 3 added, 0 unchanged, 0 refused, 0 skipped; nothing was written (--dry-run)."
    )
    assert prefixes(lakegate) == []


def test_what_cannot_be_added_is_refused_and_the_others_are_added(lakegate: Lakegate, tmp_path: Path) -> None:
    """Each with its reason; hostile names are printed escaped."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", lakegate.contract(**{"id: shop": "id: other"}))
    lakegate.ok("route", "add", "taken/", "other")
    path = tmp_path / "manifest.json"
    path.write_bytes(
        manifest(
            good={"contract": "shop", "prefix": "good/"},
            gone={"contract": "nobody", "prefix": "x/"},
            line={"contract": "shop", "prefix": "y/", "major": 7},
            data={"contract": "shop", "prefix": "z/", "dataset": "unknown"},
            path={"contract": "shop", "prefix": "/../a"},
            taken={"contract": "shop", "prefix": "taken/"},
            **{"evil\x1b[31m\n": {"contract": "shop", "prefix": "e/\n/"}},
        )
    )
    found = imported(lakegate, path=path, code=1)["routes"]
    shown = lakegate("route", "import", "--dbt", str(path)).stdout

    assert {each["resource"].partition(".shop.")[2]: each["reason"] for each in found} == {
        "data": "version 1.0.0 has no dataset unknown, to which z/ delivers",
        "evil\x1b[31m\n": "`prefix` is a printable text, or a mapping from stages to such texts",
        "gone": "no version of the contract nobody is published",
        "good": None,
        "line": "no version 7.x of the contract shop is published",
        "path": "a prefix is folders, each with a slash behind it and none before the first: '/../a' is not",
        "taken": "taken/ delivers to other/orders_v1: remove that route first",
    }
    assert prefixes(lakegate) == ["good/", "taken/"]
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == len(found) + 1


def test_keys_of_another_line_are_taken_only_if_confirmed(lakegate: Lakegate, tmp_path: Path) -> None:
    """As `route add` asks; without --yes nothing at all is written."""
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract(**{"id: shop": "id: other"}))
    path = tmp_path / "manifest.json"
    path.write_bytes(manifest(a={"contract": "other", "prefix": "orders/se/"}, b={"contract": "other", "prefix": "b/"}))
    refused = lakegate("route", "import", "--dbt", str(path))

    assert "confirm it with --yes" in str(refused.exception)
    assert prefixes(lakegate) == ["orders/"]
    assert [each["outcome"] for each in imported(lakegate, "--yes", path=path)["routes"]] == ["added", "added"]


def test_a_dataset_is_the_only_one_or_that_of_the_resource(lakegate: Lakegate, tmp_path: Path) -> None:
    """Of several datasets, the name of the resource chooses; any other name has to declare one."""
    several = "schema:\n  - name: returns\n    properties:\n      - {name: id, logicalType: string}\n"
    lakegate.ok("publish", lakegate.contract(**{"schema:\n": several}))
    path = tmp_path / "manifest.json"
    path.write_bytes(manifest(returns={"contract": "shop", "prefix": "r/"}, x={"contract": "shop", "prefix": "x/"}))
    found = imported(lakegate, path=path, code=1)["routes"]

    assert [(each["line"], each["reason"]) for each in found] == [
        ("shop/returns_v1", None),
        (None, "declare one of the datasets of shop: `orders`, `returns`"),
    ]


def test_a_registry_that_changed_meanwhile_refuses(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the plan and the write somebody took the prefix: the others are added."""
    lakegate.ok("publish", lakegate.contract())
    add = routes.add_route

    def raced(dependencies: Any, prefix: str, *rest: Any) -> Any:
        if prefix == "dbt/orders/":
            raise InputError("taken meanwhile")
        return add(dependencies, prefix, *rest)

    monkeypatch.setattr("lakegate.features.convert.route_import_command.add_route", raced)
    assert [each["outcome"] for each in imported(lakegate, code=1)["routes"]] == ["refused", "added", "added"]


@pytest.mark.parametrize(
    ("declaration", "fault"),
    [
        ("shop", "`lakegate` is not a mapping"),
        ([], "`lakegate` is not a mapping"),
        ({**SHOP, "route": 1, "x": 2}, "unknown keys: `route`, `x`"),
        ({"prefix": "a/"}, "`contract` and `dataset` are printable texts, and `contract` is required"),
        ({**SHOP, "contract": ""}, "`contract` and `dataset` are printable texts, and `contract` is required"),
        ({**SHOP, "dataset": 7}, "`contract` and `dataset` are printable texts, and `contract` is required"),
        ({**SHOP, "dataset": "a\x00"}, "`contract` and `dataset` are printable texts, and `contract` is required"),
        ({**SHOP, "major": "1"}, "`major` is a whole number from 0"),
        ({**SHOP, "major": True}, "`major` is a whole number from 0"),
        ({**SHOP, "major": -1}, "`major` is a whole number from 0"),
        ({**SHOP, "prefix": None}, "`prefix` is a printable text, or a mapping from stages to such texts"),
        ({**SHOP, "prefix": {}}, "`prefix` is a printable text, or a mapping from stages to such texts"),
        ({**SHOP, "prefix": {"prod": ["a/"]}}, "`prefix` is a printable text, or a mapping from stages to such texts"),
    ],
)
def test_a_declaration_of_another_form_is_refused(declaration: object, fault: str) -> None:
    """With the key that is wrong, and nothing of it is used."""
    assert declared_routes(manifest(orders=declaration), "prod") == (
        DeclaredRoute("model.shop.orders", "orders", fault=fault),
    )


def test_two_resources_with_one_prefix_are_both_refused() -> None:
    """Unless they mean the same dataset."""
    same, other = {**SHOP, "dataset": "orders"}, {**SHOP, "contract": "other", "dataset": "orders"}
    fault = "`dbt/a/` is declared by several resources for different datasets"

    assert [each.fault for each in declared_routes(manifest(a=same, b=same), "prod")] == ["", ""]
    assert [each.fault for each in declared_routes(manifest(a=same, b=other), "prod")] == [fault, fault]


def test_resources_of_any_form_are_passed_over() -> None:
    """What has no declaration is not looked at, whatever it is; a resource may have no name."""
    document = json.loads(manifest(a=SHOP))
    document["nodes"] |= {"x": 7, "y": {"meta": []}, "z": {"config": 1, "meta": {"lakegate": {**SHOP, "prefix": "z/"}}}}
    del document["nodes"]["model.shop.a"]["name"]

    assert declared_routes(json.dumps(document).encode(), "prod") == (
        DeclaredRoute("model.shop.a", "", "shop", "dbt/a/"),
        DeclaredRoute("z", "", "shop", "z/"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "the manifest is not JSON"),
        (b"[" * 100_000, "the manifest is not JSON"),
        (b"[]", "the manifest is not an object"),
        (b"{}", "metadata is not an object"),
        (b'{"metadata": {}}', "the manifest has the schema `None`; known are `v10`, `v11`, `v12`, `v20`"),
        (manifest(a=SHOP).replace(b"v12", b"v9"), "known are `v10`"),
        (manifest(a=SHOP).replace(b"schemas.getdbt.com", b"example.com"), "known are `v10`"),
        (manifest().replace(b'"sources": {}', b'"sources": []'), "sources is not an object"),
    ],
)
def test_what_is_no_manifest_is_refused(text: bytes, message: str) -> None:
    """With one sentence, and nothing is read of it."""
    with pytest.raises(InputError) as caught:
        declared_routes(text, "prod")

    assert str(caught.value).startswith(message) or message in str(caught.value)


def test_a_manifest_is_bounded(monkeypatch: pytest.MonkeyPatch, lakegate: Lakegate, tmp_path: Path) -> None:
    """In bytes and in routes; a file that cannot be read is one sentence."""
    text = manifest(a=SHOP, b={**SHOP, "prefix": "b/"})
    monkeypatch.setattr(dbt_manifest, "MAX_ROUTES", 1)
    with pytest.raises(InputError, match="declares 2 routes, more than 1"):
        declared_routes(text, "prod")
    monkeypatch.setattr(dbt_manifest, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="more than 10 bytes"):
        declared_routes(text, "prod")

    absent = lakegate("route", "import", "--dbt", str(tmp_path / "none.json"))
    assert str(absent.exception) == "the manifest cannot be read (No such file or directory)"
