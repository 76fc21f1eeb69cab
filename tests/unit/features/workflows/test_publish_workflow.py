"""Workflows in the registry: published as contracts are, and pinned with the plans of a contract version."""

from __future__ import annotations

import json

import pytest

from lakegate.base.errors import ContractError, InputError
from lakegate.features.workflows.published_workflows import publish_workflow, published_workflows, workflow_named
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import DocumentRefused, compile_document, publish, referred_of
from lakegate.gate.registry.registry_rows import Publication
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow
from tests.fakes.jobs import Ending
from tests.simulation.environment import LAKE, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import following
from tests.unit.diff.builder import document
from tests.unit.gate.scenarios import KEY, drive


def strict(version: str = "1.0.0", attempts: int = 3, *rows: str) -> bytes:
    listed = "".join(f"  - {{{row}}}\n" for row in rows)
    return f"workflow: strict\nversion: {version}\nattempts: {attempts}\ntransitions:\n{listed or '  []'}\n".encode()


def put(env: Environment, text: bytes) -> Publication:
    return drive(env.dependencies, publish_workflow(env.dependencies, text))  # type: ignore[return-value] # drive returns no type


def contract(version: str = "1.0.0", workflow: str = "strict@1") -> bytes:
    return document({"extension": {"workflow": workflow}}, version)


def published(env: Environment, text: bytes) -> Publication:
    compiled = compile_document(text, referred_of(env.dependencies, text))
    return drive(env.dependencies, publish(env.dependencies, compiled))  # type: ignore[return-value] # as above


def planned(env: Environment, publication: Publication) -> PlannedWorkflow | None:
    """The workflow in the plan of the only dataset."""
    ((_, plan),) = publication.plans
    found = json.loads(env.memory.objects.read(Address(LAKE, f"plans/{plan}.json")))["workflow"]
    if found is None:
        return None
    rows = tuple(PlannedTransition(each["from"], each["when"], each["to"]) for each in found["transitions"])
    return PlannedWorkflow(found["name"], found["attempts"], rows)


def test_a_workflow_is_published_once_and_recorded() -> None:
    """Version, document and record are written together, and the same document again changes nothing."""
    env = Environment()
    first = put(env, strict())
    again = put(env, strict())

    assert (first, env.memory.registry.contract("_workflow:strict").revision) == (again, 1)
    assert env.memory.objects.read(Address(LAKE, first.document)) == strict()
    assert [json.loads(each)["kind"] for each in env.memory.ledger.texts("_contracts/_workflow:strict")] == [
        "publication"
    ]
    assert published_workflows(env.dependencies) == (PlannedWorkflow("strict@1.0.0", 3),)


def test_another_content_under_a_published_number_is_refused() -> None:
    """A published version never changes."""
    env = Environment()
    put(env, strict())

    with pytest.raises(InputError, match="published with another content"):
        put(env, strict(attempts=5))
    assert published_workflows(env.dependencies) == (PlannedWorkflow("strict@1.0.0", 3),)


def test_a_wrong_document_is_not_published() -> None:
    """The linter's problems refuse the document, and nothing is written."""
    env = Environment()
    with pytest.raises(ContractError):
        put(env, strict("1.0.0", 3, "from: DECIDED, when: rejected, to: PUBLISHED"))

    assert published_workflows(env.dependencies) == ()


def test_a_workflow_is_not_among_the_contracts() -> None:
    """Listings of contracts have no workflows."""
    env = Environment()
    put(env, strict())
    pages, after = [], ""
    while True:
        page = env.memory.registry.page(after)
        pages += [version.contract for each in page.contracts for version in each.versions]
        after = page.after
        if not after:
            break

    assert [each.contract for each in env.memory.registry.snapshot().versions] == pages == ["orders"]


def test_the_newest_release_of_the_major_number_is_named() -> None:
    """A contract names a workflow with its major number, as it names its parent."""
    env = Environment()
    for version, attempts in (("1.10.0", 4), ("1.9.0", 5), ("2.0.0", 6)):
        put(env, strict(version, attempts))

    assert [workflow_named(env.dependencies, name) for name in ("strict@1", "strict@2", "strict@3", "other@1")] == [
        PlannedWorkflow("strict@1.10.0", 4),
        PlannedWorkflow("strict@2.0.0", 6),
        None,
        None,
    ]


def test_a_published_contract_keeps_its_workflow() -> None:
    """A newer workflow changes no published version, also if that is published again; the next version takes it."""
    env = Environment()
    put(env, strict())
    before = published(env, contract())
    put(env, strict("1.1.0", 7))

    assert published(env, contract()) == before
    assert planned(env, before) == PlannedWorkflow("strict@1.0.0", 3)
    assert planned(env, published(env, contract("1.0.1"))) == PlannedWorkflow("strict@1.1.0", 7)
    assert planned(env, published(env, contract("1.0.2", "push"))) is None


def test_an_unpublished_workflow_refuses_the_contract() -> None:
    """The problem is located, says what to do, and nothing is published."""
    env = Environment()
    with pytest.raises(DocumentRefused) as refused:
        published(env, contract())
    (problem,) = refused.value.examined.errors

    assert (problem.code, problem.path) == ("unknown-workflow", "$.schema[0]")
    assert "No workflow `strict@1` is published" in problem.message
    assert problem.line
    assert env.memory.registry.contract("shop").versions == ()


LOST = PlannedTransition("VALIDATING", "lost", "FAILED")
UNDECIDED = PlannedTransition("VALIDATING", "undecided", "FAILED")


@pytest.mark.parametrize(
    ("body", "endings", "workflow", "state", "failed"),
    [
        (b"good:1", [Ending.FAILED], PlannedWorkflow("w@1.0.0", 3), State.PUBLISHED, ["run-failed"]),
        (b"good:1", [Ending.FAILED], PlannedWorkflow("w@1.0.0", 3, (LOST,)), State.FAILED, ["run-failed"]),
        (b"good:1", [Ending.FAILED], PlannedWorkflow("w@1.0.0", 3, (UNDECIDED,)), State.PUBLISHED, ["run-failed"]),
        (b"error:1", [], PlannedWorkflow("w@1.0.0", 3, (LOST, UNDECIDED)), State.FAILED, ["undecided"]),
        (b"error:1", [], PlannedWorkflow("w@1.0.0", 2), State.FAILED, ["undecided"] * 2),
        (b"good:1", [Ending.QUEUE_TIMED_OUT], PlannedWorkflow("w@1.0.0", 1, (LOST,)), State.PUBLISHED, ["not-started"]),
    ],
)
def test_a_delivery_follows_the_workflow_of_its_plan(
    body: bytes, endings: list[Ending], workflow: PlannedWorkflow, state: State, failed: list[str]
) -> None:
    """Attempts and what follows a lost or undecided one are those of the pinned workflow."""
    with following(workflow):
        env = Environment(list(endings))
        upload = env.upload(KEY, body)
        settle(Stage(env, lambda _: Fault.NONE))
        row = env.memory.workloads[upload.workload]

    assert (row.state, [each.cause for each in row.failed]) == (state, failed)
