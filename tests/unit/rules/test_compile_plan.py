from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Comparison, Contract, Dataset, Field, Origin, Rule, Severity, Tolerance
from lakegate.contract.delivery_policy import Mode, Policy
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import OneOf
from lakegate.rules.compile_plan import compile_plan, compile_rules
from tests.reference.cases import contract_of, only_plan, rule_of

EXAMPLES = Path(__file__).parents[3] / "contracts" / "examples"


def plan_of_rules(fields: dict[str, str], *rules: Rule) -> Plan:
    contract = contract_of(fields, *rules)
    return only_plan(contract)


def rule(kind: str, fields: tuple[str, ...] = ("a",), identity: str = "r", **written: object) -> Rule:
    built = rule_of(kind, written, fields)
    return Rule(identity, kind, Origin(f"$.{identity}", 7), fields, built.arguments, built.comparison, built.tolerance)


def test_the_weather_contract_of_the_thesis_gives_its_46_checks() -> None:
    """The ten quality rules of Appendix A become 46 checks, beside those of types, constraints and service levels."""
    contract = read((EXAMPLES / "weather.dcm.yaml").read_bytes())
    plan = only_plan(contract)
    quality = ("distinct", "complete", "min", "max", "allowedValues", "custom")
    counted = Counter(check.kind for check in plan.checks)

    assert {kind: counted[kind] for kind in quality} == {
        "distinct": 1,
        "complete": 27,
        "min": 11,
        "max": 4,
        "allowedValues": 1,
        "custom": 2,
    }
    assert sum(counted[kind] for kind in quality) == 46
    assert {kind: counted[kind] for kind in counted if kind not in quality} == {
        "type": 27,
        "primaryKey": 2,
        "required": 2,
        "serviceLevel": 3,
    }
    assert {"serviceLevel"} == {check.kind for check in plan.checks if check.skip}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_plans_of_our_examples_fit_their_schema(path: Path) -> None:
    """Every example compiles to a plan that survives its document, with checks whose ids differ."""
    contract = read(path.read_bytes())
    for dataset in contract.datasets:
        plan = compile_plan(contract, dataset)

        assert plan == Plan.from_json(plan.to_json())
        assert len(plan.checks) == len({check.id for check in plan.checks})


def test_no_rule_vanishes() -> None:
    """Every rule of a dataset has at least one check, in the order of the document."""
    kinds = ("type", "sql", "required", "text", "horoscope", "foreignKey")
    rules = [rule(kind, identity=kind, query="SELECT count(*) FROM {model}", mustBe=1) for kind in kinds]
    plan = plan_of_rules({"a": "string"}, *rules)

    assert [each.id for each in rules] == [check.rule for check in plan.checks]


def test_check_ids_name_rule_and_field() -> None:
    """A check's id is its rule's with the field's path; of the whole dataset, the rule's alone; of a key, all its fields."""
    plan = plan_of_rules(
        {"a": "string", "b": "string"},
        rule("required", ("a", "b"), "present"),
        rule("size", (), "many", parameter=3),
        rule("primaryKey", ("a", "b"), "key"),
    )

    assert [check.id for check in plan.checks] == [
        "present/a",
        "present/b",
        "many",
        "key:required/a",
        "key:required/b",
        "key/a+b",
    ]


def test_rules_that_share_an_id_give_checks_that_do_not() -> None:
    """Where a document uses one id twice for one field, results can still be distinguished."""
    plan = plan_of_rules({"a": "string"}, rule("required"), rule("unique"), rule("type"))

    assert [check.id for check in plan.checks] == ["r/a", "r/a~2", "r/a~3"]


def test_all_problems_are_told_at_once() -> None:
    """Rules that cannot mean anything are all named, each with its code, its place and its line."""
    with pytest.raises(ContractError) as refusal:
        plan_of_rules(
            {"a": "string", "n": "integer"},
            rule("min", ("n",), "one"),
            rule("required", ("z",), "two"),
            rule("pattern", identity="three"),
        )

    assert [(each.code, each.path, each.line) for each in refusal.value.problems] == [
        ("no-argument", "$.one", 7),
        ("unknown-column", "$.two", 7),
        ("no-argument", "$.three", 7),
    ]


def test_names_of_the_contract_stay_out_of_the_aliases() -> None:
    """Columns get generated aliases in their order, whatever they are called."""
    plan = plan_of_rules({"`; drop": "string", "ünïcode": "integer", "a b": "date"})

    assert [(each.name, each.alias) for each in plan.fields] == [("`; drop", "c0"), ("ünïcode", "c1"), ("a b", "c2")]


