"""DCM 0.1.3 is read whole, by the thesis's own contract and by what its tables allow beside it."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Dataset, Rule, Severity, Tolerance
from lakegate.contract.delivery_policy import Duplicates, Mode, OnReject, Policy
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import LogicalType
from lakegate.gate.registry.publish_contract import DocumentRefused, ReferredDocuments, compile_document
from lakegate.inheritance.inherited_documents import parents_by_name
from lakegate.lints.linter import Examined, examine, read
from lakegate.plan.predicates import holds
from lakegate.rules.compile_plan import compile_plan

EXAMPLE = Path(__file__).parents[4] / "contracts/examples/weather.dcm.yaml"
CONTRACT = """\
specVersion: 0.1.3
id: x-p-1.0.0
name: x
kind: DataContract
version: 1.0.0
producer: {{name: p, group: g}}
access: {{eventType: push, protocol: HTTP, location: /, accessConfiguration: {{}}}}
dataset: {{name: d, schema: [{columns}]}}
quality: [{rules}]
{top}
"""


def dataset(columns: str = "{name: n, dataType: number}", rules: str = "", top: str = "") -> Dataset:
    return read(CONTRACT.format(columns=columns, rules=rules, top=top).encode()).datasets[0]


def quality_rule(text: str) -> Rule:
    found = dataset(rules=f"{{id: r, name: what, {text}}}").rules
    return next(rule for rule in found if rule.id == "r")


def test_appendix_a_is_normative() -> None:
    """The thesis's own contract is valid; its violations of Appendix B are warnings.

    So are a level that nothing can watch, and a key of data that comes at intervals without a word about rows that come again.
    """
    examined = examine(EXAMPLE.read_bytes())
    found = {each.path: each.code for each in examined.warnings}

    assert examined.errors == ()
    assert found.pop("$.serviceLevelAgreements.upTime") == "unwatched-level"
    assert found.pop("$.dataset") == "rows-count-twice"
    assert {"$", "$.consumer.name", "$.consumer.group", "$.producer.group"} == set(found)
    assert {"appendix-b"} == set(found.values())


def test_appendix_a_compiles_to_forty_six_checks_of_its_ten_rules() -> None:
    """Each column that a quality rule names is one check of it."""
    contract = read(EXAMPLE.read_bytes())
    weather = contract.datasets[0]
    own = {rule.id for rule in weather.rules if rule.origin.path.startswith("$.quality")}
    plan = compile_plan(contract, weather)

    assert (len(own), len(weather.fields)) == (10, 27)
    assert [check.skip for check in plan.checks if check.rule in own] == [None] * 46


def test_appendix_a_is_identified() -> None:
    """Version, names and format come from the document as written; the contract is the id without the version."""
    contract = read(EXAMPLE.read_bytes())
    expected = (
        "brazil-se-weather-contract-inmet-weather-domain",
        "1.0.0",
        "DCM 0.1.3",
        "Brazil SE Weather Contract",
    )

    assert expected == (contract.id, contract.version, contract.format, contract.name)
    assert contract.document_id == f"{contract.id}-1.0.0"
    assert [each.name for each in contract.datasets] == ["weather_record"]


def _identified(written: str, version: str = "1.0.0") -> Examined:
    text = CONTRACT.format(columns="{name: n, dataType: number}", rules="", top="")
    return examine(
        text.replace("id: x-p-1.0.0", f"id: {written}").replace("version: 1.0.0", f"version: {version}").encode()
    )


@pytest.mark.parametrize(
    ("written", "version"), [("x-p-1.0.0", "1.0.0"), ("x-p-1.1.0", "1.1.0"), ("x-p-1.0.0-rc.1", "1.0.0-rc.1")]
)
def test_versions_have_the_contract_s_id_without_their_number(written: str, version: str) -> None:
    """DCM's id ends in the version: the others of the contract have the same beginning."""
    examined = _identified(written, version)

    assert examined.errors == ()
    assert examined.contract is not None
    assert (examined.contract.id, examined.contract.document_id) == ("x-p", written)


