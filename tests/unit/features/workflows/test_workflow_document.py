"""Workflows are data: the table of all deliveries, and what a published document may exchange."""

from __future__ import annotations

import json
from itertools import pairwise, product

import pytest

from lakegate.base.errors import ContractError
from lakegate.base.extension_points import ROOT
from lakegate.base.json_codec import decode, encode
from lakegate.contract.documents.document_tree import Scalar
from lakegate.features.workflows.workflow_command import diagram, rows
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.delivery.advance import STEPS
from lakegate.gate.delivery.protocol import (
    ALTERNATIVES,
    CARRIED_OUT_IN,
    END_STATES,
    OUTCOMES,
    PUSH,
    Bound,
    Outcome,
    State,
    choices,
    workflow_of,
)
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow

EXAMPLE = ROOT / "contracts/examples/workflows/once.yaml"
ONCE = PlannedWorkflow(
    "once@1.0.0",
    2,
    (PlannedTransition("VALIDATING", "undecided", "FAILED"), PlannedTransition("SUBMITTING", "conflict", "FAILED")),
)
LATER = "{from: VALIDATING, when: accepted, to: SCHEDULED}"
HEAD = "workflow: once\nversion: 1.0.0\n"


def problems(text: str) -> list[tuple[str, str, int | None]]:
    with pytest.raises(ContractError) as refused:
        read_workflow(text.encode())
    return [(each.code, each.path, each.line) for each in refused.value.problems]


def message(text: str) -> str:
    with pytest.raises(ContractError) as refused:
        read_workflow(text.encode())
    return refused.value.problems[0].message


def test_every_outcome_of_every_state_has_its_transition() -> None:
    """The workflow of every delivery has one transition for each observation, and no other one; it has no own states."""
    wanted = [(state, on) for state, outcomes in OUTCOMES.items() for on in outcomes if state is not State.PASSING]

    assert sorted(wanted) == sorted((each.source, each.on) for each in PUSH.transitions)
    assert all(PUSH.transition(state, on).source is state for state, on in wanted)


def test_every_state_has_its_step() -> None:
    """A transition leads only to states that can be entered; what is observed in a state is what the workflows know."""
    observed = {state for state, step in STEPS.items() if step.observe is not None}

    assert set(STEPS) == {each.to for each in (*PUSH.transitions, *ALTERNATIVES)} | set(CARRIED_OUT_IN.values())
    assert observed == set(OUTCOMES) - {State.FAILED}


def test_a_successful_delivery_is_published_after_six_observations() -> None:
    """The states of a successful delivery come in the order in which they are declared."""
    path = [State.RECEIVED]
    for outcome in ("routed", "passed", "ready", "stored", "accepted", "accepted"):
        path.append(PUSH.transition(path[-1], Outcome(outcome)).to)

    assert path[-1] is State.PUBLISHED
    assert all(list(State).index(low) < list(State).index(high) for low, high in pairwise(path))


@pytest.mark.parametrize("chosen", list(product((False, True), repeat=len(ALTERNATIVES))), ids=str)
def test_every_workflow_ends(chosen: tuple[bool, ...]) -> None:
    """With any of the alternatives, each state leads to an end, and a loop is bounded by attempts or by a person."""
    others = [each for each, is_taken in zip(ALTERNATIVES, chosen, strict=True) if is_taken]
    planned = PlannedWorkflow(
        "any@1.0.0", 1, tuple(PlannedTransition(each.source, each.on, each.to) for each in others)
    )
    table = workflow_of(planned).transitions

    assert {(each.source, each.on) for each in table} == {(each.source, each.on) for each in PUSH.transitions}
    unbounded = [(each.source, each.to) for each in table if each.bound is None]
    order = list(State)
    assert all(order.index(source) < order.index(to) for source, to in unbounded)
    assert {each.bound for each in table} <= {None, Bound.ATTEMPTS, Bound.PERSON, Bound.DATE}
    assert {to for _, to in unbounded} >= END_STATES


def test_the_example_is_read() -> None:
    """The document of the example is a workflow with two attempts and two exchanged transitions."""
    assert read_workflow(EXAMPLE.read_bytes()) == ONCE