def test_a_plan_carries_how_to_read_and_how_to_treat_a_delivery() -> None:
    """Policy, CSV dialect, identity and classification go into the plan as they stand in the contract."""
    field = Field("a", LogicalType.STRING, Origin("$"), classification="public")
    dataset = Dataset("d", (field,), (), Origin("$"), Policy(mode=Mode.OBSERVE), Csv(delimiter=";"))
    plan = compile_plan(Contract("c", "2.1.0", "DCM 0.1.3", (dataset,)), dataset)

    assert (
        plan.contract,
        plan.contract_version,
        plan.dataset,
        plan.policy.mode,
        plan.csv.delimiter,
    ) == ("c", "2.1.0", "d", Mode.OBSERVE, ";")
    assert plan.field("a").public


def test_the_same_contract_compiles_to_the_same_plan() -> None:
    """A plan's digest is a function of the contract alone."""
    rules = (rule("required"), rule("enum", values=["x", "y"]))

    assert plan_of_rules({"a": "string"}, *rules).digest == plan_of_rules({"a": "string"}, *rules).digest


def test_bounds_with_tolerances_are_exact() -> None:
    """Relaxed bounds are decimal arithmetic: no digit of a tolerance is lost or invented."""
    written = Rule(
        "r",
        "max",
        Origin("$"),
        ("a",),
        {"parameter": Decimal("0.1")},
        tolerance=Tolerance(Decimal("0.2"), Decimal("0.3")),
    )
    check = plan_of_rules({"a": "decimal"}, written).checks[0]

    assert check.tolerate is not None
    assert tuple(tier.predicate.high for tier in (check.accept, check.tolerate)) == ("0.12", "0.13")  # type: ignore[union-attr] - both are ranges


def test_a_warning_tolerance_alone_never_fails() -> None:
    """Only `warn` given: the worst is a warning, and there is no second line to cross."""
    check = plan_of_rules({"a": "string"}, rule("complete", parameter=1, tolerance={"warn": 0.1})).checks[0]

    assert (check.worst, check.tolerate) == (Severity.WARN, None)


def test_null_values_without_a_column_are_measured_in_every_column() -> None:
    """A rule of the whole dataset that counts nulls is one check for each column."""
    counted = Rule("nulls", "nullValues", Origin("$"), (), {}, Comparison("mustBe", (Decimal(0),)))
    plan = plan_of_rules({"a": "string", "b": "integer"}, counted)

    assert [(check.id, check.skip) for check in plan.checks] == [("nulls/a", None), ("nulls/b", None)]


def test_invalid_values_without_a_condition_are_those_outside_of_the_fields_list() -> None:
    """`invalidValues` at a field with an `enum` counts the values that the list does not hold."""
    counted = Rule("invalid", "invalidValues", Origin("$"), ("a",), {}, Comparison("mustBe", (Decimal(0),)))
    plan = plan_of_rules({"a": "string"}, rule("enum", values=("x", "y")), counted)

    assert [check.accept.predicate for check in plan.checks] == [OneOf("a", ("x", "y")), OneOf("a", ("x", "y"))]


LEVELS = ("a", "b", "o", "o.s", "l[]", "l[].s")


@pytest.mark.parametrize("storage", [Storage(), Storage(Format.JSONL)], ids=["csv", "jsonl"])
@pytest.mark.parametrize("owner", LEVELS)
@pytest.mark.parametrize("read", LEVELS)
def test_a_rule_at_one_level_that_reads_another_is_measured_or_named(owner: str, read: str, storage: Storage) -> None:
    """SQL and foreign checks of a property over a column of any level give checks, whatever the format of the files."""
    parts = {"o": ("o.s",), "l": ("l[]", "l[].s")}
    fields = tuple(
        Field(
            name,
            LogicalType.STRING,
            Origin("$"),
            declared={"o": "object", "l": "array"}.get(name, "string"),
            parts=tuple(Field(part, LogicalType.STRING, Origin("$")) for part in parts.get(name, ())),
        )
        for name in ("a", "b", "o", "l")
    )
    word = read.rpartition(".")[2].removesuffix("[]")
    query = f"SELECT count({word}) FROM d WHERE b = a"  # noqa: S608 -- compiled, not asked
    rules = (
        Rule("sql", "sql", Origin("$.s"), (owner,), {"query": query, "mustBe": 1}),
        Rule("gx", "custom", Origin("$.g"), (owner,), _pair(read)),
        Rule(
            "soda",
            "custom",
            Origin("$.c"),
            (owner,),
            {"engine": "soda", "call": f"missing_count({read}) = 0", "args": {}},
        ),
    )
    contract = Contract("c", "1.0.0", "ODCS v3.1.0", (Dataset("d", fields, rules, Origin("$"), storage=storage),))
    compiled = compile_rules(contract, contract.datasets[0])

    assert {rule.id for rule in rules} <= {check.rule for check in compiled.checks}


def _pair(read: str) -> dict[str, object]:
    arguments = {"column_A": "b", "column_B": read}
    return {"engine": "gx", "call": "expect_column_pair_values_to_be_equal", "args": arguments}
