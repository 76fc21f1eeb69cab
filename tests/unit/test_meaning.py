"""What the control plane reads of a plan, and the verdict in its words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from contracts.codec import canonical
from contracts.errors import InputError
from contracts.model import Duplicates, Policy
from contracts.plan import Plan
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


class Told:
    """A verdict with more to say than a row holds."""

    class verdict:  # noqa: N801 - stands in for a value
        value = "rejected"

    class reason:  # noqa: N801 - stands in for a value
        id = "amount/min"
        message = "x" * 2 * MAX_REASON

    reasons = (reason,) * 2 * MAX_REASONS


def test_the_verdict_is_that_of_the_contracts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdict and reasons are those of contracts/verdict, cut to what a row can hold."""
    monkeypatch.setattr("contracts.verdict.judge", lambda _plan, _result: Told)
    monkeypatch.setattr("contracts.plan.validate", lambda _name, _document: None)
    monkeypatch.setattr("contracts.result.validate", lambda _name, _document: None)
    result = {"workload": "w", "attempt": 1, "plan_digest": "p", "source_version": "v", "rows": 1}
    judged = MEANING.judge(BYTES, json.dumps(result).encode())

    assert ("rejected", MAX_REASONS, {MAX_REASON}) == (
        judged.verdict,
        len(judged.reasons),
        set(map(len, judged.reasons)),
    )


@pytest.mark.parametrize(("plan", "result"), [(b"{", b"{}"), (BYTES, b""), (b"\xff", b"{}"), (b"[" * 100_000, b"{}")])
def test_what_is_no_json_is_an_input_error(plan: bytes, result: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no document are refused in our own words, not Python's."""
    monkeypatch.setattr("contracts.plan.validate", lambda _name, _document: None)
    with pytest.raises(InputError):
        meaning.judge(plan, result)
