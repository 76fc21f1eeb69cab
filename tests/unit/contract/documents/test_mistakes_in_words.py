"""Mistakes that authors make: one message each, which says what is allowed at the place."""

from __future__ import annotations

import textwrap

import pytest

from lakegate.lints.linter import examine

HEAD = "apiVersion: v3.1.0\nkind: DataContract\nid: shop\nversion: 1.0.0\nstatus: active\n"
SCHEMA = "schema:\n  - {name: orders, properties: [{name: id, logicalType: integer}]}\n"
NO_VALUE = "There is no value here: remove the key, or give it one."


def errors(text: str) -> list[tuple[int | None, str, str]]:
    """The line, path and message of each error."""
    return [(each.line, each.path, each.message) for each in examine(text.encode()).errors]


def warnings(text: str) -> list[tuple[str, str]]:
    """The code and path of each warning."""
    return [(each.code, each.path) for each in examine(text.encode()).warnings]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("domain:\n", [("$.domain", NO_VALUE)]),
        ("tags: null\n", [("$.tags", NO_VALUE)]),
        ("tags: [null]\n", [("$.tags[0]", "There is no value here: remove the item, or give it one.")]),
        (
            "domain: #sales\n",
            [("$.domain", f"{NO_VALUE} A `#` begins a comment: put the value in quotes.")],
        ),
        ("domain: 5\n", [("$.domain", "Write a text here, not a number: put it in quotes.")]),
        (
            "team: shop\n",
            [("$.team", "Write a mapping of `id`, `name`, `description`, `members`, …, or a list here, not a text.")],
        ),
        (
            "slaProperties: [{property: retention, value: [1, 2]}]\n",
            [("$.slaProperties[0].value", "Write a text, a number, or true or false here, not a list.")],
        ),
        (
            "slaProperties: [{property: retention, value: {a: 1}}]\n",
            [("$.slaProperties[0].value", "Write a text, a number, or true or false here, not a mapping.")],
        ),
    ],
)
def test_a_value_of_another_kind_has_one_message(text: str, found: list[tuple[str, str]]) -> None:
    """It says all that is allowed at the place, and what to do about no value."""
    assert [(path, message) for _, path, message in errors(HEAD + text + SCHEMA)] == found


def test_only_the_alternative_of_its_kind_is_explained() -> None:
    """A mapping is compared with the mapping that is allowed there, not with the list beside it."""
    found = errors(f"{HEAD}team: {{username: a}}\n{SCHEMA}")

    assert [(path, message.partition(" Known")[0]) for _, path, message in found] == [
        ("$.team.username", "The key `username` is not known here.")
    ]


@pytest.mark.parametrize("target", ["crm-contract/customers/id", "order-lines.id", "orders"])
def test_a_reference_of_another_form_has_one_message(target: str) -> None:
    """It says both forms of ODCS in words, not as patterns."""
    text = f"{HEAD}schema:\n  - name: orders\n    properties: [{{name: id, logicalType: integer}}]\n"
    (found,) = errors(f"{text}    relationships: [{{from: orders.id, to: {target}}}]\n")

    words = "`OBJECT.PROPERTY`, names of letters, digits and `_`, or `schema/ID/properties/ID` of ids"
    assert found[1] == "$.schema[0].relationships[0].to"
    assert found[2] == f"`{target}` must be {words}, before it `FILE.yaml#` for another document."


@pytest.mark.parametrize("value", ["{{ title }}", "{{ a.b }}-x"])
def test_braces_of_a_template_are_explained(value: str) -> None:
    """They open a mapping."""
    found = errors(f"{HEAD}name: {value}\n{SCHEMA}")

    assert found[0] == (
        6,
        "$.name",
        "Braces open a mapping, whose keys are texts: put a value such as `'{{ title }}'` in quotes.",
    )


DCS = """\
dataContractSpecification: 1.2.1
id: shop
info: {title: shop, version: 1.0.0}
"""


