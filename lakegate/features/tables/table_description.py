"""Descriptions, tags and settings of a contract as properties and comments of its table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lakegate.base.text import printable
from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.delivery_policy import PublishAs
from lakegate.plan.dataset_about import LONGEST_DESCRIPTION, DatasetAbout, FieldAbout, described
from lakegate.plan.plan import OF_MAPS, Plan
from lakegate.rules.compile_plan import plan_fields

COMMENT: Final = "comment"
"""The property that Spark and Trino show as the comment of a table."""
OF_GLUE: Final = "Description"
"""The property that pyiceberg writes as the description of a table of Glue."""
TAGS: Final = "lakegate.tags"
CLASSIFICATION: Final = "lakegate.classification"
MOST_AGE: Final = "history.expire.max-snapshot-age-ms"
COMPACTED: Final = "lakegate.compacted"
"""The property of a table whose small files are put together."""
MANAGED: Final = frozenset({COMMENT, OF_GLUE, TAGS, CLASSIFICATION, MOST_AGE, COMPACTED})
"""Properties that a contract sets, or leaves out; no others of a table are removed."""
LONGEST_TEXT: Final = 2_048
"""Bytes of a table's description (Glue API, `DescriptionString`)."""
LONGEST_COMMENT: Final = 255
"""Bytes of a column's comment, which is one line (Glue API, `CommentString`)."""
LONGEST_VALUE: Final = 512_000
"""Bytes of a property (Glue API, `ParametersMapValue`); one that would be longer is left out."""
MILLISECONDS_OF_DAY: Final = 86_400_000
REJECTED_COMMENTS: Final = {
    "delivery": "The id of the delivery",
    "contract_version": "By which it was judged",
    "time": "When it was judged",
    "part": "The file of the delivery, from 0",
    "row": "The line of the file, from 1, or the row of a table, as reasons name it",
    "reasons": "The ids of the checks that the record breaks",
    "record": "The record as JSON; a text where it cannot be read",
}
"""The columns of a table of rejected rows, each with its comment."""
NESTED: Final = {"[]": "element", OF_MAPS[0]: "key", OF_MAPS[1]: "value"}
"""Iceberg's names of the parts of lists and maps."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """What a contract says of its table, beside the columns."""

    properties: tuple[tuple[str, str], ...] = ()
    """Some of `MANAGED`; the others are to be removed."""
    comments: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Of fields, by the names on the way to them, as Iceberg has them."""


def plan_data(contract: Contract, dataset: Dataset, plan: Plan) -> Plan:
    """The plan of a table, with its descriptions."""
    if plan.policy.publish_as is not PublishAs.ICEBERG:
        return plan
    fields = []
    for each in plan_fields(dataset.fields, with_inner=True):
        field = dataset.field(each.name)
        if field is not None and field.description:
            fields.append(FieldAbout(each.name, field.description[:LONGEST_DESCRIPTION]))
    found = replace(described(contract.about), fields=tuple(fields))
    return plan if found == DatasetAbout() else replace(plan, about=found)


def describe_table(plan: Plan, *, of_rejected: bool = False) -> TableDescription:
    """The properties and comments of the table of a plan; that of its rejected rows has the same columns as all others."""
    if of_rejected:
        text = _one_line(f"Rejected rows of {plan.contract}, {plan.dataset}", LONGEST_TEXT)
        comments = (((name,), comment) for name, comment in REJECTED_COMMENTS.items())
        return TableDescription(((COMMENT, text), (OF_GLUE, text), *_time_travel(plan)), tuple(comments))
    return TableDescription(tuple(_properties(plan)), tuple(_comments(plan)))


def _properties(plan: Plan) -> Iterator[tuple[str, str]]:
    about = plan.about or DatasetAbout()
    if text := _one_line(about.description, LONGEST_TEXT):
        yield COMMENT, text
        yield OF_GLUE, text
    classified = {field.name: field.classification for field in plan.fields if field.classification}
    for name, value in ((TAGS, list(about.keywords)), (CLASSIFICATION, classified)):
        if value and len(written := json.dumps(value)) <= LONGEST_VALUE:
            yield name, written
    yield from _time_travel(plan)


def _time_travel(plan: Plan) -> Iterator[tuple[str, str]]:
    if plan.policy.time_travel_days is not None:
        yield MOST_AGE, str(plan.policy.time_travel_days * MILLISECONDS_OF_DAY)
    if plan.policy.compact_table:
        yield COMPACTED, "true"


def _comments(plan: Plan) -> Iterator[tuple[tuple[str, ...], str]]:
    places = {field.name: field.place for field in plan.fields}
    for each in plan.about.fields if plan.about else ():
        place, text = places.get(each.name, ()), _one_line(each.description, LONGEST_COMMENT)
        if place and place[-1] not in NESTED and text:
            yield tuple(NESTED.get(step, step.removeprefix(".")) for step in place), text


def _one_line(text: str, most: int) -> str:
    """A text of a contract on one line, without control characters, of so many bytes."""
    return printable(" ".join(text.split())).encode()[:most].decode(errors="ignore")