@pytest.mark.parametrize(
    ("written", "version", "cure"),
    [
        ("x-p", "1.0.0", "x-p-1.0.0"),
        ("x-p-1.0.0", "2.0.0", "x-p-2.0.0"),
        ("x-p-11.0.0", "1.0.0", "x-p-1.0.0"),
        ("x-p1.0.0", "1.0.0", "x-p1.0.0-1.0.0"),
        ("x-p-1.0.0-1.0.0", "1.0.0", "leave it out"),
        ("-1.0.0", "1.0.0", "-1.0.0-1.0.0"),
    ],
)
def test_an_id_that_is_none_of_a_version_is_no_other_contract(written: str, version: str, cure: str) -> None:
    """Table A.1 composes it of the version, too: what says something else could become the contract of another owner."""
    examined = _identified(written, version)

    assert [each.code for each in examined.errors] == ["versioned-id"]
    assert cure in examined.errors[0].message
    assert examined.contract is not None
    assert examined.contract.id not in {"x-p", ""} or written == "x-p"


@pytest.mark.parametrize(
    ("names", "composed"),
    [
        ("name: x", "x-p-1.0.0"),
        ("name: Some_Data of X", "some-data-of-x-p-1.0.0"),
        ("name: x\nconsumer: {name: Weather Domain, group: g}", "x-p-weather-domain-1.0.0"),
    ],
)
def test_appendix_b_composes_the_id_of_the_names(names: str, composed: str) -> None:
    """Name, producer, perhaps consumer, and version, in lower case and with hyphens; another id is a warning."""
    text = CONTRACT.format(columns="{name: n, dataType: number}", rules="", top="").replace("name: x\n", f"{names}\n")
    found = {}
    for written in (composed, "other-1.0.0"):
        examined = examine(text.replace("id: x-p-1.0.0", f"id: {written}").encode())
        assert examined.errors == ()
        found[written] = [each.message for each in examined.warnings if each.path == "$.id"]

    assert found[composed] == []
    assert len(found["other-1.0.0"]) == 1
    assert f"`{composed}`" in found["other-1.0.0"][0]


@pytest.mark.parametrize(
    ("declared", "type_"),
    [
        ("int", "integer"),
        ("BIGINT", "integer"),
        ("Number", "number"),
        ("double", "number"),
        ("DECIMAL", "decimal"),
        ("numeric", "decimal"),
        ("boolean", "boolean"),
        ("date", "date"),
        ("time", "time"),
        ("DATETIME", "timestamp"),
        ("timestamp", "timestamp"),
        ("varchar", "string"),
        ("json", "string"),
        ("interval", "string"),
        ("varbinary", "binary"),
    ],
)
def test_every_data_type_has_a_meaning(declared: str, type_: str) -> None:
    """The types of Appendix B mean what their names say, whatever their case."""
    assert LogicalType(type_) is dataset(f"{{name: n, dataType: {declared}}}").fields[0].type


def test_an_unknown_data_type_is_refused_with_a_hint() -> None:
    """A type that is not on the list is never taken for text in silence."""
    with pytest.raises(ContractError, match="Did you mean `integer`"):
        dataset("{name: n, dataType: integr}")


def test_column_constraints_are_rules() -> None:
    """Each column gives its type; constraints, whatever their case, give theirs; the parts of a key are one rule."""
    columns = (
        "{name: a, dataType: int, constraint: PRIMARY_KEY}, {name: b, dataType: int, constraint: primary_key},"
        "{name: c, dataType: int, constraint: NOT_NULL}, {name: d, dataType: int, constraint: UNIQUE},"
        "{name: e, dataType: int, constraint: FOREIGN_KEY}, {name: f, dataType: char, dataLength: 3, constraint: null}"
    )
    found = [(rule.id, rule.kind, rule.fields) for rule in dataset(columns).rules if rule.kind != "type"]
    expected = [
        ("a,b:primaryKey:1", "primaryKey", ("a", "b")),
        ("c:required:1", "required", ("c",)),
        ("d:unique:1", "unique", ("d",)),
        ("e:foreignKey:1", "foreignKey", ("e",)),
        ("f:maxLength:1", "maxLength", ("f",)),
    ]

    assert expected == found


