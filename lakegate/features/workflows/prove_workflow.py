"""WorkflowProof before publication: every way of a delivery through a workflow's own states keeps the guarantees of the gate.

The ways are explored in a small model of the protocol: what may be observed in a state, and what follows. It has tables of its
own and shares nothing with what carries a workflow out, so that a mistake in one of them is seen by the other.

1. Nothing is published that the rules do not accept, that somebody declined, or that somebody was asked about in vain.
2. No state is left without a transition, whatever is observed.
3. No way goes on for ever.

That nothing is deleted before the commit follows: the copy in staging is kept longer than all waits take together, which the
reader of the document compares, and no operation deletes anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from lakegate.plan.planned_workflow import PlannedState, PlannedTransition, PlannedWorkflow

MOST_POINTS: Final = 20_000
"""Points of all ways: more are not explored, and the document is refused."""
ACCEPTED: Final = ("accepted", "accepted_with_warnings")
PUBLISHED, QUARANTINED, FAILED = "PUBLISHED", "QUARANTINED", "FAILED"
ENDS: Final = frozenset({PUBLISHED, QUARANTINED, FAILED})
VALIDATING: Final = "VALIDATING"
ASKED: Final = ("approved", "declined", "expired")
OBSERVED: Final[Mapping[str, tuple[str, ...]]] = {
    "ask": ASKED,
    "call-back": ASKED,
    "wait": ("due", "withdrawn"),
    "notify": ("done",),
    "compare": ("usual", "unusual"),
}
"""Whatever may be observed in a state of the workflow's own, by its operation."""
LATER: Final = frozenset({"ask", "call-back", "wait"})
"""Operations that need something that may still be published."""
REJECTING: Final = frozenset({"declined", "expired", "withdrawn"})
"""Observations after which a delivery is rejected, unless the document says more."""
WORDS: Final[Mapping[str, str]] = {
    "accepted": "the rules accept it",
    "accepted_with_warnings": "the rules accept it with warnings",
    "rejected": "the rules reject it",
    "undecided": "a rule cannot be measured",
    "lost": "the run ends without a result",
    "approved": "a person approves",
    "declined": "a person declines",
    "expired": "nobody answers in time",
    "due": "its time has come",
    "withdrawn": "a person declines it before its time",
    "done": "the notice is sent",
    "usual": "it is like the deliveries before it",
    "unusual": "it differs from the deliveries before it",
}
"""Observations in a story."""


class Point(NamedTuple):
    """A delivery on its way, as far as the guarantees go."""

    at: str
    """VALIDATING, a state of the workflow's own, or an end."""
    attempt: int = 1
    entered: tuple[tuple[str, int], ...] = ()
    """How often each own state was entered."""
    verdict: str = ""
    is_declined: bool = False
    is_unheard: bool = False
    """Somebody was asked in vain, and nobody has approved since."""

    def count(self, state: str) -> int:
        """How often it has entered a state."""
        return dict(self.entered).get(state, 0)


class Move(NamedTuple):
    """One step of a way."""

    words: str
    to: Point
    row: int | None = None
    """The transition of the document; None: one that every workflow has."""


@dataclass(frozen=True, slots=True)
class WorkflowProof:
    """What was found about a workflow."""

    broken: str = ""
    """The guarantee that is not kept; empty: all are."""
    story: tuple[str, ...] = ()
    """The shortest way that breaks it, a sentence for each step."""
    state: str = ""
    """Where it ends."""
    unused: tuple[int, ...] = ()
    """Transitions of own states that no delivery takes, by their places in the workflow."""
    unreached: tuple[str, ...] = ()
    """Own states that none enters."""

    def __str__(self) -> str:
        """The guarantee, and its story in one line."""
        return f"{self.broken}: " + " ".join(f"{number}. {each}." for number, each in enumerate(self.story, 1))


class _Broken(Exception):  # noqa: N818 - the name is what happened
    """A guarantee, and the last sentence of its story."""

    def __init__(self, guarantee: str, words: str) -> None:
        super().__init__(guarantee, words)
        self.guarantee, self.words = guarantee, words


def prove(workflow: PlannedWorkflow) -> WorkflowProof:
    """Explore every way of a delivery through a workflow, the shortest first."""
    model = _Model(workflow)
    begin = Point(VALIDATING)
    came: dict[Point, tuple[Point | None, str]] = {
        begin: (None, "An upload is claimed, copied to staging, and its run is started")
    }
    waiting, taken = deque([begin]), set()
    while waiting:
        point = waiting.popleft()
        try:
            for move in model.moves(point):
                taken.add(move.row)
                if move.to not in came:
                    came[move.to] = (point, move.words)
                    waiting.append(move.to)
        except _Broken as broken:
            story = (*_story(came, point), broken.words)
            return WorkflowProof(broken.guarantee, story, point.at)
        if len(came) > MOST_POINTS:
            return WorkflowProof(
                "There are too many ways to prove anything of",
                ("Have fewer states, or enter them less often",),
                point.at,
            )
    reached = {point.at for point in came}
    unused = [
        number for number, row in enumerate(workflow.transitions) if row.source in model.own and number not in taken
    ]
    unreached = [each.name for each in workflow.states if each.operation in OBSERVED and each.name not in reached]
    return WorkflowProof(unused=tuple(unused), unreached=tuple(unreached))