def test_a_plan_has_the_workflow_that_was_read() -> None:
    """The table that the gate reads from the JSON of a plan is that of the document."""
    table = workflow_of(ONCE)

    assert (table.name, table.attempts) == ("once@1.0.0", 2)
    assert {(each.source, each.on, each.to) for each in set(table.transitions) - set(PUSH.transitions)} == {
        ("VALIDATING", "undecided", "FAILED"),
        ("SUBMITTING", "conflict", "FAILED"),
    }
    assert workflow_of(None) is PUSH


def test_what_a_document_leaves_out_is_as_in_push() -> None:
    """A document with a name and a version alone is the workflow of every delivery."""
    read = read_workflow(HEAD.encode())

    assert read == PlannedWorkflow("once@1.0.0", 3, ())
    assert workflow_of(read).transitions == PUSH.transitions


def test_a_workflow_waits_for_a_person_or_a_callback() -> None:
    """A person, unless the document, or the plan, says otherwise."""
    asks = "transitions: [{from: VALIDATING, when: accepted, to: AWAITING}]\n"
    read = [read_workflow((HEAD + each + asks).encode()) for each in ("", "waitsFor: person\n", "waitsFor: callback\n")]
    document = encode(read[0])
    older = decode(PlannedWorkflow, {name: value for name, value in document.items() if name != "waits_for"})

    assert [workflow_of(each).waits_for for each in (*read, older)] == ["person", "person", "callback", "person"]


def test_a_wrong_form_is_described_in_words() -> None:
    """A name and a version of another form are refused with what to write, not with a regular expression."""
    with pytest.raises(ContractError) as refused:
        read_workflow(b"workflow: push\nversion: 1.0.0-beta\n")

    assert [each.message for each in refused.value.problems] == [
        "`push` must be lower case letters, digits and hyphens, first a letter, at most 63 characters, not `push`.",
        "`1.0.0-beta` must be a version such as `1.0.0`, without a pre-release.",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("empty-document", "$", 1)]),
        ("workflow: once\n", [("missing-key", "$", 1)]),
        ("workflow: push\nversion: 1.0.0\n", [("wrong-form", "$.workflow", 1)]),
        ("workflow: Once/../x\nversion: 1.0.0\n", [("wrong-form", "$.workflow", 1)]),
        ("workflow: once\nversion: 1.0.0-beta\n", [("wrong-form", "$.version", 2)]),
        (HEAD + "attempts: 0\n", [("out-of-range", "$.attempts", 3)]),
        (HEAD + "attempts: 11\n", [("out-of-range", "$.attempts", 3)]),
        (HEAD + "attempts: true\n", [("wrong-type", "$.attempts", 3)]),
        (HEAD + "waitDays: 0\n", [("out-of-range", "$.waitDays", 3)]),
        (HEAD + "waitDays: 31\n", [("out-of-range", "$.waitDays", 3)]),
        (HEAD + "waitsFor: callback\n", [("workflow-wait", "$.waitsFor", 3)]),
        (HEAD + "waitsFor: nobody\n", [("not-allowed", "$.waitsFor", 3)]),
        (HEAD + "publishAt: 24:00Z\n", [("wrong-form", "$.publishAt", 3)]),
        (HEAD + "publishAt: 06:00\n", [("wrong-form", "$.publishAt", 3)]),
        (HEAD + "delayHours: 169\n", [("out-of-range", "$.delayHours", 3)]),
        (HEAD + "delayHours: 2\n", [("workflow-date", "$.delayHours", 3)]),
        (HEAD + "publishAt: 06:00Z\n", [("workflow-date", "$.publishAt", 3)]),
        (HEAD + f"transitions: [{LATER}]\n", [("workflow-date", "$.transitions", 3)]),
        (
            HEAD + f"publishAt: 06:00Z\ndelayHours: 2\ntransitions: [{LATER}]\n",
            [("workflow-date", "$.transitions", 5)],
        ),
        (HEAD + "retries: 4\n", [("unknown-key", "$.retries", 3)]),
        (HEAD + "transitions: {}\n", [("wrong-type", "$.transitions", 3)]),
        (HEAD + "transitions:\n  - {from: STAGED, to: FAILED}\n", [("missing-key", "$.transitions[0]", 4)]),
        (
            HEAD + "transitions:\n  - {from: NOWHERE, when: lost, to: FAILED}\n",
            [("workflow-transition", "$.transitions[0]", 4)],
        ),
        (
            HEAD + "transitions:\n  - {from: STAGED, when: lost, to: FAILED}\n",
            [("workflow-transition", "$.transitions[0]", 4)],
        ),
        ('workflow: "once\\n"\nversion: 1.0.0\n', [("wrong-form", "$.workflow", 1)]),
        ('workflow: once\nversion: "1.0.0\\n"\n', [("wrong-form", "$.version", 2)]),
        (
            HEAD
            + "transitions: [{from: VALIDATING, when: lost, to: FAILED}, {from: VALIDATING, when: lost, to: FAILED}]",
            [("workflow-repeated", "$.transitions[1]", 3)],
        ),
        (
            HEAD + "attempts: 4\ntransitions:\n  - {from: DECIDED, when: rejected, to: PUBLISHED}\n"
            "  - {from: VALIDATING, when: lost, to: FAILED}\n  - {from: VALIDATING, when: lost, to: SUBMITTING}\n",
            [("workflow-transition", "$.transitions[0]", 5), ("workflow-repeated", "$.transitions[2]", 7)],
        ),
        (
            HEAD + "attempts: 44\ntransitions:\n  - {from: DECIDED, when: rejected, to: PUBLISHED}\n"
            "  - {from: null, when: lost, to: FAILED}\n",
            [
                ("out-of-range", "$.attempts", 3),
                ("workflow-transition", "$.transitions[0]", 5),
                ("workflow-transition", "$.transitions[1]", 6),
            ],
        ),
    ],
)
def test_a_wrong_document_is_refused_with_every_problem(text: str, found: list[tuple[str, str, int | None]]) -> None:
    """Each problem of a document has a code, a path and a line; all are reported at once."""
    assert problems(text) == found


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            "{from: VALIDATING, when: lost, to: GONE}",
            "VALIDATING leads to `SUBMITTING`, `FAILED` when lost, and not to `GONE`.",
        ),
        ("{from: STAGED, when: lost, to: FAILED}", "`STAGED` has no observation `lost`. It has `ready`."),
    ],
)
def test_a_refused_transition_names_those_that_are_possible(row: str, words: str) -> None:
    """The message says what may stand there."""
    assert message(f"{HEAD}transitions:\n  - {row}\n") == words


