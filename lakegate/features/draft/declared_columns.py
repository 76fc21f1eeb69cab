"""What a table declares of its columns, beside what their values show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakegate.features.draft.found_fields import Profile, ProfiledColumn
from lakegate.local_check.table_readers import TableColumn, WrittenTable


def as_declared(profile: Profile, table: WrittenTable) -> Profile:
    """The profile of a table's rows with descriptions and required columns, also of nested fields."""
    return replace(profile, columns=_declared(profile.columns, table.columns), description=table.description.strip())


def _declared(found: Sequence[ProfiledColumn], declared: Sequence[TableColumn]) -> tuple[ProfiledColumn, ...]:
    known = {each.name: each for each in declared}
    return tuple(_with(each, known[each.name]) if each.name in known else each for each in found)


def _with(column: ProfiledColumn, declared: TableColumn) -> ProfiledColumn:
    parts = _declared(column.parts, declared.parts)
    return replace(column, parts=parts, is_required=declared.is_required, description=declared.description)
