"""A contract has what its parent declares, and is nowhere weaker (ADR-0029)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Contract
from lakegate.inheritance.inherited_documents import MAX_PARENTS, ParentDocument, parents_by_name, resolve
from lakegate.inheritance.inherited_parts import DeclaringVersion, source_of
from lakegate.rules.compile_plan import compile_plan
from tests.unit.inheritance.families import CASES, child_of, parent_of, resolved

EXAMPLES = Path(__file__).parents[3] / "contracts/examples/inheritance"
ENTERPRISE, SALES, PURCHASES = (
    (EXAMPLES / f"{name}.odcs.yaml").read_bytes() for name in ("enterprise", "sales", "purchases")
)
SOME = [{"id": "some", "metric": "rowCount", "mustBeGreaterThan": 5}]


def contract_of(child: bytes, *parents: bytes) -> Contract:
    examined = resolved(child, *parents).examined

    assert examined.errors == ()
    assert examined.contract is not None
    return examined.contract


def rules_of(contract: Contract, dataset: str = "orders") -> list[str]:
    found = contract.dataset(dataset)
    assert found is not None
    return sorted(each.id for each in found.rules)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_a_weakening_is_an_error_at_its_place(case: dict[str, Any]) -> None:
    """The errors of a case are all that is reported, each in the child's own document; the parent alone is valid."""
    parent, child = parent_of(case["parent"]), child_of(case["child"])
    errors = resolved(child, parent).examined.errors

    assert resolved(parent).examined.errors == ()
    assert sorted(each.path for each in errors) == case["errors"]
    assert all(each.line and each.message.endswith(".") for each in errors)


def test_an_error_says_what_is_weaker_than_where_and_what_to_do() -> None:
    """The message has the element, the version of the parent, both values and the remedy."""
    levels = [{"property": "freshness", "value": 24, "unit": "h"}]
    parent = parent_of({"common": {}, "root": {"slaProperties": levels}})
    child = child_of({"root": {"slaProperties": [{"property": "freshness", "value": 2, "unit": "d"}]}})

    (error,) = resolved(child, parent).examined.errors
    assert error.message == (
        "`serviceLevels.freshness` is weaker than in `acme@1.0.0`: `24 h` there, `2 d` here."
        " Make it at least as strict, or remove it to inherit it."
    )


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ((PURCHASES, b"  name: purchases\ncustom", b"  members: []\ncustom"), "$.team"),
        ((PURCHASES, b"classification: confidential", b"physicalName: e"), "$.schema[0].properties[2]"),
        ((PURCHASES, b"value: 4, unit: h", b"value: 25, unit: h"), "$.slaProperties[0]"),
    ],
    ids=["owner", "classified personal data", "freshness of at most 24 hours"],
)
def test_the_three_policies_of_adr_0029_hold_for_a_product(text: tuple[bytes, bytes, bytes], path: str) -> None:
    """The example without an owner, with unclassified personal data, or older than a day is refused; as it is, it is valid."""
    whole, before, after = text
    broken = whole.replace(before, after)

    assert broken != whole
    assert resolved(whole, SALES, ENTERPRISE).examined.errors == ()
    assert path in {each.path for each in resolved(broken, SALES, ENTERPRISE).examined.errors}


def test_a_domain_cannot_relax_the_enterprise() -> None:
    """The second tier is held to the first."""
    relaxed = SALES.replace(b"value: 6, unit: h", b"value: 2, unit: d")

    assert [each.path for each in resolved(relaxed, ENTERPRISE).examined.errors] == ["$.slaProperties[0]"]


def test_a_product_has_what_its_domain_and_the_enterprise_declare() -> None:
    """Field and rules of the domain are measured on the product, and every document that was read is named."""
    found = resolved(PURCHASES, SALES, ENTERPRISE)
    contract = found.examined.contract
    assert contract is not None
    plan = compile_plan(contract, contract.datasets[0])

    assert [each.name for each in plan.fields] == ["purchase_id", "bought_at", "email", "country"]
    assert {"country:required:1", "country:pattern:1"} <= {each.rule for each in plan.checks}
    assert [(each.name, each.text) for each in found.needs] == [
        ("acme-sales@1.0.0", SALES),
        ("acme-policies@1.0.0", ENTERPRISE),
    ]
    assert [each.name for each in contract.datasets] == ["purchases"]
    assert contract.require == ("owner", "classified-personal-data")


