"""Events of a delivery: lineage and quality facets, posted."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Final, NamedTuple

from lakegate.admission.multi_file_delivery import folder_of
from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import InputError, PortError
from lakegate.base.text import printable
from lakegate.base.timestamps import moment
from lakegate.contract.contract_model import FieldLineage, FieldSource, Severity, Shape, Transformation
from lakegate.gate.channel_ports import OF_SECRET, EndedDelivery, Notification
from lakegate.gate.delivery.decide_verdict import report_of
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm
from lakegate.gate.event_bodies import message_id
from lakegate.plan.plan import OF_MAPS, Plan, PlanField
from lakegate.report.delivery_report import Report
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.reasons import in_words, is_of_gate

# ---- OpenLineage 2-0-2 ----
# The run is the judgement of one delivery, its job the dataset. START and the end are sent together, when the delivery has ended,
# each with the time when it happened. All of an event follows from the delivery: a repetition is the same event.
#
# Datasets are named by https://openlineage.io/docs/spec/naming: of S3 the namespace is `s3://<bucket>`, the name the key.


PRODUCER: Final = "urn:lakegate:openlineage:1"
SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
CONTRACT_SCHEMA: Final = "urn:lakegate:openlineage-contract:1"
"""Of `lakegate/schemas/openlineage-contract.json`."""
FACETS: Final = {
    "schema": "1-2-0/SchemaDatasetFacet",
    "tags": "2-0-3/TagsDatasetFacet",
    "dataSource": "1-0-1/DatasourceDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "dataQualityAssertions": "1-1-0/DataQualityAssertionsDatasetFacet",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
}
"""By key: version and name of the official schema."""
TAGS_OF_RUN: Final = "2-0-3/TagsRunFacet"
"""Its key is that of the tags of a dataset."""
SOURCE: Final = "LAKEGATE"
MAX_EVENT: Final = 4 << 20
"""Bytes. An event that is larger is sent without columns and assertions."""


@dataclass(frozen=True, slots=True)
class OpenLineage:
    """Backends. The secret has the address, such as `https://…/api/v1/lineage`, and an API key if the backend needs one."""

    form: ClassVar = OF_SECRET
    secrets: Secrets
    web: Web

    def deliver(self, reference: str, notification: Notification) -> None:
        """Post a run of a job named `test`, without datasets: the only notification that is sent here. Raises PortError."""
        at = moment(notification.at)
        job, run = {"namespace": "lakegate", "name": notification.kind}, {"runId": _run_id(notification.id)}
        self._post(reference, [_event(kind, at, run, job) for kind in ("START", "COMPLETE")])

    def report(self, reference: str, delivery: JudgedDelivery) -> None:
        """Post the events of a delivery. Raises PortError."""
        full = events(delivery)
        if any(len(json.dumps(each)) > MAX_EVENT for each in full):
            full = events(replace(delivery, columns=(), lineage=(), assertions=()))
        self._post(reference, full)

    def _post(self, reference: str, those: list[dict[str, Any]]) -> None:
        secret = self.secrets.read(reference)
        headers = {"Content-Type": "application/json"}
        if secret.key:
            if not (secret.key.isascii() and secret.key.isprintable()):
                raise PortError("secret-malformed")
            headers["Authorization"] = f"Bearer {secret.key}"
        web = replace(self.web, most=MAX_EVENT)
        for each in those:
            web.post(secret.url, json.dumps(each).encode(), headers)


def events(delivery: JudgedDelivery) -> list[dict[str, Any]]:
    """START, and COMPLETE of an accepted delivery or FAIL of any other."""
    job = {
        "namespace": f"lakegate://{delivery.lake}",
        "name": printable(delivery.dataset),
        "facets": _facet("jobType", processingType="BATCH", integration="LAKEGATE", jobType="DELIVERY"),
    }
    run: dict[str, Any] = {"runId": _run_id(delivery.id), "facets": _engine(delivery)}
    landed = _dataset(delivery, delivery.landed)
    if delivery.landed_version:
        landed["facets"] |= _facet("version", datasetVersion=printable(delivery.landed_version))
    read = [_bare(each) for each in delivery.derived_from]
    start = _event("START", delivery.began, run, job, inputs=[landed, *read], outputs=[])
    judged = [landed | {"inputFacets": _measured(delivery)}, *read]
    if delivery.verdict:
        verdict = _facet_of("tags", TAGS_OF_RUN, tags=[_tag("lakegate.verdict", delivery.verdict)])
        run = run | {"facets": run["facets"] | verdict}
    if delivery.published is None:
        message = "\n".join(map(printable, delivery.reasons)) or "no verdict"
        error = _facet("errorMessage", message=message, programmingLanguage="PYTHON")
        failed = run | {"facets": run["facets"] | error}
        return [start, _event("FAIL", delivery.ended, failed, job, inputs=judged, outputs=[])]
    accepted = _dataset(delivery, delivery.published)
    accepted["facets"] |= _origins(delivery)
    accepted["outputFacets"] = _statistics("outputStatistics", rowCount=delivery.published_rows)
    return [start, _event("COMPLETE", delivery.ended, run, job, inputs=judged, outputs=[accepted])]


def _event(kind: str, at: str, run: Any, job: Any, **datasets: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    about = {"eventType": kind, "eventTime": at, "run": run, "job": job, **datasets}
    return {**about, "producer": PRODUCER, "schemaURL": SCHEMA}


def _engine(delivery: JudgedDelivery) -> dict[str, Any]:
    """The facet of what evaluated a delivery; none where nothing did."""
    if delivery.engine is None:
        return {}
    name, version = map(printable, delivery.engine)
    return _facet("processing_engine", name=name, version=version)


def _run_id(delivery: str) -> str:
    """The same for every repetition."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:lakegate:run:{delivery}"))


