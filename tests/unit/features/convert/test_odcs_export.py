"""DCS and DCM as ODCS: the same checks, and a list of everything that ODCS has no equivalent for."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lakegate.base.errors import ContractError, InputError
from lakegate.base.extension_points import ROOT
from lakegate.contract.contract_model import Contract
from lakegate.contract.logical_types import LogicalType
from lakegate.diff.compared_versions import ContractVersion, read_version
from lakegate.diff.diff_contracts import compare
from lakegate.features.convert.odcs_export import leave_out_refused, odcs
from lakegate.features.convert.odcs_writer import server_settings
from lakegate.lints.linter import examine
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import judge
from tests.agreement.cases import _compiled
from tests.agreement.documents import dcm, dcs, fields_of
from tests.agreement.rows import rows_of
from tests.golden.cases import golden
from tests.reference.cases import only_plan
from tests.reference.evaluator import measure

ORDERS = ROOT / "contracts/examples/orders.odcs.yaml"
FULL = 5_000 if os.environ.get("LAKEGATE_FULL") else 25
ORDER = (Status.SKIP, Status.PASS, Status.WARN, Status.FAIL, Status.ERROR)
LISTED = {
    "the type json": ["orders.amount (type-changed: json as text -> string)"],
    "checks at the root of an unknown model": [
        "orders#custom (rule: custom)",
        "lines#custom (rule: custom)",
    ],
    "a server of a kind of one's own": ['servers.prod (server: {"type": "ftp"} -> none)'],
    "an unknown key": ["$.models.orders.fields.amount.patern"],
}
"""What golden documents of DCS 1.2.1 lose; all others lose nothing."""
LISTED_OF_DCM = {
    "the constraint FOREIGN_KEY": ["orders.amount#foreignKey (rule: foreignKey)"],
    "a greatest value of a text": ["orders#r (rule: r)"],
    "an unknown key": ["$.qality"],
    "the seven keys of the agreements": [
        "$.dataSharingAgreements",
        "description (description: Orders of the shop. -> none)",
    ],
    "tags of OpenMetadata": [
        "$.dataset.schema[0].tags",
        'tags (metadata: [{"tagFQN": "a.b", "description": "d", "source": "Glossary", "labelType": "Prop… -> ["a.b"])',
    ],
}
LOST_BY_EVERY_DCM = ("$.consumer", "$.producer", "$.access")


def version_of(document: bytes | dict[str, Any]) -> ContractVersion:
    """A document, which may name parents."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_version(text, complete=lambda contract, _document, _notes: contract)


def dcs_document(**changes: Any) -> dict[str, Any]:
    """A document of DCS 1.2.1 with some other keys at its root."""
    base: dict[str, Any] = {
        "dataContractSpecification": "1.2.1",
        "id": "shop",
        "info": {"title": "Shop", "version": "1.0.0"},
        "models": {"orders": {"fields": {"id": {"type": "text"}, "amount": {"type": "long"}}}},
    }
    return base | changes


def fields_document(**fields: Any) -> dict[str, Any]:
    """A document of DCS with one dataset of some fields."""
    return dcs_document(models={"orders": {"fields": fields}})


@pytest.mark.parametrize(("name", "listed"), [("dcs", LISTED), ("dcm", LISTED_OF_DCM)])
def test_the_golden_documents_lose_what_is_listed(name: str, listed: dict[str, list[str]]) -> None:
    """Every golden document that can be read is written as valid ODCS; only a few lose anything, and that is named."""
    found: dict[str, list[str]] = {}
    for case in golden(name):
        label, _, title = case.id.partition(": ")
        if label in {"dcs 1.2.1", "dcm 0.1.3"} and not examine(case.text).errors:
            try:
                converted = odcs(version_of(case.text))
            except InputError:
                continue  # a version that is not semantic
            lost = [each for each in converted.omitted if each not in LOST_BY_EVERY_DCM]
            assert examine(converted.text.encode()).errors == (), case.id
            if lost:
                found[title] = lost

    assert found == listed


