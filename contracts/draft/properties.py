"""The ODCS properties of columns: names, types, what the data suggests of them, and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.draft.personal import why_personal
from lakegate.contracts.draft.suggestions import options, quality, share, type_note
from lakegate.contracts.draft.yaml_text import Flow, Items, Mapping, Remark, YamlEntry
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.contracts.draft.profile import ProfiledColumn

_LOGICAL = {Shape.RECORD: "object", Shape.LIST: "array", Shape.MAP: "map"}


def describable(columns: Sequence[ProfiledColumn]) -> tuple[list[ProfiledColumn], list[str]]:
    """The columns that a contract can name, and why it cannot name the others."""
    chosen: list[ProfiledColumn] = []
    left_out: list[str] = []
    seen: set[str] = set()
    for each in columns:
        reason = _undescribable(each, seen)
        if reason is None:
            chosen.append(each)
            seen.add(each.name.casefold())
        else:
            left_out.append(f"{each.name}: {reason}")
    return chosen, left_out


def _undescribable(column: ProfiledColumn, seen: set[str]) -> str | None:
    if not column.name.strip() or column.name != column.name.strip() or not column.name.isprintable():
        return "its name has a space at an end, or characters that nobody sees"
    if column.name.casefold() in seen:
        return "another column has the same name but for capitals"
    if not _is_known(column):
        return "its values are of several kinds, or of one that no contract declares"
    return None


def _is_known(column: ProfiledColumn) -> bool:
    """Whether the kind of the values is known, and that of their parts."""
    match column.shape:
        case Shape.VALUE:
            return True
        case Shape.RECORD:
            return any(map(_is_known, column.parts))
        case Shape.LIST | Shape.MAP:
            return all(map(_is_known, column.parts))
        case _:
            return False


def property_of(column: ProfiledColumn, key: tuple[str, ...], unique: tuple[str, ...], *, is_full: bool) -> Mapping:
    """A column as a property; `key` and `unique` are the columns of the primary key and other unique ones.

    Without `is_full` nothing is suggested but the type, and that it is personal.
    """
    return _named(column, _content(column, key, unique, is_full=is_full))


def _content(column: ProfiledColumn, key: tuple[str, ...], unique: tuple[str, ...], *, is_full: bool) -> Mapping:
    """A property without its name."""
    if not is_full:
        personal = [YamlEntry("classification", "confidential", "suggested")] if _is_personal(column) else []
        return Mapping([*_type(column), *personal, *_parts(column, is_full=False)])
    return Mapping([*_type(column), *_promises(column, key, unique), *_parts(column, is_full=True)])


def _is_personal(column: ProfiledColumn) -> bool:
    return not column.parts and why_personal(column) is not None


def _type(column: ProfiledColumn) -> Iterator[YamlEntry]:
    exact = column.type is LogicalType.DECIMAL
    is_bytes = column.type is LogicalType.BINARY
    format_ = column.values.spelling.format if column.values.spelling is not None else None
    kind = column.type if column.values.spelling is None or format_ is None else column.values.spelling.type
    word = "number" if exact else "string" if is_bytes else kind.value
    yield YamlEntry("logicalType", _LOGICAL.get(column.shape, word), type_note(column))
    if exact or is_bytes:
        yield YamlEntry("physicalType", "binary" if is_bytes else column.physical or "decimal")
    if format_ is not None:
        yield YamlEntry("logicalTypeOptions", Mapping([YamlEntry("format", format_)]))


def _promises(column: ProfiledColumn, key: tuple[str, ...], unique: tuple[str, ...]) -> Iterator[YamlEntry]:
    personal = why_personal(column) if not column.parts else None
    if column.present == column.rows and column.rows:
        yield YamlEntry("required", True, f"suggested: present in {share(column.present, column.rows)}")
    if column.name in key:
        of = "no value occurs twice" if len(key) == 1 else f"no pair of {' and '.join(key)} occurs twice"
        yield YamlEntry("primaryKey", True, f"suggested: {of} in {counted(column.rows, 'row')}")
        yield YamlEntry("primaryKeyPosition", key.index(column.name) + 1)
    if column.name in unique:
        yield YamlEntry("unique", True, f"suggested: no value occurs twice in {counted(column.rows, 'row')}")
    if personal is not None:
        yield YamlEntry("classification", "confidential", f"suggested: {personal}")
        yield YamlEntry("tags", Flow(["pii"]))
    elif (found := options(column, is_key=column.name in (*key, *unique))) is not None:
        yield YamlEntry("logicalTypeOptions", found)
    if (rules := quality(column, is_personal=personal is not None)) is not None:
        yield YamlEntry("quality", rules)


def _parts(column: ProfiledColumn, *, is_full: bool) -> Iterator[YamlEntry | Remark]:
    """The members of a record, the items of a list, the keys and values of a map."""
    parts = {each.name: _content(each, (), (), is_full=is_full) for each in column.parts}
    match column.shape:
        case Shape.RECORD:
            chosen, left_out = describable(column.parts)
            yield from (Remark(f"left out: {each}") for each in left_out)
            yield YamlEntry("properties", Items([_named(each, parts[each.name]) for each in chosen]))
        case Shape.LIST:
            yield YamlEntry("items", parts["[]"])
        case Shape.MAP:
            yield YamlEntry("map", Mapping([YamlEntry(name, each) for name, each in parts.items()]))
        case _:
            return


def _named(column: ProfiledColumn, property_: Mapping) -> Mapping:
    return Mapping([YamlEntry("name", column.name), *property_.entries])