def test_every_inherited_element_has_its_source() -> None:
    """The source is the version that declares it, through all tiers; an own element has none."""
    levels = [{"property": "retention", "value": 1, "unit": "y"}]
    enterprise = parent_of({"common": {"quality": SOME}, "root": {"slaProperties": levels}}, "acme")
    domain = child_of({"objects": [{"name": "*", "properties": [{"name": "a", "logicalType": "string"}]}]}, id="sales")
    contract = contract_of(child_of({}, "sales@1"), domain, enterprise)
    (dataset,) = contract.datasets
    origins = {each.id: source_of(contract, each.origin) for each in dataset.rules}

    assert origins == {
        "id:type:1": None,
        "some": DeclaringVersion("acme@1.0.0", "$.schema[0].quality[0]"),
        "a:type:1": DeclaringVersion("sales@1.0.0", "$.schema[0].properties[0].logicalType"),
        "retention:serviceLevel:1": DeclaringVersion("acme@1.0.0", "$.slaProperties[0]"),
    }
    assert [source_of(contract, each.origin) for each in dataset.fields] == [
        None,
        DeclaringVersion("sales@1.0.0", "$.schema[0].properties[0]"),
    ]
    assert source_of(contract_of(enterprise), dataset.origin) is None


def test_a_dataset_that_the_child_lacks_is_inherited_whole() -> None:
    """With its fields and rules; the child may refer to it."""
    parent = parent_of({"object": {"name": "lines", "quality": SOME}})
    contract = contract_of(child_of({}), parent)

    assert [each.name for each in contract.datasets] == ["orders", "lines"]
    assert rules_of(contract, "lines") == ["id:type:1", "some"]


ODCS_POLICIES = b"""apiVersion: v3.1.0
kind: DataContract
id: enterprise
version: 1.0.0
status: active
team: {name: data-office}
customProperties:
  - {property: lakegate, value: {require: [owner, classified-personal-data], additionalFields: forbid}}
slaProperties:
  - {property: latency, value: 24, unit: h}
"""
DCS_POLICIES = b"""dataContractSpecification: 1.2.1
id: enterprise
info: {title: t, version: 1.0.0, owner: data-office}
config: {lakegate: {require: [owner, classified-personal-data], additionalFields: forbid}}
terms: {noticePeriod: P60D}
servicelevels: {latency: {threshold: 24h}, frequency: {interval: P9D}}
"""
DOMAIN = b"""dataContractSpecification: 1.2.1
id: sales
info: {title: t, version: 1.0.0, owner: sales}
config: {lakegate: {inherits: enterprise@1}}
servicelevels: {frequency: {interval: P5D}}
"""
PRODUCTS = {
    "ODCS": b"""apiVersion: v3.1.0
kind: DataContract
id: product
version: 1.0.0
status: active
team: {name: sales}
customProperties:
  - {property: lakegate, value: {inherits: PARENT, additionalFields: SETTING}}
slaProperties:
  - {property: latency, value: HOURS, unit: h, element: orders.at}
  - {property: frequency, value: DAYS, unit: d}
schema:
  - {name: orders, properties: [{name: at, logicalType: timestamp}]}
""",
    "DCS": b"""dataContractSpecification: 1.2.1
id: product
info: {title: t, version: 1.0.0, owner: sales}
config: {lakegate: {inherits: PARENT, additionalFields: SETTING}}
servicelevels:
  latency: {threshold: HOURSh, sourceTimestampField: orders.at}
  frequency: {interval: PDAYSD}
models: {orders: {fields: {at: {type: timestamp}}}}
""",
    "DCM": b"""specVersion: 0.1.3
id: product-a-b-1.0.0
name: product
kind: DataContract
version: 1.0.0
producer: {name: a, group: g}
consumer: {name: b, group: g}
ownerGroup: sales
access: {eventType: push, protocol: HTTP, location: /a, accessConfiguration: {}}
dataset: {name: orders, schema: [{name: at, dataType: timestamp}]}
serviceLevelAgreements: {timeliness: HOURSh, intervalOfChange: DAYSd}
specific: {lakegate: {inherits: PARENT, additionalFields: SETTING}}
""",
}