def test_children_and_items_are_read_to_the_last() -> None:
    """Nested columns are fields with paths, and have rules of their own."""
    inner = "{name: c, dataType: char, dataLength: 3, constraint: PRIMARY_KEY}"
    columns = (
        f"{{name: a, dataType: STRUCT, children: [{{name: b, dataType: map, children: [{inner}]}}]}},"
        "{name: l, dataType: array, arrayDataType: int}, {name: m, dataType: array, arrayDataType: struct}"
    )
    found = dataset(columns)
    top, listed, odd = found.fields

    assert [top.parts[0].name, top.parts[0].parts[0].name, listed.parts[0].name] == ["a.b", "a.b.c", "l[]"]
    assert (listed.parts[0].type, odd.parts[0].type) == (LogicalType.INTEGER, LogicalType.STRING)
    assert [(rule.fields, rule.kind) for rule in found.rules] == [
        (("a",), "nested"),
        (("a.b",), "nested"),
        (("a.b.c",), "type"),
        (("a.b.c",), "primaryKey"),
        (("a.b.c",), "maxLength"),
        (("l",), "nested"),
        (("l[]",), "type"),
        (("m",), "nested"),
        (("m[]",), "nested"),
    ]


QUALITY = {
    "type: size, parameter: 10": ("size", {"parameter": Decimal(10)}),
    "type: complete, columns: [n], parameter: 0.950": ("complete", {"parameter": Decimal("0.950")}),
    "type: unique, columns: [n]": ("distinct", {}),
    "type: min, columns: [n], parameter: -1e3": ("min", {"parameter": Decimal(-1000)}),
    "type: max, columns: [n], parameter: 1": ("max", {"parameter": Decimal(1)}),
    "type: mean, columns: [n], parameter: 1": ("mean", {"parameter": Decimal(1)}),
    "type: stdev, columns: [n], parameter: 1": ("stdev", {"parameter": Decimal(1)}),
    "type: allowedValues, columns: [n], parameter: [1.10, '2']": ("allowedValues", {"parameter": ("1.10", "2")}),
    "type: custom, technology: t, columns: [n]": ("custom", {"engine": "t", "call": "r", "args": {}}),
    "type: custom, technology: t, call: c, columns: [n], args: {a: 1, b: [x, {}], c: true, d: null}": (
        "custom",
        {"engine": "t", "call": "c", "args": {"a": Decimal(1), "b": ("x", {}), "c": True, "d": None}},
    ),
}


@pytest.mark.parametrize("text", QUALITY)
def test_every_type_of_quality_rule_is_read(text: str) -> None:
    """All nine types keep their parameters exactly as written."""
    rule = quality_rule(text)

    assert QUALITY[text] == (rule.kind, dict(rule.arguments))
    assert (rule.name, rule.origin.line) == ("what", 9)


def test_both_tolerances_are_read() -> None:
    """Warn and fail stand beside each other; a tier that is not there is None."""
    both = quality_rule("type: size, parameter: 9, severity: {warn: {tolerance: 0.05}, fail: {tolerance: 0.10}}")
    one = quality_rule("type: size, parameter: 9, severity: {fail: {tolerance: 0.1}}")

    assert Tolerance(Decimal("0.05"), Decimal("0.10")) == both.tolerance
    assert Tolerance(None, Decimal("0.1")) == one.tolerance


def test_service_levels_are_named() -> None:
    """Service levels are kept in the contract, and their checks are skipped if they cannot be measured."""
    rules = dataset(top="serviceLevelAgreements: {intervalOfChange: 1h, upTime: 0.99}").rules
    expected = ["intervalOfChange:serviceLevel:1", "upTime:serviceLevel:1"]

    assert expected == [rule.id for rule in rules if rule.kind == "serviceLevel"]