def measurable(contract: Contract) -> Plan:
    """The plan without what is not compared here: queries, and shares of distinct values, which ODCS does not have."""
    plan = compile_plan(contract, contract.datasets[0])
    kept = (each for each in plan.checks if each.query is None and each.skip is None)
    whole = (each for each in kept if each.metric is not Metric.DISTINCT_SHARE or each.accept.interval.low == 1)
    return replace(plan, checks=tuple(whole))


def judged(plan: Plan, header: list[str], rows: list[list[str | None]]) -> dict[frozenset[str], Status]:
    """The worst status of the checks of each set of fields; those of the whole dataset have no field."""
    found: dict[frozenset[str], Status] = {}
    for each in judge(plan, measure(plan, header, rows)).outcomes:
        fields = frozenset(each.fields)
        found[fields] = max(found.get(fields, each.status), each.status, key=ORDER.index)
    return found


@settings(max_examples=FULL, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([dcs, dcm]))
@example(267, dcm)  # a deviation of 5 within a range of 2
@example(
    211245, dcm
)  # a mean of 0.4 to 1.6 is kept, one of 0.95 to 1.05, which warns, is listed: no value is above 0.5
def test_both_documents_judge_the_same(seed: int, write: Any) -> None:
    """Whatever the rules and the rows: each field is judged the same by both, but for rules that are listed."""
    draw = random.Random(seed)
    fields = fields_of(draw, "csv")
    compiled, _ = _compiled(write(draw, fields, {}))
    if compiled is None:
        return
    old = version_of(compiled[0])
    converted = odcs(old)
    new = version_of(converted.text.encode())
    known = [each.name for each in old.contract.datasets[0].fields]
    drawn = rows_of(draw, [each for each in fields if each.name in known])
    rows = [[None if row.get(name) is None else str(row[name]) for name in known] for row in drawn]
    plans = measurable(old.contract), measurable(new.contract)
    listed = {each.partition(" (")[0].partition("#")[2] for each in converted.omitted if "#" in each}
    one, other = (
        replace(plan, checks=tuple(each for each in plan.checks if each.rule not in listed)) for plan in plans
    )
    before, after = judged(one, known, rows), judged(other, known, rows)

    # what ODCS refuses of two that contradict each other: numbers of rows, or a mean or a deviation that the range forbids
    assert {each.kind for each in plans[0].checks if each.rule in listed} <= {"size", "mean", "stdev"}
    assert {fields: after.get(fields) for fields in before} == before


def test_the_thesis_contract_keeps_its_thresholds() -> None:
    """Two tolerances become two rules with the same numbers; what is lost are parties, access and a dimension."""
    old = version_of((ROOT / "contracts/examples/weather.dcm.yaml").read_bytes())
    converted = odcs(old)
    new = version_of(converted.text.encode())
    rules = {each.id: each for each in new.contract.datasets[0].rules}
    measured = [(rules[name].severity.value, rules[name].comparison) for name in ("not_null_measurements_rule_warn",)]
    lost = [each for each in converted.omitted if "dimension" not in each]

    assert [(word, str(found.operands[0])) for word, found in measured if found] == [("warn", "10")]
    assert str(rules["not_null_measurements_rule"].comparison.operands[0]) == "15"  # type: ignore[union-attr] # it has one
    assert [each.split(" ")[0] for each in lost] == ["$.consumer", "$.producer", "$.access", "tags"]
    assert {each.kind for each in compare(old, new).changes} <= {
        *("metadata", "rule-described", "description"),
        *("warning-looser", "warning-added", "rule-not-repeated", "rule-changed"),
    }


