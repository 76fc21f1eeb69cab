"""ODCS draft of a profile, with evidence as comments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from textwrap import wrap
from typing import TYPE_CHECKING

from lakegate.base.text import dataset_name, plural
from lakegate.contract.contract_model import Shape
from lakegate.contract.documents.key_table import ODCS_SHAPES, ODCS_TYPES
from lakegate.contract.documents.read_document import LARGEST_BYTES, MAX_NODES
from lakegate.contract.documents.yaml_writer import (
    Flow,
    Items,
    Mapping,
    Remark,
    YamlEntry,
    for_editors,
    nodes,
    write_document,
)
from lakegate.contract.file_formats import Compression, Csv, Format
from lakegate.contract.logical_types import LogicalType
from lakegate.features.draft.faults_of_data import without_faults
from lakegate.features.draft.suggestions import (
    freshness,
    options,
    others,
    primary_key,
    quality,
    share,
    type_note,
    why_personal,
)

if TYPE_CHECKING:
    from lakegate.features.draft.found_fields import Profile, ProfiledColumn

# ---- Properties of columns ----


def describable(columns: Sequence[ProfiledColumn]) -> tuple[list[ProfiledColumn], list[str]]:
    """The columns that a contract can name, and why it cannot name the others."""
    chosen: list[ProfiledColumn] = []
    left_out: list[str] = []
    seen: set[str] = set()
    for number, column in enumerate(columns, 1):
        reason = _nameless(number, len(columns)) if not column.name.strip() else _undescribable(column, seen)
        if reason is None:
            chosen.append(column)
            seen.add(column.name.casefold())
        else:
            left_out.append(f"{_label(column.name, number)}: {reason}")
    return chosen, left_out


def _label(name: str, number: int) -> str:
    """A name as it can be seen, or the number of a column without one."""
    if not name.strip():
        return f"column {number:,}"
    return name if name == name.strip() and name.isprintable() else repr(name)


def _nameless(number: int, of: int) -> str:
    """Why a column is left out that has no name, by its place."""
    hints = {1: " (it may be numbers of rows: pandas writes none with index=False)"} if of > 1 else {}
    hints[of] = hints.get(of, " (it may be a delimiter at the end of each line)")
    return f"it has no name: give it one, or remove it{hints.get(number, '')}"


def _undescribable(column: ProfiledColumn, seen: set[str]) -> str | None:
    if column.name != column.name.strip():
        return "its name begins or ends with a blank: remove that"
    if _INDEX.fullmatch(column.name) and column.type is LogicalType.INTEGER:
        return "it numbers the rows, as pandas does: write files without it (index=False)"
    if not column.name.isprintable():
        return "its name has characters that nobody sees: remove them"
    if column.name.casefold() in seen:
        return "another column has the same name but for capitals"
    if not _is_known(column):
        return column.others or "its values are of several kinds, or of one that no contract declares"
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
    return _name_property(column, _content(column, key, unique, is_full=is_full))


def _content(column: ProfiledColumn, key: tuple[str, ...], unique: tuple[str, ...], *, is_full: bool) -> Mapping:
    """A property without its name."""
    if not is_full:
        personal = (
            [YamlEntry("classification", "confidential", "suggested")]
            if not column.parts and why_personal(column) is not None
            else []
        )
        required = [YamlEntry("required", True)] if column.is_required else []
        return Mapping([*_type(column), *required, *personal, *_parts(column, is_full=False)])
    about = [YamlEntry("description", column.description)] if column.description else []
    return Mapping([*about, *_type(column), *_requirements(column, key, unique), *_parts(column, is_full=True)])


def _type(column: ProfiledColumn) -> Iterator[YamlEntry]:
    format_ = column.values.spelling.format if column.values.spelling is not None else None
    kind = column.type if column.values.spelling is None or format_ is None else column.values.spelling.type
    physical = ODCS_TYPES[column.type][1]
    word = ODCS_TYPES[kind if physical is None else column.type][0]
    yield YamlEntry("logicalType", ODCS_SHAPES.get(column.shape, word), type_note(column))
    if physical is not None:
        yield YamlEntry("physicalType", (column.physical if column.type is LogicalType.DECIMAL else None) or physical)
    if format_ is not None:
        yield YamlEntry("logicalTypeOptions", Mapping([YamlEntry("format", format_)]))


def _requirements(column: ProfiledColumn, key: tuple[str, ...], unique: tuple[str, ...]) -> Iterator[YamlEntry]:
    personal = why_personal(column) if not column.parts else None
    if column.is_required:
        yield YamlEntry("required", True)
    elif column.present == column.rows and column.rows:
        yield YamlEntry("required", True, f"suggested: present in {share(column.present, column.rows)}")
    if column.name in key:
        of = "no value occurs twice" if len(key) == 1 else f"no pair of {' and '.join(key)} occurs twice"
        yield YamlEntry("primaryKey", True, f"suggested: {of} in {plural(column.rows, 'row')}")
        yield YamlEntry("primaryKeyPosition", key.index(column.name) + 1)
    if column.name in unique:
        yield YamlEntry("unique", True, f"suggested: no value occurs twice in {plural(column.rows, 'row')}")
    if personal is not None:
        yield YamlEntry("classification", "confidential", f"suggested: {personal}")
        yield YamlEntry("tags", Flow(["pii"]))
    elif (mapping := options(column, is_key=column.name in (*key, *unique))) is not None:
        yield YamlEntry("logicalTypeOptions", mapping)
    if (rules := quality(column, is_personal=personal is not None)) is not None:
        yield YamlEntry("quality", rules)


def _parts(column: ProfiledColumn, *, is_full: bool) -> Iterator[YamlEntry | Remark]:
    """The members of a record, the items of a list, the keys and values of a map."""
    parts = {part.name: _content(part, (), (), is_full=is_full) for part in column.parts}
    match column.shape:
        case Shape.RECORD:
            chosen, left_out = describable(column.parts)
            yield from (Remark(f"left out: {entry}") for entry in left_out)
            yield YamlEntry("properties", Items([_name_property(entry, parts[entry.name]) for entry in chosen]))
        case Shape.LIST:
            yield YamlEntry("items", parts["[]"])
        case Shape.MAP:
            yield YamlEntry("map", Mapping([YamlEntry(name, part) for name, part in parts.items()]))
        case _:
            return


def _name_property(column: ProfiledColumn, property_: Mapping) -> Mapping:
    is_index = _INDEX.fullmatch(column.name) is not None
    note = "it seems to be the index of pandas: write files without it (index=False)" if is_index else ""
    return Mapping([YamlEntry("name", column.name, note), *property_.entries])


_INDEX = re.compile(r"Unnamed: [0-9]+(?:_level_[0-9]+)?|__index_level_[0-9]+__")
"""Names that pandas alone gives to row numbers."""


# ---- The draft ----
# What is certain (names of columns, the format, types that a file declares) has no comment. A document has limits of bytes and
# nodes; a draft that would exceed them leaves out suggestions first, and then columns, and says so.


VERSION, WITH_MAPS = "v3.1.0", "v3.2.0"
"""The version of ODCS; 3.1 has no maps."""
ROOM = 0.95
"""The share of the limits of a document that a draft fills."""
HALF = 2
MAX_FAULTS, MAX_LINES, LONGEST_LINE = 10, 4, 116
"""Faults of the data that a draft names, lines of each, and characters of a line."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted document."""

    text: str
    columns: int
    """Columns that it describes."""
    left_out: tuple[str, ...]
    """Columns that it does not describe, and why, in words."""
    faults: tuple[str, ...]
    """What of the data it does not repeat, in words with the remedy."""
    as_text: tuple[str, ...]
    """Columns that it describes as text, although all or most values are of another type, in words."""
    suggestions: int
    """Comments with evidence."""
    dataset: str


