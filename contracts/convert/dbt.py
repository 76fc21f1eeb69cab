"""A dataset as a source of dbt, with the generic tests that dbt has itself.

dbt renders the texts of a source as templates of Jinja: what begins a tag in a text of the contract is written as a literal, so
that dbt reads the text itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.convert.ddl import DUCKDB
from lakegate.contracts.convert.promises import PLAIN, Converted, ExpressedPromises
from lakegate.contracts.draft.yaml_text import Flow, Items, Mapping, YamlEntry, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.draft.yaml_text import Node
    from lakegate.contracts.model.contract import Contract, Dataset, Field

_TAG = re.compile(r"\{[{%#]")
"""What begins an expression, a statement or a comment of Jinja."""


def dbt(contract: Contract, dataset: Dataset) -> Converted:
    """`sources` of a dbt project, of version 1.8 or later (`data_tests`)."""
    promises = ExpressedPromises(dataset)
    name = contract.name or contract.id
    key = promises.key() if sum(len(each.fields) for each in dataset.rules if each.kind == "primaryKey") == 1 else ()
    columns = [Mapping(list(_column(promises, name, each, key))) for each in dataset.fields]
    table = Mapping([YamlEntry("name", text_of(dataset.name)), YamlEntry("columns", Items(columns))])
    source = Mapping([YamlEntry("name", text_of(name)), YamlEntry("tables", Items([table]))])
    top = Mapping([YamlEntry("version", 2), YamlEntry("sources", Items([source]))])
    return Converted(written(top), promises.omitted())


def text_of(text: str) -> str:
    """A template of Jinja whose text is the given one."""
    return _TAG.sub(lambda found: f"{{{{ '{found[0]}' }}}}", text)


def _column(promises: ExpressedPromises, source: str, each: Field, key: tuple[str, ...]) -> Iterator[YamlEntry]:
    yield YamlEntry("name", text_of(each.name))
    if each.description:
        yield YamlEntry("description", text_of(each.description))
    yield YamlEntry("data_type", text_of(DUCKDB.type(each)))
    tests: list[Node] = []
    if promises.is_present(each.name):
        tests.append("not_null")
    if promises.has(each.name, "unique") or each.name in key:
        tests.append("unique")
    words = promises.words(each.name)
    if words:
        tests.append(_test("accepted_values", YamlEntry("values", Flow([text_of(word) for word in words]))))
    for table, column in promises.references(each.name) if PLAIN.fullmatch(source) else ():
        to = YamlEntry("to", f"source('{source}', '{table}')")
        tests.append(_test("relationships", to, YamlEntry("field", text_of(column))))
    if tests:
        yield YamlEntry("data_tests", Items(tests))


def _test(name: str, *arguments: YamlEntry) -> Mapping:
    return Mapping([YamlEntry(name, Mapping(arguments))])