def product(family: str, parent: str, setting: str = "forbid", hours: int = 6, days: int = 5) -> bytes:
    text = PRODUCTS[family].replace(b"PARENT", parent.encode()).replace(b"SETTING", setting.encode())
    return text.replace(b"HOURS", b"%d" % hours).replace(b"DAYS", b"%d" % days)


@pytest.mark.parametrize("family", PRODUCTS)
@pytest.mark.parametrize("policies", [ODCS_POLICIES, DCS_POLICIES], ids=["ODCS parent", "DCS parent"])
def test_policies_of_a_parent_without_a_dataset_hold_for_every_dataset_of_its_children(
    policies: bytes, family: str
) -> None:
    """ADR-0029: an enterprise contract has policies alone. A child that is as strict is valid, and each weakness is an error."""
    same, weaker = product(family, "enterprise@1"), product(family, "enterprise@1", "warn", 30)
    found = resolved(weaker, policies).examined.errors

    assert resolved(same, policies).examined.errors == ()
    assert {each.code for each in found} == {"weaker-than-parent"}
    assert sorted(each.message.partition(" is weaker")[0] for each in found) == [
        "`orders.lakegate.additionalFields`",
        "`serviceLevels.latency`",
    ]


@pytest.mark.parametrize("family", PRODUCTS)
def test_policies_without_a_dataset_hold_through_generations(family: str) -> None:
    """A domain without a dataset adds to the enterprise, and a product has the policies of both."""
    assert resolved(DOMAIN, DCS_POLICIES).examined.errors == ()
    fine, weaker = product(family, "sales@1"), product(family, "sales@1", hours=30, days=8)
    (dataset,) = contract_of(fine, DOMAIN, DCS_POLICIES).datasets
    found = resolved(weaker, DOMAIN, DCS_POLICIES).examined.errors

    assert (dataset.notice_days, dataset.policy.additional_fields.value) == (60, "forbid")
    assert sorted(each.message.partition(" is weaker")[0] for each in found) == [
        "`serviceLevels.frequency`",
        "`serviceLevels.latency`",
    ]
    relaxed = DOMAIN.replace(b"P5D", b"P30D")
    assert [each.path for each in resolved(relaxed, DCS_POLICIES).examined.errors] == ["$.servicelevels.frequency"]


def test_a_level_of_a_parent_without_a_dataset_is_inherited_with_its_source() -> None:
    """A child that declares no level has the parent's."""
    contract = contract_of(child_of({}, "enterprise@1", team={"name": "sales"}), ODCS_POLICIES)
    (dataset,) = contract.datasets

    assert {each.id: source_of(contract, each.origin) for each in dataset.rules} == {
        "id:type:1": None,
        "latency:serviceLevel:1": DeclaringVersion("enterprise@1.0.0", "$.slaProperties[0]"),
    }


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        (ODCS_POLICIES, " What it requires holds for every dataset of the contracts that inherit from it."),
        (ODCS_POLICIES[: ODCS_POLICIES.index(b"customProperties")], "describe one."),
    ],
    ids=["policies", "nothing"],
)
def test_the_warning_of_a_contract_without_a_dataset_says_what_holds(text: bytes, ending: str) -> None:
    """Nobody is asked for a dataset where policies are meant."""
    (warning,) = resolved(text).examined.warnings

    assert (warning.code, warning.path) == ("no-dataset", "$")
    assert warning.message.endswith(ending)


def test_a_rule_may_use_an_inherited_field() -> None:
    """The linter knows the fields of the parent."""
    parent = parent_of({"common": {"properties": [{"name": "at", "logicalType": "timestamp"}]}})
    rule = {"metric": "duplicateValues", "arguments": {"properties": ["id", "at"]}, "mustBe": 0}

    assert len(rules_of(contract_of(child_of({"object": {"quality": [rule]}}), parent))) == len(("id", "at", "rule"))


def test_what_the_child_leaves_open_it_inherits() -> None:
    """Classification, mark and settings of the parent hold where the child declares none."""
    marked = {
        "customProperties": [{"property": "pii", "value": True}],
        "classification": "secret",
        "logicalType": "integer",
    }
    parent = parent_of(
        {
            "common": {"properties": [{"name": "id", **marked}]},
            "extension": {"additionalFields": "forbid", "mode": "observe", "csv": {"delimiter": ";"}},
        }
    )
    (dataset,) = contract_of(child_of({"extension": {"mode": "enforce"}}), parent).datasets

    assert (dataset.fields[0].classification, dataset.fields[0].personal) == ("secret", True)
    assert (dataset.policy.additional_fields.value, dataset.policy.mode.value, dataset.csv.delimiter) == (
        "forbid",
        "enforce",
        ";",
    )


