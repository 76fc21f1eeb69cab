"""Workflow documents: read, checked for their form, and proven to keep the guarantees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from lakegate.base.errors import ContractError
from lakegate.base.text import join_words, plural, quote
from lakegate.contract.documents.document_tree import Notes, Place
from lakegate.contract.documents.read_document import parse
from lakegate.contract.documents.schema_validation import schema_problems
from lakegate.features.workflows.prove_workflow import prove
from lakegate.gate.delivery.protocol import (
    ASKING,
    CALLBACK,
    DEFAULT_ATTEMPTS,
    DEFAULT_WAIT_DAYS,
    JUDGED_STATES,
    OUTCOMES,
    OWN_OUTCOMES,
    PUSH,
    Outcome,
    State,
    choices,
    longest_wait,
)
from lakegate.plan.planned_workflow import (
    ASK,
    CALL_BACK,
    COMPARE,
    NOTIFY,
    OPERATIONS,
    TRANSFER,
    VALIDATE,
    WAIT,
    PlannedState,
    PlannedTransition,
    PlannedWorkflow,
)

# ---- Codes ----


UNKNOWN: Final = "workflow-transition"
REPEATED: Final = "workflow-repeated"
DATE: Final = "workflow-date"
WAITS: Final = "workflow-wait"
STATE: Final = "workflow-state"
ORDER: Final = "workflow-order"
UNUSED: Final = "workflow-unused"
UNSAFE: Final = "workflow-unsafe"

# ---- Reading of a workflow ----


def read_workflow(text: bytes) -> PlannedWorkflow:
    """The workflow of a document, which fits `lakegate/schemas/workflow.json`. Raises ContractError with every problem.

    What can be published is proven: a document that breaks a guarantee is refused with a story that does.
    """
    document = parse(text)
    notes, top = Notes(), document.top
    rows = top["transitions"]
    machine = _Machine(top, notes)
    transitions = tuple(machine.transitions() if machine.is_own else _transitions(rows, notes))
    if problems := schema_problems(document, "workflow"):
        formless = {problem.path for problem in problems}
        errors = notes.errors if rows.path not in formless else ()
        found = (error for error in errors if not any(path.startswith(error.path) for path in formless))
        raise ContractError((*problems, *found))
    planned = PlannedWorkflow(
        f"{top['workflow'].written}@{top['version'].written}",
        int(top["attempts"].number or DEFAULT_ATTEMPTS),
        transitions,
        int(top["waitDays"].number or DEFAULT_WAIT_DAYS),
        top["publishAt"].written,
        int(top["delayHours"].number or 0),
        top["waitsFor"].written or PUSH.waits_for,
        machine.states,
    )
    _check_date(top, planned, notes)
    if planned.waits_for == CALLBACK and all(transition.to != State.AWAITING for transition in planned.transitions):
        notes.error(WAITS, top["waitsFor"], "It has no effect: no transition leads to AWAITING.")
    if not notes.errors:
        machine.prove(planned)
    if notes.errors:
        raise ContractError(tuple(notes.errors))
    return planned


def _check_date(top: Place, planned: PlannedWorkflow, notes: Notes) -> None:
    times = bool(planned.publish_at) + bool(planned.delay_hours)
    is_scheduled = any(transition.to == State.SCHEDULED for transition in planned.transitions)
    if is_scheduled and times != 1:
        notes.error(
            DATE, top["transitions"], "A transition leads to SCHEDULED: say when by publishAt or by delayHours, one."
        )
    elif times and not is_scheduled:
        given = top["publishAt" if planned.publish_at else "delayHours"]
        notes.error(DATE, given, "It has no effect: no transition leads to SCHEDULED.")


def _transitions(rows: Place, notes: Notes) -> Iterator[PlannedTransition]:
    lines: dict[tuple[str, str], int] = {}
    """Of the first transition for an observation."""
    for row in rows.items:
        source, when, to = (row[key].written for key in ("from", "when", "to"))
        known = [str(choice.to) for choice in choices(source, when)]
        if not known:
            notes.error(UNKNOWN, row, f"{quote(source)} has no observation {quote(when)}.{_hint(source)}")
        elif to not in known:
            notes.error(UNKNOWN, row, f"{source} leads to {join_words(known)} when {when}, and not to {quote(to)}.")
        elif (source, when) in lines:
            notes.error(
                REPEATED, row, f"Line {lines[source, when]} has a transition from {source} when {when}: keep one."
            )
        lines.setdefault((source, when), row.mark.line)
        yield PlannedTransition(source, when, to)


def _hint(source: str) -> str:
    by_state = {str(state): sorted(map(str, outcomes)) for state, outcomes in OUTCOMES.items()}
    known = by_state.get(source)
    return f" It has {join_words(known)}." if known else f" States are {join_words(by_state)}."


# ---- States of one's own ----


LONGEST: Final = timedelta(days=37)
"""All waits together. A staged copy is kept for 45 days, and the runs before the verdict may take some of them."""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    TRANSFER: (),
    VALIDATE: (),
    ASK: ("entries", "days", "by"),
    CALL_BACK: ("entries", "days", "by"),
    WAIT: ("entries", "until", "hours"),
    NOTIFY: ("entries",),
    COMPARE: ("entries",),
}
"""The settings of a state, by its operation."""
UNSAFE_OPERATIONS: Final[Mapping[str, str]] = {
    "publish": "only the gate publishes, after its decision: lead to PUBLISHED",
    "reject": "only the gate rejects, by its decision: lead to QUARANTINED",
    "delete": "only the gate deletes what landed, after the commit",
    "external-validator": "external validators measure in `validate`, where the rules of a contract name them: what is measured"
    " after the verdict would be no part of it",
    "http": "an effect that nobody knows cannot be repeated after a crash: use `call-back`",
    "script": "an effect that nobody knows cannot be repeated after a crash: use `call-back`",
}
"""What is refused by its name, and why."""
BEFORE: Final = (
    "before the verdict only `transfer`, then `validate` can be: whoever waited, asked or sent a notice there would do so about"
    " data that nobody has judged"
)
BEGIN: Final = "created"
"""The observation of the first transition, which comes from null."""
VERDICTS: Final = (Outcome.ACCEPTED, Outcome.ACCEPTED_WITH_WARNINGS, Outcome.REJECTED)
TRIES: Final = (Outcome.LOST, Outcome.UNDECIDED)


@dataclass
class _Machine:
    """The states of a document, and its transitions."""

    top: Place
    notes: Notes
    states: tuple[PlannedState, ...] = field(init=False)
    places: dict[str, Place] = field(init=False, default_factory=dict)
    """Of the states, by their names."""
    rows: list[Place] = field(init=False, default_factory=list)
    """Of the transitions that are planned."""

    def __post_init__(self) -> None:
        self.states = tuple(self._states())
        self.by_name = {state.name: state for state in self.states}
        named = {state.operation: state.name for state in self.states}
        self.transferring, self.validating = (named.get(each, "") for each in (TRANSFER, VALIDATE))

    @property
    def is_own(self) -> bool:
        """Whether the document has states of its own."""
        return self.top["states"].present

    def _states(self) -> Iterator[PlannedState]:
        names: set[str] = set()
        operations: set[str] = set()
        for place in self.top["states"].items:
            name, operation = place["name"].written, place["operation"].written
            self.places.setdefault(name, place)
            if name.upper() in State.__members__:
                self._error(STATE, place["name"], f"{quote(name)} is the name of a state of the gate.")
            elif name in names:
                self._error(REPEATED, place["name"], f"There is a state {quote(name)} already.")
            elif operation in {TRANSFER, VALIDATE} & operations:
                self._error(REPEATED, place["operation"], f"There is a state with the operation {operation} already.")
            names.add(name)
            operations.add(operation)
            if operation in KEYS:
                yield self._state(place, name, operation)
            elif place["operation"].present:
                why = UNSAFE_OPERATIONS.get(operation, f"operations are {join_words(OPERATIONS)}")
                self._error(STATE, place["operation"], f"No state can have the operation {quote(operation)}: {why}.")

    def _state(self, place: Place, name: str, operation: str) -> PlannedState:
        for key, entry in place.entries.items():
            if key not in {"name", "operation", "description", *KEYS[operation]}:
                self._error(STATE, entry, f"{quote(key)} has no effect on the operation {operation}.")
        state = PlannedState(
            name,
            operation,
            int(place["entries"].number or 1),
            int(place["days"].number or DEFAULT_WAIT_DAYS) if operation in ASKING else DEFAULT_WAIT_DAYS,
            place["by"].written != "anyone",
            place["until"].written,
            int(place["hours"].number or 0),
        )
        if operation == WAIT and bool(state.until) + bool(state.hours) != 1:
            self._error(DATE, place, f"{quote(name)} waits: say for how long by until or by hours, one.")
        return state

    def _error(self, code: str, place: Place, message: str) -> None:
        self.notes.error(code, place, message)

    def transitions(self) -> Iterator[PlannedTransition]:
        """Those that differ from `push`; what is wrong with the others is noted."""
        seen: dict[tuple[str, str], int] = {}
        begun = False
        for row in self.top["transitions"].items:
            source, when, to = (row[key].written for key in ("from", "when", "to"))
            if row["from"].present and row["from"].scalar is None:
                begun = self._begins(row, when, to)
                continue
            own = self.by_name.get(source)
            if own is None or own.operation in {TRANSFER, VALIDATE}:
                if (source, when) in seen:
                    known = f"Line {seen[source, when]} has a transition from {source} when {when}: keep one."
                    self._error(REPEATED, row, known)
                seen[source, when] = row.mark.line
                planned = self._of_protocol(row, source, when, to)
            else:
                planned = self._of_own(row, own, when, to)
            if planned is not None:
                self.rows.append(row)
                yield planned
        has_way = (self.transferring, "done") in seen
        if (self.transferring or self.validating) and not (begun and has_way and self.validating):
            way = "a transition from null to a state `transfer`, and one from there to a state `validate`"
            self._error(ORDER, self.top["states"], f"What happens before the verdict is not whole: it has {way}.")

    def _begins(self, row: Place, when: str, to: str) -> bool:
        if when != BEGIN:
            self._error(UNKNOWN, row, f"From null there is the observation {quote(BEGIN)} alone.")
        elif to != self.transferring or not to:
            why = "what is judged is a copy that nobody can change, so the first operation is `transfer`"
            self._error(ORDER, row, f"The first transition cannot lead to {quote(to)}: {why}.")
        return True

    def _of_protocol(self, row: Place, source: str, when: str, to: str) -> PlannedTransition | None:
        """A transition from a state of the gate, or from one that only has another name here."""
        if source and source == self.transferring:
            if (when, to) != ("done", self.validating):
                self._error(ORDER, row, f"{quote(source)} leads to a state `validate` when done: {BEFORE}.")
            return None
        if source in {self.validating, State.VALIDATING} and source:
            return self._of_verdict(row, source, when, to)
        known = [str(choice.to) for choice in choices(source, when)]
        if not known or source in JUDGED_STATES:
            states = join_words([*self.by_name, *(str(each) for each in OUTCOMES if each not in JUDGED_STATES)])
            self._error(UNKNOWN, row, f"{quote(source)} has no observation {quote(when)}. States are {states}.")
        elif to in self.by_name:
            self._error(
                ORDER, row, f"{source} leads to {join_words(known)} when {when}, and not to {quote(to)}: {BEFORE}."
            )
        elif to not in known:
            self._error(UNKNOWN, row, f"{source} leads to {join_words(known)} when {when}, and not to {quote(to)}.")
        else:
            return PlannedTransition(source, when, to)
        return None

    def _of_verdict(self, row: Place, source: str, when: str, to: str) -> PlannedTransition | None:
        own = [each.name for each in self.states if each.operation in OWN_OUTCOMES]
        again = self.validating or str(State.SUBMITTING)
        if when in TRIES:
            known = {again: "", str(State.FAILED): str(State.FAILED)}
        elif when in VERDICTS:
            ends = {str(State.QUARANTINED): ""} if when == Outcome.REJECTED else {str(State.PUBLISHED): ""}
            known = ends if when == Outcome.REJECTED else {**ends, **{name: name for name in own}}
        else:
            words = join_words([str(each) for each in (*VERDICTS, *TRIES)])
            self._error(UNKNOWN, row, f"{quote(source)} has no observation {quote(when)}. It has {words}.")
            return None
        if to not in known:
            why = ": what the rules reject never waits" if when == Outcome.REJECTED and to in own else ""
            message = f"{source} leads to {join_words(known)} when {when}, and not to {quote(to)}{why}."
            self._error(UNKNOWN, row, message)
            return None
        return PlannedTransition(str(State.VALIDATING), when, known[to]) if known[to] else None

    def _of_own(self, row: Place, own: PlannedState, when: str, to: str) -> PlannedTransition | None:
        outcomes = [str(each) for each in OWN_OUTCOMES[own.operation]]
        if when not in outcomes:
            self._error(
                UNKNOWN, row, f"{quote(own.name)} has no observation {quote(when)}. It has {join_words(outcomes)}."
            )
            return None
        after = [each.name for each in self.states if each.operation in OWN_OUTCOMES]
        ends = [str(State.PUBLISHED), str(State.QUARANTINED)]
        if to in {self.transferring, self.validating} and to:
            why = "what was judged is not judged again in the same delivery: lead to QUARANTINED, and replay it"
            self._error(ORDER, row, f"{quote(own.name)} cannot lead back to {quote(to)}: {why}.")
        elif to not in {*after, *ends}:
            known = join_words([*after, *ends])
            self._error(UNKNOWN, row, f"{quote(own.name)} leads to {known}, and not to {quote(to)}.")
        else:
            return PlannedTransition(own.name, when, to)
        return None

    def prove(self, planned: PlannedWorkflow) -> None:
        """Note what breaks a guarantee, or has no effect."""
        if not self.is_own:
            return
        longest = sum((longest_wait(each) * each.entries for each in self.states), timedelta())
        if longest > LONGEST:
            days = plural(-(-longest // timedelta(days=1)), "day")
            message = (
                f"All waits together may take {days}, and {LONGEST.days} are the most: the staged copy would be deleted before"
                " it is published."
            )
            self._error(DATE, self.top["states"], message)
            return
        proof = prove(planned)
        if proof.broken:
            self._error(UNSAFE, self.places.get(proof.state, self.top["transitions"]), str(proof))
        for number in proof.unused:
            self._error(UNUSED, self.rows[number], "No delivery takes this transition: one before it is always taken.")
        for name in proof.unreached:
            self._error(UNUSED, self.places[name], f"No delivery comes to the state {quote(name)}.")