def test_keys_that_odcs_has_too_are_kept() -> None:
    """Titles, tags, descriptions, prices, classifications, examples, servers, deprecation and the extension arrive."""
    old = version_of(
        dcs_document(
            info={"title": "Shop", "version": "1.0.0", "status": "active", "owner": "sales", "description": "Orders"},
            terms={"usage": "Reports", "limitations": "None"},
            tags=["shop"],
            servers={"prod": {"type": "s3", "location": "s3://a/*.parquet", "format": "parquet"}},
            config={"lakegate": {"onReject": "rows", "maxRejectedShare": 0.5, "critical": False, "noticePeriod": 9}},
            deprecation={"announced": "2026-01-01", "sunset_date": "2026-06-01", "reason": "old"},
            models={
                "orders": {
                    "type": "table",
                    "title": "All",
                    "description": "All orders",
                    "fields": {
                        "at": {
                            "type": "timestamp",
                            "title": "When",
                            "tags": ["time"],
                            "examples": ["2026-01-01T00:00"],
                        },
                        "mail": {"type": "string", "pii": True, "classification": "confidential", "format": "email"},
                        "price": {"type": "decimal", "precision": 9, "scale": 2},
                        "fine": {"type": "decimal", "precision": 38, "scale": 30},
                    },
                    "quality": [{"type": "text", "name": "n", "description": "d"}],
                }
            },
            servicelevels={"freshness": {"threshold": "36h", "timestampField": "orders.at", "description": "soon"}},
        )
    )
    converted = odcs(old)
    new = version_of(converted.text.encode())
    dataset, (level,) = new.contract.datasets[0], new.document.top["slaProperties"].items

    assert converted.omitted == ()
    assert [each.kind for each in compare(old, new).changes] == ["description", "description"]
    assert (new.contract.about.purpose, new.contract.about.deprecation and new.contract.about.deprecation.reason) == (
        "Orders",
        "old",
    )
    assert level.node is not None
    assert level.node.plain() == {
        "property": "freshness",
        "value": 36,
        "unit": "h",
        "element": "orders.at",
        "description": "soon",
    }
    assert (dataset.policy.max_rejected_share, dataset.notice_days, dataset.fields[2].declared) == (
        old.contract.datasets[0].policy.max_rejected_share,
        9,
        "number",
    )
    assert (dataset.fields[3].type, dataset.fields[3].scale) == (LogicalType.DECIMAL, 30)


def test_links_config_roles_and_what_definitions_have_are_kept() -> None:
    """ODCS has them in another form: nothing is listed."""
    url = "https://example.org/x"
    about = {"links": {"doc": url}, "config": {"glueType": "string"}, "tags": ["key"]}
    document = dcs_document(
        links={"wiki": url},
        servers={
            "p": {
                "type": "s3",
                "location": "s3://b/p",
                "format": "csv",
                "roles": [{"name": "reader", "description": "r"}],
            }
        },
        definitions={
            "c": {"type": "text", "title": "Code"} | about,
            "d": {"$ref": "#/definitions/c", "type": "text", "title": "Own"},
        },
    )
    fields = {"a": {"$ref": "#/definitions/d"}, "b": {"type": "text", "title": "B", "pii": True} | about}
    document["models"] = {"orders": {"fields": fields, "config": {"lakegate": {"onReject": "rows"}, "x": 1}}}
    found = odcs(version_of(document))
    written = yaml.safe_load(found.text)
    (table,) = written["schema"]
    links, own = [{"type": "doc", "url": url}], {"property": "glueType", "value": "string"}
    kept = {"tags": ["key"], "authoritativeDefinitions": links, "customProperties": [own]}

    assert found.omitted == ()
    assert server_settings({"roles": ["x", {"role": "y"}, {}]}) == {"roles": ["x", {"role": "y"}, {}]}
    assert written["authoritativeDefinitions"] == [{"type": "wiki", "url": url}]
    assert written["servers"][0]["roles"] == [{"role": "reader", "description": "r"}]
    assert table["properties"][0].items() >= ({"businessName": "Own"} | kept).items()
    assert table["properties"][1]["customProperties"] == [own, {"property": "pii", "value": True}]
    assert [each["property"] for each in table["customProperties"]] == ["x", "lakegate"]