def draft(profile: Profile, name: str, owner: str | None, now: datetime, faults: Sequence[str] = ()) -> Draft:
    """The draft of a profile; `now` is compared with the newest value of its freshness column.

    `faults`: why the draft rejects the data that it was made from, in words; they stand above it.
    """
    profile, own = without_faults(profile)
    chosen, left_out = describable(profile.columns)
    for is_full in (True, False):
        text, count = _render_document(profile, chosen, left_out, name, owner, now, own, faults, is_full=is_full)
        if _fits(text, count):
            return _draft(text, chosen, left_out, own, name)
    while not _fits(text, count):
        keep = int(len(chosen) * min(ROOM * MAX_NODES / count, ROOM * LARGEST_BYTES / len(text.encode())) * ROOM)
        chosen = chosen[: max(1, min(keep, len(chosen) - 1))]
        left_out = [
            *describable(profile.columns)[1],
            f"all columns after {chosen[-1].name}: a document has limits",
        ]
        text, count = _render_document(profile, chosen, left_out, name, owner, now, own, faults, is_full=False)
    return _draft(text, chosen, left_out, own, name)


def _draft(text: str, chosen: list[ProfiledColumn], left_out: list[str], faults: tuple[str, ...], name: str) -> Draft:
    as_text = (f"{each.name}: {type_note(each).removeprefix('suggested: ')}" for each in chosen if each.is_other_text)
    return Draft(
        text, len(chosen), tuple(left_out), faults, tuple(as_text), text.count("# suggested"), dataset_name(name)
    )


