"""The proof of a workflow before it is published: which guarantee is broken, and by which story."""

from __future__ import annotations

import pytest

from lakegate.base.errors import ContractError
from lakegate.base.extension_points import ROOT
from lakegate.features.workflows.prove_workflow import WorkflowProof, prove
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.plan.planned_workflow import PlannedState, PlannedTransition, PlannedWorkflow

EXAMPLES = sorted((ROOT / "contracts/examples/workflows").glob("*.yaml"))
HEAD = "workflow: own\nversion: 1.0.0\nattempts: 1\n"
BEGIN = "An upload is claimed, copied to staging, and its run is started"
ASK = PlannedState("first", "ask")


def proof(*rows: tuple[str, str, str], states: tuple[PlannedState, ...] = (ASK,)) -> WorkflowProof:
    begin = PlannedTransition("VALIDATING", "accepted", states[0].name)
    return prove(PlannedWorkflow("own@1.0.0", 1, (begin, *(PlannedTransition(*row) for row in rows)), states=states))


def problems(text: str) -> list[tuple[str, str, int | None]]:
    with pytest.raises(ContractError) as refused:
        read_workflow((HEAD + text).encode())
    return [(each.code, each.path, each.line) for each in refused.value.problems]


def message(text: str) -> str:
    with pytest.raises(ContractError) as refused:
        read_workflow((HEAD + text).encode())
    return refused.value.problems[0].message


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.stem)
def test_every_example_is_proven(example: object) -> None:
    """The documents of contracts/examples/workflows can be published."""
    assert prove(read_workflow(example.read_bytes())) == WorkflowProof()  # type: ignore[attr-defined] # a path


def test_silence_is_told_as_a_story() -> None:
    """Whoever is not heard has not approved, also where a notice comes between."""
    told = PlannedState("told", "notify")
    found = proof(
        ("first", "approved", "PUBLISHED"),
        ("first", "expired", "told"),
        ("told", "done", "PUBLISHED"),
        states=(ASK, told),
    )

    assert found.broken == "Something is published although nobody approved: silence accepts nothing"
    assert found.story == (
        BEGIN,
        "Attempt 1: the rules accept it, and it enters `first` (ask)",
        "In `first` nobody answers in time, and it enters `told` (notify)",
        "In `told` the notice is sent, and it is published",
    )
    assert str(found).startswith(f"{found.broken}: 1. {BEGIN}. 2. Attempt 1")


@pytest.mark.parametrize(
    ("rows", "broken", "last"),
    [
        (
            [("first", "approved", "PUBLISHED"), ("first", "declined", "PUBLISHED")],
            "Something is published that a person declined",
            "In `first` a person declines, and it is published",
        ),
        (
            [("first", "declined", "PUBLISHED")],
            "A state cannot be left",
            "In `first` a person approves, and no transition says what follows",
        ),
        (
            [("first", "approved", "first")],
            "A state cannot be left",
            "In `first` a person approves, and whatever follows was entered as often as it may be",
        ),
        (
            [("first", "approved", "VALIDATING")],
            "A delivery cannot go back, or leave out a part of the protocol",
            "In `first` a person approves, and VALIDATING follows",
        ),
    ],
)
def test_a_broken_guarantee_is_named(rows: list[tuple[str, str, str]], broken: str, last: str) -> None:
    """With the step that breaks it."""
    found = proof(*rows)

    assert (found.broken, found.story[-1]) == (broken, last)


def test_what_the_rules_reject_is_never_published() -> None:
    """Whatever the way."""
    rows = (PlannedTransition("VALIDATING", "rejected", "first"), PlannedTransition("first", "approved", "PUBLISHED"))
    found = prove(PlannedWorkflow("own@1.0.0", 1, rows, states=(ASK,)))

    assert found.broken == "Something is published that the rules do not accept"


def test_nobody_is_asked_about_what_was_declined() -> None:
    """A decline stands; there may be a notice of it."""
    again = PlannedState("again", "ask")
    told = PlannedState("told", "notify")
    rows = (("first", "approved", "PUBLISHED"), ("first", "declined", "again"), ("again", "approved", "QUARANTINED"))
    found = proof(*rows, states=(ASK, again))
    noticed = proof(*rows[:1], ("first", "declined", "told"), ("told", "done", "QUARANTINED"), states=(ASK, told))

    assert found.broken == "Somebody is asked, or has to wait, after a person declined"
    assert noticed == WorkflowProof()


def test_what_no_delivery_takes_is_named() -> None:
    """A transition behind one that is always taken, and a state that nothing leads to."""
    rows = (("first", "approved", "PUBLISHED"), ("first", "approved", "QUARANTINED"), ("alone", "due", "PUBLISHED"))
    found = proof(*rows, states=(ASK, PlannedState("alone", "wait", hours=1)))

    assert (found.broken, found.unused, found.unreached) == ("", (2, 3), ("alone",))


