"""A dataset as a source of dbt, with the generic tests that dbt has itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.convert.ddl import DUCKDB
from lakegate.contracts.convert.promises import Converted, ExpressedPromises
from lakegate.contracts.draft.yaml_text import Flow, Items, Mapping, YamlEntry, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.draft.yaml_text import Node
    from lakegate.contracts.model.contract import Contract, Dataset, Field


def dbt(contract: Contract, dataset: Dataset) -> Converted:
    """`sources` of a dbt project, of version 1.8 or later (`data_tests`)."""
    promises = ExpressedPromises(dataset)
    key = promises.key() if sum(len(each.fields) for each in dataset.rules if each.kind == "primaryKey") == 1 else ()
    columns = [Mapping(list(_column(promises, each, key))) for each in dataset.fields]
    table = Mapping([YamlEntry("name", dataset.name), YamlEntry("columns", Items(columns))])
    source = Mapping([YamlEntry("name", contract.name or contract.id), YamlEntry("tables", Items([table]))])
    top = Mapping([YamlEntry("version", 2), YamlEntry("sources", Items([source]))])
    return Converted(written(top), promises.omitted())


def _column(promises: ExpressedPromises, each: Field, key: tuple[str, ...]) -> Iterator[YamlEntry]:
    yield YamlEntry("name", each.name)
    if each.description:
        yield YamlEntry("description", each.description)
    yield YamlEntry("data_type", DUCKDB.type(each))
    tests: list[Node] = []
    if promises.has(each.name, "required"):
        tests.append("not_null")
    if promises.has(each.name, "unique") or each.name in key:
        tests.append("unique")
    words = promises.words(each.name)
    if words:
        tests.append(Mapping([YamlEntry("accepted_values", Mapping([YamlEntry("values", Flow(words))]))]))
    if tests:
        yield YamlEntry("data_tests", Items(tests))
