"""Validators in the registry, and contracts whose rules they measure from their publication on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.features.external_validators.registered_validators import (
    ValidatorService,
    add_validator,
    remove_validator,
    service_of,
    validator_named,
    validators,
)
from lakegate.gate.effects import Call, Steps
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import (
    DocumentRefused,
    compile_document,
    effects_of,
    plan_publication,
    publish,
    referred_of,
)
from lakegate.gate.registry.registry_rows import Publication
from lakegate.plan.plan import Plan
from tests.simulation.environment import LAKE, Environment
from tests.unit.diff.builder import document
from tests.unit.gate.scenarios import drive

GX = service_of("gx", "https://gx.example.com", ["GreatExpectations"], "gx")
RULE = {
    "type": "custom",
    "engine": "great-expectations",
    "implementation": {"expectation_type": "expect_column_values_to_be_increasing", "kwargs": {"column": "id"}},
}


def add(env: Environment, service: ValidatorService = GX) -> Publication:
    return drive(env.dependencies, add_validator(env.dependencies, service))  # type: ignore[return-value] # drive returns no type


def remove(env: Environment, name: str = "gx") -> Publication:
    return drive(env.dependencies, remove_validator(env.dependencies, name))  # type: ignore[return-value] # as above


def continued(call: Call, steps: Steps[Any]) -> Steps[Any]:
    """The rest of a use case that was stopped before an effect."""
    answer = yield call
    while True:
        try:
            call = steps.send(answer)
        except StopIteration as end:
            return end.value
        answer = yield call


def contract(version: str = "1.0.0", *rules: Any) -> bytes:
    return document({"object": {"quality": [*(rules or (RULE,))]}}, version)


def published(env: Environment, text: bytes, *, allow_unmeasured: bool = False) -> Publication:
    compiled = compile_document(text, referred_of(env.dependencies, text), allow_unmeasured=allow_unmeasured)
    return drive(env.dependencies, publish(env.dependencies, compiled))  # type: ignore[return-value] # as above


def plan_of(env: Environment, publication: Publication) -> Plan:
    """The plan of the only dataset."""
    ((_, plan),) = publication.plans
    return Plan.from_bytes(env.memory.objects.read(Address(LAKE, f"plans/{plan}.json")))


def test_a_validator_is_registered_once_and_recorded() -> None:
    """Document and record are written together; the same again changes nothing."""
    env = Environment()
    first, again = add(env), add(env)

    assert (first, env.memory.registry.contract("_validator:gx").revision) == (again, 1)
    assert validators(env.dependencies) == (GX,)
    assert validator_named(env.dependencies, "gx") == GX
    assert [json.loads(each)["kind"] for each in env.memory.ledger.texts("_contracts/_validator:gx")] == ["publication"]
    assert [each.contract for each in env.memory.registry.snapshot().versions] == ["orders"]


def test_a_validator_is_changed_removed_and_registered_again() -> None:
    """Each act is a version with a record; the newest one counts."""
    env = Environment()
    other = service_of("gx", "https://other.example.com", ["GreatExpectations", "GX 2"])
    seen = []
    for number in range(12):
        add(env, (GX, other)[number % 2])
        seen.append(validators(env.dependencies))
    removed, again = remove(env), remove(env)
    seen.append(validators(env.dependencies))
    add(env, other)

    assert seen == [((GX,), (other,))[number % 2] for number in range(12)] + [()]
    assert (removed, removed.version, removed.status) == (again, "13.0.0", "retired")
    assert validators(env.dependencies) == (other,)
    assert len(list(env.memory.ledger.texts("_contracts/_validator:gx"))) == 14


def test_what_nobody_registered_is_not_removed() -> None:
    """The error names the command that lists them."""
    env = Environment()
    with pytest.raises(InputError, match=r"no validator other is registered \(lakegate validator list\)"):
        remove(env, "other")

    assert validator_named(env.dependencies, "other") is None


def test_a_technology_has_one_validator() -> None:
    """However it is spelled; what is removed answers nothing any more."""
    env = Environment()
    add(env)
    second = service_of("soda", "https://soda.example.com", ["Soda", "great_expectations"])
    with pytest.raises(InputError, match="gx answers great_expectations already"):
        add(env, second)
    remove(env)
    add(env, second)

    assert validators(env.dependencies) == (second,)


def test_two_that_are_registered_at_once_bind_nothing_until_one_is_removed() -> None:
    """Neither person has seen the other's; the later write is refused, and so are publications that need a validator."""
    env = Environment()
    slow, other = (
        add_validator(env.dependencies, GX),
        service_of("other", "https://other.example.com", ["great_expectations"]),
    )
    call = next(slow)
    add(env, other)
    with pytest.raises(InputError, match="other answers GreatExpectations already"):
        drive(env.dependencies, continued(call, slow))
    with pytest.raises(InputError, match="gx and other both answer great_expectations: remove one of them"):
        published(env, contract())
    simple = published(env, document({}, "1.0.0"))
    remove(env, "other")

    assert plan_of(env, simple).external == ()
    assert [each.validator for each in plan_of(env, published(env, contract("1.1.0"))).external] == ["gx"]