def _story(came: Mapping[Point, tuple[Point | None, str]], point: Point) -> tuple[str, ...]:
    told, at = [], point
    while True:
        before, words = came[at]
        told.append(words)
        if before is None:
            return tuple(reversed(told))
        at = before


class _Model:
    """The protocol and the workflow together."""

    def __init__(self, workflow: PlannedWorkflow) -> None:
        self.attempts = workflow.attempts
        self.own = {state.name: state for state in workflow.states}
        self.rows: dict[tuple[str, str], list[tuple[int, PlannedTransition]]] = {}
        for number, row in enumerate(workflow.transitions):
            self.rows.setdefault((row.source, row.when), []).append((number, row))

    def moves(self, point: Point) -> Iterator[Move]:
        """What may happen to a delivery. Raises _Broken where a guarantee is."""
        if point.at in ENDS:
            return
        found = self._judged(point) if point.at == VALIDATING else self._left(point, self.own[point.at])
        for move in found:
            self._check(point, move)
            yield move

    def _judged(self, point: Point) -> Iterator[Move]:
        for when in ("lost", "undecided"):
            gives_up = any(row.to == FAILED for _, row in self.rows.get((VALIDATING, when), ()))
            if gives_up or point.attempt >= self.attempts:
                yield Move(f"Attempt {point.attempt}: {WORDS[when]}, and it is FAILED", point._replace(at=FAILED))
            else:
                again = point._replace(attempt=point.attempt + 1)
                yield Move(f"Attempt {point.attempt}: {WORDS[when]}, and another attempt follows", again)
        for verdict in (*ACCEPTED, "rejected"):
            number, row = self.rows.get((VALIDATING, verdict), [(None, None)])[0]
            to = row.to if row and row.to in self.own else PUBLISHED if verdict in ACCEPTED else QUARANTINED
            judged = point._replace(
                verdict=verdict, attempt=self.attempts + 1
            )  # whichever it was, the ways are the same
            yield self._to(judged, to, f"Attempt {point.attempt}: {WORDS[verdict]}", number)

    def _left(self, point: Point, state: PlannedState) -> Iterator[Move]:
        for when in OBSERVED[state.operation]:
            seen = point._replace(
                is_declined=point.is_declined or when in {"declined", "withdrawn"},
                is_unheard=when == "expired" or (point.is_unheard and when != "approved"),
            )
            possible = self.rows.get((state.name, when), [])
            usable = [
                (number, row)
                for number, row in possible
                if row.to not in self.own or point.count(row.to) < self.own[row.to].entries
            ]
            words = f"In `{state.name}` {WORDS[when]}"
            if usable:
                number, row = usable[0]
                yield self._to(seen, row.to, words, number)
            elif when in REJECTING:
                yield self._to(seen, QUARANTINED, words, None)
            elif possible:
                raise _Broken(
                    "A state cannot be left", f"{words}, and whatever follows was entered as often as it may be"
                )
            else:
                raise _Broken("A state cannot be left", f"{words}, and no transition says what follows")

    def _to(self, point: Point, to: str, words: str, row: int | None) -> Move:
        if to in ENDS:
            end = {PUBLISHED: "it is published", QUARANTINED: "it is rejected", FAILED: "it is FAILED"}[to]
            return Move(f"{words}, and {end}", point._replace(at=to), row)
        if to not in self.own:
            raise _Broken(
                "A delivery cannot go back, or leave out a part of the protocol", f"{words}, and {to} follows"
            )
        entered = dict(point.entered) | {to: point.count(to) + 1}
        after = point._replace(at=to, entered=tuple(sorted(entered.items())))
        return Move(f"{words}, and it enters `{to}` ({self.own[to].operation})", after, row)

    def _check(self, before: Point, move: Move) -> None:
        after = move.to
        if after.at == PUBLISHED:
            if after.verdict not in ACCEPTED:
                raise _Broken("Something is published that the rules do not accept", move.words)
            if after.is_declined:
                raise _Broken("Something is published that a person declined", move.words)
            if after.is_unheard:
                raise _Broken("Something is published although nobody approved: silence accepts nothing", move.words)
        if after.is_declined and after.at in self.own and self.own[after.at].operation in LATER:
            raise _Broken("Somebody is asked, or has to wait, after a person declined", move.words)
        if after.at not in ENDS and _progress(after) <= _progress(before):
            raise _Broken("A way goes on for ever", move.words)


def _progress(point: Point) -> tuple[int, int]:
    return point.attempt, sum(count for _, count in point.entered)
