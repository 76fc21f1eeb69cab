"""Rules that registered validators measure: bound when a contract is published, in the form of DCM."""

from __future__ import annotations

import json

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Contract
from lakegate.features.external_validators.external_rules import LONGEST_RULE, bound_rules, with_validators
from lakegate.features.external_validators.registered_validators import ValidatorService, read_service, service_of
from lakegate.lints.linter import read
from lakegate.plan.check import NONE, Tier, Unit
from lakegate.plan.external_rule import AnsweredTechnology, ExternalRule
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan

ANSWERED = {"greatexpectations": AnsweredTechnology("GreatExpectations", "gx")}
INCREASING = "expect_column_values_to_be_increasing"


def contract(*rules: str, settings: str = "") -> Contract:
    """ODCS with rules of other engines, each as `engine: implementation`."""
    head = "apiVersion: v3.0.2\nkind: DataContract\nid: shop\nname: shop\nversion: 1.0.0\nstatus: active\n"
    columns = "properties: [{name: n, logicalType: integer}, {name: s, logicalType: string}]"
    pairs = (each.split(": ", 1) for each in rules)
    listed = "".join(f"\n      - {{type: custom, engine: {one}, implementation: {other}}}" for one, other in pairs)
    extension = f"customProperties: [{{property: lakegate, value: {{{settings}}}}}]\n" if settings else ""
    return read(f"{head}{extension}schema:\n  - name: orders\n    {columns}\n    quality:{listed}\n".encode())


def dcm(rule: str) -> Contract:
    """DCM with one rule of Great Expectations."""
    text = """{specVersion: 0.1.3, id: shop-1.0.0, name: shop, kind: DataContract, version: 1.0.0, producer: {name: a, group: b},
      access: {eventType: push, protocol: HTTP, location: x, accessConfiguration: {}},
      dataset: {name: orders, schema: [{name: a, dataType: integer}, {name: b, dataType: string}]},
      quality: [{type: custom, technology: GreatExpectations, RULE}]}"""
    return read(text.replace("RULE", rule).encode())


def expectation(call: str, args: str = "column: n", engine: str = "great-expectations") -> str:
    return f"{engine}: {{expectation_type: {call}, kwargs: {{{args}}}}}"


def bound(found: Contract) -> Plan:
    (dataset,) = found.datasets
    plan = with_validators(found, dataset, compile_plan(found, dataset), lambda _: ANSWERED)
    assert Plan.from_bytes(plan.to_bytes()) == plan
    return plan


def test_a_rule_that_is_not_measured_here_is_bound() -> None:
    """Its check asks the validator; what the engines measure, and other technologies, stay as they are."""
    found = contract(
        expectation(INCREASING, "column: n, strictly: true, mostly: 0.5, ids: [1, 2.0, x], at: {of: null}"),
        expectation("expect_column_values_to_not_be_null"),
        "montecarlo: {expectation_type: anything}",
    )
    plan, alone = bound(found), compile_plan(found, found.datasets[0])
    at = next(number for number, each in enumerate(plan.checks) if each.metric is Metric.EXTERNAL)
    check = plan.checks[at]
    (rule,) = plan.external

    assert [each for each in plan.checks if each is not check] == [each for each in alone.checks if each.id != check.id]
    assert (check.id, check.fields, check.unit, check.accept, check.tolerate, check.skip, check.needs_rows) == (
        *("orders:custom:1/n", ("n",), Unit.VALUE, Tier(NONE), Tier(NONE), None),
        False,
    )
    assert check.wanted == f"{INCREASING} (measured by GreatExpectations)"
    assert (rule.check, rule.technology, rule.validator) == (check.id, "GreatExpectations", "gx")
    assert json.loads(rule.rule) == {
        "id": check.id,
        "ruleType": "custom",
        "technology": "GreatExpectations",
        "columns": ["n"],
        "call": INCREASING,
        "args": {"column": "n", "strictly": True, "mostly": 0.5, "ids": [1, 2, "x"], "at": {"of": None}},
    }
    assert bound_rules(found, found.datasets[0], lambda _: ANSWERED) == {"$.schema[0].quality[0]"}