def _fits(text: str, count: int) -> bool:
    return count <= ROOM * MAX_NODES and len(text.encode()) <= ROOM * LARGEST_BYTES


def _render_document(  # noqa: PLR0913, PLR0917 - what a document is made of
    profile: Profile,
    columns: list[ProfiledColumn],
    left_out: list[str],
    name: str,
    owner: str | None,
    now: datetime,
    found: Sequence[str],
    faults: Sequence[str],
    *,
    is_full: bool,
) -> tuple[str, int]:
    dataset = dataset_name(name)
    key = primary_key(profile) if is_full else ()
    unique = others(profile, key) if is_full else ()
    properties = [property_of(column, key, unique, is_full=is_full) for column in columns]
    version = WITH_MAPS if any(one.shape is Shape.MAP for column in columns for one in column.inner()) else VERSION
    levels = [] if not is_full else list(freshness(columns, dataset, now))
    top = Mapping(
        [
            *for_editors(version),
            *_listed("Found in the data, and not repeated by this draft:", found),
            Remark(
                f"Drafted by `lakegate init` from {plural(profile.rows, 'row')}. Read each line with `suggested`: its comment is"
            ),
            Remark(
                "what the data shows, not what was agreed. Correct it, remove the comment, and set `status: active`."
            ),
            *_listed(
                "This data is rejected by its own draft. Each of these is a fault of the data, or a rule to correct:",
                faults,
            ),
            YamlEntry("apiVersion", version),
            YamlEntry("kind", "DataContract"),
            YamlEntry("id", dataset.replace("_", "-")),
            YamlEntry("name", name),
            YamlEntry("version", "1.0.0"),
            YamlEntry("status", "draft"),
            *([] if owner is None else [YamlEntry("team", Mapping([YamlEntry("name", owner)]))]),
            YamlEntry("schema", Items([_dataset(profile, dataset, properties, left_out, is_full=is_full)])),
            *levels,
        ]
    )
    return write_document(top), nodes(top)


def _listed(title: str, faults: Sequence[str]) -> Iterator[Remark]:
    """Faults of the data in lines of a comment."""
    if faults:
        yield Remark(title)
    for fault in faults[:MAX_FAULTS]:
        for at, line in enumerate(wrap(fault, LONGEST_LINE, max_lines=MAX_LINES)):
            yield Remark(f"{'  ' if at else '- '}{line}")
    if len(faults) > MAX_FAULTS:
        yield Remark(f"- and {len(faults) - MAX_FAULTS:,} more: `lakegate check` names them")


def _dataset(profile: Profile, name: str, properties: list[Mapping], left_out: list[str], *, is_full: bool) -> Mapping:
    entries = (one for entry in properties for one in entry.entries if isinstance(one, YamlEntry))
    names = {str(entry.value) for entry in entries if entry.key == "name"}
    of_file = profile.rows // max(1, profile.files)
    rows = (
        0 if any(_row_by_row(profile)) else of_file // HALF
    )  # corrected rows are delivered by themselves: they are few
    count = Mapping(
        [
            YamlEntry("metric", "rowCount", f"suggested: half of the {plural(of_file, 'row')} that a file has"),
            YamlEntry("mustBeGreaterOrEqualTo", rows),
        ]
    )
    settings = Mapping(
        [YamlEntry("property", "lakegate"), YamlEntry("value", Mapping(list(_settings(profile, names))))]
    )
    return Mapping(
        [
            YamlEntry("name", name),
            YamlEntry("logicalType", "object"),
            *([YamlEntry("description", profile.description)] if is_full and profile.description else []),
            *(Remark(f"left out: {text}") for text in left_out),
            YamlEntry("properties", Items(properties)),
            *([YamlEntry("quality", Items([count]))] if is_full and rows else []),
            YamlEntry("customProperties", Items([settings])),
        ]
    )


