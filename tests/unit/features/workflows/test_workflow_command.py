"""`lakegate workflow`: check, draw, publish and list workflows, and name one in a contract."""

from __future__ import annotations

import re

from lakegate.base.extension_points import ROOT
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.delivery.protocol import PUSH
from tests.unit.cli.conftest import Lakegate

EXAMPLE = str(ROOT / "contracts/examples/workflows/once.yaml")
ONCE = {
    "name": "once@1.0.0",
    "attempts": 2,
    "wait_days": 7,
    "publish_at": "",
    "delay_hours": 0,
    "waits_for": "person",
    "transitions": [
        {"from": "VALIDATING", "when": "undecided", "to": "FAILED"},
        {"from": "SUBMITTING", "when": "conflict", "to": "FAILED"},
    ],
}
WRONG = "workflow: once\nversion: 1.0.0\ntransitions:\n  - {from: DECIDED, when: rejected, to: PUBLISHED}\n"
PROBLEM = (
    "lakegate: line 4: workflow-transition: DECIDED leads to `QUARANTINED` when rejected, and not to `PUBLISHED`."
    " @ $.transitions[0]\n"
)
NAMED = "customProperties: [{property: lakegate, value: {workflow: once@1}}]\nschema:\n"


def test_a_workflow_is_published_and_named_by_a_contract(lakegate: Lakegate) -> None:
    """Publish, list, and publish a contract that names it: its plan has the workflow with the version."""
    first = lakegate.ok("workflow", "publish", EXAMPLE)
    again = lakegate.json("workflow", "publish", EXAMPLE)
    lakegate.ok("publish", lakegate.contract(**{"schema:\n": NAMED}))
    (plan,) = lakegate.json("show", "shop", "--resolved")["resolved"].values()

    assert first == "Published once@1.0.0.\n  Contracts name it in the extension: workflow: once@1\n"
    assert {key: again[key] for key in ONCE} == plan["workflow"] == ONCE
    assert lakegate.json("workflow", "list") == {"workflows": [ONCE]}
    assert lakegate.ok("workflow", "list") == (
        "once@1.0.0: at most 2 attempts; VALIDATING undecided → FAILED; SUBMITTING conflict → FAILED\n"
    )
    assert [each["contract"] for each in lakegate.json("contracts")["contracts"]] == ["shop"]
    (record,) = lakegate.json("log", "_contracts/_workflow:once")["blocks"]
    assert (record["kind"], record["content"]["version"], record["content"]["document"]) == (
        "publication",
        "1.0.0",
        again["document"],
    )
    refused = lakegate("route", "add", "once/", "_workflow:once").exception
    assert str(refused) == "_workflow:once: no such contract is published."


def test_a_contract_with_an_unpublished_workflow_is_refused(lakegate: Lakegate) -> None:
    """The error names the workflow and the command that publishes it; nothing is published."""
    refused = lakegate("publish", lakegate.contract(**{"schema:\n": NAMED}))

    assert refused.exit_code == 1
    assert "unknown-workflow" in refused.output
    assert "lakegate workflow publish FILE" in refused.output
    assert lakegate.json("contracts") == {"contracts": []}
    assert "follows `push`" in lakegate.ok("workflow", "list")


def test_a_wrong_workflow_is_refused(lakegate: Lakegate) -> None:
    """Lint, draw and publish print each problem with its line, and end with 1."""
    file = lakegate.file(WRONG.encode(), "wrong.yaml")
    for command in ("lint", "draw", "publish"):
        refused = lakegate("workflow", command, file)
        assert (refused.exit_code, refused.stdout, refused.stderr) == (1, "", PROBLEM)

    errors = lakegate("workflow", "lint", file, "--json")
    assert (errors.exit_code, '"valid": false' in errors.stdout, '"line": 4' in errors.stdout) == (1, True, True)
    assert lakegate.json("workflow", "list") == {"workflows": []}


def test_a_valid_workflow_is_checked_without_a_stack(lakegate: Lakegate) -> None:
    """Lint answers in words or JSON."""
    assert lakegate.ok("workflow", "lint", EXAMPLE) == f"{EXAMPLE}: once@1.0.0 is valid.\n"
    assert lakegate.json("workflow", "lint", EXAMPLE) == {"valid": True, "errors": []}