def test_the_extension_sets_the_policy() -> None:
    """Every key of `specific.lakegate` sets the policy or the CSV dialect."""
    top = (
        "specific: {lakegate: {mode: observe, onReject: rows, maxRejectedShare: 0.25, allowEmpty: true, samples: false,"
        "duplicates: accept, workflow: push, critical: true, csv: {delimiter: ';', quote: '|', header: false,"
        "encoding: US_ASCII, nullValues: ['NA', ''], multiLine: true, escape: '\"'}}}"
    )
    expected = Policy(
        mode=Mode.OBSERVE,
        on_reject=OnReject.ROWS,
        max_rejected_share=Decimal("0.25"),
        allow_empty=True,
        samples=False,
        duplicates=Duplicates.ACCEPT,
    )
    found = dataset(top=top)

    assert expected == found.policy
    assert Csv(";", "|", header=False, encoding="us-ascii", null_values=("NA", ""), multi_line=True) == found.csv


def test_rules_of_an_uncritical_dataset_warn_at_worst() -> None:
    """`critical: false` keeps every rule from refusing a delivery."""
    assert {Severity.WARN} == {rule.severity for rule in dataset(top="specific: {lakegate: {critical: false}}").rules}
    assert {Severity.FAIL} == {rule.severity for rule in dataset(top="specific: {lakegate: {critical: true}}").rules}


def test_a_contract_needs_no_consumer() -> None:
    """Multilateral contracts have none."""
    assert "d" == dataset(top="consumer: {name: c, group: g}").name == dataset().name


@pytest.mark.parametrize("pattern", [r"(.*)southeast_\\d{4}.csv", "*.csv", "", None])
def test_a_pattern_of_file_names_is_in_the_plan(pattern: str | None) -> None:
    """As it is written; a document without one takes every name."""
    text = CONTRACT.format(columns="{name: n, dataType: number}", rules="", top="")
    own = {} if pattern is None else {"pattern": pattern}
    found = read(text.replace("accessConfiguration: {}", f"accessConfiguration: {json.dumps(own)}").encode())

    names = compile_plan(found, found.datasets[0]).policy.file_names

    assert (names and names.written) == (pattern or None)
    assert (b"file_names" in compile_plan(found, found.datasets[0]).to_bytes()) is bool(pattern)


@pytest.mark.parametrize(
    ("access", "path"),
    [
        ("eventType: push, protocol: FTP, location: /, accessConfiguration: {}", "protocol"),
        (
            "eventType: push, protocol: HTTP, location: /, security: {token: x}, accessConfiguration: {}",
            "security.token",
        ),
        ("eventType: push, protocol: HTTP, location: /, accessConfiguration: {topic: x}", "accessConfiguration.topic"),
        ("eventType: pull, protocol: FTP, location: /, accessConfiguration: {}", None),
        ("eventType: push, protocol: https, location: /, accessConfiguration: {}", None),
    ],
)
def test_what_has_no_effect_on_the_access_is_named(access: str, path: str | None) -> None:
    """A protocol that nothing is pushed over, a token that nobody asks for, keys beside the pattern."""
    text = CONTRACT.format(columns="{name: n, dataType: number}", rules="", top="")
    changed = re.sub("access: {.*}}", f"access: {{{access}}}", text)
    found = [each.path for each in examine(changed.encode()).warnings if each.code == "access-unused"]

    assert found == ([f"$.access.{path}"] if path else [])


def verdicts(data_type: str, values: list[str], rules: str = "") -> list[bool]:
    """Whether a column of a type takes each value, by the rules of its plan."""
    found = read(CONTRACT.format(columns=f"{{name: v, dataType: {data_type}}}", rules=rules, top="").encode())
    plan = compile_plan(found, found.datasets[0])
    assert [each.skip for each in plan.checks] == [None] * len(plan.checks)
    predicates = [each.accept.predicate for each in plan.checks]
    field = plan.fields[0]
    return [all(each is None or holds(each, field.type, value) for each in predicates) for value in values]


