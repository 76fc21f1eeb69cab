"""What the control plane reads of a plan, and the verdict in its words."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from contracts.codec import canonical
from contracts.errors import InputError
from contracts.model import Duplicates, Policy
from contracts.plan import Plan
from contracts.result import Result
from contracts.verdict import Verdict
from contracts.workflow import PUSH
from functions import meaning
from functions.meaning import MAX_REASON, MAX_REASONS, MEANING
from functions.usecases.gate import Terms

PLAN = Plan("orders", "1.0.0", "lines", (), ())
BYTES = canonical(PLAN)


def with_policy(**policy: object) -> bytes:
    return canonical(replace(PLAN, policy=Policy(**policy)))  # type: ignore[arg-type] # any policy


@pytest.mark.parametrize("kind", list(Duplicates))
def test_the_terms_of_a_plan_are_read_without_its_schema(kind: Duplicates) -> None:
    """Suffix and the policy on duplicates come from the plan's own words."""
    assert Terms(".csv", duplicates=kind is Duplicates.ACCEPT) == MEANING.terms(with_policy(duplicates=kind))


def test_the_workflow_is_the_one_the_plan_carries() -> None:
    """A plan with a workflow of its own is followed by it; one without by the workflow of any upload."""
    patient = PUSH.to_json() | {"name": "patient", "attempts": 7}
    document = json.loads(BYTES) | {"workflow": patient}

    assert MEANING.terms(json.dumps(document).encode()).workflow.attempts == 7
    assert MEANING.terms(BYTES).workflow == PUSH


@pytest.mark.parametrize(
    ("size", "first", "expected"),
    [
        (4, b"a\n1\n", ()),
        (0, b"", ("file/rows: the object is empty",)),
        (9, b"\x1f\x8b\x08rest", ("file/readable: the object is gzip, the contract says CSV",)),
        (9, b"PAR1rest", ("file/readable: the object is parquet, the contract says CSV",)),
        (2, b"PA", ()),
    ],
)
def test_the_door_refuses_what_no_job_can_read(size: int, first: bytes, expected: tuple[str, ...]) -> None:
    """An empty object, and one that begins like another format, cost no job run; their name is not asked."""
    assert expected == MEANING.door(BYTES, size, first)


def test_an_empty_object_may_be_promised() -> None:
    """A contract that allows empty deliveries lets an empty object pass."""
    assert MEANING.door(with_policy(allow_empty=True), 0, b"") == ()


LONG = SimpleNamespace(id="amount/min", message="x" * 2 * MAX_REASON)
TOLD = SimpleNamespace(verdict=Verdict.REJECTED, reasons=(LONG,) * 2 * MAX_REASONS)


def test_the_verdict_is_that_of_the_contracts() -> None:
    """An answer that reports no rows is rejected, for the reason that contracts/verdict gives."""
    judged = MEANING.judge(BYTES, canonical(Result("w", 1, PLAN.digest, "v", 0)))

    assert (judged.verdict, judged.reasons) == ("rejected", ("file/rows: the delivery holds no rows",))


def test_reasons_are_cut_to_what_a_row_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a verdict has to say, the row of its workload stays far below what DynamoDB takes."""
    monkeypatch.setattr("contracts.verdict.judge", lambda _plan, _result: TOLD)
    reasons = MEANING.judge(BYTES, canonical(Result("w", 1, PLAN.digest, "v", 1))).reasons

    assert (MAX_REASONS, {MAX_REASON}) == (len(reasons), set(map(len, reasons)))


@pytest.mark.parametrize(
    ("plan", "result"), [(b"{", b"{}"), (BYTES, b""), (b"\xff", b"{}"), (b"[" * 100_000, b"{}"), (BYTES, b"{}")]
)
def test_what_is_no_document_is_an_input_error(plan: bytes, result: bytes) -> None:
    """Bytes that are no document, or break its schema, are refused in our own words, not Python's."""
    with pytest.raises(InputError):
        meaning.judge(plan, result)
