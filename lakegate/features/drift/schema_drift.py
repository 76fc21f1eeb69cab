"""Fields and types of newest accepted objects compared."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from io import BufferedReader
from typing import Any, BinaryIO, Final, Literal, NamedTuple

from lakegate.admission.file_signatures import BOM, UnreadableError, settle_format
from lakegate.admission.header import HEAD
from lakegate.base.errors import InputError, LakegateError, NotFound
from lakegate.contract.contract_model import Severity, Shape
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.semantic_versions import major, precedence
from lakegate.engine.read.avro import schema_in
from lakegate.engine.read.data_source import AddressedFile, Store
from lakegate.engine.read.json_rows import RowReader
from lakegate.engine.read.json_texts import MalformedError, parse_object, read_elements
from lakegate.engine.read.open_delivery import beginning, open_source
from lakegate.engine.read.stored_columns import columns_of, found_in
from lakegate.features.drift.drift_event import DriftedField, DriftEvent
from lakegate.gate.datasets.dataset_names import published_datasets
from lakegate.gate.datasets.lifecycle import report
from lakegate.gate.datasets.readers_manifest import newest
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ports import Address, ObjectReader, ObjectVersion
from lakegate.plan.check_numbers import demands
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import Present
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Columns, IncompatibleType

WORDS: Final = {
    "absent": "is not there",
    "type": "has another type",
    "unreadable": "cannot be read",
    "missing": "was deleted",
    "replaced": "was replaced",
}


# ---- Drift of an object ----
# Only the presence of fields and their types count, nested and repeated ones included: a producer may add columns freely.


Kind = Literal["absent", "type", "unreadable", "missing", "replaced"]


class SchemaDifference(NamedTuple):
    """One difference between an accepted object and a contract."""

    difference: Kind
    """`absent`: the field is not there; `type`: it has another type. Of the whole object: `unreadable`, it is not a file as the
    contract declares; `missing`, it was deleted; `replaced`, it is another version than the manifest lists."""
    field: str = ""
    """The name of a declared field; empty for the whole object."""
    found: str = ""
    """The type in the file, or why it cannot be read. Text of a producer: not for events."""


def differences(plan: Plan, accepted_by: Plan, columns: Columns) -> tuple[SchemaDifference, ...]:
    """Differences of an object to a plan, in the order of its fields; `columns` are its fields against that plan.

    A field that the plan which accepted the object did not declare is no difference: the contract has grown since. Of what is
    absent, or of another type, the parts are not listed.
    """
    before = {each.place for each in accepted_by.fields}
    foreign = {each.field: each.physical for each in columns.foreign}
    found: list[SchemaDifference] = []
    without_parts: list[tuple[str, ...]] = []
    for field in plan.fields:
        if field.name not in foreign and field.name not in columns.lacking:
            continue
        if any(field.place[: len(place)] == place for place in without_parts):
            continue
        without_parts.append(field.place)
        if field.place in before and (field.name in foreign or _is_missed(plan, field.name)):
            kind: Kind = "type" if field.name in foreign else "absent"
            found.append(SchemaDifference(kind, field.name, foreign.get(field.name, "")))
    return tuple(found)


def _is_missed(plan: Plan, name: str) -> bool:
    """Whether an absent field is a difference: where the contract allows it, only one that a rule demands."""
    return plan.policy.missing_fields is not FieldTreatment.ALLOW or any(
        demands(replace(check, worst=Severity.FAIL), (name,)) for check in plan.checks
    )


# ---- Declared fields by head or footer ----
# A header line, a footer or the header of an Avro file names all fields. JSON has no schema: the records in the first `HEAD`
# bytes show which fields have values. A CSV file without a header names no column, so nothing is compared.


OTHER_KIND = "JSON values of another kind"
"""The type of a field whose values are all of another kind than the declared one."""
_JSON = {Format.JSON, Format.JSONL, Format.ANY_JSON}


def columns_in(plan: Plan, part: StagedPart, store: Store) -> Columns:
    """The fields of an object against those of a plan, nested ones included.

    Of JSON, a field without a value is absent only if the plan requires it: in an optional one, a missing key is a null.
    UnreadableError if the object is not as declared, InputError if it has another size.
    """
    if plan.storage.format is Format.AVRO:
        with closing(store.stream(part.uri)) as source:
            schema = schema_in(source)
        return columns_of(schema, plan, found_in(schema, plan))
    if plan.storage.format in _JSON:
        return _of_json(plan, beginning(0, part, plan, store))
    return open_source(plan, (part,), store).columns


def _of_json(plan: Plan, head: bytes) -> Columns:
    """Presence of fields in the whole records of a beginning."""
    reading = RowReader(plan.fields)
    for text in _records(settle_format(plan.storage, head), head):
        try:
            value = parse_object(text)
        except MalformedError:
            continue
        if value is not None:
            reading.add(value)
    absent, foreign = [], []
    valued: set[tuple[str, ...]] = set()
    # whether every record, or every one with the field's parent, must have a value
    required = {
        check.fields for check in plan.checks if isinstance(check.accept.predicate, Present) or check.kind == "required"
    }
    for field in plan.fields:
        cells = reading.levels[field.level].cells if field.level else reading.rows
        column = cells.columns[field.alias]
        of_values = [is_own for text, is_own in zip(column.texts, column.own, strict=True) if text is not None]
        is_looked_for = cells.rows and (field.place[:-1] in valued or len(field.place) - len(field.level) <= 1)
        if of_values:
            valued.add(field.place)
        if of_values and not any(of_values) and field.shape is not Shape.ANY:
            foreign.append(IncompatibleType(field.name, OTHER_KIND))
        elif is_looked_for and not of_values and (field.name,) in required:
            absent.append(field.name)
    return Columns((), tuple(absent), foreign=tuple(foreign))


def _records(storage: Storage, head: bytes) -> Iterable[bytes]:
    """The whole records of a text as it begins; none where the first one is longer."""
    is_whole = len(head) < HEAD
    if storage.format is Format.JSONL:
        lines = head.removeprefix(BOM).split(b"\n")
        return lines if is_whole else lines[:-1]
    try:
        return next(read_elements(iter([(head, 0)]), storage.path))[0]
    except UnreadableError:
        if is_whole:
            raise
        return ()


# ---- Schemas by the readers of the engine, which need pyarrow ----


_AHEAD = 1 << 20
"""Bytes of an object that a stream requests at a time."""


def compare_object(
    objects: ObjectReader, plan: bytes, accepted_by: bytes, data: ObjectVersion
) -> tuple[SchemaDifference, ...]:
    """Differences of an object to a plan; it is read in the form that the plan which accepted it declares.

    An object that cannot be read in this form is one difference, `unreadable`. Raises what the object store raises.
    """
    wanted, own = Plan.from_bytes(plan), Plan.from_bytes(accepted_by)
    read = replace(wanted, storage=own.published.storage, csv=own.csv)
    try:
        columns = columns_in(read, StagedPart(data.key, data.size), _OneObject(objects, data))
    except UnreadableError as error:
        return (SchemaDifference("unreadable", found=str(error.finding.message)),)
    return differences(wanted, own, columns)


@dataclass(frozen=True, slots=True)
class _OneObject:
    """One version of an object, whatever the address (`lakegate.engine.read.data_source.Store`)."""

    objects: ObjectReader
    data: ObjectVersion

    def size(self, _: str) -> int:
        return self.data.size

    def part(self, _: str, start: int, length: int) -> bytes:
        where = Address(self.data.bucket, self.data.key, self.data.version)
        return self.objects.read(where, start, length)

    def stream(self, address: str) -> BinaryIO:
        return BufferedReader(AddressedFile(self, address), _AHEAD)


# ---- Drift of a dataset ----


OBJECTS: Final = 20
"""Objects of a dataset that are looked at, the newest first."""
CURSOR: Final = "drift"
"""The name of the place where the schedule is."""
SECONDS_OF_COMPARISON: Final = 30.0
"""Seconds: with less than this left no further dataset is begun."""
MAX_FIELDS: Final = 50
"""Fields that an event names."""


@dataclass(frozen=True, slots=True)
class ObjectDrift:
    """An accepted object that is not as the contract requires."""

    height: int
    """Of the block of its delivery."""
    workload: str
    version: str
    """Of the contract by which it was accepted."""
    key: str
    differences: tuple[SchemaDifference, ...]


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Compared objects, and their differences."""

    dataset: str
    contract_version: str
    compared: int
    """The number of compared objects; 0: nothing was accepted yet."""
    drifted: tuple[ObjectDrift, ...]
    """The newest delivery first."""

    @property
    def fields(self) -> tuple[DriftedField, ...]:
        """Differences of fields, and in how many objects they are; the most frequent first."""
        counts = Counter(
            pair for drifted in self.drifted for pair in {(one.difference, one.field) for one in drifted.differences}
        )
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(DriftedField(difference, field or None, count) for (difference, field), count in ordered)


