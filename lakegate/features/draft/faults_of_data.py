"""Faults of data that its draft does not repeat: `check` names each of them in the next file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from lakegate.base.text import plural
from lakegate.contract.contract_model import Shape
from lakegate.features.draft.found_fields import Profile, ProfiledColumn


def without_faults(profile: Profile) -> tuple[Profile, tuple[str, ...]]:
    """The profile as the data would be without its faults, and the faults, in words with their remedies."""
    bare = Counter(column.name.strip().casefold() for column in profile.columns)
    names = {
        name: name.strip() if name.strip() and bare[name.strip().casefold()] == 1 else name
        for name in (column.name for column in profile.columns)
    }
    null_words = tuple(replace(own, column=names[own.column]) for own in profile.csv.null_values_by_column)
    cleaned = replace(
        profile,
        csv=replace(profile.csv, null_values_by_column=null_words),
        columns=tuple(replace(_with_words(column), name=names[column.name]) for column in profile.columns),
        unique=tuple(names[column] for column in profile.unique),
        rising=tuple(names[column] for column in profile.rising),
        pairs=tuple((names[one], names[other]) for one, other in profile.pairs),
    )
    return cleaned, (*_in_rows(profile), *_in_columns(profile, names))


def _with_words(column: ProfiledColumn) -> ProfiledColumn:
    """The column and its parts with words that differ in more than blanks."""
    values = replace(column.values, words=_words(column))
    return replace(column, values=values, parts=tuple(map(_with_words, column.parts)))


def _words(column: ProfiledColumn) -> tuple[tuple[str, int], ...]:
    """The words of a column; those that differ in blanks around them are one, which is counted with all its values."""
    known = {word for word, _ in column.values.words}
    found: dict[str, int] = {}
    for word, count in column.values.words:
        bare = word.strip() if word.strip() in known else word
        found[bare] = found.get(bare, 0) + count
    return tuple(sorted(found.items(), key=lambda entry: (-entry[1], entry[0])))


def _in_rows(profile: Profile) -> Iterator[str]:
    if profile.csv.skip_rows:
        yield f"{plural(profile.csv.skip_rows, 'line')} above the header: the draft skips so many in each file (csv.skipRows)"
    if path := profile.storage.records:
        objects = plural(profile.rows, "object")
        yield f"{objects} in {path} of one object: they are the records (records: {path}); what is beside them is not checked"
    if profile.without_record:
        rows = plural(profile.without_record, "row")
        yield f"{rows} without a record, with no value, totals, units or the header again: remove such rows"
    for column in profile.columns if profile.rows == 1 and profile.storage.format.is_json else ():
        (items, *_) = column.parts or (column,)
        if column.shape is Shape.LIST and items.shape is Shape.RECORD and items.rows > 1:
            objects = plural(items.rows, "object")
            yield f"{objects} in the list {column.name} of the only record: write each of them as a record of its own"


def _in_columns(profile: Profile, names: dict[str, str]) -> Iterator[str]:
    for column in profile.columns:
        name = names[column.name]
        if name != column.name:
            yield f"{column.name!r}: its name begins or ends with a blank: remove that"
        merged = dict(_words(column))
        if padded := sum(count for word, count in column.values.words if word not in merged):
            values = plural(padded, "value")
            yield f"{name}: {values} with blanks around a word that others have without: write them without"
        for part in column.inner():
            if part.others and part.shape is not Shape.ANY:
                place = name if part is column else f"{name}, {part.name}"
                yield f"{place}: {part.others}: write all of them as one kind (the draft has the commonest)"