def test_what_a_document_adds_to_the_specification_is_kept_as_custom_properties() -> None:
    """Of the root and its sections, servers, models, fields, definitions, rules and levels; names that are read stay out."""
    document = dcs_document(
        info={"title": "t", "version": "1.0.0", "costs": 12},
        terms={"place": "DE"},
        origin={"system": "sap"},
        servers={"p": {"type": "s3", "location": "s3://b/p", "x": 1}},
        definitions={"d": {"type": "text", "y": 2}, "unused": {"type": "text", "z": 3}},
        servicelevels={"availability": {"percentage": "99%", "u": 4}},
    )
    rule = {"type": "sql", "query": "SELECT count(*) FROM orders", "mustBe": 1, "v": 5}
    fields = {"a": {"$ref": "#/definitions/d", "w": 6, "config": {"k": 7}}}
    document["models"] = {"orders": {"fields": fields, "quality": [rule], "lakegate": {"onReject": "rows"}, "own": [8]}}
    found = odcs(version_of(document))
    written = yaml.safe_load(found.text)
    (table,) = written["schema"]
    places = (written, written["servers"][0], table, table["properties"][0], table["quality"][0])

    assert [
        {each["property"]: each["value"] for each in place["customProperties"]}
        for place in (*places, written["slaProperties"][0])
    ] == [
        {"origin": {"system": "sap"}, "costs": 12, "place": "DE"},
        {"x": 1},
        {"own": [8]},
        {"y": 2, "w": 6, "k": 7},
        {"v": 5},
        {"u": 4},
    ]
    assert found.omitted == ("$.models.orders.lakegate", "$.definitions.unused.z")


@pytest.mark.parametrize(
    ("document", "lost"),
    [
        (fields_document(a={"type": "text", "lineage": {"inputFields": []}}), ["$.models.orders.fields.a.lineage"]),
        (
            dcs_document(definitions={"d": {"type": "text", "lineage": {"inputFields": []}}})
            | {"models": {"orders": {"fields": {"a": {"$ref": "#/definitions/d"}}}}},
            ["$.definitions.d.lineage"],
        ),
        (dcs_document(links={"wiki": "no address"}), ["$.links"]),
        (dcs_document(terms={"billing": "free"}), ["$.terms"]),
        (
            dcs_document(servicelevels={"backup": {"description": "daily"}}),
            ['serviceLevels.backup (service-level-removed: {"description": "daily"} -> none)'],
        ),
    ],
)
def test_a_key_without_an_equivalent_is_listed(document: dict[str, Any], lost: list[str]) -> None:
    """It is named by its place in the document."""
    assert list(odcs(version_of(document)).omitted)[: len(lost)] == lost


@pytest.mark.parametrize(
    "text",
    [
        "${HOME}",
        "$${A:-b}",
        "a${table}b",
        "- x: [y",
        "#",
        "\u202e",
        "null",
        "1.10",
        "${_:-$}{X}",
        "''\"\\",
        "\U0001f600",
    ],
)
def test_hostile_texts_stay_texts(text: str) -> None:
    """No text becomes a variable, a comment, another type or more YAML."""
    old = version_of(fields_document(a={"type": "string", "description": text, "enum": [text, "b"]}))
    new = version_of(odcs(old).text.encode())

    assert new.contract.datasets[0].fields[0].description == text
    assert [each.arguments for each in new.contract.datasets[0].rules if each.kind == "enum"] == [
        {"values": (text, "b")}
    ]


def test_rules_with_the_same_key_are_quality_rules() -> None:
    """A bound of the type and one of the field both hold; so do two patterns of two definitions."""
    old = version_of(fields_document(a={"type": "int", "minimum": 0, "exclusiveMaximum": 9}))

    assert odcs(old).omitted == ()
    assert "invalidValues" in odcs(old).text


def test_options_of_lists_objects_and_moments_are_kept() -> None:
    """They are options again, and judge the same."""
    old = version_of(
        {
            "apiVersion": "v3.2.0",
            "kind": "DataContract",
            "id": "x",
            "version": "1.0.0",
            "status": "active",
            "customProperties": [{"property": "lakegate", "value": {"format": "jsonl"}}],
            "schema": [
                {
                    "name": "m",
                    "properties": [
                        {"name": "at", "logicalType": "timestamp", "logicalTypeOptions": {"timezone": True}},
                        {
                            "name": "tags",
                            "logicalType": "array",
                            "logicalTypeOptions": {"minItems": 1, "maxItems": 3, "uniqueItems": True},
                            "items": {"logicalType": "string"},
                        },
                        {
                            "name": "box",
                            "logicalType": "object",
                            "logicalTypeOptions": {"minProperties": 1, "maxProperties": 2, "required": ["a", "b"]},
                            "properties": [{"name": name, "logicalType": "string"} for name in "ab"],
                        },
                    ],
                }
            ],
        }
    )

    new = version_of(odcs(old).text.encode())

    assert odcs(old).omitted == ()
    assert [each.checks for each in map(only_plan, (old.contract, new.contract))] == [
        only_plan(old.contract).checks
    ] * 2


