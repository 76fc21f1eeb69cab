"""The Data Contract Specification read into the model: models, fields, types, versions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from lakegate.base import text
from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Contract, Severity
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.contract.documents import ref_definitions
from lakegate.contract.documents.dcs import VERSIONS
from lakegate.contract.logical_types import LogicalType
from lakegate.lints.linter import examine, read
from lakegate.plan.predicates import Typed
from lakegate.rules.compile_plan import compile_plan
from tests.unit.contract.documents.dcs import constraints, dataset, document, errors, quality, warnings

PRINTED = (Path(__file__).parents[3] / "golden/documents/orders-latest.dcs.yaml").read_bytes()
GAP = b"order_timestamp - LAG(order_timestamp) OVER (ORDER BY order_timestamp)"
ORDERS = PRINTED.replace(GAP, b"order_timestamp - order_timestamp")
"""The specification's own example; as printed it holds a query that no engine takes."""


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


@pytest.mark.parametrize(("text", "is_wanted"), [("timestamp_tz", True), ("timestamp_ntz", False), ("timestamp", None)])
def test_a_type_says_whether_its_moments_have_an_offset(text: str, *, is_wanted: bool | None) -> None:
    """A rule of its own says so; a `timestamp` is with or without one."""
    rules = [each for each in dataset(f"t: {{type: {text}}}").rules if each.kind != "type"]

    assert [(each.kind, each.arguments) for each in rules] == (
        [] if is_wanted is None else [("offset", {"value": is_wanted})]
    )


def test_files_that_store_moments_say_by_their_types_whether_these_have_a_zone() -> None:
    """That is measured, so that nothing hinders a publication."""
    text = document("t: {type: timestamp_tz}", top="config: {lakegate: {format: parquet}}")

    assert "not-measured" not in {each.code for each in warnings(text)}
    plan = compile_plan(read(text), read(text).datasets[0])
    assert [(each.skip, each.accept.predicate) for each in plan.checks] == [(None, Typed("t"))] * 2
    assert plan.fields[0].zone is True


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
    "type: decimal, precision: 38, scale: 30": [("multipleOf", {"value": Decimal("1E-30")})],
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


def test_two_primary_keys_are_an_error() -> None:
    """The list and the fields must say the same."""
    text = document("a: {type: long, primaryKey: true}, b: {type: long}", model="primaryKey: [b]")
    same = document("a: {type: long, primaryKey: true}, b: {type: long}", model="primaryKey: [a]")

    assert errors(text) == [("two-primary-keys", "$.models.m.primaryKey")]
    assert errors(same) == []


@pytest.mark.parametrize(
    ("model", "additional"),
    [
        ("title: x", FieldTreatment.ALLOW),
        ("additionalFields: true", FieldTreatment.ALLOW),
        ("additionalFields: false", FieldTreatment.FORBID),
        ("additionalFields: false\n    config: {lakegate: {additionalFields: warn}}", FieldTreatment.WARN),
    ],
)
def test_additional_fields_are_forbidden_by_word_alone(model: str, additional: FieldTreatment) -> None:
    """The schema's default is not a wish of the owner; the extension wins over the model."""
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


def test_a_document_of_1_2_0_may_have_the_keys_that_were_published() -> None:
    """`rule` means what `metric` does from 1.2.1 on."""
    old = "{type: library, rule: rowCount, mustBeGreaterThan: 5}"
    (rule,) = quality(old, version="1.2.0")

    assert [rule] == quality(old.replace("rule:", "metric:"), version="1.2.0")
    assert errors(document(model=f"quality: [{old}]", version="1.2.0")) == []