@pytest.mark.parametrize("hostile", ["a" * 41, "[31m", "x\ny", None, 7, ["x"]])
def test_hostile_words_are_refused(hostile: Scalar | list[str]) -> None:
    """No word of a document but those of the gate reaches a plan."""
    row = {"from": "VALIDATING", "when": hostile, "to": "FAILED"}
    text = json.dumps({"workflow": "once", "version": "1.0.0", "transitions": [row]})

    assert {code for code, _, _ in problems(text)} <= {
        "workflow-transition",
        "wrong-type",
        "wrong-length",
        "unseen-character",
    }


def test_choices_begin_with_that_of_push() -> None:
    """The first choice for an observation is what every delivery does."""
    assert [each.to for each in choices("VALIDATING", "lost")] == [State.SUBMITTING, State.FAILED]
    assert choices("VALIDATING", "routed") == ()


def test_a_workflow_is_drawn() -> None:
    """The table and the diagram have a line for each transition, with what ends its loop."""
    table, drawn = list(rows(workflow_of(ONCE))), list(diagram(workflow_of(ONCE)))

    assert table[0] == "once@1.0.0, at most 2 attempts"
    assert [line.split()[:3] for line in table[1:]] == [
        [each.source, each.on, each.to]
        for each in workflow_of(ONCE).transitions
        if each.source not in {"AWAITING", "ANSWERED", "SCHEDULED"}
    ]
    assert {line.split()[3] for line in table[1:]} == {
        *(
            "pin",
            "hold",
            "vanish",
            "fail",
            "stage",
            "refuse",
            "waive",
            "prepare",
            "start",
            "decide",
            "publish",
            "revive",
        )
    }
    assert not [line for line in drawn if "AWAITING" in line or "SCHEDULED" in line]
    assert drawn[:2] == ["stateDiagram-v2", "  [*] --> RECEIVED"]
    assert "  VALIDATING --> FAILED: undecided" in drawn
    assert "  VALIDATING --> SUBMITTING: lost (until the attempts are used)" in drawn
    assert drawn[-1] == "  QUARANTINED --> [*]"
