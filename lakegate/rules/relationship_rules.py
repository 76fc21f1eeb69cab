"""References: every key of the delivery exists in the accepted data that it refers to.

The target is the accepted data of the referenced dataset, at the height of its ledger when the delivery was pinned; if a dataset
refers to itself, also the delivery. Keys with a null are ignored. If no data is accepted yet, the check is skipped, because it
is unknown whether the dataset is delivered here at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Contract, Dataset, Field, Rule, Shape, full_dataset_name, shape_of
from lakegate.contract.field_paths import column_name, column_path
from lakegate.contract.semantic_versions import major
from lakegate.plan.check import NONE, Query, QueryColumn, QueryRelation, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.rules.check_builder import Checks, Fields, brief, check, skip_check

ELSEWHERE = (
    re.compile(r"lakegate://(?P<contract>[^/]+)/(?P<dataset>[^/]+)_v(?P<major>[0-9]+)/(?P<field>[^/,]+)"),
    re.compile(
        r"(?:.*/)?(?P<contract>[^/#]+)_v(?P<major>[0-9]+)\.yaml#/?schema/(?P<dataset>[^/]+)/properties/(?P<field>[^/,]+)"
    ),
)
"""A field of another contract: `lakegate://<contract>/<dataset>_v<major>/<field>`, or in the syntax of ODCS
`<contract>_v<major>.yaml#/schema/<dataset>/properties/<field>`."""
FULLY_QUALIFIED = "contract_v1.yaml#/schema/dataset/properties/field"


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a reference."""

    dataset: str
    full_name: str
    columns: tuple[QueryColumn, ...]


def foreign_key(contract: Contract, dataset: Dataset, rule: Rule, fields: Fields, unit: Unit = Unit.ROWS) -> Checks:
    """The check of a reference; skipped, with the reason, if the target is unknown. A percentage is one of all rows."""
    try:
        target = _target(
            contract, dataset, [each for each in str(rule.arguments.get("to") or "").split(",") if each], fields
        )
    except LookupError as error:
        return (skip_check(rule, fields, str(error.args[0])),)
    to = f"{target.dataset}.{'+'.join(column.field for column in target.columns)}"
    found = check(rule, fields, Metric.UNMATCHED_ROWS, accept=Tier(NONE), wanted=f"found in {brief(to)}", unit=unit)
    is_own = target.full_name == _full_name(contract, dataset.name)
    return (replace(found, query=_query(dataset, fields, target, is_own=is_own, of_all=unit is Unit.PERCENT)),)


def _target(contract: Contract, dataset: Dataset, to: list[str], fields: Fields) -> _Target:
    """The fields that a reference points to; LookupError with the reason if they cannot be compared."""
    if not to or not fields:
        raise LookupError("the reference does not say which field it leads to")
    if len(to) != len(fields):
        raise LookupError("the reference names more fields on one side than on the other")
    if not all(_is_plain(dataset, field) for field in fields):
        raise LookupError("parts of a value are not compared with other data by this version")
    found = [_one(contract, text.strip(), field) for text, field in zip(to, fields, strict=True)]
    if len({(dataset, full_name) for dataset, full_name, _ in found}) != 1:
        raise LookupError("the reference leads to fields of several datasets at once")
    columns = tuple(column for _, _, column in found)
    for column, field in zip(columns, fields, strict=True):
        if column.type is not field.type and not (column.type.numeric and field.type.numeric):
            raise LookupError(f"{field.name} is a {field.type.value}, and what it refers to a {column.type.value}")
        if column.scale != field.scale:
            raise LookupError(
                f"{field.name} is a number of scale {field.scale}, and what it refers to one of scale {column.scale}: "
                "declare both with the same precision and scale"
            )
    return _Target(found[0][0], found[0][1], columns)


def _is_plain(dataset: Dataset, field: Field) -> bool:
    """Whether a field is a column of single values."""
    return field in dataset.fields and shape_of(field) is Shape.VALUE


def _one(contract: Contract, to: str, own: Field) -> tuple[str, str, QueryColumn]:
    elsewhere = next(filter(None, (form.fullmatch(to) for form in ELSEWHERE)), None)
    if elsewhere is not None:
        full_name = full_dataset_name(elsewhere["contract"], elsewhere["dataset"], int(elsewhere["major"]))
        return (
            elsewhere["dataset"],
            full_name,
            QueryColumn(column_path(column_name(elsewhere["field"])), own.type, own.scale),
        )
    for dataset in contract.datasets:
        named = dataset.named(to.removeprefix(f"{dataset.name}.")) if to.startswith(f"{dataset.name}.") else ()
        for field in (each for each in named if _is_plain(dataset, each)):
            return dataset.name, _full_name(contract, dataset.name), QueryColumn(field.name, field.type, field.scale)
    raise LookupError(
        f"{brief(to)} is not a field of this contract; a field of another contract is written {form_elsewhere(contract)}"
    )


def form_elsewhere(contract: Contract) -> str:
    """The syntax of a field of another contract in a document of this format."""
    return FULLY_QUALIFIED if contract.format.startswith("ODCS") else "lakegate://contract/dataset_v1/field"


def _full_name(contract: Contract, dataset: str) -> str:
    try:
        return full_dataset_name(contract.id, dataset, major(contract.version))
    except InputError:
        raise LookupError("the contract has no semantic version, so that its accepted data cannot be named") from None


def _query(dataset: Dataset, fields: Fields, target: _Target, *, is_own: bool, of_all: bool) -> Query:
    """The number of complete keys of the delivery without a match, and the number of complete keys, or (`of_all`) of rows."""
    columns = range(len(fields))
    listed = ", ".join(f"c{at}" for at in columns)
    equal = " AND ".join(f"(q1.c{at} = q2.c{at})" for at in columns)
    whole = " AND ".join(f"(q1.c{at} IS NOT NULL)" for at in columns)
    distinct = f"(SELECT DISTINCT {listed} FROM r1) AS q2"  # noqa: S608 - names of our own alone
    unmatched, rest = (f"(q2.c0 IS NULL) AND {whole}", "") if of_all else ("(q2.c0 IS NULL)", f" WHERE {whole}")
    counted = f"count(CASE WHEN {unmatched} THEN 1 END), count(1)"
    text = f"SELECT {counted} FROM r0 AS q1 LEFT JOIN {distinct} ON {equal}{rest}"  # noqa: S608 - likewise
    return Query(
        text,
        text,
        texts=(),
        relations=(
            QueryRelation(dataset.name, tuple(QueryColumn(field.name, field.type, field.scale) for field in fields)),
            QueryRelation(target.dataset, target.columns, delivered=is_own, full_name=target.full_name),
        ),
    )