def test_more_ways_than_can_be_explored_are_refused() -> None:
    """With a word about what to change."""
    compares = tuple(PlannedState(f"c{number}", "compare", 10) for number in range(6))
    wide = [
        (f"c{number}", on, f"c{(number + step) % 6}")
        for number in range(6)
        for on, step in (("usual", 1), ("unusual", 2))
    ] + [(f"c{number}", on, "PUBLISHED") for number in range(6) for on in ("usual", "unusual")]

    assert proof(*wide, states=compares).broken == "There are too many ways to prove anything of"


BEFORE = "states: [{name: a, operation: transfer}, {name: b, operation: validate}, {name: c, operation: notify}]\n"
OWN = "states: [{name: first, operation: ask}]\ntransitions:\n  - {from: VALIDATING, when: accepted, to: first}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (OWN, [("workflow-unsafe", "$.states[0]", 4)]),
        (
            OWN
            + "  - {from: first, when: approved, to: PUBLISHED}\n  - {from: first, when: approved, to: QUARANTINED}\n",
            [("workflow-unused", "$.transitions[2]", 8)],
        ),
        (OWN + "  - {from: first, when: due, to: PUBLISHED}\n", [("workflow-transition", "$.transitions[1]", 7)]),
        (OWN + "  - {from: first, when: approved, to: DECIDED}\n", [("workflow-transition", "$.transitions[1]", 7)]),
        (OWN + "  - {from: AWAITING, when: expired, to: DECIDED}\n", [("workflow-transition", "$.transitions[1]", 7)]),
        (OWN + "  - {from: STAGED, when: ready, to: first}\n", [("workflow-order", "$.transitions[1]", 7)]),
        (OWN + "  - {from: VALIDATING, when: rejected, to: first}\n", [("workflow-transition", "$.transitions[1]", 7)]),
        (
            OWN + "  - {from: VALIDATING, when: accepted, to: AWAITING}\n",
            [("workflow-repeated", "$.transitions[1]", 7), ("workflow-transition", "$.transitions[1]", 7)],
        ),
        ("states: []\n", [("wrong-length", "$.states", 4)]),
        ("states: [{name: first}]\n", [("missing-key", "$.states[0]", 4)]),
        ("states: [{name: Awaiting, operation: ask}]\n", [("workflow-state", "$.states[0].name", 4)]),
        (
            "states: [{name: a, operation: ask}, {name: a, operation: ask}]\n",
            [("workflow-repeated", "$.states[1].name", 4)],
        ),
        ("states: [{name: a, operation: publish}]\n", [("workflow-state", "$.states[0].operation", 4)]),
        ("states: [{name: a, operation: notify, days: 3}]\n", [("workflow-state", "$.states[0].days", 4)]),
        ("states: [{name: a, operation: wait}]\n", [("workflow-date", "$.states[0]", 4)]),
        ('states: [{name: a, operation: wait, hours: 1, until: "06:00Z"}]\n', [("workflow-date", "$.states[0]", 4)]),
        ("states: [{name: a, operation: ask, days: 19, entries: 2}]\n", [("workflow-date", "$.states", 4)]),
        ("states: [{name: a, operation: validate}]\n", [("workflow-order", "$.states", 4)]),
        (
            "states: [{name: a, operation: validate}]\ntransitions: [{from: null, when: created, to: a}]\n",
            [("workflow-order", "$.transitions[0]", 5), ("workflow-order", "$.states", 4)],
        ),
        (
            f"{BEFORE}transitions: [{{from: null, when: created, to: a}}, {{from: a, when: done, to: c}}]\n",
            [("workflow-order", "$.transitions[1]", 5)],
        ),
        (
            OWN + "  - {from: first, when: approved, to: PUBLISHED}\n  - {from: first, when: expired, to: PUBLISHED}\n",
            [("workflow-unsafe", "$.states[0]", 4)],
        ),
    ],
)
def test_a_wrong_machine_is_refused_with_every_problem(text: str, found: list[tuple[str, str, int | None]]) -> None:
    """Each problem has a code, a path and a line."""
    assert problems(text) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("states: [{name: a, operation: external-validator}]\n", "external validators measure in `validate`"),
        ("states: [{name: a, operation: delete}]\n", "only the gate deletes what landed, after the commit"),
        ("states: [{name: a, operation: script}]\n", "an effect that nobody knows cannot be repeated after a crash"),
        ("states: [{name: a, operation: ask, days: 30, entries: 2}]\n", "may take 60 days, and 37 are the most"),
        (
            OWN + "  - {from: STAGED, when: ready, to: first}\n",
            "before the verdict only `transfer`, then `validate` can be",
        ),
    ],
)
def test_what_cannot_be_made_safe_is_refused_with_the_reason(text: str, words: str) -> None:
    """By its name."""
    assert words in message(text)
