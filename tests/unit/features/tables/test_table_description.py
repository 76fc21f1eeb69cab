"""What a contract says of its table, beside the columns."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lakegate.features.tables.table_description import TableDescription, describe_table
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan

DOCUMENT = {
    "dataContractSpecification": "1.2.1",
    "id": "shop",
    "info": {"title": "t", "version": "1.0.0"},
}


def plan(publish_as: str, description: str, field: str, **settings: object) -> Plan:
    fields = {
        "id": {"type": "text", "description": field, "classification": "public"},
        "lines": {
            "type": "array",
            "items": {"type": "record", "fields": {"sku": {"type": "text", "description": "Its article"}}},
        },
        "price": {
            "type": "map",
            "description": "By currency",
            "keys": {"type": "text", "description": "No comment of a key"},
            "values": {"type": "record", "fields": {"net": {"type": "long", "description": "In cents"}}},
        },
    }
    own = {"lakegate": {"publishAs": publish_as, "format": "jsonl", **settings}}
    document = DOCUMENT | {"tags": ["sales", "eu", "sales"], "models": {"orders": {"fields": fields, "config": own}}}
    document["info"] = {**DOCUMENT["info"], "description": description}  # type: ignore[dict-item]
    contract = read(json.dumps(document).encode())
    return compile_plan(contract, contract.datasets[0])


def test_a_table_has_the_descriptions_of_its_contract() -> None:
    """Also of nested fields, by the names that Iceberg has for them."""
    found = describe_table(plan("iceberg", "All\n orders", "A\tnumber", timeTravelDays=7, compactTable=True))

    assert found == TableDescription(
        (
            ("comment", "All orders"),
            ("Description", "All orders"),
            ("lakegate.tags", '["sales", "eu"]'),
            ("lakegate.classification", '{"id": "public"}'),
            ("history.expire.max-snapshot-age-ms", "604800000"),
            ("lakegate.compacted", "true"),
        ),
        (
            (("id",), "A number"),
            (("price",), "By currency"),
            (("lines", "element", "sku"), "Its article"),
            (("price", "value", "net"), "In cents"),
        ),
    )


def test_the_plan_of_a_dataset_that_is_no_table_has_no_descriptions() -> None:
    assert plan("original", "All orders", "A number").about is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_text_of_a_contract_is_one_that_glue_takes(description: str, field: str) -> None:
    """One line of printable characters, and no more bytes than Glue has room for: else it would refuse every commit."""
    found = describe_table(plan("iceberg", description, field))
    texts = [value for name, value in found.properties if name in {"comment", "Description"}]
    comments = [text for _, text in found.comments]

    assert all(text.isprintable() and 0 < len(text.encode()) <= 2_048 for text in texts)
    assert all(text.isprintable() and 0 < len(text.encode()) <= 255 for text in comments)
    if field.isprintable() and (words := " ".join(field.split())):
        assert words.startswith(comments[0])