def drift(dependencies: Dependencies, full_name: str, version: str = "", objects: int = OBJECTS) -> DriftReport:
    """Compare the newest accepted objects of a dataset with a version of its contract: the current one, unless one is named.

    Read only. Raises InputError where the dataset has no such version.
    """
    contract, _, name = full_name.rpartition("/")
    dataset, _, number = name.rpartition("_v")
    published = dependencies.registry.contract(contract)
    plans = {
        publication.version: dict(publication.plans).get(dataset, "")
        for publication in published.versions
        if str(major(publication.version)) == number
    }
    chosen = version or max(
        (publication.version for publication in published.standing if plans.get(publication.version)),
        key=precedence,
        default="",
    )
    if not plans.get(chosen):
        raise InputError(f"{full_name} has no published version{f' {version}' if version else ''}")
    plan = dependencies.plan_at(plans[chosen], full_name)
    drifts: list[ObjectDrift] = []
    listed = [(each, it) for each in newest(dependencies, full_name, objects) for it in each["objects"]][:objects]
    for delivery, each in listed:
        of_it = delivery["contract_version"]
        accepted_by = dependencies.plan_at(plans.get(of_it) or plans[chosen], full_name)
        differences = _of_object(dependencies, plan, accepted_by, each)
        if differences:
            drifts.append(ObjectDrift(delivery["height"], delivery["workload"], of_it, each["key"], differences))
    return DriftReport(full_name, chosen, len(listed), tuple(drifts))


