"""What the control plane reads of a plan: its terms, and what is refused at the door."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lakegate.admission.refusals import refusals, refused_rules
from lakegate.base.json_codec import canonical, encode
from lakegate.contract.delivery_policy import DeliveryUnit, Duplicates, FieldTreatment, Mode, OnReject, Policy
from lakegate.contract.file_formats import Compression, Csv
from lakegate.gate.delivery.delivery_terms import Terms, terms_of
from lakegate.gate.delivery.protocol import PUSH, Outcome, State
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.verdict.verdict import BrokenRule
from tests.reference.cases import only_plan

PLAN = Plan("orders", "1.0.0", "lines", (), ())
BYTES = canonical(PLAN)
ORDERS = read((Path(__file__).parents[4] / "contracts/examples/orders.odcs.yaml").read_bytes())
COMPILED = only_plan(ORDERS)
HEADER = ";".join(field.name for field in COMPILED.fields)


def with_policy(**policy: object) -> bytes:
    return canonical(replace(PLAN, policy=Policy(**policy)))  # type: ignore[arg-type] # any policy


@pytest.mark.parametrize("kind", list(Duplicates))
def test_the_terms_of_a_plan_are_read_without_its_schema(kind: Duplicates) -> None:
    """Suffix and the policy on duplicates come from the plan's own words."""
    dialect = {"format": "csv", "compression": "none", "csv": encode(Csv())}

    times = {"quiet": timedelta(minutes=10), "parts_within": timedelta(days=1)}
    terms = terms_of(with_policy(duplicates=kind))
    assert Terms(".csv", duplicates=kind is Duplicates.ACCEPT, dialect=dialect, policy=terms.policy, **times) == terms


def test_a_plan_of_an_older_release_delivers_single_objects() -> None:
    """A plan without the settings of deliveries of parts has the terms that it always had."""
    document = json.loads(BYTES)
    for name in ("delivery", "quiet_minutes", "parts_within_minutes"):
        del document["policy"][name]

    assert terms_of(json.dumps(document).encode()).delivery is DeliveryUnit.OBJECT


def test_the_bytes_of_large_plans_are_not_kept_with_their_terms() -> None:
    """Plans are remembered up to a size, so that all of them have a bound."""
    plan = BYTES + b" " * 300_000
    small, large = terms_of(bytes(bytearray(BYTES))), terms_of(plan)

    assert small == large
    assert small is terms_of(bytes(bytearray(BYTES)))
    assert large is not terms_of(plan)


def test_the_workflow_is_the_one_the_plan_carries() -> None:
    """A plan with a workflow of its own is followed by it; one without by the workflow of any upload."""
    hasty = {
        "name": "hasty@1.0.0",
        "attempts": 7,
        "transitions": [{"from": "VALIDATING", "when": "lost", "to": "FAILED"}],
    }
    found = terms_of(json.dumps(json.loads(BYTES) | {"workflow": hasty}).encode()).workflow

    assert (found.name, found.attempts) == ("hasty@1.0.0", 7)
    assert set(found.transitions) - set(PUSH.transitions) == {found.transition(State.VALIDATING, Outcome.LOST)}
    assert found.transition(State.VALIDATING, Outcome.LOST).to is State.FAILED
    older = {key: value for key, value in json.loads(BYTES).items() if key != "workflow"}
    assert terms_of(BYTES).workflow is terms_of(json.dumps(older).encode()).workflow is PUSH


def at_the_door(first: bytes, size: int | None = None, plan: Plan = COMPILED) -> tuple[str, ...]:
    return refusals(canonical(plan), len(first) if size is None else size, first)


@pytest.mark.parametrize(
    ("compression", "pack"), [(Compression.GZIP, gzip.compress), (Compression.BZIP2, bz2.compress)]
)
def test_a_header_in_two_compressed_members_is_read_whole(
    compression: Compression, pack: Callable[[bytes], bytes]
) -> None:
    """A file that was compressed in parts is one text: a member that ends within the header cuts no column off."""
    plan = replace(COMPILED, storage=replace(COMPILED.storage, compression=compression))
    header = f"{HEADER}\n".encode()
    lacking = HEADER.replace("quantity;", "").encode()

    assert at_the_door(pack(header[:9]) + pack(header[9:]), plan=plan) == ()
    assert at_the_door(pack(lacking[:9]) + pack(lacking[9:]), plan=plan)[0].startswith("cause/missing-columns")
    assert at_the_door(pack(header[:9]) + b"no member", plan=plan)[0].startswith("file/readable: the file is damaged")


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (b"", "file/rows: the object is empty"),
        (b"\x1f\x8b\x08rest", "file/readable: the file is gzip-compressed"),
        (b"PAR1rest", "file/readable: the file is a Parquet file"),
        (b"%PDF-1.7", "file/readable: the file is a PDF document"),
        (HEADER.replace(";", ",").encode(), "file/readable: the columns are separated by a comma"),
        (b"a;b\n1;2\n", "file/readable: the first line names none of the declared columns"),
        (
            HEADER.replace("quantity;", "").encode(),
            "cause/missing-columns: the file has no column quantity: deliver it",
        ),
    ],
)
def test_the_door_refuses_what_no_rows_can_save(first: bytes, expected: str) -> None:
    """What is no CSV, or has a header that every job would reject it for, costs no job run; the name is not asked."""
    reasons = at_the_door(first)

    assert reasons[0].startswith(expected)


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        ";".join(reversed(HEADER.split(";"))),
        f"{HEADER};extra",
    ],
)
def test_the_door_lets_pass_what_a_job_may_accept(header: str) -> None:
    """A header as promised, one in another order and one with a column more are the job's to judge."""
    assert at_the_door(f"{header}\nrows".encode()) == ()