def test_moments_with_and_without_an_offset_stay_apart() -> None:
    """An option says the first, a pattern the second; a file that stores moments needs neither."""
    fields = {"a": {"type": "timestamp_tz"}, "b": {"type": "timestamp_ntz"}}
    old, new = version_of(fields_document(**fields)), odcs(version_of(fields_document(**fields)))

    assert new.omitted == ()
    assert [each.kind for each in version_of(new.text.encode()).contract.datasets[0].rules] == [
        "type",
        "timezone",
        "type",
        "invalidValues",
    ]
    assert [each.accept.predicate for each in only_plan(old.contract).checks] == [
        each.accept.predicate for each in only_plan(version_of(new.text.encode()).contract).checks
    ]


def dcm_document(columns: list[dict[str, Any]], *rules: dict[str, Any]) -> dict[str, Any]:
    """A document of DCM with some columns and rules."""
    return {
        "specVersion": "0.1.3",
        "id": "x-p-1.0.0",
        "name": "x",
        "kind": "DataContract",
        "version": "1.0.0",
        "description": "d",
        "producer": {"name": "p", "group": "g"},
        "access": {"eventType": "push", "protocol": "HTTP", "location": "/", "accessConfiguration": {}},
        "dataset": {"name": "orders", "schema": columns},
        "quality": [{"id": f"r{at}", "name": f"r{at}"} | each for at, each in enumerate(rules)],
    }


GX = {"type": "custom", "technology": "GreatExpectations", "columns": ["a", "b"]}


@pytest.mark.parametrize(
    ("call", "args", "names"),
    [
        ("expect_column_values_to_be_between", {"min_value": 1}, ["r0_1", "r0_2"]),
        ("expect_column_pair_values_a_to_be_greater_than_b", {}, ["r0"]),
        ("expect_compound_columns_to_be_unique", {}, ["r0"]),
        ("expect_table_row_count_to_equal", {"value": 3, "meta": {"empty": {}, "none": None, "list": [{}]}}, ["r0"]),
    ],
)
def test_calls_of_other_engines_keep_their_columns(call: str, args: dict[str, Any], names: list[str]) -> None:
    """A call about each column is written for each; one about several names them."""
    columns = [{"name": name, "dataType": "bigint"} for name in ("a", "b")]
    old = version_of(dcm_document(columns, GX | {"call": call, "args": args}))
    converted = odcs(old)
    new = version_of(converted.text.encode())

    assert [each.id for each in new.contract.datasets[0].rules if each.kind == "custom"] == names
    assert [each.partition(": ")[0] for each in converted.omitted if "#" in each] == [
        f"orders#{name} (rule-id" for name in names if name != "r0"
    ]


def test_what_no_metric_of_odcs_measures_is_listed() -> None:
    """A share of distinct values, and a metric without an operator."""
    unique = {"type": "unique", "columns": ["a"], "severity": {"fail": {"tolerance": 0.5}}}
    share = dcm_document([{"name": "a", "dataType": "bigint"}], unique)
    orders = {"fields": {"a": {"type": "text"}}, "quality": [{"type": "library", "metric": "rowCount"}]}

    assert odcs(version_of(share)).omitted == (
        "$.producer",
        "$.access",
        "orders#r0 (rule: all values distinct (tolerance: fail 0.5))",
    )
    assert odcs(version_of(dcs_document(models={"orders": orders}))).omitted == ("orders#rowCount (rule: rowCount)",)


