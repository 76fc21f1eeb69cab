"""OpenLineage 2-0-2: a delivery as events of a run, posted to a backend (https://openlineage.io/apidocs/openapi).

The run is the judgement of one delivery, its job the line. START and the end are sent together, when the delivery has ended,
each with the time when it happened. All of an event follows from the delivery: a repetition is the same event.

Datasets are named by https://openlineage.io/docs/spec/naming: of S3 the namespace is `s3://<bucket>`, the name the key.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.words import printable
from lakegate.functions.ports.errors import PortError

if TYPE_CHECKING:
    from lakegate.contracts.model.origin import FieldSource, Transformation
    from lakegate.functions.adapters.secrets import Secrets
    from lakegate.functions.adapters.web import Web
    from lakegate.functions.ports.channels import Notification
    from lakegate.functions.ports.lineage import Assertion, JudgedDelivery, LineageColumn, LineageDataset

PRODUCER: Final = "urn:lakegate:openlineage:1"
SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
CONTRACT_SCHEMA: Final = "urn:lakegate:openlineage-contract:1"
"""Of `contracts/schemas/openlineage-contract.json`."""
FACETS: Final = {
    "schema": "1-2-0/SchemaDatasetFacet",
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
MAX_EVENT: Final = 4 << 20
"""Bytes. An event that is larger is sent without columns and assertions."""


@dataclass(frozen=True, slots=True)
class OpenLineage:
    """Backends. The secret has the address, such as `https://…/api/v1/lineage`, and an API key if the backend needs one."""

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
        "name": printable(delivery.line),
        "facets": _facet("jobType", processingType="BATCH", integration="LAKEGATE", jobType="DELIVERY"),
    }
    run = {"runId": _run_id(delivery.id), "facets": _engine(delivery)}
    landed = _dataset(delivery, delivery.landed)
    if delivery.landed_version:
        landed["facets"] |= _facet("version", datasetVersion=printable(delivery.landed_version))
    start = _event("START", delivery.began, run, job, inputs=[landed], outputs=[])
    judged = [landed | {"inputFacets": _measured(delivery)}]
    if delivery.published is None:
        message = "\n".join(map(printable, delivery.reasons)) or "no verdict"
        error = _facet("errorMessage", message=message, programmingLanguage="PYTHON")
        failed = run | {"facets": _engine(delivery) | error}
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
    version, _, name = FACETS[key].partition("/")
    url = f"https://openlineage.io/spec/facets/{version}/{name}.json#/$defs/{name}"
    return {key: {"_producer": PRODUCER, "_schemaURL": url, **content}}


def _names(dataset: LineageDataset) -> dict[str, str]:
    return {"namespace": f"s3://{dataset.bucket}", "name": printable(dataset.key)}


def _dataset(delivery: JudgedDelivery, dataset: LineageDataset) -> dict[str, Any]:
    """A dataset with what both of a delivery's have: only accepted data is known to have the columns of the contract."""
    names = _names(dataset)
    facets = _facet("dataSource", name=names["namespace"], uri=names["namespace"])
    if delivery.contract:
        about = {"contract": printable(delivery.contract), "version": printable(delivery.version)}
        base = {"_producer": PRODUCER, "_schemaURL": CONTRACT_SCHEMA}
        facets["lakegate_contract"] = {**base, **about, "line": printable(delivery.line)}
    if delivery.columns and delivery.published:
        facets |= _facet("schema", fields=list(map(_field, delivery.columns)))
    return {**names, "facets": facets}


def _field(column: LineageColumn) -> dict[str, Any]:
    parts = {"fields": list(map(_field, column.parts))} if column.parts else {}
    return {"name": printable(column.name), "type": printable(column.type), **parts}


def _origins(delivery: JudgedDelivery) -> dict[str, Any]:
    """Each column of accepted data is that of what landed; before that, it comes from what the contract declares."""
    same = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
    inputs = {
        (name := printable(each.name)): [{**_names(delivery.landed), "field": name, "transformations": [same]}]
        for each in delivery.columns
    }
    for each in delivery.lineage:
        inputs.setdefault(printable(each.field), []).extend(map(_source, each.sources))
    return (
        _facet("columnLineage", fields={name: {"inputFields": those} for name, those in inputs.items()})
        if inputs
        else {}
    )


def _source(source: FieldSource) -> dict[str, Any]:
    names = {"namespace": source.namespace, "name": source.name, "field": source.field}
    steps = [_transformation(each) for each in source.transformations]
    return {**{key: printable(text) for key, text in names.items()}, "transformations": steps}


def _transformation(step: Transformation) -> dict[str, Any]:
    texts = {"type": step.type, "subtype": step.subtype, "description": step.description}
    masking = {} if step.masking is None else {"masking": step.masking}
    return {**{key: printable(text) for key, text in texts.items() if text is not None}, **masking}


def _measured(delivery: JudgedDelivery) -> dict[str, Any]:
    facets = _statistics("inputStatistics", rowCount=delivery.rows, size=delivery.size)
    if delivery.assertions:
        facets |= _facet("dataQualityAssertions", assertions=list(map(_assertion, delivery.assertions)))
    return facets


def _statistics(key: str, **numbers: int | None) -> dict[str, Any]:
    known = {name: number for name, number in numbers.items() if number is not None}
    return _facet(key, **known) if known else {}


def _assertion(check: Assertion) -> dict[str, Any]:
    texts = {"column": check.column, "name": check.id, "expected": check.expected, "actual": check.actual}
    given = {name: printable(text) for name, text in texts.items() if text}
    severity = "error" if check.blocks else "warn"
    return {"assertion": printable(check.kind), "success": check.success, "severity": severity, **given}