def test_formats_may_be_mixed() -> None:
    """A child in DCS or DCM inherits from a parent in ODCS."""
    levels = [{"property": "retention", "value": 1, "unit": "y"}]
    parent = parent_of({"common": {"quality": SOME}, "root": {"slaProperties": levels}})
    dcs = b"""dataContractSpecification: 1.2.1
id: shop
info: {title: t, version: 1.0.0}
config: {lakegate: {inherits: acme@1}}
servicelevels: {retention: {period: P1D}}
models: {orders: {additionalFields: true, fields: {id: {type: long}}}}
"""
    found = resolved(dcs, parent).examined

    assert [(each.code, each.path) for each in found.errors] == [("weaker-than-parent", "$.servicelevels.retention")]
    assert rules_of(contract_of(dcs.replace(b"P1D", b"P2Y"), parent)) == [
        "id:type:1",
        "retention:serviceLevel:1",
        "some",
    ]


def test_an_unmeasured_rule_is_inherited_unless_it_is_repeated() -> None:
    """A rule in words of the parent is there once."""
    note = {"type": "text", "description": "Be nice."}
    parent = parent_of({"common": {"quality": [note]}})

    assert len(rules_of(contract_of(child_of({"object": {"quality": [note]}}), parent))) == len(("id", "note"))
    assert len(rules_of(contract_of(child_of({}), parent))) == len(("id", "note"))


def test_contracts_may_not_inherit_without_end() -> None:
    """Nine in a row are too many."""
    row = [
        parent_of({"extension": {"inherits": f"c{at + 1}@1"}, "root": {"id": f"c{at}"}}) for at in range(MAX_PARENTS)
    ]
    last = parent_of({}, f"c{MAX_PARENTS}")

    assert resolved(child_of({}, "c1@1"), *row, last).examined.errors == ()
    assert [each.code for each in resolved(child_of({}, "c0@1"), *row, last).examined.errors] == ["broken-parent"]


def test_a_parent_that_cannot_be_read_is_an_error_at_inherits() -> None:
    """The reason of the search is in the message."""

    def find(_contract: str, _line: int) -> ParentDocument | None:
        raise InputError("no network")

    (error,) = resolve(child_of({}), find).examined.errors
    assert (error.code, error.path) == ("unknown-parent", "$.customProperties[0].value.inherits")
    assert error.message == "`acme@1` cannot be read: no network."


def test_a_published_parent_is_read_as_far_as_possible() -> None:
    """It was valid under the checks of its time; one of another kind is not usable."""
    broken = parent_of({"common": {"quality": SOME}, "root": {"tags": 5}})

    def given(text: bytes) -> list[str]:
        return [
            each.code
            for each in resolve(child_of({}), lambda *_: ParentDocument(text, parents_by_name({}))).examined.errors
        ]

    assert given(broken) == given(b"a: 1") == given(b"") == ["broken-parent"]
    assert resolved(child_of({}), broken).examined.errors == ()


def test_weaknesses_wait_for_a_document_that_can_be_read() -> None:
    """A document that breaks its schema is not compared."""
    child = child_of({"root": {"slaProperties": [{"property": "freshness", "value": 9, "unit": 5}]}})
    parent = parent_of({"common": {}, "root": {"slaProperties": [{"property": "freshness", "value": 1, "unit": "h"}]}})

    assert {each.code for each in resolved(child, parent).examined.errors} == {"wrong-type"}


@pytest.mark.parametrize(("extension", "days"), [({}, 60), ({"noticePeriod": 90}, 90)])
def test_the_notice_period_is_inherited_unless_the_child_sets_it(extension: dict[str, int], days: int) -> None:
    """Subscribers of a child have the time that its parent promises."""
    parent = parent_of({"common": {}, "extension": {"noticePeriod": 60}})
    found = contract_of(child_of({"extension": extension}), parent).dataset("orders")

    assert found is not None
    assert found.notice_days == days
