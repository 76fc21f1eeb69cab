"""DCS is read whole: models, definitions, every type of field, quality at each of its places, levels and terms."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.documents.dcs import VERSIONS
from lakegate.contracts.documents.dcs_layers import MOST_FIELDS, MOST_HINTS
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.lint.examine import examine, read
from lakegate.contracts.model.contract import Comparison, Contract, Dataset, Rule, Severity
from lakegate.contracts.model.policy import Additional
from lakegate.contracts.model.types import LogicalType

PRINTED = (Path(__file__).parents[2] / "golden/documents/orders-latest.dcs.yaml").read_bytes()
GAP = b"order_timestamp - LAG(order_timestamp) OVER (ORDER BY order_timestamp)"
ORDERS = PRINTED.replace(GAP, b"order_timestamp - order_timestamp")
"""The specification's own example; as printed it holds a query that no engine takes."""
DOCUMENT = """\
dataContractSpecification: {version}
id: x
info: {{title: t, version: 1.0.0}}
models:
  m:
    fields: {{{fields}}}
    {model}
  other:
    fields: {{t: {{type: timestamp}}, k: {{type: long}}}}
{top}
"""


def document(fields: str = "n: {type: long}", model: str = "", top: str = "", version: str = "1.2.1") -> bytes:
    return DOCUMENT.format(fields=fields, model=model, top=top, version=version).encode()


def dataset(fields: str = "n: {type: long}", model: str = "", top: str = "", version: str = "1.2.1") -> Dataset:
    return read(document(fields, model, top, version)).datasets[0]


def constraints(field: str, top: str = "") -> list[tuple[str, dict[str, object]]]:
    """The rules of a field, without the rule of its type."""
    rules = dataset(f"n: {{{field}}}", top=top).rules
    return [(rule.kind, dict(rule.arguments)) for rule in rules if rule.kind != "type"]


def quality(text: str, version: str = "1.2.1") -> list[Rule]:
    return [rule for rule in dataset(model=f"quality: [{text}]", version=version).rules if rule.kind != "type"]


def errors(text: bytes) -> list[tuple[str, str]]:
    return [(problem.code, problem.path) for problem in examine(text).errors]


def warnings(text: bytes) -> list[Problem]:
    return list(examine(text).warnings)


def test_the_specifications_own_example_is_read_whole() -> None:
    """Both models, what definitions say of their fields, keys, levels and terms."""
    contract = read(ORDERS)
    orders, items = contract.datasets
    expected = ("urn:datacontract:checkout:orders-latest", "2.0.0", "DCS 1.1.0", "Orders Latest", "Checkout Team")

    assert expected == (contract.id, contract.version, contract.format, contract.name, contract.about.owner)
    assert [field.name for field in orders.fields] == [
        "order_id",
        "order_timestamp",
        "order_total",
        "customer_id",
        "customer_email_address",
        "processed_timestamp",
    ]
    assert (orders.fields[0].personal, orders.fields[0].classification) == (True, "restricted")
    assert [rule.fields for rule in items.rules if rule.kind == "primaryKey"] == [("order_id", "line_item_id")]
    assert [rule.name for rule in items.rules if rule.kind == "serviceLevel"] == [
        "availability",
        "retention",
        "frequency",
        "support",
        "backup",
    ]
    assert str(contract.about.usage).startswith("Data can be used for reports")
    assert {"info", "terms", "links"} == set(contract.about.sections)
    assert [(server.name, server.type) for server in contract.about.servers] == [("production", "s3")]


def test_the_published_example_has_a_warning_of_its_query() -> None:
    """The window function inside MAX is the only warning, with its line."""
    examined = examine(PRINTED)

    assert examined.errors == ()
    assert [(problem.code, problem.path, problem.line) for problem in examined.unmeasured] == [
        ("query-window-in-aggregate", "$.models.orders.quality[0].query", 103)
    ]


def test_every_rule_of_the_example_becomes_checks() -> None:
    """Nothing vanishes: each rule of each model has at least one check, measured or named."""
    contract = read(ORDERS)
    for each in contract.datasets:
        checked = {check.rule for check in compile_plan(contract, each).checks}

        assert {rule.id for rule in each.rules} == checked


