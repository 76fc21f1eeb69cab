from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import given

from lakegate.base.errors import InputError
from lakegate.base.json_codec import (
    EXTENSIONS,
    OMITTED,
    Bounds,
    DecodeError,
    canonical,
    decode,
    digest,
    encode,
    select_fields,
)
from lakegate.contract.delivery_policy import Policy, Pull
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import REASONS, Result
from lakegate.verdict.file_checks import MALFORMED
from tests.reference import strategies
from tests.reference.sampling import sampled

SHA = "0" * 64
PLAN = Plan("orders", "1.0.0", "orders", (PlanField("id", "c0", LogicalType.INTEGER),), ())
REQUEST = Request(
    "w1", 1, "file:///plan.json", SHA, "v1", (StagedPart("s3://lake/part", 3),), "2026-01-02T03:04:05Z", "s3://lake/out"
)
RESULT = Result("w1", 1, SHA, "v1", rows=3)


def through_json(document: object) -> object:
    return json.loads(json.dumps(document))


@sampled(40, 2000)
@given(strategies.plans)
def test_a_plan_survives_its_document(plan: Plan) -> None:
    """A plan written and read again is the same plan with the same digest."""
    read = Plan.from_json(through_json(plan.to_json()))

    assert (plan, plan.digest) == (read, read.digest)


@sampled(40, 2000)
@given(strategies.requests)
def test_a_request_survives_its_document(request: Request) -> None:
    """A request written and read again is the same request."""
    assert request == Request.from_json(through_json(request.to_json()))


@sampled(40, 2000)
@given(strategies.results)
def test_a_result_survives_its_document(result: Result) -> None:
    """A result written and read again is the same result with the same digest, so that a decision can name it."""
    read = Result.from_json(through_json(result.to_json()))

    assert (result, digest(result)) == (read, digest(read))


def test_one_value_has_one_canonical_text() -> None:
    """Canonical text has sorted keys, no spaces and plain UTF-8, whatever order a document was written in."""
    assert '{"a":"é","b":[1,null]}'.encode() == canonical({"b": [1, None], "a": "é"})


def test_the_common_scale_is_left_out() -> None:
    """Plans of fields that declare no digits of their own have the digest that they always had."""
    fields = (PlanField("a", "c0", LogicalType.DECIMAL), PlanField("b", "c1", LogicalType.DECIMAL, scale=10))
    document = replace(PLAN, fields=fields).to_json()

    assert [each.get("scale") for each in document["fields"]] == [None, 10]
    assert Plan.from_json(document).fields == fields


def test_a_document_without_defaults_means_the_defaults() -> None:
    """Reading fills in what an older writer did not know, as long as the schema lets it pass."""
    assert Csv() == decode(Csv, {})


def test_results_know_every_reason_of_a_malformed_record() -> None:
    """A result names the reasons that verdicts explain, and no other."""
    assert set(REASONS) == set(MALFORMED)


def changed(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    copy: Any = through_json(document)
    place = copy
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in steps:
        place = place[step]
    place[last] = value
    return copy


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("plan", "version", "lakegate/plan/2"),
        ("plan", "surprise", 1),
        ("plan", "fields/0/alias", "c1; drop"),
        ("plan", "fields/0/alias", "c1\n"),
        ("plan", "fields/0/alias", "c100000"),
        ("plan", "fields/0/type", "money"),
        ("plan", "policy/max_rejected_share", "1.1"),
        ("plan", "policy/max_rejected_share", 0.5),
        ("plan", "csv/delimiter", ""),
        ("plan", "contract", ""),
        ("request", "plan_uri", "http://example.org/plan.json"),
        ("request", "plan_uri", "/etc/passwd"),
        ("request", "output_uri", "s3://lake/a b"),
        ("request", "plan_digest", "0" * 63),
        ("request", "plan_digest", "0" * 64 + "\n"),
        ("request", "parts", []),
        ("request", "parts/0/size", -1),
        ("request", "attempt", 0),
        ("request", "judged_at", "2026-01-02T03:04:05+01:00"),
        ("request", "workload", "../w"),
        ("result", "rows", -1),
        ("result", "rows", 1.5),
        ("result", "malformed", [{"reason": "ugly", "rows": 1, "first_row": 1}]),
        ("result", "timings", {"read": -1}),
        ("result", "vcpu_seconds", -1),
        ("result", "unreadable", {"code": "Not A Code", "message": ""}),
    ],
)
def test_a_document_out_of_bounds_is_refused(name: str, path: str, value: object) -> None:
    """What no writer of ours would write is refused with the place of the offence."""
    value_of = {"plan": PLAN, "request": REQUEST, "result": RESULT}[name]

    with pytest.raises(InputError, match=rf"{name}\.json does not fit its schema at"):
        type(value_of).from_json(changed(value_of.to_json(), path, value))


