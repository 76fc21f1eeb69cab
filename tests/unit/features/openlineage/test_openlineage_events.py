"""OpenLineage: events that the official schemas accept, posted to a receiver."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import PortError
from lakegate.contract.contract_model import FieldLineage, FieldSource, Transformation
from lakegate.features.notifications.open_channels import channels
from lakegate.features.openlineage import openlineage_events
from lakegate.features.openlineage.openlineage_events import (
    Assertion,
    JudgedDelivery,
    LineageColumn,
    LineageDataset,
    UsedEngine,
    events,
)
from tests.fakes.receiver import Receiver, receiving
from tests.reference.sampling import sampled
from tests.unit.features.notifications.test_open_channels import BARE, HOSTILE
from tests.unit.features.openlineage.openlineage_checker import FORMATS, facets, mistakes

LINES = LineageColumn("lines", "list", (LineageColumn("_element", "record", (LineageColumn("sku", "string"),)),))
ACCEPTED = JudgedDelivery(
    id=f"{'1' * 64}:published:1",
    dataset="shop/orders_v1",
    landed=LineageDataset("landing", "in/orders/day.csv"),
    published=LineageDataset("lake", "accepted/shop/orders_v1"),
    lake="lake",
    began="2026-01-05T12:00:00.000000Z",
    ended="2026-01-05T12:01:00.000000Z",
    contract="shop",
    version="1.2.0",
    landed_version="v1",
    size=1_000,
    rows=20,
    published_rows=19,
    columns=(LineageColumn("id", "integer"), LINES),
    assertions=(
        Assertion("id/required", "required", "id", success=True, blocks=True, expected="present", actual="20 of 20"),
        Assertion("rows", "rowCount", "", success=False, blocks=False, expected="at least 30", actual="20"),
    ),
    engine=UsedEngine("spark", "3.5.8-amzn-0"),
    reasons=("rows: wanted at least 30",),
)
REJECTED = replace(
    ACCEPTED,
    id=f"{'1' * 64}:quarantined:1",
    published=None,
    published_rows=0,
    reasons=("amount: wanted at least 95 % present", "duplicate-content"),
)
UNKNOWN = JudgedDelivery(
    f"{'1' * 64}:failed:3", "shop/orders_v1", ACCEPTED.landed, None, "lake", ACCEPTED.ended, ACCEPTED.ended
)
TEXTS = st.text(st.characters(codec=None), max_size=30)
BUCKETS = st.sampled_from(["landing", "lake.eu-west-1"])
DELIVERIES = st.builds(
    JudgedDelivery,
    id=st.just(ACCEPTED.id),
    dataset=TEXTS.filter(bool),
    landed=st.builds(LineageDataset, BUCKETS, TEXTS),
    published=st.none() | st.builds(LineageDataset, BUCKETS, TEXTS),
    lake=BUCKETS,
    began=st.just(ACCEPTED.began),
    ended=st.just(ACCEPTED.ended),
    contract=TEXTS,
    version=TEXTS.filter(bool),
    landed_version=TEXTS,
    columns=st.lists(
        st.builds(LineageColumn, TEXTS, st.just("string")), max_size=3, unique_by=lambda each: each.name
    ).map(tuple),
    assertions=st.lists(
        st.builds(Assertion, TEXTS, TEXTS, TEXTS, st.booleans(), st.booleans(), TEXTS, TEXTS), max_size=3
    ).map(tuple),
    engine=st.none() | st.builds(UsedEngine, TEXTS, TEXTS),
    reasons=st.lists(TEXTS | st.sampled_from(["contract-retired", "line-sunset: x"]), max_size=3).map(tuple),
    verdict=st.sampled_from(["", "rejected"]),
    status=st.sampled_from(["", "sunset"]),
)


class Stored:
    """Secrets Manager, with one secret."""

    def __init__(self, **content: str) -> None:
        self._content = content

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - as boto3 has it
        assert SecretId == "marquez"
        return {"SecretString": json.dumps(self._content)}


def reported(delivery: JudgedDelivery, to: Receiver, **secret: str) -> list[Any]:
    channels(Stored(url=to.url, **secret), None, to.web()).report("openlineage:marquez", delivery)
    return [json.loads(body) for _, _, body in to.requests]


def texts(document: Any) -> list[str]:
    """Every text, keys included."""
    if isinstance(document, dict):
        return [*document, *(text for each in document.values() for text in texts(each))]
    if isinstance(document, list):
        return [text for each in document for text in texts(each)]
    return [document] if isinstance(document, str) else []


@pytest.mark.parametrize("delivery", [ACCEPTED, REJECTED, UNKNOWN], ids=["accepted", "rejected", "unknown"])
def test_a_receiver_gets_the_start_and_the_end_of_a_run(delivery: JudgedDelivery) -> None:
    """Both are valid by the official schemas, as each of their facets is; both name the same run and job."""
    with receiving() as receiver:
        start, end = reported(delivery, receiver)
        requests = receiver.requests

    assert (mistakes(start), mistakes(end)) == ([], [])
    assert [line for line, _, _ in requests] == ["POST /hook?a=1 HTTP/1.1"] * 2
    assert [headers["content-type"] for _, headers, _ in requests] == ["application/json"] * 2
    assert "authorization" not in requests[0][1]
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE" if delivery.published else "FAIL")
    assert (start["eventTime"], end["eventTime"]) == (delivery.began, delivery.ended)
    assert start["run"]["runId"] == end["run"]["runId"]
    assert start["job"] == end["job"]


def test_an_accepted_delivery_is_a_run_from_its_file_to_the_data_of_its_line() -> None:
    """Names by the rules for S3; columns, their origin, what was asserted, the contract, the rows."""
    _, end = events(ACCEPTED)
    [landed], [accepted] = end["inputs"], end["outputs"]

    def content(facet: str, of: Any) -> Any:
        return {key: each for key, each in of[facet].items() if not key.startswith("_")}

    same = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
    origin = {"namespace": "s3://landing", "name": "in/orders/day.csv", "transformations": [same]}
    fields = [
        {"name": "id", "type": "integer"},
        {
            "name": "lines",
            "type": "list",
            "fields": [{"name": "_element", "type": "record", "fields": [{"name": "sku", "type": "string"}]}],
        },
    ]
    contract = {"contract": "shop", "version": "1.2.0", "line": "shop/orders_v1"}
    assert (end["job"]["namespace"], end["job"]["name"]) == ("lakegate://lake", "shop/orders_v1")
    assert (landed["namespace"], landed["name"]) == ("s3://landing", "in/orders/day.csv")
    assert (accepted["namespace"], accepted["name"]) == ("s3://lake", "accepted/shop/orders_v1")
    assert {name: content(name, landed["facets"]) for name in landed["facets"]} == {
        "dataSource": {"name": "s3://landing", "uri": "s3://landing"},
        "schema": {"fields": fields},
        "version": {"datasetVersion": "v1"},
        "lakegate_contract": contract,
    }
    assert {name: content(name, accepted["facets"]) for name in accepted["facets"]} == {
        "dataSource": {"name": "s3://lake", "uri": "s3://lake"},
        "schema": {"fields": fields},
        "columnLineage": {"fields": {name: {"inputFields": [{**origin, "field": name}]} for name in ("id", "lines")}},
        "lakegate_contract": contract,
    }
    assert {name: content(name, landed["inputFacets"]) for name in landed["inputFacets"]} == {
        "inputStatistics": {"rowCount": 20, "size": 1_000},
        "dataQualityAssertions": {
            "assertions": [
                {
                    "assertion": "required",
                    "success": True,
                    "severity": "error",
                    "column": "id",
                    "name": "id/required",
                    "expected": "present",
                    "actual": "20 of 20",
                },
                {
                    "assertion": "rowCount",
                    "success": False,
                    "severity": "warn",
                    "name": "rows",
                    "expected": "at least 30",
                    "actual": "20",
                },
            ]
        },
    }
    assert content("outputStatistics", accepted["outputFacets"]) == {"rowCount": 19}


def test_columns_have_the_sources_that_the_contract_declares() -> None:
    """After the file that landed, also of a nested field; what is not declared of a transformation is not stated."""
    masked = Transformation("DIRECT", "TRANSFORMATION", "sha256", masking=True)
    lineage = (
        FieldLineage("id", (FieldSource("postgres://crm", "public.orders", "order_id", (masked,)),)),
        FieldLineage("lines[].sku", (FieldSource("s3://raw", f"a{HOSTILE}", "b", (Transformation("INDIRECT"),)),)),
    )
    _, end = events(replace(ACCEPTED, lineage=lineage))
    fields = end["outputs"][0]["facets"]["columnLineage"]["fields"]

    assert mistakes(end) == []
    assert [each["name"] for each in fields["id"]["inputFields"]] == ["in/orders/day.csv", "public.orders"]
    assert fields["id"]["inputFields"][1] == {
        "namespace": "postgres://crm",
        "name": "public.orders",
        "field": "order_id",
        "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "sha256", "masking": True}],
    }
    [nested] = fields["lines[].sku"]["inputFields"]
    assert (nested["namespace"], nested["transformations"]) == ("s3://raw", [{"type": "INDIRECT"}])
    assert nested["name"].isprintable()


def test_a_rejected_delivery_is_a_run_that_failed_with_its_reasons() -> None:
    """Nothing was written for consumers, and the file need not have the columns of the contract."""
    _, end = events(REJECTED)
    _, unknown = events(UNKNOWN)

    assert end["outputs"] == unknown["outputs"] == []
    assert end["run"]["facets"]["errorMessage"]["message"] == "amount: wanted at least 95 % present\nduplicate-content"
    assert unknown["run"]["facets"]["errorMessage"]["message"] == "no verdict"
    assert sorted(end["inputs"][0]["facets"]) == ["dataSource", "lakegate_contract", "version"]
    assert (sorted(unknown["inputs"][0]["facets"]), unknown["inputs"][0]["inputFacets"]) == (["dataSource"], {})


def test_a_delivery_to_a_deprecated_line_says_so_with_its_verdict() -> None:
    """Tags have status and verdict; what the gate warns of is an assertion that does not hold, beside those of the contract."""
    text = "shop/orders_v1 is deprecated; it is sunset on 2026-02-04; use shop/orders_v2"
    warned = replace(
        ACCEPTED,
        reasons=(*ACCEPTED.reasons, f"line-deprecated: {text}"),
        verdict="accepted_with_warnings",
        status="deprecated",
    )
    start, end = events(warned)
    verdict = {"key": "lakegate.verdict", "value": "accepted_with_warnings", "source": "LAKEGATE"}
    status = {"key": "lakegate.status", "value": "deprecated", "source": "LAKEGATE"}
    assertions = end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]

    assert (mistakes(start), mistakes(end)) == ([], [])
    assert "tags" not in start["run"]["facets"]
    assert end["run"]["facets"]["tags"]["tags"] == [verdict]
    assert [each["facets"]["tags"]["tags"] for each in (*start["inputs"], *end["inputs"], *end["outputs"])] == [
        [status]
    ] * 3
    assert [each["assertion"] for each in assertions] == ["required", "rowCount", "line-deprecated"]
    assert assertions[-1] == {
        "assertion": "line-deprecated",
        "success": False,
        "severity": "warn",
        "name": "line-deprecated",
        "actual": text,
    }


def test_a_refusal_by_status_names_what_replaces_the_line() -> None:
    """Nothing was measured; the codes of the gate block, in words."""
    reasons = ("contract-retired", "line-replaced: deliver to shop/orders_v2")
    _, end = events(replace(REJECTED, assertions=(), reasons=reasons, verdict="rejected", status="retired"))
    assertions = end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]

    assert mistakes(end) == []
    assert [(each["name"], each["severity"], each["actual"]) for each in assertions] == [
        ("contract-retired", "error", "the contract version or its line is retired: deliver under a newer line"),
        ("line-replaced", "error", "deliver to shop/orders_v2"),
    ]


def test_a_run_names_the_engine_that_evaluated_the_delivery() -> None:
    """Both events have its name and version; a run that evaluated nothing has no such facet."""
    for delivery in (ACCEPTED, REJECTED):
        for each in events(delivery):
            facet = each["run"]["facets"]["processing_engine"]
            assert (facet["name"], facet["version"]) == ("spark", "3.5.8-amzn-0")
    assert [each["run"]["facets"].keys() for each in events(UNKNOWN)] == [set(), {"errorMessage"}]


def test_a_repetition_is_the_same_event() -> None:
    """A delivery has one run; its replay, which is reported by another message, has another one."""
    again = events(replace(ACCEPTED, id=f"{'1' * 64}:published:2"))

    assert events(ACCEPTED) == events(ACCEPTED)
    assert again[0]["run"]["runId"] != events(ACCEPTED)[0]["run"]["runId"]


@sampled(10, 1_000)
@given(DELIVERIES)
def test_events_of_any_delivery_are_valid(delivery: JudgedDelivery) -> None:
    """Whatever names and texts are: all is printed, and UTF-8 can write it."""
    for each in events(delivery):
        assert mistakes(each) == []
        assert [text for text in texts(each) if not text.replace("\n", "").isprintable()] == []
        json.dumps(each, ensure_ascii=False).encode()


def test_hostile_names_are_texts_of_the_event() -> None:
    """A name cannot end its text, and signs that turn the direction of text are written as escapes."""
    name = f'"}}]{HOSTILE}\r\n\x00'
    hostile = replace(
        ACCEPTED, columns=(LineageColumn(name, "string"),), dataset=name, landed=LineageDataset("landing", name)
    )
    with receiving() as receiver:
        _, end = reported(hostile, receiver)
    shown = end["outputs"][0]["facets"]["schema"]["fields"][0]["name"]

    assert mistakes(end) == []
    assert shown == end["inputs"][0]["name"] == end["job"]["name"]
    assert shown.isprintable()
    assert shown.startswith('"}]<!channel>')


def test_the_checker_finds_mistakes() -> None:
    """Each official schema is applied: a run without an id, a facet of another form, at another key, without its schema."""
    _, end = events(ACCEPTED)
    assert FORMATS.checkers.keys() >= {"uuid", "uri", "date-time"}
    for path, value in [
        ("run.runId", "7"),
        ("eventTime", "2026-01-05T12:00:00"),
        ("eventType", "DONE"),
        ("producer", "no address"),
        ("outputs.0.facets.schema.fields", {}),
        ("run.facets.processing_engine.version", None),
        ("outputs.0.facets.schema._producer", ""),
        ("outputs.0.facets.columnLineage.fields.id.inputFields.0.field", 1),
        ("inputs.0.inputFacets.dataQualityAssertions.assertions.0.success", "yes"),
        ("inputs.0.facets.lakegate_contract.version", 1),
        ("inputs.0.facets.other", end["inputs"][0]["facets"]["schema"]),
    ]:
        wrong = copy.deepcopy(end)
        at: Any = wrong
        *steps, last = path.split(".")
        for step in steps:
            at = at[int(step) if isinstance(at, list) else step]
        at[last] = value
        assert mistakes(wrong), path
    assert len(list(facets(end))) == 13


def test_a_backend_may_need_a_key() -> None:
    """It is a bearer token; one that could begin another header is refused."""
    with receiving() as receiver:
        reported(ACCEPTED, receiver, key="token")
        with pytest.raises(PortError, match=r"^secret-malformed$"):
            reported(ACCEPTED, receiver, key="a\r\nb: c")
        sent = [headers["authorization"] for _, headers, _ in receiver.requests]

    assert sent == ["Bearer token"] * 2


def test_a_test_is_a_run_of_a_job_named_test() -> None:
    """It names no dataset, and its run is over at once."""
    with receiving() as receiver:
        channels(Stored(url=receiver.url), None, receiver.web()).deliver("openlineage:marquez", BARE)
        sent = [json.loads(body) for _, _, body in receiver.requests]

    assert [mistakes(each) for each in sent] == [[], []]
    assert [(each["eventType"], each["job"]["name"]) for each in sent] == [("START", "test"), ("COMPLETE", "test")]


def test_an_event_that_is_too_large_is_sent_without_columns_and_assertions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run and its datasets are reported in any case."""
    monkeypatch.setattr(openlineage_events, "MAX_EVENT", 3_000)
    with receiving() as receiver:
        _, end = reported(ACCEPTED, receiver)

    assert sorted(end["outputs"][0]["facets"]) == ["dataSource", "lakegate_contract"]
    assert sorted(end["inputs"][0]["inputFacets"]) == ["inputStatistics"]