@dataclass(slots=True)
class DriftCheck:
    """Counts of one scheduled run, for metrics."""

    compared: int = 0
    """Datasets."""
    drifted: list[str] = dataclasses.field(default_factory=list)
    """Names of datasets."""
    failures: list[LakegateError] = dataclasses.field(default_factory=list)
    """Errors of single datasets, which keep no other from being compared."""


def check_datasets(dependencies: Dependencies) -> Steps[DriftCheck]:
    """Compare all datasets, and report drift; a run that is out of time leaves the rest to the next one.

    The place is kept before a dataset is read, so that one whose data ends the function is passed over by the next run.
    """
    check = DriftCheck()
    agenda, after = dependencies.agenda, dependencies.agenda.cursor(CURSOR) or ""
    for dataset in published_datasets(dependencies):
        if dataset <= after:
            continue
        if dependencies.remaining() < SECONDS_OF_COMPARISON:
            return check
        yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, dataset)
        check.compared += 1
        try:
            report = drift(dependencies, dataset)
            yield from report_drift(dependencies, report)
        except LakegateError as failure:
            check.failures.append(failure)
        else:
            check.drifted += [dataset] if report.drifted else []
    yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, None)
    return check


def _of_object(
    dependencies: Dependencies, plan: bytes, accepted_by: bytes, listed: dict[str, Any]
) -> tuple[SchemaDifference, ...]:
    """The object that a reader of `accepted/` gets now under a key that the manifest lists."""
    try:
        data = dependencies.objects.head(Address(dependencies.places.lake, listed["key"]))
    except NotFound:
        return (SchemaDifference("missing"),)
    replaced = (SchemaDifference("replaced"),) if data.version != listed.get("version", data.version) else ()
    return (*replaced, *compare_object(dependencies.objects, plan, accepted_by, data))


def report_drift(dependencies: Dependencies, found: DriftReport) -> Steps[bool]:
    """Put a message about drift into the outbox, if there is none about the same drift yet. Returns whether it is new.

    It names fields of the contract and counts, and no text of a producer.
    """
    if not found.drifted:
        return False
    pairs = sorted((field.difference, field.field or "") for field in found.fields)
    what = json.dumps([found.contract_version, pairs])
    identity = hashlib.sha256(what.encode()).hexdigest()[:16]
    about = {
        "drifted": len(found.drifted),
        "newest_height": found.drifted[0].height,
        "fields": found.fields[:MAX_FIELDS],
    }
    return (yield from report(dependencies, "drift", found.dataset, identity, DriftEvent, found, **about))