@pytest.mark.parametrize("policy", [Policy(mode=Mode.OBSERVE), Policy(on_reject=OnReject.ROWS)])
def test_the_door_decides_nothing_where_rows_do(policy: Policy) -> None:
    """A contract that only observes, or refuses rows alone, has every readable delivery measured."""
    assert at_the_door(HEADER.replace("quantity;", "").encode(), plan=replace(COMPILED, policy=policy)) == ()


def test_a_forbidden_column_is_refused_at_the_door() -> None:
    """Where the contract forbids columns that it does not name, the header alone shows one."""
    strict = replace(COMPILED, policy=Policy(additional_fields=FieldTreatment.FORBID))

    assert at_the_door(f"{HEADER};extra\n".encode(), plan=strict) == (
        "file/additional-columns: the file has columns the contract does not name: extra",
    )


@pytest.mark.parametrize("mode", list(Mode))
def test_an_object_larger_than_the_contract_allows_is_refused_in_every_mode(mode: Mode) -> None:
    """What would cost more to read than anybody wants to pay is not read; the limit itself is allowed."""
    limited = replace(COMPILED, policy=Policy(mode=mode, max_bytes=1_000))
    refused = at_the_door(HEADER.encode() + b"\n", size=1_001, plan=limited)

    assert refused == ("file/size: the object has 1,001 bytes, the contract allows 1,000",)
    assert at_the_door(HEADER.encode() + b"\n", size=1_000, plan=limited) == ()


def test_a_file_without_header_is_the_jobs_to_judge() -> None:
    """Where the contract promises no header, the first line is a record."""
    assert at_the_door(b"1;2\n", plan=replace(COMPILED, csv=Csv(header=False))) == ()


def test_a_header_that_is_only_half_there_is_the_jobs_to_judge() -> None:
    """The door reads few bytes: of a longer first line, a character may be cut in two, and columns are missing."""
    assert at_the_door("order_id;Ž".encode()[:-1], size=1 << 20) == ()
    assert at_the_door(b"\x1f\x8b\x08", size=1 << 20) != ()


def test_lines_above_the_header_are_skipped_at_the_door() -> None:
    """The header is looked for below them; where it is not within the first bytes, the job looks."""
    plan = replace(COMPILED, csv=replace(COMPILED.csv, skip_rows=2))
    header = f"{HEADER}\n".encode()

    assert at_the_door(b'"Orders\n\n' + header, plan=plan) == ()
    assert at_the_door(b"Orders\n\n" + header.replace(b"quantity;", b""), plan=plan) != ()
    assert at_the_door(b"Orders\n\n" + header[:9], size=1000, plan=plan) == ()
    assert at_the_door(b"Orders\n", size=1000, plan=plan) == ()
    assert at_the_door(b"Orders\n", plan=plan) == (
        (
            "file/readable: the file has 1 line, although the contract skips 2 above the header (csv.skipRows): "
            "write them, or declare how many there are"
        ),
    )


def test_an_empty_object_may_be_promised() -> None:
    """A contract that allows empty deliveries lets an empty object pass."""
    assert refusals(with_policy(allow_empty=True), 0, b"") == ()


def test_the_rules_of_a_refusal_are_those_of_its_checks() -> None:
    """A reason names a check; what is not a check keeps the name before its message, and a code alone is not a rule."""
    check = COMPILED.checks[0]
    reasons = (f"{check.id}: text: more text", "file/size: too large", "duplicate-content", f"{check.id}: again")

    assert refused_rules(canonical(COMPILED), reasons) == (
        BrokenRule(check.rule, "fail"),
        BrokenRule("file/size", "fail"),
    )