def _of_columns(csv: Csv, names: Collection[str]) -> Iterator[YamlEntry]:
    own = [value for value in csv.null_values_by_column if value.column in names]
    if own:
        note = "suggested: there, words for null have the form of the values"
        yield YamlEntry(
            "nullValuesByColumn", Mapping([YamlEntry(value.column, Flow(value.words)) for value in own]), note
        )


def _separators(csv: Csv) -> Iterator[YamlEntry]:
    if csv.decimal_separator != ".":
        yield YamlEntry("decimalSeparator", csv.decimal_separator, "suggested: numbers are written so")
    if csv.thousands_separator:
        yield YamlEntry("thousandsSeparator", csv.thousands_separator, "suggested: numbers are written so")


TOLERATED = Decimal("0.2")
"""The share of the rows up to which those with a value of another kind are rejected alone."""


def _row_by_row(profile: Profile) -> Iterator[YamlEntry]:
    """The tolerance for values that are of another kind than most of their column."""
    strays = sum(column.strays for column in profile.columns if column.shape is not Shape.ANY)
    if strays and strays <= TOLERATED * profile.rows and profile.storage.splits_rows:
        most = (Decimal(strays) / profile.rows).quantize(Decimal("0.01"), ROUND_CEILING) + Decimal("0.01")
        yield YamlEntry(
            "onReject", "rows", "suggested: rows with a value of another kind are kept apart; file: no row goes on"
        )
        yield YamlEntry("maxRejectedShare", most, f"suggested: {share(strays, profile.rows)} have such a value")


def _skipped(csv: Csv) -> Iterator[YamlEntry]:
    if csv.skip_rows:
        yield YamlEntry("skipRows", csv.skip_rows, f"suggested: the header stands in line {csv.skip_rows + 1}")


AS_TABLE = "publishAs: iceberg  # a table with these types, whatever is delivered: for a stack that keeps tables"
"""A comment, which becomes a setting without its first character: it writes the rows a second time, which is of use only where
the stack has a database for tables, and with it no delivery can be waived."""


def _settings(profile: Profile, names: Collection[str]) -> Iterator[YamlEntry | Remark]:
    storage, csv, standard = profile.storage, profile.csv, Csv()
    yield YamlEntry("format", storage.format.value)
    if storage.format.is_text:
        yield Remark(AS_TABLE)
    if storage.records:
        yield YamlEntry("records", storage.records, f"suggested: {plural(profile.rows, 'object')} stand there")
    if storage.compression is not Compression.NONE:
        yield YamlEntry("compression", storage.compression.value)
    yield YamlEntry("additionalFields", "warn", "suggested: a column that nobody agreed on is reported")
    if not storage.format.is_json:
        yield YamlEntry("missingFields", "forbid", "suggested: every delivery has all columns")
    yield from _row_by_row(profile)
    if profile.has_dated_names and primary_key(profile):
        yield YamlEntry("replaces", "delivery", "suggested: the name has a date, so a corrected file has the same one")
    if storage.format is Format.CSV:
        stand = plural(len(csv.null_values), "word stands", "words stand")
        nulls = f"suggested: {stand} where values of another type do"
        entries = [
            YamlEntry("delimiter", csv.delimiter),
            YamlEntry("quote", csv.quote),
            YamlEntry("header", csv.header, "" if csv.header else "suggested: the first line has values"),
            YamlEntry("encoding", csv.encoding, "" if csv.encoding.startswith("utf") else "suggested: it is not UTF-8"),
            *_skipped(csv),
            *([YamlEntry("nullValues", Flow(csv.null_values), nulls)] if csv.null_values else []),
            *_of_columns(csv, names),
            *_separators(csv),
            *([YamlEntry("multiLine", csv.multi_line)] if csv.multi_line != standard.multi_line else []),
        ]
        yield YamlEntry("csv", Mapping(entries))