def test_the_technologies_of_a_stack_are_few() -> None:
    """Each is a validation for every delivery that has rules of it."""
    env = Environment()
    add(env, service_of("many", "https://a.example.com", [f"T{number}" for number in range(10)]))
    with pytest.raises(InputError, match="at most 10 technologies"):
        add(env)


def test_a_rule_is_bound_when_its_contract_is_published() -> None:
    """Without a validator it refuses the publication, or is skipped; with one, its plan names who measures it."""
    env = Environment()
    with pytest.raises(DocumentRefused) as refused:
        published(env, contract())
    skipped = published(env, contract(), allow_unmeasured=True)
    add(env)
    again = published(env, contract(), allow_unmeasured=True)
    bound = published(env, contract("1.1.0"))

    assert refused.value.unmeasured == 1
    assert (skipped.unmeasured_rules, again.plans, bound.unmeasured_rules) == (1, skipped.plans, 0)
    assert plan_of(env, skipped).external == ()
    assert [(each.technology, each.validator) for each in plan_of(env, bound).external] == [("GreatExpectations", "gx")]


def test_a_published_version_keeps_its_validators() -> None:
    """Published again, after its validator was removed or another one answers the technology, it has the same plan."""
    env = Environment()
    add(env)
    first = published(env, contract())
    remove(env)
    add(env, service_of("other", "https://other.example.com", ["GreatExpectations"]))
    again = published(env, contract())
    later = published(env, contract("1.1.0"))

    assert again.plans == first.plans
    assert [each.validator for each in plan_of(env, later).external] == ["other"]


def test_what_no_validator_answers_still_refuses_a_publication() -> None:
    """Only the problems of bound rules are none any more."""
    env = Environment()
    add(env)
    other = {"type": "custom", "engine": "montecarlo", "implementation": {"expectation_type": "x"}}
    with pytest.raises(DocumentRefused) as refused:
        published(env, contract("1.0.0", RULE, other))

    assert [each.path for each in refused.value.examined.errors] == ["$.schema[0].quality[1]"]


def test_who_publishes_confirms_that_a_validator_gets_the_data() -> None:
    """For each new version: by whom deliveries are read beside the gate, and for how many rules."""
    env = Environment()
    add(env)
    effects = []
    for text in (contract(), contract("1.1.0", RULE, RULE), contract("1.1.0", RULE, RULE), document({}, "2.0.0")):
        compiled = compile_document(text, referred_of(env.dependencies, text))
        effects.append(list(effects_of(compiled, plan_publication(env.dependencies, compiled))))
        if len(effects) != 2:
            drive(env.dependencies, publish(env.dependencies, compiled))

    assert effects == [
        ["the validator gx gets each delivery of `orders`, to measure a rule of it"],
        ["the validator gx gets each delivery of `orders`, to measure 2 rules of it"],
        ["the validator gx gets each delivery of `orders`, to measure 2 rules of it"],
        [],
    ]


def test_nobody_is_looked_up_for_rules_that_are_measured_here() -> None:
    """A contract without rules of other engines is published without a look at validators."""
    env = Environment()
    add(env)
    asked: list[str] = []
    referred = referred_of(env.dependencies, document({}))

    def answered(dataset: str) -> Any:
        asked.append(dataset)
        return {}

    lookups = {**referred.lookups, "external_validators": answered}
    compile_document(document({}), referred._replace(lookups=lookups))
    compile_document(contract(), referred._replace(lookups=lookups), allow_unmeasured=True)

    assert set(asked) == {"orders"}