@pytest.mark.parametrize(
    "body",
    [
        """
        definitions: {base: &base {type: string, maxLength: 5}}
        models: {orders: {fields: {a: *base, b: {<<: *base, required: true}}}}
        """,
        """
        definitions: {base: {type: record, fields: {x: &x {type: string}}}}
        models: {orders: {config: {lakegate: {format: jsonl}}, fields: {a: *x}}}
        """,
        """
        definitions: {order: {type: object, fields: {id: {type: long}}}}
        models: {orders: {fields: {a: {$ref: '#/definitions/order/fields/id'}}}}
        """,
        """
        definitions: {base: &base {type: string, maxLength: 5}, more: {<<: *base}}
        models: {orders: {fields: {a: {$ref: '#/definitions/more'}}}}
        """,
    ],
)
def test_a_definition_that_is_used_in_part_or_by_an_alias_is_used(body: str) -> None:
    """Merged, repeated, or by a reference to a path below it."""
    text = DCS + textwrap.dedent(body)

    assert (errors(text), warnings(text)) == ([], [])


def test_a_definition_that_repeats_another_one_is_not_used_by_that() -> None:
    """The alias uses what it repeats."""
    body = """
    definitions: {base: &base {type: string}, more: *base, last: {<<: *base}}
    models: {orders: {fields: {a: *base}}}
    """

    assert sorted(warnings(DCS + textwrap.dedent(body))) == [
        ("unused-definition", "$.definitions.last"),
        ("unused-definition", "$.definitions.more"),
    ]


def test_aliases_of_definitions_count_in_odcs_too() -> None:
    """Whose documents are expanded before they are read."""
    text = f"{HEAD}definitions: {{base: &base {{logicalType: string}}, other: {{logicalType: string}}}}\n"
    text += "schema:\n  - {name: orders, properties: [{name: id, <<: *base}]}\n"

    assert warnings(text) == [("unused-definition", "$.definitions.other")]


@pytest.mark.parametrize("form", ["odcs", "dcs"])
def test_an_unquoted_reference_is_a_comment(form: str) -> None:
    """One error says so: nothing is said of the type that the field lacks with it."""
    dcs = f"{DCS}models:\n  orders:\n    fields:\n      a:\n        $ref: #/definitions/x\n"
    odcs = f"{HEAD}schema:\n  - name: orders\n    properties:\n      - name: a\n        $ref: #/definitions/x\n"
    text = {"dcs": dcs, "odcs": odcs}[form]
    (found,) = errors(text)

    assert found[2] == f"{NO_VALUE} A `#` begins a comment: put the value in quotes."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  // a contract\n  "apiVersion": "v3.1.0"\n}', 2),
        ('// a contract\n{"apiVersion": "v3.1.0"}', 1),
        ('{"apiVersion": "v3.1.0", /* the kind */\n "kind": "DataContract"}', 1),
        ('{"apiVersion": "v3.1.0",\n "kind": "DataContract" // the kind\n}', 2),
    ],
)
def test_a_comment_in_json_is_a_syntax_error(text: str, line: int) -> None:
    """With its line; YAML would read it as a key."""
    (found,) = errors(text)

    assert found == (
        line,
        "$",
        "This is neither YAML nor JSON: JSON has no comments: remove them, or write YAML, whose comments begin with `#`.",
    )


@pytest.mark.parametrize(
    "value",
    ['"https://example.com/x"', "https://example.com/x", '"a // b"', "'/* x'", '"\\" // x"', "x # see // below"],
)
def test_what_looks_like_a_comment_in_a_value_is_none(value: str) -> None:
    """In quotes, in an address, or behind a comment of YAML."""
    text = '{"apiVersion": "v3.1.0", "kind": "DataContract", "id": "shop", "version": "1.0.0", "status": "active",\n'
    text += f'"schema": [{{"name": "orders", "properties": [{{"name": "id", "logicalType": "integer"}}]}}], "domain": {value}\n}}'

    assert errors(text) == []


def test_null_is_nothing_that_anybody_is_told_to_write() -> None:
    """A key of DCM that may be null is told to be what else it may be."""
    text = "specVersion: 0.1.3\nid: a-1.0.0\nkind: DataContract\nname: a\nversion: 1.0.0\nserviceLevelAgreements: x\n"
    found = [message for _, path, message in errors(text) if path == "$.serviceLevelAgreements"]

    assert found == ["Write a mapping here, not a text."]


def test_a_value_of_another_kind_is_not_compared_with_words() -> None:
    """One message says what kind it must be."""
    text = DCS + "models: {orders: {type: [a], fields: {a: {type: string}}}}\n"

    assert [(path, message) for _, path, message in errors(text)] == [
        ("$.models.orders.type", "Write a text here, not a list.")
    ]
