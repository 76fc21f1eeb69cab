"""References of contracts: their target lines, and the references that are skipped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.logical_types import LogicalType
from lakegate.rules.compile_plan import compile_plan
from lakegate.rules.relationship_rules import foreign_key
from tests.reference.cases import field_of

ELSEWHERE = "lakegate://people/customers_v2/id"
NAMED = {
    "orders.id,orders.shop": "the reference names more fields on one side than on the other",
    "customers.id": "customers.id is not a field of this contract; "
    "a field of another contract is written lakegate://contract/dataset_v1/field",
    "": "the reference does not say which field it leads to",
    "orders.paid": "order_id is a integer, and what it refers to a boolean",
}


def contract(to: str, *fields: str, version: str = "3.1.0") -> Contract:
    orders = {"id": "integer", "shop": "string", "paid": "boolean"}
    lines = {"order_id": "integer", "shop": "string"}
    rule = Rule("fk", "foreignKey", Origin("$"), fields or ("order_id",), {"to": to})
    datasets = tuple(
        Dataset(
            name,
            tuple(Field(each, LogicalType(kind), Origin("$")) for each, kind in columns.items()),
            rules,
            Origin("$"),
        )
        for name, columns, rules in (("lines", lines, (rule,)), ("orders", orders, ()))
    )
    return Contract("shop", version, "test", datasets)


def test_decimals_of_two_scales_are_not_compared() -> None:
    """The rule is skipped by name: no engine has a type for both."""
    fields = [field_of("a", "decimal(38,0)"), field_of("b", "decimal(38,10)"), field_of("c", "decimal(38,0)")]
    rules = [Rule(f"to-{to}", "foreignKey", Origin("$"), ("a",), {"to": f"rows.{to}"}) for to in "bc"]
    rows = Dataset("rows", tuple(fields), tuple(rules), Origin("$"))
    other, same = compile_plan(Contract("x", "1.0.0", "test", (rows,)), rows).checks

    assert (other.skip, same.skip) == (
        "a is a number of scale 0, and what it refers to one of scale 10: declare both with the same precision and scale",
        None,
    )
    assert same.query is not None
    assert [column.scale for each in same.query.relations for column in each.columns] == [0, 0]


def test_a_reference_leads_to_the_accepted_data_of_its_line() -> None:
    """The other side is the dataset line of the same contract's major version, read by the fields that are named."""
    whole = contract("orders.id,orders.shop", "order_id", "shop")
    (check,) = compile_plan(whole, whole.datasets[0]).checks
    assert check.query is not None
    own, target = check.query.relations

    assert (check.id, check.wanted) == ("fk/order_id+shop", "found in orders.id+shop")
    assert (own.delivered, own.full_name) == (True, None)
    assert (target.delivered, target.full_name, [each.field for each in target.columns]) == (
        False,
        "shop/orders_v3",
        ["id", "shop"],
    )


@pytest.mark.parametrize("to", [ELSEWHERE, "https://x.org/a/people_v2.yaml#/schema/customers/properties/id"])
def test_a_reference_may_lead_to_another_contract(to: str) -> None:
    """Accepted data of another contract is named by its line and its field, and is of the type of the field that refers to it."""
    whole = contract(to)
    (check,) = compile_plan(whole, whole.datasets[0]).checks
    assert check.query is not None
    target = check.query.relations[1]

    assert (target.dataset, target.full_name, target.columns[0].type) == (
        "customers",
        "people/customers_v2",
        LogicalType.INTEGER,
    )


@pytest.mark.parametrize("to", NAMED)
def test_a_reference_that_leads_nowhere_known_is_named(to: str) -> None:
    """It is a skip with its reason, never a silent pass."""
    whole = contract(to)
    (check,) = compile_plan(whole, whole.datasets[0]).checks

    assert NAMED[to] == check.skip


def test_parts_of_values_are_not_compared() -> None:
    """Neither a part of a value nor a list has one value in a row: references of both are named."""
    whole = contract("orders.id")
    street = Field("order_id.street", LogicalType.STRING, Origin("$"))
    nested = replace(whole.datasets[0].fields[0], declared="object", parts=(street,))
    lines = replace(whole.datasets[0], fields=(nested, *whole.datasets[0].fields[1:]))
    reasons = [foreign_key(whole, lines, lines.rules[0], (each,))[0].skip for each in (nested, street)]

    assert reasons == ["parts of a value are not compared with other data by this version"] * 2


def test_a_reference_cannot_be_split_over_datasets() -> None:
    """A whole key is found in one row of one dataset, so both its fields must lead there."""
    whole = contract(f"orders.id,{ELSEWHERE.replace('/id', '/shop')}", "order_id", "shop")
    (check,) = compile_plan(whole, whole.datasets[0]).checks

    assert check.skip == "the reference leads to fields of several datasets at once"


def test_a_contract_without_a_semantic_version_has_no_line() -> None:
    """Its accepted data cannot be named, so the check is."""
    whole = contract("orders.id", version="latest")
    (check,) = compile_plan(whole, whole.datasets[0]).checks

    assert check.skip == "the contract has no semantic version, so that its accepted data cannot be named"