def test_a_rule_of_dcm_keeps_its_name_and_dimension() -> None:
    """Columns are those of the rule."""
    rule = "id: sums, name: All sums, columns: [a, b], dimension: validity, call: expect_sums"
    plan = bound(dcm(f"{rule}, args: {{total: 1e400, big: 1.0e30}}"))

    assert [json.loads(each.rule) for each in plan.external] == [
        {
            "id": "sums/a+b",
            "name": "All sums",
            "dimension": "validity",
            "ruleType": "custom",
            "technology": "GreatExpectations",
            "columns": ["a", "b"],
            "call": "expect_sums",
            "args": {"total": "1E+400", "big": 1e30},
        }
    ]


def test_a_rule_of_which_a_part_is_measured_here_stays_here() -> None:
    """Of two columns one has the type that is asked for: the check of the other one stays skipped."""
    call = "expect_column_values_to_be_of_type, args: {type_: integer}"
    found = dcm(f"id: typed, name: Typed, dimension: validity, columns: [a, b], call: {call}")
    plan = bound(found)

    assert [each.skip is None for each in plan.checks if each.rule == "typed"] == [True, False]
    assert plan == compile_plan(found, found.datasets[0])


@pytest.mark.parametrize(
    ("rules", "settings"),
    [
        ([expectation(INCREASING)], "publishAs: parquet"),
        ([expectation(INCREASING)], "publishAs: iceberg"),
        ([expectation(INCREASING)], "delivery: success"),
        ([expectation(INCREASING, "column: missing")], ""),
        ([expectation(INCREASING, f"column: n, text: {'x' * LONGEST_RULE}")], ""),
        ([expectation(INCREASING, engine="soda")], ""),
        ([f"{expectation(INCREASING)}, schedule: 0 6 * * *, scheduler: cron"], ""),
        (["great-expectations: {expectation_type: '', kwargs: {}}"], ""),
    ],
)
def test_what_no_service_can_measure_stays_skipped(rules: list[str], settings: str) -> None:
    """Several objects, slices, typed files, columns that are not declared, rules without a call, and those that are too long."""
    found = contract(*rules, settings=settings)
    plan = bound(found)

    assert plan == compile_plan(found, found.datasets[0])
    assert any(each.skip for each in plan.checks)
    assert plan.external == ()


def test_a_validator_is_kept_as_it_is_registered() -> None:
    """Its document has every part; a slash behind the address is none."""
    service = service_of("gx-1", "https://gx.example.com:8443/base/", ["GreatExpectations", "gx 2.0"], "gx")

    assert service == ValidatorService(
        "gx-1", "https://gx.example.com:8443/base", ("GreatExpectations", "gx 2.0"), "gx"
    )
    assert read_service(service.document) == service


@pytest.mark.parametrize(
    ("name", "url", "technologies", "secret"),
    [
        *((each, "https://a", ["T"], "") for each in ("", "A", "1a", "a b", "a" * 41, "a/b")),
        *(
            ("a", each, ["T"], "")
            for each in (
                *("http://a", "https://", "https://u:p@a", "https://a?b", "https://a#b", "https://a b", "https://a:0"),
                *("https://a:x", "https://a\n", "https://ä", f"https://a/{'x' * 500}", "a", "https://[a"),
            )
        ),
        *(("a", "https://a", each, "") for each in ([], [""], ["a" * 41], ["-a"], ["a\n"], ["GX", "g-x"])),
        *(("a", "https://a", ["T"], each) for each in ("a/b", "a b", "a" * 65)),
    ],
)
def test_what_cannot_be_a_validator_is_refused(name: str, url: str, technologies: list[str], secret: str) -> None:
    """Names, addresses, technologies and secrets have a form."""
    with pytest.raises(InputError):
        service_of(name, url, technologies, secret)


def test_the_rule_of_a_check_is_pinned_with_the_plan() -> None:
    """Another rule, validator or technology is another plan."""
    plan = bound(contract(expectation(INCREASING)))
    (rule,) = plan.external
    others = [
        ExternalRule(rule.check, "other", rule.validator, rule.rule),
        ExternalRule(rule.check, rule.technology, "other", rule.rule),
        ExternalRule(rule.check, rule.technology, rule.validator, "{}"),
    ]
    digests = {Plan(**{**vars(plan), "external": (each,)}).digest for each in others}

    assert len(digests | {plan.digest}) == 4
