"""The setting `derive`: its query as the plan has it, and its lints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.delivery_policy import (
    DeliveryUnit,
    Derivation,
    DerivationInput,
    MergeStrategy,
    PublishAs,
    Replaces,
)
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.field_paths import FieldPath, column_path
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import PRECISION, LogicalType
from lakegate.contract.schedules import ScheduleError, schedule
from lakegate.lints.findings import Finding, Lint, LintLevel, settings_of
from lakegate.plan.check import Query
from lakegate.plan.plan import Plan
from lakegate.sql.typed_sql import NUMBERS, RefusedError, SqlKind, UntranslatedError

if TYPE_CHECKING:
    from lakegate.sql.sql_names import OutputColumn

# ---- The query of a derived dataset ----
# The query is translated as those of rules are (docs/sql.md): the plan has a text of generated names for each engine. Around it
# stands a SELECT that gives each field of the contract its type, in the order of the fields, and puts the rows into one order, so
# that every run writes the same rows in the same order.


TYPES: Final[Mapping[LogicalType, tuple[frozenset[SqlKind], str]]] = {
    LogicalType.STRING: (frozenset({SqlKind.TEXT}), ""),
    LogicalType.INTEGER: (frozenset({SqlKind.INTEGER, SqlKind.SUM}), "BIGINT"),
    LogicalType.NUMBER: (frozenset({*NUMBERS, SqlKind.WIDE}), "DOUBLE"),
    LogicalType.DECIMAL: (frozenset({SqlKind.INTEGER, SqlKind.SUM, SqlKind.DECIMAL}), "DECIMAL"),
    LogicalType.BOOLEAN: (frozenset({SqlKind.BOOLEAN}), ""),
    LogicalType.DATE: (frozenset({SqlKind.DATE}), ""),
    LogicalType.TIMESTAMP: (frozenset({SqlKind.TIMESTAMP}), ""),
}
"""Of each type that a field of a derived dataset may have the kinds of values that it takes, and what they are cast to in both
engines; empty: they are of this type."""


class UnfitQueryError(Exception):
    """The query cannot give the dataset its rows; the message says why."""


def derived_query(derivation: Derivation, fields: tuple[Field, ...]) -> Query:
    """The query with the columns of these fields, `k0`, `k1`, …, over accepted data alone. Raises UnfitQueryError."""
    from lakegate.sql.sql_select import translate_rows  # noqa: PLC0415 - sqlglot, for derived datasets alone

    try:
        query, columns = translate_rows(_inputs(derivation), derivation.query, derivation.dialect)
    except RefusedError as refused:
        raise UnfitQueryError(f"{refused.message.rstrip('.')}.") from None
    except UntranslatedError as wrong:
        raise UnfitQueryError(f"The query cannot be run: {wrong.reason}.") from None
    read = {relation.dataset for relation in query.relations}
    for each in derivation.inputs:
        if each.name not in read:
            raise UnfitQueryError(f"The query does not read {quote(each.name)}: remove it from `inputs`.")
    names = [field.own_name for field in fields]
    places = {column.name: at for at, column in enumerate(columns)}
    for name in (column.name for at, column in enumerate(columns) if places[column.name] != at):
        raise UnfitQueryError(f"Two columns of the query are called {quote(name)}: rename one with AS.")
    for name in places.keys() - set(names):
        hint = did_you_mean(name, names)
        raise UnfitQueryError(f"The query returns {quote(name)}, which is no field of the dataset: declare it.{hint}")
    typed = [_typed(field, columns, places) for field in fields]
    selected = ", ".join(f"{text} AS k{at}" for at, text in enumerate(typed))
    order = ", ".join(f"k{number} ASC NULLS FIRST" for number in range(len(fields)))
    of_inputs = {each.name: each.dataset for each in derivation.inputs}
    return replace(
        query,
        text=f"SELECT {selected} FROM ({query.text}) AS q0 ORDER BY {order}",  # noqa: S608 - generated names
        duckdb=f"SELECT {selected} FROM ({query.duckdb}) AS q0 ORDER BY {order}",  # noqa: S608 - likewise
        relations=tuple(replace(each, full_name=of_inputs[each.dataset]) for each in query.relations),
    )


def _typed(field: Field, columns: tuple[OutputColumn, ...], places: Mapping[str, int]) -> str:
    """The column of a field with the type of the field, in the SQL of both engines. Raises UnfitQueryError."""
    name = field.own_name
    if field.parts or field.type not in TYPES:
        raise UnfitQueryError(f"{quote(name)} has a type that no query returns: declare a plain one.")
    if name not in places:
        raise UnfitQueryError(f"The query does not return {quote(name)}: add it, or remove the field.")
    kinds, kind = TYPES[field.type]
    column = columns[places[name]]
    is_wide = column.kind is SqlKind.WIDE and field.type is LogicalType.DECIMAL and column.scale == field.scale
    if column.kind not in kinds and not is_wide:
        words = f"{quote(name)} is declared as {field.type.value}, and the query returns {column.kind.value}"
        raise UnfitQueryError(f"{words}: cast it, or declare what it is.")
    digits = f"({PRECISION},{field.scale})" if field.type is LogicalType.DECIMAL else ""
    value = f"q0.k{places[name]}"
    return f"CAST({value} AS {kind}{digits})" if kind else value


def _inputs(derivation: Derivation) -> Contract:
    """The inputs as the datasets of a contract, by their names in the query."""
    origin = Origin("$")
    datasets = [
        Dataset(
            each.name,
            tuple(Field(FieldPath(column_path(one.name)), one.type, origin, scale=one.scale) for one in each.columns),
            (Rule("key", "unique", origin, tuple(FieldPath(column_path(name)) for name in each.key)),)
            if each.key
            else (),
            origin,
        )
        for each in derivation.inputs
    ]
    return Contract("inputs", "1.0.0", "", tuple(datasets))


def plan_data(_contract: Contract, dataset: Dataset, plan: Plan) -> Plan:
    """The plan with the query of a derived dataset. Raises ContractError."""
    if dataset.policy.derive is None:
        return plan
    try:
        return replace(plan, derived=derived_query(dataset.policy.derive, dataset.fields))
    except UnfitQueryError as wrong:
        raise ContractError((Problem(UNFIT, dataset.origin.path, dataset.origin.line, str(wrong)),)) from None


def column_faults(each: DerivationInput, plan: Plan) -> Iterator[str]:
    """What is wrong with the columns of an input, by the plan of its dataset."""
    columns = {column.column: column for column in plan.columns}
    for column in each.columns:
        known = columns.get(column.name)
        if known is None:
            yield f"{each.dataset} has no column {quote(column.name)}.{did_you_mean(column.name, columns)}"
        elif (known.type, known.scale) != (column.type, column.scale):
            digits = f"({PRECISION},{known.scale})" if known.type is LogicalType.DECIMAL else ""
            words = f"{quote(column.name)} of {each.dataset} is of the type {known.type.value}{digits}"
            yield f"{words}: declare it so in `inputs`."


# ---- Lints ----


UNFIT: Final = "derived-query"
WHOLE: Final = (
    "Each run returns all rows: say `replaces: delivery`, so that they come in the place of those before, or "
    "`publishAs: parquet` with `mergeStrategy: snapshot`, which publishes the differences."
)


def unfit_query(contract: Contract, document: Document) -> Iterator[Finding]:
    """The query of a derived dataset can be run, and returns the fields of the dataset."""
    for place, dataset, derivation in _derived(contract, document):
        try:
            derived_query(derivation, dataset.fields)
        except UnfitQueryError as wrong:
            yield place["query"].path, str(wrong)


def unfit_settings(contract: Contract, document: Document) -> Iterator[Finding]:
    """A derived dataset is computed as a whole each time, and has no files that a producer could deliver."""
    for place, dataset, derivation in _derived(contract, document):
        policy = dataset.policy
        try:
            schedule(derivation.schedule)
        except ScheduleError as wrong:
            yield place["schedule"].path, f"{quote(derivation.schedule)} is no schedule: {wrong}."
        is_snapshot = policy.publish_as is PublishAs.PARQUET and policy.merge_strategy is MergeStrategy.SNAPSHOT
        if not is_snapshot and (policy.replaces is not Replaces.DELIVERY or policy.publish_as is PublishAs.PARQUET):
            yield place.path, WHOLE
        if policy.pull is not None:
            yield place.path, "A derived dataset has no other source: remove `pull`."
        if policy.delivery is not DeliveryUnit.OBJECT:
            yield place.path, "A derived dataset is one delivery: remove `delivery`."
        if dataset.storage.format is not Format.PARQUET:
            yield place.path, "The rows of a derived dataset are Parquet: remove `format`."
        own = f"{contract.id}/{dataset.name}_v{contract.version.partition('.')[0]}"
        if own in {each.dataset for each in derivation.inputs}:
            yield place["inputs"].path, "No dataset is derived from itself: remove the input."


def _derived(contract: Contract, document: Document) -> Iterator[tuple[Place, Dataset, Derivation]]:
    for place, datasets in settings_of(contract, document, "derive"):
        for dataset in datasets:
            if dataset.policy.derive is not None:  # else it is refused already
                yield place, dataset, dataset.policy.derive


LINTS: Final = {
    UNFIT: Lint(LintLevel.ERROR, unfit_query),
    "derived-settings": Lint(LintLevel.ERROR, unfit_settings),
}
