"""Two people publish: what is refused, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.features.proposals.proposal import PROPOSAL_LIFETIME, approve, propose
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.person_decisions import not_apart
from lakegate.gate.registry.publish_contract import IncompatibleVersion, publish
from lakegate.gate.registry.registry_rows import Proposal, Publication
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.environment import LAKE, Environment
from tests.unit.gate.registry.test_publish_contract import COMPILED, NOTE, published, records, route, text

NEXT = replace(COMPILED, version="1.1.0", document=text("1.1.0", NOTE))
CHANGED = replace(NEXT, document=text("1.1.0", NOTE | {"name": "other"}))


ROLE = "arn:aws:sts::123456789012:assumed-role/publisher"
TOKEN = "https://issuer.example#alice"


def by(env: Environment, person: str) -> Dependencies:
    return replace(env.dependencies, identity=MemoryIdentity(person))


def proposed(env: Environment, compiled: Any = NEXT, person: str = ALICE) -> Proposal:
    return run(propose(by(env, person), compiled), env.dependencies.clock)


def approved(env: Environment, proposal: Proposal, compiled: Any = NEXT, person: str = BOB) -> Publication:
    return run(approve(by(env, person), compiled, proposal), env.dependencies.clock)


def versions(env: Environment) -> list[str]:
    return [each.version for each in env.dependencies.registry.contract("shop").versions]


def test_a_proposal_is_valid_when_another_person_approves_it() -> None:
    """Until then routes carry the old version; afterwards the proposal is gone, and both people are recorded."""
    env = Environment()
    published(env)
    route(env)
    proposal = proposed(env)
    before = versions(env), [each.version for each in env.memory.registry.contract("shop").routes]
    approved(env, proposal)
    kind, actor, content = records(env)[-1]

    assert before == (["1.0.0"], ["1.0.0"])
    assert versions(env) == ["1.0.0", "1.1.0"]
    assert [each.version for each in env.memory.registry.contract("shop").routes] == ["1.1.0"]
    assert env.dependencies.registry.proposals() == ()
    assert (kind, actor, content["proposed_by"]) == ("publication", BOB, ALICE)  # type: ignore[index] # a document


def test_approving_twice_is_approving_once() -> None:
    """Anyone who had no answer asks again, and learns that it is published."""
    env = Environment()
    proposal = proposed(env)

    assert approved(env, proposal) == approved(env, proposal)
    assert len(records(env)) == 1


def test_nobody_approves_a_proposal_of_their_own() -> None:
    """Neither by the same ARN, nor by another name that one person may have: a session of the same role, or a token."""
    env = Environment()
    for one, other in ((ALICE, ALICE), (f"{ROLE}/a", f"{ROLE}/b"), (ALICE, TOKEN)):
        with pytest.raises(InputError, match="another person"):
            approved(env, proposed(env, person=one), person=other)

    assert versions(env) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TOKEN, ALICE),
        (TOKEN, TOKEN),
        (f"{TOKEN}={ALICE}", ALICE),
        (f"{TOKEN}={ALICE}", f"https://issuer.example#b={ALICE}"),
        (f"{TOKEN}={ALICE}", TOKEN),
        (f"{TOKEN}={ROLE}/a", f"{ROLE}/b"),
    ],
)
def test_one_person_may_have_a_token_and_an_arn(one: str, other: str) -> None:
    """A token is compared by the ARN that it names; one that names none, as older releases let propose, not at all."""
    assert not_apart(one, other) is not None
    assert not_apart(other, one) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{TOKEN}={ALICE}", BOB),
        (f"{TOKEN}={ALICE}", f"{TOKEN}={BOB}"),
        ("https://issuer.example#alice", "https://issuer.example#bob"),
        ("arn:aws:sts::123456789012:assumed-role/publisher/a", "arn:aws:sts::123456789012:assumed-role/approver/a"),
        ("arn:aws:sts::123456789012:assumed-role/publisher/a", "arn:aws:sts::210987654321:assumed-role/publisher/a"),
        (
            "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Data_0f/alice@example.com",
            "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Data_0f/bob@example.com",
        ),
        (ALICE, BOB),
    ],
)
def test_two_people_are_told_apart(one: str, other: str) -> None:
    """By users, roles, or sessions that are named after users of IAM Identity Center."""
    assert not_apart(one, other) is None


def test_a_proposal_expires() -> None:
    """It cannot be approved any more; proposing again makes a new one."""
    env = Environment()
    proposal = proposed(env)
    env.memory.clock.sleep((PROPOSAL_LIFETIME + timedelta(seconds=1)).total_seconds())
    with pytest.raises(InputError, match="expired"):
        approved(env, proposal)
    approved(env, proposed(env))

    assert versions(env) == ["1.1.0"]


def test_a_changed_proposal_needs_a_new_approval() -> None:
    """An approver who has read the earlier one changes nothing."""
    env = Environment()
    proposal = proposed(env)
    changed = proposed(env, CHANGED)
    with pytest.raises(InputError, match="was changed"):
        approved(env, proposal)
    approved(env, changed, CHANGED)

    assert [each.document for each in env.memory.registry.contract("shop").versions] == [changed.publication.document]


def test_an_approval_of_a_moved_base_is_refused_with_the_reason() -> None:
    """Whatever was written of the contract since: the approver has not seen what it would change now."""
    env = Environment()
    published(env)
    proposal = proposed(env)
    route(env)
    with pytest.raises(InputError, match=r"shop was changed since this was proposed \(revision 1, now 2\)"):
        approved(env, proposal)

    assert versions(env) == ["1.0.0"]


def test_an_approver_compiles_the_document_again() -> None:
    """A plan that does not follow from the proposed document is not approved."""
    env = Environment()
    forged = proposed(env, replace(NEXT, plans={**NEXT.plans, "orders": b"{}"}))
    with pytest.raises(InputError, match="compiles"):
        approved(env, forged)

    assert versions(env) == []


def test_a_proposal_repeated_is_the_same_proposal() -> None:
    """Twice is once, until it expires; document and plans are stored with it."""
    env = Environment()
    first = proposed(env)
    env.memory.clock.sleep(60)

    assert proposed(env) == first
    assert first.publication.document in env.memory.objects.current(LAKE)


def test_a_version_that_could_not_be_published_cannot_be_proposed() -> None:
    """Too low a number, another content under a published number, and what is published already."""
    env = Environment()
    published(env)
    with pytest.raises(IncompatibleVersion):
        proposed(env, replace(COMPILED, version="1.0.1", document=text("1.0.1", NOTE)))
    with pytest.raises(InputError, match="new number"):
        proposed(env, replace(COMPILED, document=text("1.0.0", NOTE)))
    with pytest.raises(InputError, match="already"):
        proposed(env, COMPILED)

    assert env.dependencies.registry.proposals() == ()


def test_a_proposal_for_a_contract_that_changes_meanwhile_is_refused() -> None:
    """The base of a proposal is what its proposer has read."""
    env = Environment()
    steps = propose(by(env, ALICE), NEXT)
    call = next(steps)
    while call.effect.name != "PROPOSE":
        call = steps.send(call.do())
    run(publish(env.dependencies, COMPILED), env.dependencies.clock)
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(InputError, match="meanwhile"):
        steps.throw(refused.value)


def test_a_proposal_whose_answer_was_lost_is_found() -> None:
    """The transaction is applied twice: the second one finds its own proposal."""
    env = Environment()
    steps = propose(by(env, ALICE), NEXT)
    call = next(steps)
    while call.effect.name != "PROPOSE":
        call = steps.send(call.do())
    call.do()
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(StopIteration) as end:
        steps.throw(refused.value)

    assert env.dependencies.registry.proposals() == (end.value.value,)