def test_a_problem_of_a_definition_is_reported_at_the_definition() -> None:
    """The origin of an inherited rule is the definition."""
    contract = read(ORDERS)
    pattern = next(rule for rule in contract.datasets[1].rules if rule.kind == "pattern")

    assert (pattern.fields, pattern.origin.path) == (("sku",), "$.definitions.sku.pattern")


TYPES = {
    "number": LogicalType.NUMBER,
    "number, precision: 5, scale: 2": LogicalType.DECIMAL,
    "decimal": LogicalType.DECIMAL,
    "numeric": LogicalType.DECIMAL,
    "int": LogicalType.INTEGER,
    "integer": LogicalType.INTEGER,
    "long": LogicalType.INTEGER,
    "bigint": LogicalType.INTEGER,
    "float": LogicalType.NUMBER,
    "double": LogicalType.NUMBER,
    "string": LogicalType.STRING,
    "text": LogicalType.STRING,
    "varchar": LogicalType.STRING,
    "bytes": LogicalType.BINARY,
    "boolean": LogicalType.BOOLEAN,
    "timestamp": LogicalType.TIMESTAMP,
    "timestamp_tz": LogicalType.TIMESTAMP,
    "timestamp_ntz": LogicalType.TIMESTAMP,
    "date": LogicalType.DATE,
    "time": LogicalType.TIME,
}


@pytest.mark.parametrize("text", TYPES)
def test_every_type_has_a_meaning(text: str) -> None:
    """Each type of the closed list, with its own rule of type."""
    found = dataset(f"n: {{type: {text}}}")

    assert TYPES[text] is found.fields[0].type
    assert found.rules[0].kind == "type"


@pytest.mark.parametrize("text", ["array", "map", "object", "record", "struct", "variant", "json"])
def test_a_type_with_parts_is_named(text: str) -> None:
    """Values with parts of their own are named and not measured, and the owner is warned."""
    text_of_it = document(f"n: {{type: {text}}}")

    assert [rule.kind for rule in read(text_of_it).datasets[0].rules] == ["nested"]
    assert "nested-fields" in {warning.code for warning in warnings(text_of_it)}


LOW, HIGH = Decimal(-(2**31)), Decimal(2**31 - 1)
FIELDS: dict[str, list[tuple[str, dict[str, object]]]] = {
    "type: text, required: true, unique: true": [("required", {}), ("unique", {})],
    "type: text, required: false, unique: false, primaryKey: false, primary: false": [],
    "type: text, minLength: 1, maxLength: 2, pattern: a+, format: email": [
        ("minLength", {"value": Decimal(1)}),
        ("maxLength", {"value": Decimal(2)}),
        ("pattern", {"pattern": "a+"}),
        ("format", {"value": "email"}),
    ],
    "type: long, minimum: 1, maximum: 9": [
        ("minimum", {"value": Decimal(1), "exclusive": False}),
        ("maximum", {"value": Decimal(9), "exclusive": False}),
    ],
    "type: double, exclusiveMinimum: 0.5, exclusiveMaximum: 9": [
        ("minimum", {"value": Decimal("0.5"), "exclusive": True}),
        ("maximum", {"value": Decimal(9), "exclusive": True}),
    ],
    "type: integer": [
        ("minimum", {"value": LOW, "exclusive": False}),
        ("maximum", {"value": HIGH, "exclusive": False}),
    ],
    "type: text, enum: [a, '1.10']": [("enum", {"values": ("a", "1.10")})],
    "type: long, references: other.k": [("foreignKey", {"to": "other.k"})],
    "type: decimal, precision: 5, scale: 2": [
        ("multipleOf", {"value": Decimal("0.01")}),
        ("minimum", {"value": Decimal("-999.99"), "exclusive": False}),
        ("maximum", {"value": Decimal("999.99"), "exclusive": False}),
    ],
    "type: decimal, precision: 38": [("multipleOf", {"value": Decimal(1)})],
    "type: decimal, scale: 2": [("multipleOf", {"value": Decimal("0.01")})],
    "type: decimal, precision: 38, scale: 30": [],
    "type: 'null'": [
        ("custom", {"engine": "great-expectations", "call": "expect_column_values_to_be_null", "args": {}})
    ],
    "type: date, format: dd.MM.yyyy": [("dateFormat", {"option": "format", "value": "dd.MM.yyyy"})],
    "type: text, example: a, examples: [b]": [],
}