@pytest.mark.parametrize(
    ("data_type", "low", "high"), [("tinyint", -128, 127), ("BYTEINT", -128, 127), ("SMALLINT", -32_768, 32_767)]
)
def test_whole_numbers_have_the_range_of_their_type(data_type: str, low: int, high: int) -> None:
    """Eight and sixteen bits; INT has 64."""
    values = [str(each) for each in (low, high, 0, low - 1, high + 1)]

    assert verdicts(data_type, values) == [True, True, True, False, False]
    assert verdicts("int", values) == [True] * len(values)


@pytest.mark.parametrize("data_type", ["char", "VARCHAR", "binary", "VARBINARY", "string", "text"])
def test_a_length_is_the_most_of_texts_and_bytes(data_type: str) -> None:
    """Appendix B has `dataLength` for four of them."""
    assert verdicts(f"{data_type}, dataLength: 2", ["ab", "", "abc"]) == [True, True, False]


def test_a_length_of_other_types_is_named() -> None:
    """It has no effect, and hinders no publication."""
    examined = examine(CONTRACT.format(columns="{name: v, dataType: int, dataLength: 2}", rules="", top="").encode())

    assert [each.code for each in examined.warnings if each.path.endswith("dataLength")] == ["does-not-apply"]
    assert examined.unmeasured == ()
    assert verdicts("int, dataLength: 2", ["123"]) == [True]


def test_a_foreign_key_hinders_no_publication() -> None:
    """Table A.2 allows it, and the format has no place for its target: lint says that nothing is compared."""
    columns = "{name: v, dataType: int, constraint: FOREIGN_KEY}"
    examined = examine(CONTRACT.format(columns=columns, rules="", top="").encode())

    assert [each.path for each in examined.warnings if each.code == "unnamed-target"] == [
        "$.dataset.schema[0].constraint"
    ]
    assert (examined.errors, examined.unmeasured) == ((), ())


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_union_is_named_as_what_is_not_measured(form: str) -> None:
    """A value of no type of the union would pass, so that a publication asks for `--allow-unmeasured`."""
    columns = "{name: u, dataType: UNION, children: [{name: a, dataType: int}, {name: b, dataType: string}]}"
    top = f"specific: {{lakegate: {{format: {form}}}}}"
    examined = examine(CONTRACT.format(columns=columns, rules="", top=top).encode())

    assert "$.dataset.schema[0].dataType" in {each.path for each in examined.unmeasured}


def test_an_interval_is_a_duration_of_iso_8601() -> None:
    """With a part at least, each once and in its order."""
    good = ["P1D", "PT2H30M", "P1Y2M3W4DT5H6M7.25S", "-P1M", "PT0S"]
    bad = ["banana", "1 day", "P", "PT", "P1DT", "P1H", "PT1D", "p1d", "1h", "P1D2Y", ""]

    assert verdicts("interval", good) == [True] * len(good)
    assert verdicts("interval", bad) == [False] * len(bad)


def test_an_enum_has_the_values_of_its_rule() -> None:
    """Appendix B has no place for them at the column."""
    rule = "{id: r, name: r, dimension: validity, type: allowedValues, columns: [v], parameter: [a, B]}"

    assert verdicts("enum", ["a", "B", "b", "c"], rule) == [True, True, False, False]
    assert verdicts("enum", ["anything"]) == [True]


def test_nested_numbers_and_items_have_their_range() -> None:
    """As columns have."""
    inner = "{name: s, dataType: struct, children: [{name: t, dataType: tinyint}]}"
    columns = f"{inner}, {{name: a, dataType: array, arrayDataType: smallint}}"
    found = [(rule.kind, rule.fields) for rule in dataset(columns=columns).rules]

    assert [each for each in found if each[0] == "maximum"] == [("maximum", ("s.t",)), ("maximum", ("a[]",))]


