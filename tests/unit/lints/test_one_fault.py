from __future__ import annotations

from textwrap import dedent

import pytest

from lakegate.lints.linter import examine

ODCS = """
    apiVersion: v3.1.0
    kind: DataContract
    id: shop
    version: 1.0.0
    status: active
"""
DCS = """
    dataContractSpecification: 1.1.0
    id: shop
    info: {title: shop, version: 1.0.0}
"""
MANY = """
    schema:
    - name: m
      properties:
      - {name: a, logicalType: string}
"""


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (ODCS + "    schema: nothing", ["wrong-type $.schema"]),
        (ODCS + "    schema: [{name: m, properties: nothing}]", ["wrong-type $.schema[0].properties"]),
        (ODCS + "    schema: [{properties: [{name: a, logicalType: date}]}]", ["missing-key $.schema[0]"]),
        (ODCS + MANY + "      - plain", ["wrong-type $.schema[0].properties[1]"]),
        (ODCS + MANY + "      - null", ["wrong-type $.schema[0].properties[1]"]),
        (ODCS + MANY + "      - {description: b}", ["missing-key $.schema[0].properties[1]"]),
        (
            ODCS + MANY + "      - {name: 1, logicalType: string}\n      - {name: [a], logicalType: string}",
            ["wrong-type $.schema[0].properties[1].name", "wrong-type $.schema[0].properties[2].name"],
        ),
        (ODCS + MANY + "      - {name: b, logicalType: 3}", ["wrong-type $.schema[0].properties[1].logicalType"]),
        (DCS + "    models: {o: 4}", ["wrong-type $.models.o"]),
        (DCS + "    models: {o: {fields: {a: text}}}", ["wrong-type $.models.o.fields.a"]),
        (DCS + "    models: {o: {fields: {b: {type: 3}}}}", ["wrong-type $.models.o.fields.b.type"]),
        (
            ODCS + MANY + '      quality: [{metric: rowCount, mustBe: 1, scheduler: cron, schedule: "0 22-2 * * *"}]',
            ["cron-value $.schema[0].quality[0].schedule"],
        ),
        (
            ODCS
            + MANY
            + '      quality: [{metric: rowCount, mustBe: 1, scheduler: cron, schedule: "cron(0 9 * * ? *)"}]',
            ["cron-dialect $.schema[0].quality[0].schedule"],
        ),
    ],
)
def test_one_fault_has_one_message(document: str, found: list[str]) -> None:
    """Of a part that is refused nothing more is said: neither what it lacks, nor what its values would mean."""
    examined = examine(dedent(document).encode())

    assert [f"{each.code} {each.path}" for each in (*examined.errors, *examined.warnings)] == found


def test_a_part_beside_a_refused_one_is_judged() -> None:
    """What stands beside it keeps its own messages."""
    document = ODCS + MANY + "      - plain\n      - {name: b, logicalType: string, logicalTypeOptions: {pattern: '['}}"
    examined = examine(dedent(document).encode())

    assert [f"{each.code} {each.path}" for each in (*examined.errors, *examined.warnings)] == [
        "wrong-type $.schema[0].properties[1]",
        "pattern $.schema[0].properties[2].logicalTypeOptions.pattern",
    ]
