"""The workflow is data: it is checked before it is used."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakegate import contracts
from lakegate.contracts.errors import ContractError
from lakegate.contracts.lake.states import OUTCOMES, SIGNATURES, Operation, Outcome, State
from lakegate.contracts.lake.workflow import MOST_ATTEMPTS, PUSH, read

DOCUMENT = Path(contracts.__file__).parent / "workflows" / "push.yaml"


def push() -> dict[str, Any]:
    return PUSH.to_json()


def without(state: str, on: str) -> dict[str, Any]:
    document = push()
    document["transitions"] = [r for r in document["transitions"] if (r["from"], r["on"]) != (state, on)]
    return document


def changed(state: str, outcome: str, **change: str) -> dict[str, Any]:
    document = push()
    for row in document["transitions"]:
        if (row["from"], row["on"]) == (state, outcome):
            row.update(change)
    return document


def unbounded() -> dict[str, Any]:
    document = push()
    document["transitions"] = [{k: v for k, v in row.items() if k != "bound"} for row in document["transitions"]]
    return document


def codes(document: dict[str, Any]) -> set[str]:
    with pytest.raises(ContractError) as refused:
        read(document)
    return {problem.code for problem in refused.value.problems}


def test_the_published_document_is_the_one_in_code() -> None:
    """Intake parses no YAML: the table it carries is the document people read."""
    assert read(yaml.safe_load(DOCUMENT.read_text())) == PUSH


def test_a_workflow_survives_the_plan() -> None:
    """What the plan carries as JSON reads back as the same workflow."""
    assert read(push()) == PUSH


def test_a_table_of_an_earlier_release_is_completed() -> None:
    """Published plans carry their table for ever: what they could not name yet has the answer that this release has."""
    earlier = push()
    earlier["transitions"] = [row for row in earlier["transitions"] if row["on"] != "unreadable"]

    assert set(read(earlier).transitions) == set(PUSH.transitions)


def test_every_outcome_of_every_state_has_its_transition() -> None:
    """Whatever is found out, the table has an answer."""
    for state, outcomes in OUTCOMES.items():
        for outcome in outcomes:
            assert state is PUSH.transition(state, outcome).source


def test_every_operation_is_used_where_it_may_be() -> None:
    """No operation is dead, and each has a signature."""
    assert set(Operation) == set(SIGNATURES)
    assert set(Operation) == {transition.operation for transition in PUSH.transitions}


def test_the_happy_path_leads_from_claim_to_publication() -> None:
    """Seven outcomes carry a good delivery from RECEIVED to PUBLISHED."""
    path = [State.RECEIVED]
    for outcome in ("routed", "passed", "ready", "stored", "judged", "accepted"):
        path.append(PUSH.transition(path[-1], Outcome(outcome)).to)

    assert State.PUBLISHED is path[-1]
    assert all(list(State).index(low) < list(State).index(high) for low, high in pairwise(path))


@pytest.mark.parametrize(
    ("code", "document"),
    [
        ("workflow-shape", {"name": "x", "attempts": 3}),
        ("workflow-attempts", push() | {"attempts": 0}),
        ("workflow-attempts", push() | {"attempts": MOST_ATTEMPTS + 1}),
        ("workflow-attempts", push() | {"attempts": True}),
        ("workflow-attempts", push() | {"attempts": "3"}),
        ("workflow-row", push() | {"transitions": [*PUSH.to_json()["transitions"], "x"]}),  # type: ignore[misc]  # a list
        ("workflow-row", changed("RECEIVED", "routed", to="NOWHERE")),
        ("workflow-row", changed("FAILED", "replayed", bound="never")),
        ("workflow-ambiguous", push() | {"transitions": PUSH.to_json()["transitions"] * 2}),  # type: ignore[operator]  # a list
        ("workflow-order", changed("PINNED", "passed", to="PUBLISHED", operation="publish")),
        ("workflow-order", changed("VALIDATING", "judged", to="PUBLISHED")),
        ("workflow-order", changed("STAGED", "ready", on="routed")),
        ("workflow-unanswered", without("VALIDATING", "lost")),
        ("workflow-verdict", changed("DECIDED", "rejected", to="PUBLISHED")),
        ("workflow-unreachable", without("DECIDED", "rejected")),
        ("workflow-endless", push() | {"transitions": [r for r in push()["transitions"] if r["from"] != "DECIDED"]}),
        ("workflow-unbounded", unbounded()),
    ],
)
def test_a_workflow_that_breaks_the_protocol_is_refused(code: str, document: dict[str, Any]) -> None:
    """A missing answer, a step out of order, a loop without end: refused when published, with a stable code."""
    assert code in codes(document)


def test_all_problems_come_at_once() -> None:
    """All mistakes of a workflow are reported at once."""
    assert {"workflow-attempts", "workflow-unanswered"} <= codes(without("STAGED", "ready") | {"attempts": 99})
