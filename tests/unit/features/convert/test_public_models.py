"""Public models of a dbt project (`access: public`): a contract and routes by convention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakegate.base.errors import InputError
from lakegate.features.convert.dbt_manifest import declared_routes, read_public
from tests.unit.cli.conftest import Lakegate

ID = {"id": {"name": "id", "data_type": "varchar"}}


def model(name: str, access: str | None = "public", **more: object) -> dict[str, object]:
    return {"name": name, "resource_type": "model", "package_name": "shop", "columns": ID, "access": access, **more}


def manifest(**nodes: object) -> bytes:
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "project_name": "shop",
    }
    found = {f"model.shop.{each}": node for each, node in nodes.items()}
    return json.dumps({"metadata": metadata, "nodes": found, "sources": {}}).encode()


PROJECT = manifest(
    orders=model("orders"),
    declared=model("declared", config={"meta": {"lakegate": {"contract": "other", "prefix": "x/"}}}),
    in_config=model("in_config", None, config={"access": "public"}),
    inner=model("inner", "protected"),
    seed=model("seed", resource_type="seed"),
    v1=model("lines", version=1),
    v2=model("lines", version=2),
)


def test_public_models_have_routes_by_convention() -> None:
    """A declaration counts before the convention; other models and other resources have none."""
    found = declared_routes(PROJECT, "prod", public=True)

    assert [(each.prefix, each.contract, each.dataset, each.major) for each in found] == [
        ("x/", "other", None, None),
        ("shop/in_config/", "shop", "in_config", None),
        ("shop/orders/", "shop", "orders", None),
        ("shop/lines_v1/", "shop", "lines", 1),
        ("shop/lines_v2/", "shop", "lines", 2),
    ]
    assert [each.prefix for each in declared_routes(PROJECT, "dev", public=True)][2] == "dev/shop/orders/"
    assert [each.prefix for each in declared_routes(PROJECT, "prod")] == ["x/"]


@pytest.mark.parametrize(
    "hostile",
    [
        {"package_name": None},
        {"package_name": ["a"]},
        {"name": 7},
        {"name": "a\nb"},
        {"package_name": "\u202e"},
    ],
)
def test_a_model_without_usable_names_is_refused(hostile: dict[str, object]) -> None:
    """By the rules of a declaration."""
    (found,) = declared_routes(manifest(orders=model("orders") | hostile), "prod", public=True)

    assert found.fault


def test_routes_of_public_models_are_imported(lakegate: Lakegate, tmp_path: Path) -> None:
    """To the contract of the project, with its dataset."""
    lakegate.ok("publish", lakegate.contract())
    path = tmp_path / "manifest.json"
    path.write_bytes(manifest(orders=model("orders"), nothing=model("nothing")))
    result = lakegate("route", "import", "--dbt", str(path), "--public", "--json", "--yes")
    found: dict[str, Any] = json.loads(result.stdout)

    assert [(each["resource"], each["outcome"], each["line"]) for each in found["routes"]] == [
        ("model.shop.nothing", "refused", None),
        ("model.shop.orders", "added", "shop/orders_v1"),
    ]
    assert [each["prefix"] for each in lakegate.json("route", "list")["routes"]] == ["shop/orders/"]


def test_a_contract_is_made_of_public_models(lakegate: Lakegate, tmp_path: Path) -> None:
    """Named after the project, so that the routes of the convention lead to it."""
    path = tmp_path / "manifest.json"
    path.write_bytes(manifest(orders=model("orders"), inner=model("inner", "protected")))
    made = yaml.safe_load(lakegate.ok("convert", str(path), "--from", "dbt-public"))

    assert (made["id"], [each["name"] for each in made["schema"]]) == ("shop", ["orders"])
    with pytest.raises(InputError, match="no model of the manifest is public"):
        read_public(manifest(inner=model("inner", "protected")), "")