def _facet(key: str, **content: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return _facet_of(key, FACETS[key], **content)


def _facet_of(key: str, schema: str, **content: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    version, _, name = schema.partition("/")
    url = f"https://openlineage.io/spec/facets/{version}/{name}.json#/$defs/{name}"
    return {key: {"_producer": PRODUCER, "_schemaURL": url, **content}}


def _tag(key: str, value: str) -> dict[str, str]:
    return {"key": key, "value": value, "source": SOURCE}


def _names(dataset: LineageDataset) -> dict[str, str]:
    return {"namespace": f"s3://{dataset.bucket}", "name": printable(dataset.key)}


def _bare(dataset: LineageDataset) -> dict[str, Any]:
    names = _names(dataset)
    return {**names, "facets": _facet("dataSource", name=names["namespace"], uri=names["namespace"])}


def _dataset(delivery: JudgedDelivery, dataset: LineageDataset) -> dict[str, Any]:
    """A dataset with what both of a delivery's have: only accepted data is known to have the columns of the contract."""
    found = _bare(dataset)
    facets = found["facets"]
    if delivery.contract:
        about = {"contract": printable(delivery.contract), "version": printable(delivery.version)}
        base = {"_producer": PRODUCER, "_schemaURL": CONTRACT_SCHEMA}
        facets["lakegate_contract"] = {**base, **about, "line": printable(delivery.dataset)}
    if delivery.status:
        facets |= _facet("tags", tags=[_tag("lakegate.status", delivery.status)])
    if delivery.columns and delivery.published:
        facets |= _facet("schema", fields=list(map(_field, delivery.columns)))
    return found


def _field(column: LineageColumn) -> dict[str, Any]:
    parts = {"fields": list(map(_field, column.parts))} if column.parts else {}
    return {"name": printable(column.name), "type": printable(column.type), **parts}


def _origins(delivery: JudgedDelivery) -> dict[str, Any]:
    """Each column of accepted data is that of what landed; before that, it comes from what the contract declares."""
    same = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
    inputs = {
        (name := printable(column.name)): [{**_names(delivery.landed), "field": name, "transformations": [same]}]
        for column in delivery.columns
    }
    for lineage in delivery.lineage:
        inputs.setdefault(printable(lineage.field), []).extend(map(_source, lineage.sources))
    return (
        _facet("columnLineage", fields={name: {"inputFields": those} for name, those in inputs.items()})
        if inputs
        else {}
    )


def _source(source: FieldSource) -> dict[str, Any]:
    names = {"namespace": source.namespace, "name": source.name, "field": source.field}
    steps = [_transformation(transformation) for transformation in source.transformations]
    return {**{key: printable(text) for key, text in names.items()}, "transformations": steps}


def _transformation(step: Transformation) -> dict[str, Any]:
    texts = {"type": step.type, "subtype": step.subtype, "description": step.description}
    masking = {} if step.masking is None else {"masking": step.masking}
    return {**{key: printable(text) for key, text in texts.items() if text is not None}, **masking}


def _measured(delivery: JudgedDelivery) -> dict[str, Any]:
    facets = _statistics("inputStatistics", rowCount=delivery.rows, size=delivery.size)
    assertions = [*map(_assertion, delivery.assertions), *_of_gate(delivery)]
    if assertions:
        facets |= _facet("dataQualityAssertions", assertions=assertions)
    return facets


def _statistics(key: str, **numbers: int | None) -> dict[str, Any]:
    known = {name: number for name, number in numbers.items() if number is not None}
    return _facet(key, **known) if known else {}


def _assertion(check: Assertion) -> dict[str, Any]:
    texts = {"column": check.column, "name": check.id, "expected": check.expected, "actual": check.actual}
    given = {name: printable(text) for name, text in texts.items() if text}
    severity = "error" if check.blocks else "warn"
    return {"assertion": printable(check.kind), "success": check.success, "severity": severity, **given}


def _of_gate(delivery: JudgedDelivery) -> Iterator[dict[str, Any]]:
    """Warnings and refusals of the gate beside the checks: a dataset that ends and what replaces it, a waiver, a duplicate."""
    for reason in filter(is_of_gate, delivery.reasons):
        code, _, message = in_words(reason).partition(": ")
        yield _assertion(
            Assertion(code, code, "", success=False, blocks=delivery.published is None, expected="", actual=message)
        )


# ---- The lineage of a delivery ----


class LineageDataset(NamedTuple):
    """An object, or all objects below a folder."""

    bucket: str
    key: str


class LineageColumn(NamedTuple):
    """A declared field."""

    name: str
    type: str
    parts: tuple[LineageColumn, ...] = ()
    """The fields of a record; `_element` of a list; `key` and `value` of a map."""


class UsedEngine(NamedTuple):
    """The engine of a delivery: `spark` in a job, else `duckdb`."""

    name: str
    version: str


class Assertion(NamedTuple):
    """A check that was measured."""

    id: str
    kind: str
    """Of its rule, such as `required`."""
    column: str
    """Empty if it is about several fields or the whole dataset."""
    success: bool
    blocks: bool
    """Whether a delivery that breaks it is rejected; else it is warned of."""
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class JudgedDelivery:
    """One delivery that ended."""

    id: str
    """Of the message about it: the same for every repetition; another one after a replay."""
    dataset: str
    """`<contract>/<dataset>_v<major>`."""
    landed: LineageDataset
    """Of a derived dataset the request for its rows."""
    published: LineageDataset | None
    """The accepted data of its dataset; None if it was not accepted."""
    lake: str
    """The bucket of the stack, by which stacks are distinguished."""
    began: str
    ended: str
    """RFC 3339, UTC."""
    contract: str = ""
    """Empty, as everything below: it is not known any more."""
    version: str = ""
    """Of the contract."""
    landed_version: str = ""
    """S3 version id of what landed."""
    size: int | None = None
    """Bytes of what landed."""
    rows: int | None = None
    published_rows: int | None = None
    columns: tuple[LineageColumn, ...] = ()
    lineage: tuple[FieldLineage, ...] = ()
    """The sources of columns, as the contract declares them."""
    assertions: tuple[Assertion, ...] = ()
    engine: UsedEngine | None = None
    """None where nothing was evaluated."""
    reasons: tuple[str, ...] = ()
    """Reasons why it was not accepted, or accepted with warnings: texts with masked values, or a code."""
    verdict: str = ""
    """Empty where there is none."""
    status: str = ""
    """Of the contract version and its dataset, the stricter one, such as `deprecated`."""
    derived_from: tuple[LineageDataset, ...] = ()
    """The accepted data that the rows of a derived dataset were computed of."""


# ---- What is reported of a delivery ----
# It is read when it is sent, from the row, the plan and the result, which do not change once a delivery has ended. Only a
# FAILED one may have gone on since, by a replay: then its end is reported, and nothing that the replay may have changed.


MEASURED: Final = frozenset({Status.PASS, Status.WARN, Status.FAIL})
ENGINES: Final = ("spark", "duckdb")
"""Names of engines in results: a job has both, and is one of Spark."""
ELEMENT: Final = "_element"
"""The name of the elements of a list in OpenLineage's facet `schema`."""


def judged_delivery(dependencies: Dependencies, ended: EndedDelivery) -> JudgedDelivery:
    """The report of a delivery. Raises PortError."""
    row = dependencies.workloads.get(ended.workload)
    landed = row.landed or row.source
    bare = JudgedDelivery(
        id=ended.message,
        dataset=ended.dataset,
        landed=LineageDataset(landed.bucket, folder_of(landed.key).rstrip("/") if row.parts else landed.key),
        published=None,
        lake=dependencies.places.lake,
        began=ended.at,
        ended=ended.at,
    )
    if message_id(row) != ended.message:
        return bare
    return _described(dependencies, row, bare)


def _described(dependencies: Dependencies, row: Workload, bare: JudgedDelivery) -> JudgedDelivery:
    landed, decision = row.landed or row.source, row.decision
    counts = decision.counts if decision else None
    report = _report(dependencies, row)
    plan = report.plan if report else _plan(dependencies, row)
    began = moment(datetime.fromisoformat(row.pinned.judging_time))
    return replace(
        bare,
        published=LineageDataset(bare.lake, f"accepted/{bare.dataset}") if row.state is State.PUBLISHED else None,
        began=min(began, bare.ended),  # clocks of two functions may differ
        contract=row.pinned.contract,
        version=row.pinned.version,
        landed_version="" if row.parts else landed.version,
        size=(row.parts or landed).size,
        rows=counts.rows if counts else None,
        published_rows=counts.published_rows if counts else None,
        columns=columns_of(plan.fields) if plan else (),
        lineage=plan.lineage if plan else (),
        assertions=tuple(_assertions(report)) if report else (),
        engine=engine_of(report.result.engines) if report else None,
        reasons=decision.reasons if decision else tuple(str(attempt.cause) for attempt in row.failed[-1:]),
        verdict=str(decision.verdict) if decision else "",
        status=str(row.pinned.status),
        derived_from=tuple(
            LineageDataset(bare.lake, f"accepted/{each.dataset}")
            for each in (row.pinned.references if plan is not None and plan.derived is not None else ())
        ),
    )


def _report(dependencies: Dependencies, row: Workload) -> Report | None:
    try:
        return report_of(DeliveryTurn(dependencies, row))
    except (Alarm, InputError):  # raised where the verdict was computed, too
        return None


def _plan(dependencies: Dependencies, row: Workload) -> Plan | None:
    try:
        return Plan.from_bytes(dependencies.plan(row))
    except (Alarm, InputError):
        return None


def engine_of(versions: Mapping[str, str]) -> UsedEngine | None:
    """The engine of a delivery, by the versions in its result."""
    return next((UsedEngine(name, versions[name]) for name in ENGINES if name in versions), None)


def _assertions(report: Report) -> Iterator[Assertion]:
    worst = {check.id: check.worst for check in report.plan.checks}
    for outcome in report.judgement.outcomes:
        if outcome.status in MEASURED:
            yield _assertion_of(outcome, worst.get(outcome.id, Severity.FAIL))


def _assertion_of(outcome: CheckOutcome, worst: Severity) -> Assertion:
    return Assertion(
        outcome.id,
        outcome.kind,
        outcome.fields[0] if len(outcome.fields) == 1 else "",
        success=outcome.status is Status.PASS,
        blocks=outcome.status is Status.FAIL or (outcome.status is Status.PASS and worst is Severity.FAIL),
        expected=outcome.wanted,
        actual=outcome.measured,
    )


def columns_of(fields: tuple[PlanField, ...]) -> tuple[LineageColumn, ...]:
    """The columns, with their parts."""
    below: dict[tuple[str, ...], list[PlanField]] = {}
    for field in fields:
        below.setdefault(field.place[:-1], []).append(field)

    def columns(place: tuple[str, ...]) -> tuple[LineageColumn, ...]:
        found = below.get(place, ())
        return tuple(LineageColumn(_name(each.place[-1]), _type(each), columns(each.place)) for each in found)

    return columns(())


def _name(step: str) -> str:
    if step == "[]":
        return ELEMENT
    return step.strip("{}") if step in OF_MAPS else step.removeprefix(".")


def _type(field: PlanField) -> str:
    return str((field.type if field.shape is Shape.VALUE else field.shape).value)