def test_references_are_followed_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond is one problem, whatever refers to it; a hint at a similar name is searched for the first references."""
    monkeypatch.setattr(ref_definitions, "MAX_FIELDS", 1)
    monkeypatch.setattr(text, "MAX_HINTS", 1)
    inner = "definitions: {a: {type: record, fields: {x: {type: text}, y: {type: text}, z: {type: text}}}}"
    many = errors(document("n: {$ref: '#/definitions/a'}", top=inner))
    found = examine(document("n: {$ref: '#/definitions/b'}, m: {$ref: '#/definitions/b'}", top=inner)).errors

    assert [code for code, _ in many] == ["too-many-fields"]
    assert sorted("Did you mean" in each.message for each in found if each.code == "dangling-reference") == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("field", "bounds"),
    [
        ("type: long, precision: 3", [-999, 999]),
        ("type: bigint, precision: 18", [-(10**18) + 1, 10**18 - 1]),
        ("type: long, precision: 19", []),
        ("type: decimal, precision: 2, scale: 5", [Decimal("-0.00099"), Decimal("0.00099")]),
        ("type: decimal, precision: 5, scale: 2", [Decimal("-999.99"), Decimal("999.99")]),
    ],
)
def test_precision_bounds_every_number(field: str, bounds: list[object]) -> None:
    """Of whole numbers too; one that the type cannot exceed sets no bound."""
    found = constraints(field)

    assert [rule["value"] for kind, rule in found if kind in {"minimum", "maximum"}] == bounds


def test_more_digits_than_are_read_are_warned_of() -> None:
    """Decimals have 38 digits: those of a field that declares more are read as of one that declares none, and lint says it."""
    wide = [
        warnings(document(f"n: {{type: decimal, {each}}}"))
        for each in ("precision: 39", "precision: 76, scale: 38", "scale: 39")
    ]
    read_whole = [
        warnings(document(f"n: {{type: {each}}}"))
        for each in ("decimal", "decimal, precision: 38, scale: 18", "long, precision: 30", "decimal, precision: 38")
    ]

    assert [[each.code for each in found] for found in wide] == [["too-many-digits"]] * 3
    assert [list(found) for found in read_whole] == [[]] * 4


@pytest.mark.parametrize(
    ("declared", "scale"),
    [
        ("decimal", 18),
        ("decimal, scale: 2", 18),
        ("decimal, precision: 20", 18),
        ("decimal, precision: 21", 0),
        ("decimal, precision: 38", 0),
        ("number, precision: 38, scale: 10", 10),
        ("numeric, precision: 38, scale: 38", 38),
        ("decimal, scale: 19", 19),
        ("decimal, precision: 39, scale: 10", 18),
        ("decimal, scale: 39", 18),
        ("long, precision: 38", 18),
    ],
)
def test_a_decimal_has_the_scale_that_it_declares_where_the_common_one_has_too_few_digits(
    declared: str, scale: int
) -> None:
    assert scale == dataset(f"n: {{type: {declared}}}").fields[0].scale


def test_a_precision_that_its_scale_does_not_imply_is_a_bound() -> None:
    """Of 30 whole digits, where 38 can be read; 38 need no bound."""
    bound = "9" * 30

    assert constraints("type: decimal, precision: 30") == [
        ("multipleOf", {"value": Decimal(1)}),
        ("minimum", {"value": Decimal(f"-{bound}"), "exclusive": False}),
        ("maximum", {"value": Decimal(bound), "exclusive": False}),
    ]


@pytest.mark.parametrize("kind", ["long", "number", "boolean", "decimal"])
def test_a_format_of_texts_does_not_apply_to_others(kind: str) -> None:
    """No delivery is rejected by it, lint says that it has no effect, and the contract can be published."""
    (plan,) = [
        compile_plan(contract, contract.datasets[0])
        for contract in (read(document(f"n: {{type: {kind}, format: email}}")),)
    ]
    (check,) = (each for each in plan.checks if each.kind == "format")

    assert check.skip is not None
    assert check.skip.startswith("the format email is one of texts, and n is a ")
    assert [each.code for each in warnings(document(f"n: {{type: {kind}, format: email}}"))] == ["does-not-apply"]


@pytest.mark.parametrize(
    "field",
    [
        *(
            f"type: {kind}, {key}"
            for kind in ("long", "decimal", "boolean", "date")
            for key in ("minLength: 3", "maxLength: 1", "pattern: ^x$")
        ),
        *(
            f"type: {kind}, {key}"
            for kind in ("text", "boolean", "bytes")
            for key in ("minimum: 3", "exclusiveMaximum: 1")
        ),
    ],
)
def test_a_key_of_another_type_rejects_nothing_and_refuses_no_contract(field: str) -> None:
    """DCS says of each key to which types it applies: of others its rule is skipped, and lint names it."""
    text = document(f"n: {{{field}}}")
    contract = read(text)

    assert [each.code for each in warnings(text)] == ["does-not-apply"]
    assert examine(text).unmeasured == ()
    checks = compile_plan(contract, contract.datasets[0]).checks
    assert {each.kind for each in checks if each.skip is None} <= {"type"}


@pytest.mark.parametrize(
    ("terms", "days"),
    [
        ("noticePeriod: P3M", 93),
        ("noticePeriod: P14D", 14),
        ("noticePeriod: 90 days", 90),
        ("noticePeriod: PT36H", 2),
        ("noticePeriod: soon", 30),
        ("noticePeriod: P900Y", 30),
        ("usage: any", 30),
    ],
)
def test_the_notice_of_the_terms_is_that_of_the_contract(terms: str, days: int) -> None:
    """In whole days; the extension may say another one."""
    own = "config: {lakegate: {noticePeriod: 7}}"

    assert dataset(top=f"terms: {{{terms}}}").notice_days == days
    assert dataset(model=own, top=f"terms: {{{terms}}}").notice_days == 7
    is_read = days != 30 or "usage" in terms
    assert [each.code for each in warnings(document(top=f"terms: {{{terms}}}"))] == (
        [] if is_read else ["not-a-duration"]
    )


def test_keys_that_are_followed_have_a_meaning() -> None:
    """The schedule of a rule, and the driver of a server of the specification."""
    rule = "quality: [{type: sql, query: 'SELECT COUNT(*) FROM m', mustBe: 1, scheduler: cron, schedule: 0 6 * * *}]"
    server = "servers: {p: {type: sqlserver, host: h, port: 1433, database: d, schema: s, driver: ODBC}}"

    assert warnings(document(model=rule)) == []
    assert warnings(document(top=server)) == []


def test_a_listed_number_is_put_in_quotes() -> None:
    """The remedy is one of this format, and obeying it is right."""
    found = examine(document("n: {type: long, enum: [1, 2]}")).errors

    assert [each.message for each in found] == [
        'Write `"1"` here, not a value without quotes.',
        'Write `"2"` here, not a value without quotes.',
    ]
    assert errors(document('n: {type: long, enum: ["1", "2"]}')) == []


@pytest.mark.parametrize(
    ("servers", "delimiter"),
    [
        ("{a: {type: local, path: x, format: csv, delimiter: ';'}}", ";"),
        ("{a: {type: local, path: x, format: csv, delimiter: Tab}}", "\t"),
        ("{a: {type: local, path: x, format: csv}}", ","),
        (
            "{a: {type: local, path: x, format: csv, delimiter: ';'}, b: {type: local, path: y, format: csv, delimiter: ','}}",
            ",",
        ),
        ("{a: {type: local, path: x, format: csv, delimiter: ';;'}}", ","),
    ],
)
def test_the_delimiter_of_the_servers_is_that_of_the_files(servers: str, delimiter: str) -> None:
    """Where they agree on one; the extension decides otherwise."""
    own = "config: {lakegate: {csv: {delimiter: '|'}}}"

    assert dataset(top=f"servers: {servers}").csv.delimiter == delimiter
    assert dataset(model=own, top=f"servers: {servers}").csv.delimiter == "|"


@pytest.mark.parametrize(
    ("retention", "reason"),
    [
        ("period: P1Y, unlimited: true", "the level retention sets no limit"),
        ("unlimited: true", "the level retention sets no limit"),
        ("period: P1Y, unlimited: false", None),
    ],
)
def test_retention_without_limit_has_none(retention: str, reason: str | None) -> None:
    """Also beside a period."""
    contract = read(
        document("t: {type: timestamp}", top=f"servicelevels: {{retention: {{{retention}, timestampField: m.t}}}}")
    )
    (check,) = (each for each in compile_plan(contract, contract.datasets[0]).checks if each.kind == "serviceLevel")

    assert check.skip == reason