@pytest.mark.parametrize("text", FIELDS)
def test_every_key_of_a_field_is_a_rule(text: str) -> None:
    """Constraints of a field become rules, those that its type implies included."""
    assert FIELDS[text] == constraints(text)


def test_inner_parts_are_read_to_the_last() -> None:
    """Records in arrays in maps: each part is a field with its path, and has its rules."""
    inner = "{type: record, fields: {a: {type: text, required: true}, b: {type: array, items: {type: date}}}}"
    found = dataset(f"n: {{type: map, keys: {{type: text}}, values: {inner}}}")
    value = found.fields[0].parts[1]

    assert [part.name for part in found.fields[0].parts] == ["n.key", "n.value"]
    assert [part.name for part in value.parts] == ["n.value.a", "n.value.b"]
    assert value.parts[1].parts[0].name == "n.value.b[]"
    assert [(rule.fields, rule.kind) for rule in found.rules] == [
        (("n",), "nested"),
        (("n.key",), "type"),
        (("n.value",), "nested"),
        (("n.value.a",), "type"),
        (("n.value.a",), "required"),
        (("n.value.b",), "nested"),
        (("n.value.b[]",), "type"),
    ]


DEFINED = (
    "definitions: {code: {type: text, maxLength: 5, pii: true}, deep/code: {type: long}, "
    "other: {type: varchar, $ref: '#/definitions/code'}}"
)


@pytest.mark.parametrize(
    ("reference", "logical"),
    [
        ("#/definitions/code", LogicalType.STRING),
        ("#/definitions/deep/code", LogicalType.INTEGER),
        ("#/definitions/deep~1code", LogicalType.INTEGER),
        ("#/models/m/fields/k", LogicalType.BOOLEAN),
        ("#/definitions/other", LogicalType.STRING),
    ],
)
def test_a_reference_is_followed(reference: str, logical: LogicalType) -> None:
    """To a definition by its name, whatever it holds, or step by step to any other field."""
    found = dataset(f"n: {{$ref: '{reference}'}}, k: {{type: boolean}}", top=DEFINED)

    assert logical is found.fields[0].type