def test_a_key_inside_of_a_record_is_listed() -> None:
    """ODCS has keys of columns alone."""
    inner = [{"name": "id", "dataType": "bigint", "constraint": "PRIMARY_KEY"}]
    document = dcm_document([{"name": "a", "dataType": "struct", "children": inner}])

    assert "orders.a.id#primaryKey (rule: unique)" in odcs(version_of(document)).omitted


def test_an_older_document_of_odcs_is_written_too() -> None:
    """References of several columns, and to other contracts, and bounds of what has no order."""
    properties = [{"name": name, "logicalType": "string"} for name in ("a", "b")]
    other = {"name": "c", "logicalType": "boolean", "relationships": [{"to": "shops_v1.yaml#/schema/s/properties/k"}]}
    schema = [
        {
            "name": "orders",
            "properties": [*properties, other],
            "relationships": [{"from": ["orders.a", "orders.b"], "to": ["shops.a", "shops.b"]}],
        },
        {"name": "shops", "properties": properties},
    ]
    base = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "x", "version": "1.0.0", "status": "active"}

    assert odcs(version_of(base | {"schema": schema})).omitted == ()


def test_a_document_of_odcs_keeps_its_keys() -> None:
    """What the gate does not read is written as it is, beside what it reads in the same mapping."""
    document = yaml.safe_load(ORDERS.read_text())
    converted = odcs(version_of(ORDERS.read_bytes()))
    written = yaml.safe_load(converted.text)

    assert converted.omitted == ()
    for key in ("domain", "tenant", "team", "description"):
        assert written[key] == document[key]
    for old, new in zip(document["schema"][0]["properties"], written["schema"][0]["properties"], strict=True):
        kept = old.keys() - {"quality", "tags"}  # in the form of 3.2, and the tag `pii` as a property
        assert {key: new.get(key) for key in kept} == {key: old[key] for key in kept}


def test_dates_in_another_format_stay_what_they_are() -> None:
    """The gate does not compare them, and says so of both documents."""
    options = {"format": "dd.MM.yyyy", "minimum": "01.01.2026"}
    properties = [{"name": "a", "logicalType": "date", "logicalTypeOptions": options}]
    base = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "x", "version": "1.0.0", "status": "active"}
    converted = odcs(version_of(base | {"schema": [{"name": "orders", "properties": properties}]}))

    assert converted.omitted == ()
    assert yaml.safe_load(converted.text)["schema"][0]["properties"] == properties


def test_keys_that_odcs_refuses_are_left_out() -> None:
    """A key that another version has does not keep the rest from being written."""
    properties = [{"name": "a", "logicalType": "string", "colour": "red"}]
    document = {"apiVersion": "v3.2.0", "kind": "DataContract", "id": "x", "version": "1.0.0", "status": "active"}
    text, _ = leave_out_refused(
        {**document, "price": {"amount": 1}, "schema": [{"name": "orders", "properties": properties}]}
    )

    assert yaml.safe_load(text) == document | {
        "schema": [{"name": "orders", "properties": [{"name": "a", "logicalType": "string"}]}]
    }


def test_references_to_other_contracts_have_the_form_of_odcs() -> None:
    """`lakegate://` becomes the path in a file; a bound of what has no order is listed."""
    reference = {"type": "text", "references": "lakegate://shops/s_v1/k"}
    converted = odcs(version_of(fields_document(a=reference, b={"type": "boolean", "minimum": 1})))

    assert 'to: "shops_v1.yaml#/schema/s/properties/k"' in converted.text
    assert [each.partition(" ")[0] for each in converted.omitted] == ["orders#minimum"]


def test_a_document_that_would_be_too_large_is_refused() -> None:
    """References may repeat a large definition: the written document has the limits of every document."""
    definition = {
        "type": "object",
        "fields": {f"f{at}": {"type": "long", "description": "d" * 300} for at in range(190)},
    }
    fields = {f"a{at}": {"$ref": "#/definitions/d"} for at in range(25)}
    old = version_of(dcs_document(definitions={"d": definition}, models={"orders": {"fields": fields}}))

    with pytest.raises(ContractError, match="more than"):
        odcs(old)
