"""Fields that texts of a document name: rules of the dataset, service levels, references."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from lakegate.base.errors import Problem
from lakegate.base.text import quote
from lakegate.contract.contract_model import Dataset, Rule
from lakegate.contract.field_paths import FieldPath, spelled_out

AMBIGUOUS = "ambiguous-field"


class _WrittenName(str):
    """A text with which a rule names a field, until `with_paths` has found the field."""

    __slots__ = ()


def written_names(texts: Iterable[str]) -> tuple[FieldPath, ...]:
    """The fields of a rule as its document names them: by path or, of columns, by name."""
    return tuple(FieldPath(_WrittenName(text)) for text in texts)


def with_paths(rules: Iterable[Rule], dataset: Dataset, errors: list[Problem]) -> Iterator[Rule]:
    """The rules of a dataset with the paths of the fields that they name; what names no field is kept, which lints refuse.

    A text that names two fields is added to `errors`.
    """
    for rule in rules:
        if not any(isinstance(field, _WrittenName) for field in rule.fields):
            yield rule
            continue
        paths = []
        for text in rule.fields:
            names = [entry.name for entry in dataset.named(text)] if isinstance(text, _WrittenName) else [text]
            if len(names) > 1:
                errors.append(Problem(AMBIGUOUS, rule.origin.path, rule.origin.line, ambiguous(text, names)))
            paths.append(names[0] if names else FieldPath(str(text)))
        yield replace(rule, fields=tuple(paths))


def ambiguous(text: str, paths: Iterable[FieldPath]) -> str:
    """The message for a text that names several fields."""
    ways = " or ".join(quote(spelled_out(path)) for path in paths)
    return f"The name {quote(text)} is that of a column and the path of a nested field: write {ways}."


def in_dataset(element: str, datasets: Collection[str]) -> tuple[str, str]:
    """Dataset and field of `orders.placed_at`; the field is empty where there is none. Names of datasets may have points."""
    known = [dataset for dataset in datasets if element == dataset or element.startswith(f"{dataset}.")]
    if not known:
        table, _, field = element.partition(".")
        return table, field
    table = max(known, key=len)
    return table, element.removeprefix(table).removeprefix(".")