@pytest.mark.parametrize("path", ["checks/0/metric", "storage/format", "storage/compression"])
def test_a_plan_with_a_name_that_no_registry_contains_is_refused(path: str) -> None:
    """The names of metrics, formats and compressions are those of their registries."""
    check = Check("c", "c", "c", (), Metric.ROW_COUNT, Unit.VALUE, Tier(Interval()))
    plan = replace(PLAN, checks=(check,))

    with pytest.raises(InputError, match=rf"at {path} \(rule: enum\)"):
        Plan.from_json(changed(plan.to_json(), path, "toy"))


@pytest.mark.parametrize("source", ["https://example.org/a.csv", "sftp://example.org/a.csv", "s3://bucket/a.csv"])
def test_a_plan_with_each_kind_of_source_is_read(source: str) -> None:
    """Every scheme that a contract may name stands in plans."""
    plan = replace(PLAN, policy=Policy(pull=Pull(source, "rate(1 day)", "key")))

    assert Plan.from_bytes(plan.to_bytes()) == plan


@pytest.mark.parametrize("depth", [100, 300, 900, 100_000])
def test_a_plan_that_is_nested_deeply_is_read_or_refused(depth: int) -> None:
    """Never with another error: the predicate of a check may contain itself."""
    check = Check("c", "c", "c", (), Metric.FAILING_ROWS, Unit.ROWS, Tier(Interval(), Present("id")))
    text = replace(PLAN, checks=(check,)).to_bytes().decode()
    present = '{"field":"id","kind":"present"}'
    nested = '{"kind":"not","inner":' * depth + present + "}" * depth
    read = None
    with suppress(InputError):
        read = Plan.from_bytes(text.replace(present, nested).encode())

    assert read is None or Plan.from_bytes(read.to_bytes()) == read
    assert read is not None or depth > 100


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"rows":NaN}', b"\xff", b'{"a":1' + b"0" * 5000 + b"}"])
def test_what_is_no_document_is_refused(body: bytes) -> None:
    """In one sentence."""
    for kind in (Plan, Request, Result):
        with pytest.raises(InputError):
            kind.from_bytes(body)


def test_a_document_that_fits_is_read() -> None:
    """The documents that the refusals above start from are good ones."""
    assert Plan.from_json(PLAN.to_json()) == PLAN
    assert Request.from_json(REQUEST.to_json()) == REQUEST
    assert Result.from_json(RESULT.to_json()) == RESULT


def test_a_plan_finds_its_fields_by_name() -> None:
    """A declared field is found by its name, an undeclared one is a defect of ours."""
    assert PLAN.field("id").alias == "c0"
    with pytest.raises(KeyError):
        PLAN.field("nobody")


@pytest.mark.parametrize(
    ("classification", "expected"),
    [("public", True), (" Public ", True), ("publicly", False), ("", False), (None, False)],
)
def test_only_public_fields_show_their_values(classification: str | None, *, expected: bool) -> None:
    """Nothing but the classification `public` opens a field's values to reports."""
    assert expected is PlanField("a", "c0", LogicalType.STRING, classification).public


def test_predicates_are_written_with_their_kind() -> None:
    """A predicate's document carries the word that distinguishes it from the others."""
    assert encode(Present("a")) == {"kind": "present", "field": "a"}


@pytest.mark.parametrize(
    ("value", "place"),
    [("a", ""), (1, ""), (2.5, ""), (("b", 3), ""), (None, ""), (True, "the whole document"), (("b", "long"), "1")],
)
def test_a_union_of_types_is_told_apart_by_the_type_in_json(value: object, place: str) -> None:
    """A number may be whole; what is in an array is decoded as well."""
    text = Annotated[str, Bounds(1, 2)]
    hint: Any = text | float | tuple[text | int, ...] | None
    if not place:
        assert decode(hint, through_json(value)) == value
        return
    with pytest.raises(DecodeError) as error:
        decode(hint, through_json(value))
    assert error.value.place == place


def test_a_place_is_a_json_pointer_of_bounded_steps() -> None:
    """Names of members are those of the document."""
    with pytest.raises(DecodeError) as error:
        decode(Grown, {"name": "a", "x/~y": 1, "z" * 300: 2}, strict=True)

    assert [each.pointer for each in (error.value, *error.value.others)] == ["/x~1~0y", "/" + "z" * 200]


@dataclass(frozen=True, slots=True)
class Grown:
    """A row that a newer release may have written more into."""

    name: str
    listed: bool = field(default=True, metadata={OMITTED: True})
    extensions: str = field(default="{}", metadata=EXTENSIONS)


@pytest.mark.parametrize("unknown", [{}, {"zzz": {"a": [1]}}, {"extensions": 1}])
def test_what_a_type_does_not_know_is_kept_in_its_open_place(unknown: dict[str, object]) -> None:
    """It is written again as it was; a member that is known is never taken from there, and a published document has none."""
    stored = {"name": "a", "listed": False, **unknown}
    read = decode(Grown, stored)

    assert encode(read) == stored
    assert (json.loads(read.extensions), read == decode(Grown, encode(read))) == (unknown, True)
    assert encode(replace(read, listed=True)) == {"name": "a", **unknown}
    if unknown:
        with pytest.raises(DecodeError, match="additionalProperties"):
            decode(Grown, stored, strict=True)


@dataclass(frozen=True, slots=True)
class Stored:
    """A record of the core."""

    name: str
    at: datetime
    until: datetime | None
    note: str
    grown: Grown
    others: tuple[Grown, ...]
    secret: str = ""

    @property
    def size(self) -> int:
        """What follows from the record."""
        return len(self.name)


@dataclass(frozen=True, slots=True)
class ShownName:
    """A part of a record."""

    name: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a record."""

    name: str
    at: str
    until: str | None
    note: str | None
    size: int
    grown: ShownName | None
    others: tuple[ShownName, ...]
    more: str | None
    listed: bool = True


def test_a_selection_has_the_fields_of_a_record_as_documents_have_them() -> None:
    """Properties are fields, too; parts are selections; what is given counts before what the record has."""
    at = datetime(2026, 11, 29, tzinfo=UTC)
    stored = Stored("a", at, None, "", Grown("b"), (Grown("c"), Grown("d")))
    same = {"name": "a", "at": "2026-11-29T00:00:00+00:00", "until": None, "note": None, "size": 1}
    parts = {"grown": {"name": "b"}, "others": [{"name": "c"}, {"name": "d"}]}

    assert encode(select_fields(Shown, stored, more="")) == {**same, **parts, "more": None, "listed": True}
    assert encode(select_fields(Shown, replace(stored, until=at, note="n"), more="m", name="", listed=False)) == {
        **same,
        "name": "",
        "until": same["at"],
        "note": "n",
        **parts,
        "more": "m",
        "listed": False,
    }
    assert select_fields(ShownName, Grown("b"), stored) == ShownName("b")
    assert encode(select_fields(Shown, stored, more="", grown=parts["grown"])) == {
        **same,
        **parts,
        "more": None,
        "listed": True,
    }
    assert select_fields(Shown, None, stored, others=()) == select_fields(Shown, stored, more=None, others=())
    assert select_fields(Grown, Grown("a", extensions='{"x":1}')) == Grown("a", extensions='{"x":1}')
    with pytest.raises(TypeError, match="more"):
        select_fields(Shown, stored)
    with pytest.raises((TypeError, KeyError), match="other"):
        select_fields(Shown, stored, more="", other=1)