def test_a_field_wins_over_its_definition() -> None:
    """The field's own keys have precedence; others are inherited, also over several definitions."""
    field = dataset("n: {$ref: '#/definitions/other', maxLength: 3, type: text}", top=DEFINED)
    lengths = [rule.arguments["value"] for rule in field.rules if rule.kind == "maxLength"]

    assert (field.fields[0].type, field.fields[0].personal, lengths) == (LogicalType.STRING, True, [Decimal(3)])


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("#/definitions/cod", "dangling-reference"),
        ("#/id", "dangling-reference"),
        ("https://example.com/definitions.yaml#/x", "external-reference"),
        ("other.yaml", "external-reference"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error(reference: str, code: str) -> None:
    """Nothing is fetched, and nothing is left out in silence."""
    assert (code, "$.models.m.fields.n.$ref") in {
        (problem.code, problem.path.replace('["$ref"]', ".$ref"))
        for problem in examine(document(f"n: {{type: long, $ref: '{reference}'}}", top=DEFINED)).errors
    }


def test_a_hint_is_looked_for_a_bounded_number_of_times() -> None:
    """All of hundreds of dangling references are reported, but hints are searched only for the first ones."""
    fields = ", ".join(f"n{number}: {{$ref: '#/definitions/cod'}}" for number in range(MOST_HINTS + 5))
    found = examine(document(fields, top=DEFINED)).errors

    assert [len(found), sum("Did you mean" in each.message for each in found)] == [MOST_HINTS + 5, MOST_HINTS]


def test_references_in_a_circle_are_an_error() -> None:
    """Definitions that name each other, straight or through their inner fields, end."""
    array = "b: {type: array, items: {$ref: '#/definitions/a'}}"
    circle = f"definitions: {{a: {{type: record, fields: {{b: {{$ref: '#/definitions/b'}}}}}}, {array}}}"
    straight = "definitions: {a: {type: text, $ref: '#/definitions/a'}}"

    for top in (circle, straight):
        assert {"circular-reference"} == {code for code, _ in errors(document("n: {$ref: '#/definitions/a'}", top=top))}


def test_references_that_multiply_are_refused() -> None:
    """Ten nested definitions of ten fields each give 10^10 fields: the reader stops with one problem."""
    inner = ", ".join(f"f{number}: {{$ref: '#/definitions/d%d'}}" for number in range(10))
    rows = [f"d{number}: {{type: record, fields: {{{inner.replace('%d', str(number + 1))}}}}}" for number in range(10)]
    text = document("n: {$ref: '#/definitions/d0'}", top=f"definitions: {{{', '.join(rows)}, d10: {{type: text}}}}")

    assert [code for code, _ in errors(text)] == ["too-many-fields"]
    assert MOST_FIELDS < 10**10


def test_references_that_nest_too_deep_are_refused() -> None:
    """A chain of records longer than a document may be deep is not followed to its end."""
    rows = [
        f"d{number}: {{type: record, fields: {{f: {{$ref: '#/definitions/d{number + 1}'}}}}}}" for number in range(90)
    ]
    text = document("n: {$ref: '#/definitions/d0'}", top=f"definitions: {{{', '.join(rows)}, d90: {{type: text}}}}")

    assert [code for code, _ in errors(text)] == ["too-many-fields"]


KEYS = {
    "primaryKey: [a, b]": ("$.models.m.primaryKey", ("a", "b")),
    "title: x": ("$.models.m.fields.b.primaryKey", ("b", "c")),
}


@pytest.mark.parametrize("model", KEYS)
def test_a_primary_key_is_one_rule(model: str) -> None:
    """By the model's list, in its order, or by the fields that say so, in the older spelling too."""
    flagged = "" if model.startswith("primaryKey") else ", primaryKey: true"
    older = flagged.replace("primaryKey", "primary")
    found = dataset(f"a: {{type: long}}, b: {{type: long{flagged}}}, c: {{type: long{older}}}", model=model)

    assert [KEYS[model]] == [(rule.origin.path, rule.fields) for rule in found.rules if rule.kind == "primaryKey"]


def test_two_primary_keys_are_an_error() -> None:
    """The list and the fields must say the same."""
    text = document("a: {type: long, primaryKey: true}, b: {type: long}", model="primaryKey: [b]")
    same = document("a: {type: long, primaryKey: true}, b: {type: long}", model="primaryKey: [a]")

    assert errors(text) == [("two-primary-keys", "$.models.m.primaryKey")]
    assert errors(same) == []


QUALITY: dict[str, list[tuple[str, tuple[str, ...], dict[str, object], Comparison | None]]] = {
    "{type: library, metric: rowCount, mustBe: 5}": [("rowCount", (), {}, Comparison("mustBe", (Decimal(5),)))],
    "{type: library, metric: rowCount, mustBeGreaterOrEqualTo: 5}": [
        ("rowCount", (), {}, Comparison("mustBeGreaterOrEqualTo", (Decimal(5),)))
    ],
    "{type: library, metric: rowCount, mustBeGreaterThanOrEqualTo: 5, mustBeLessThanOrEqualTo: 9}": [
        ("rowCount", (), {}, Comparison("mustBeGreaterOrEqualTo", (Decimal(5),))),
        ("rowCount", (), {}, Comparison("mustBeLessOrEqualTo", (Decimal(9),))),
    ],
    "{type: library, metric: duplicateValues, arguments: {properties: [n]}, mustBeLessThan: 5, unit: percent}": [
        ("duplicateValues", ("n",), {}, Comparison("mustBeLessThan", (Decimal(5),), percent=True))
    ],
    "{type: sql, query: SELECT 1, dialect: duckdb, mustBeGreaterThanOrEqualTo: 1}": [
        ("sql", (), {"query": "SELECT 1", "mustBeGreaterOrEqualTo": Decimal(1), "dialect": "duckdb"}, None)
    ],
    "{type: text, description: be good}": [("text", (), {}, None)],
    "{type: custom, engine: soda, implementation: {type: duplicate_percent, columns: [n], must_be_less_than: 1.0}}": [
        (
            "custom",
            (),
            {
                "engine": "soda",
                "call": "duplicate_percent",
                "args": {"columns": ("n",), "must_be_less_than": Decimal("1.0")},
            },
            None,
        )
    ],
    "{type: custom, engine: great-expectations, implementation: [{expectation_type: a, kwargs: {column: n}}, {type: b}]}": [
        ("custom", (), {"engine": "great-expectations", "call": "a", "args": {"column": "n"}}, None),
        ("custom", (), {"engine": "great-expectations", "call": "b", "args": {}}, None),
    ],
}


@pytest.mark.parametrize("text", QUALITY)
def test_every_quality_rule_is_read(text: str) -> None:
    """All types, both spellings of the operators; of several operators each is a rule."""
    expected = QUALITY[text]

    assert expected == [(rule.kind, rule.fields, dict(rule.arguments), rule.comparison) for rule in quality(text)]


def test_quality_of_a_field_has_that_field() -> None:
    """The field is the rule's; DCS knows no severities, so every rule may refuse."""
    rule = dataset("n: {type: long, quality: [{type: library, metric: nullValues, mustBe: 0, severity: info}]}").rules[
        1
    ]

    assert (rule.kind, rule.fields, rule.severity) == ("nullValues", ("n",), Severity.FAIL)


def test_older_metrics_are_read_by_their_older_key() -> None:
    """DCS 1.1 calls the metric `rule`."""
    rule = quality("{type: library, rule: duplicateCount, arguments: {properties: [n]}, mustBe: 0}", version="1.1.0")[0]

    assert (rule.kind, rule.fields) == ("duplicateValues", ("n",))


def test_rules_of_several_operators_differ_in_their_ids() -> None:
    """A rule's own id names its first operator; the others are counted."""
    found = quality("{id: r, type: library, metric: rowCount, mustBeGreaterThan: 1, mustBeLessThan: 9}")

    assert [rule.id for rule in found] == ["r", "r:2"]


SODA = """
quality:
  type: SodaCL
  specification:
    checks for m:
      - row_count > 5
      - missing_count(n) < 5:
          warn: when > 2
    checks for k:
      - duplicate_count(n) = 0
"""
EXPECTATIONS = """
quality:
  type: great-expectations
  specification:
    m: '[{"expectation_type": "expect_column_values_to_not_be_null", "kwargs": {"column": "n"}, "meta": {}}]'
"""
OTHER_ENGINE = "quality: {type: montecarlo, specification: x}"
UNREADABLE = "quality: {type: SodaCL, specification: 'checks: ['}"


def older(top: str) -> list[tuple[str, str, object]]:
    rules = dataset(top=top, version="0.9.3").rules
    return [
        (rule.origin.path, str(rule.arguments["call"]), rule.arguments["args"])
        for rule in rules
        if rule.kind == "custom"
    ]


def test_quality_at_the_root_is_sorted_by_model() -> None:
    """The older block of one engine's checks gives each model its own."""
    path = '$.quality.specification["checks for m"]'

    examined = examine(document(top=SODA, version="0.9.3"))

    assert examined.errors == ()
    assert [(each.code, each.path) for each in examined.unmeasured] == [
        ("unknown-model", '$.quality.specification["checks for k"][0]')
    ]
    assert older(SODA.partition("    checks for k")[0]) == [
        (f"{path}[0]", "row_count > 5", {}),
        (f"{path}[1]", "missing_count(n) < 5", {"warn": "when > 2"}),
    ]
    assert older(EXPECTATIONS) == [("$.quality.specification", "expect_column_values_to_not_be_null", {"column": "n"})]


def test_quality_at_the_root_that_cannot_be_sorted_is_named_at_every_model() -> None:
    """Checks of another engine, or in a text that cannot be read, do not vanish."""
    assert older(OTHER_ENGINE) == [("$.quality.specification", "", {})]
    assert older(UNREADABLE) == [("$.quality.specification", "", {})]
    assert "unread-checks" in {warning.code for warning in warnings(document(top=UNREADABLE, version="0.9.3"))}


def test_service_levels_belong_to_the_model_of_their_field() -> None:
    """By the timestamp they name; a level of no timestamp is everybody's, one of our own words is kept."""
    levels = (
        "servicelevels: {freshness: {threshold: 25h, timestampField: other.t}, latency: {threshold: PT1H, "
        "sourceTimestampField: m.n, processedTimestampField: m.n}, availability: {percentage: 99.9%}, ours: {a: 1}}"
    )
    found = [dict(rule.arguments) for rule in dataset(top=levels).rules if rule.kind == "serviceLevel"]

    assert found == [
        {
            "property": "latency",
            "value": "PT1H",
            "unit": None,
            "sourceTimestampField": "m.n",
            "processedTimestampField": "m.n",
        },
        {"property": "availability", "value": "99.9%", "unit": None},
        {"property": "ours", "value": {"a": Decimal(1)}, "unit": None},
    ]


@pytest.mark.parametrize(
    ("model", "additional"),
    [
        ("title: x", Additional.ALLOW),
        ("additionalFields: true", Additional.ALLOW),
        ("additionalFields: false", Additional.FORBID),
        ("additionalFields: false\n    config: {lakegate: {additionalFields: warn}}", Additional.WARN),
    ],
)
def test_additional_fields_are_forbidden_by_word_alone(model: str, additional: Additional) -> None:
    """The schema's default is no wish of the owner; the extension wins over the model."""
    assert additional is dataset(model=model).policy.additional_fields


def test_the_extension_stands_in_config() -> None:
    """The model's wins over the root's; an uncritical dataset warns at worst."""
    found = dataset(
        model="config: {lakegate: {critical: false, allowEmpty: true}}",
        top="config: {lakegate: {allowEmpty: false, samples: false}}",
    )

    assert (found.policy.allow_empty, found.policy.samples) == (True, False)
    assert {Severity.WARN} == {rule.severity for rule in found.rules}


def test_a_rule_without_a_type_is_one_error() -> None:
    """The schema asks it for the keys of every type at once; a person reads one sentence."""
    text = document(model="quality: [{metric: rowCount, mustBe: 5}]")
    problems = examine(text).errors

    assert [(problem.code, problem.path) for problem in problems] == [("missing-key", "$.models.m.quality[0]")]
    assert problems[0].message == "The key `type` is missing: write text, library, sql or custom."


def test_a_key_that_is_written_wrongly_is_blamed_itself() -> None:
    """The name of a model has a form."""
    text = document().replace(b"  m:", b"  m m:")

    assert errors(text) == [("wrong-form", '$.models["m m"]')]


def test_a_definition_that_nobody_uses_is_warned_of() -> None:
    """It may be a reference that was forgotten."""
    found = warnings(document("n: {$ref: '#/definitions/code'}", top=DEFINED))

    assert [each.path for each in found if each.code == "unused-definition"] == [
        "$.definitions.other",
        '$.definitions["deep/code"]',
    ]


def test_a_field_without_a_type_is_warned_of() -> None:
    """The field is a text, with a warning."""
    assert [each.code for each in warnings(document("n: {required: true}"))] == ["no-type"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_judged_by_its_schema(version: str) -> None:
    """The types that 1.2 added are refused in older documents."""
    text = document("n: {type: time}", version=version)

    assert ([] if version.startswith("1.2") else [("not-allowed", "$.models.m.fields.n.type")]) == errors(text)


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    """No guess is made at a version nobody has seen."""
    with pytest.raises(ContractError, match=r"DCS `2\.0\.0`.*`0\.9\.3`.*`1\.2\.1`"):
        read(document(version="2.0.0"))


def test_a_contract_without_models_covers_nothing() -> None:
    """It is valid, and warned of."""
    found: Contract = read(b"dataContractSpecification: 1.2.1\nid: x\ninfo: {title: t, version: 1.0.0}\n")

    assert found.datasets == ()