def test_workflows_are_drawn(lakegate: Lakegate) -> None:
    """A table of all transitions, or a diagram; without a file, the workflow of every delivery."""
    assert len(lakegate.ok("workflow", "draw").splitlines()) == 1 + len(PUSH.reached)
    diagram = lakegate.ok("workflow", "draw", EXAMPLE, "--format", "mermaid").splitlines()
    assert (diagram[0], "  VALIDATING --> FAILED: undecided" in diagram) == ("stateDiagram-v2", True)
    document = lakegate.json("workflow", "draw", EXAMPLE)
    row = {
        "from": "VALIDATING",
        "when": "undecided",
        "to": "FAILED",
        "operation": "fail",
        "bound": None,
        "rejects": False,
    }
    assert row in document["transitions"]
    assert (document["name"], document["attempts"], len(document["transitions"])) == (
        "once@1.0.0",
        2,
        len(PUSH.reached),
    )


def test_workflows_are_played(lakegate: Lakegate) -> None:
    """One way by what is observed, as the page has it; all ways, the shortest first; a word that cannot be observed is named."""
    page = (ROOT / "docs/workflows.md").read_text()
    file = EXAMPLE.replace("once", "two-people")
    told = lakegate.ok("workflow", "simulate", file, *ways("accepted", "approved", "expired"))
    every = lakegate.json("workflow", "simulate", EXAMPLE)
    waits = lakegate.json("workflow", "simulate", file, *ways("lost", "accepted"))
    refused = lakegate("workflow", "simulate", file, *ways("accepted", "due"))

    assert f"{' '.join(ways('accepted', 'approved', 'expired'))}\n{told}```" in page
    assert [each["end"] for each in every["stories"]] == [*ENDS, *ENDS, "FAILED"]
    assert every["complete"]
    assert waits["stories"][0]["end"] is None
    assert waits["stories"][0]["steps"][-1]["to"] == "first-approval"
    assert "`due` cannot be observed in first-approval" in str(refused.exception)
    assert not lakegate.json("workflow", "simulate", EXAMPLE.replace("once", "released"))["complete"]


def ways(*words: str) -> list[str]:
    return [part for word in words for part in ("--outcome", word)]


ENDS = ["PUBLISHED", "PUBLISHED", "QUARANTINED", "FAILED"]
"""Of an attempt that has a result."""


def test_the_documents_of_the_page_are_valid() -> None:
    """Each can be published; those that are examples stand there as they are."""
    blocks = re.findall(r"```yaml\n(workflow: .*?)```", (ROOT / "docs/workflows.md").read_text(), re.DOTALL)
    examples = {
        each.stem: read_workflow(each.read_bytes()) for each in (ROOT / "contracts/examples/workflows").glob("*.yaml")
    }
    for block in blocks:
        read = read_workflow(block.encode())
        name = read.name.partition("@")[0]
        assert name not in {"two-people", "dcm-push"} or read == examples[name]

    assert len(blocks) == 4


def test_own_states_are_drawn(lakegate: Lakegate) -> None:
    """With their names, operations and times, in the table and in the diagram."""
    file = EXAMPLE.replace("once", "two-people")
    table = lakegate.ok("workflow", "draw", file).splitlines()
    drawn = lakegate.ok("workflow", "draw", file, "--format", "mermaid").splitlines()

    assert "second-approval approved               DECIDED         decide" in table
    assert "first-approval  expired                first-approval  ask" in table
    assert '  state "first-approval (ask, 2 d)" as own0' in drawn
    assert {"  own0 --> own0: expired", "  own0 --> own1: approved", "  own0 --> DECIDED: declined (rejected)"} <= set(
        drawn
    )


def test_the_page_has_the_workflow_of_every_delivery(lakegate: Lakegate) -> None:
    """The diagram of docs/workflows.md is that of the command."""
    drawn = lakegate.ok("workflow", "draw", "--format", "mermaid")

    assert f"```mermaid\n{drawn}```" in (ROOT / "docs/workflows.md").read_text()