@pytest.mark.parametrize(
    ("rule", "skip"),
    [
        ("technology: SQL, call: SELECT count(*) FROM d WHERE n < 0, args: {mustBe: 0}", None),
        ("technology: sql, call: r, args: {query: 'SELECT max(n) FROM ${table}', mustBeBetween: [0, 5]}", None),
        ("technology: SQL, call: SELECT pg_sleep(9), args: {mustBe: 0}", "`pg_sleep` is not a function"),
        (
            "technology: SQL, call: \"SELECT count(*) FROM read_csv('/etc/passwd')\", args: {mustBe: 1}",
            "A query reads the datasets",
        ),
        ("technology: SQL, call: SELECT 1, args: {timeout: 1}", "the engine SQL is not measured"),
        ("technology: Deequ, call: hasMean, columns: [n], args: {assertion: '>= 0.5'}", None),
        ("technology: Deequ, call: hasEntropy, columns: [n]", "the constraint hasEntropy of Deequ is not measured"),
        ("technology: Deequ, call: satisfies, args: {columnCondition: n > 1}", "the constraint satisfies of Deequ"),
        ("technology: Other, call: f", "the engine Other is not measured"),
    ],
)
def test_rules_in_sql_and_of_deequ_are_measured_or_named(rule: str, skip: str | None) -> None:
    """What nobody measures refuses the publication by its name; queries pass the guarded compiler of every format."""
    text = CONTRACT.format(
        columns="{name: n, dataType: number}",
        rules=f"{{id: r, name: r, dimension: validity, type: custom, {rule}}}",
        top="",
    )
    contract = examine(text.encode()).contract
    assert contract is not None
    (found,) = [each for each in compile_plan(contract, contract.datasets[0]).checks if each.rule == "r"]
    refused: list[str] = []

    def none(*_: object) -> dict[str, object]:
        return {}

    try:
        compile_document(
            text.encode(),
            ReferredDocuments(
                parents_by_name({}), dict.fromkeys(("workflows", "external_validators", "derived", "pull"), none)
            ),
        )
    except DocumentRefused as refusal:
        refused = [each.message for each in (*refusal.examined.errors, *refusal.examined.warnings)]

    assert (found.skip or "").startswith(skip or "")
    assert (found.skip is None) is (skip is None) is not bool(refused)
    assert skip is None or any(skip in each for each in refused)


def test_sql_that_changes_data_is_an_error() -> None:
    """Whatever the technology is called."""
    rules = (
        "{id: r, name: r, dimension: validity, type: custom, technology: SQL, call: DROP TABLE d, args: {mustBe: 0}}"
    )
    text = CONTRACT.format(columns="{name: n, dataType: number}", rules=rules, top="")

    assert [each.code for each in examine(text.encode()).errors] == ["query-not-a-select"]


def test_a_schema_of_a_json_column_is_a_rule() -> None:
    """Of nested fields, too; only of JSON, and one that is not a schema is an error at its place."""
    own = 'jsonSchema: \'{"type": "object"}\''
    columns = f"{{name: j, dataType: JSON, {own}}}, {{name: s, dataType: struct, children: [{{name: k, dataType: json, {own}}}]}}"
    plan = dataset(columns=f"{columns}, {{name: t, dataType: text, {own}}}")
    found = [(rule.id, rule.fields) for rule in plan.rules if rule.kind == "jsonSchema"]
    wrong = CONTRACT.format(columns="{name: j, dataType: json, jsonSchema: '{'}", rules="", top="")

    assert sorted(found) == [("j:jsonSchema:1", ("j",)), ("s.k:jsonSchema:1", ("s.k",))]
    assert [(each.code, each.path) for each in examine(wrong.encode()).errors] == [
        ("json-schema", "$.dataset.schema[0].jsonSchema")
    ]
