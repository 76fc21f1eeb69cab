"""Paths of fields: one text for each place in a record, and back.

`address.street` is the member `street` of the column `address`, `lines[].sku` that of each element of the list `lines`,
`prices.key` and `prices.value` are the parts of a map. A name that would be read as a path itself, or as a quoted name, is
written in double quotes, with those in it doubled: `"a.b"` is the column of that name, `a.b` the member `b` of the column `a`,
`a."b.c"` its member `b.c`. A point separates only where a name follows it at once: `No.` and `Emp. ID` are names as they are.

Steps are those of plans: `.name` to a column or a member, `[]` to the elements of a list, `{key}` and `{value}` to the parts of
a map. In a text, these two are written as members: a field is a map or a record, never both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NewType

FieldPath = NewType("FieldPath", str)
"""The text of a path. Equal texts are the same place of a record, and other texts other places."""
ELEMENTS: Final = "[]"
KEY: Final = "key"
VALUE: Final = "value"
_BEFORE_NAME: Final = r"\.(?=[^\s.\[])"
_PLAIN: Final = rf"(?!\[\]).(?:(?!{_BEFORE_NAME}|\[\]).)*"
_QUOTED: Final = r'"(?:[^"]|"")*"'
_COLUMN: Final = re.compile(rf'{_QUOTED}|(?!"){_PLAIN}|\Z', re.DOTALL)
_STEP: Final = re.compile(rf'\[\]|\.(?:{_QUOTED}|(?![\s.\["]){_PLAIN})', re.DOTALL)


def column_path(name: str) -> FieldPath:
    """The path of a column."""
    return FieldPath(
        name if (match := _COLUMN.match(name)) and match[0] == name and name[:1] != '"' else quoted_name(name)
    )


def member_path(record: FieldPath, name: str) -> FieldPath:
    """The path of a member of a record."""
    return FieldPath(f"{record or quoted_name('')}{member_step(name)}")


def member_step(name: str) -> str:
    """What the path of a member has behind that of its record: `.street`, `."a.b"`."""
    match = _STEP.match(f".{name}")
    is_plain = match is not None and match[0] == f".{name}" and name[:1] != '"'
    return f".{name if is_plain else quoted_name(name)}"


def element_path(array: FieldPath) -> FieldPath:
    """The path of the elements of a list."""
    return FieldPath(f"{array or quoted_name('')}{ELEMENTS}")


def path_of(steps: Iterable[str]) -> FieldPath:
    """The path of some steps of a plan, the first of which leads to a column."""
    first, *rest = steps
    path = column_path(first[1:])
    for step in rest:
        path = element_path(path) if step == ELEMENTS else member_path(path, step[1:] if step[0] == "." else step[1:-1])
    return path


def steps_of(path: str) -> tuple[str, ...] | None:
    """The steps of a path, those to parts of a map as to members; None for a text that is no path."""
    match = _COLUMN.match(path)
    if match is None:
        return None
    steps, at = [f".{_plain(match[0])}"], match.end()
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        steps.append(match[0] if match[0] == ELEMENTS else f".{_plain(match[0][1:])}")
        at = match.end()
    return tuple(steps)


def step_to(path: str) -> str:
    """The last step of a path, that to a part of a map as to a member; a text that is no path is the name of a column."""
    return (steps_of(path) or (f".{path}",))[-1]


def own_name(path: str) -> str:
    """The name of a field without its path, as data has it: of a member `street`, of the elements of a list `[]`.

    A text that is no path is the name of a column.
    """
    step = step_to(path)
    return step if step == ELEMENTS else step[1:]


def column_name(path: str) -> str:
    """The name of a column, as data has it, from its path; of a nested field, and of a text that is no path, the text."""
    steps = steps_of(path)
    return steps[0][1:] if steps is not None and len(steps) == 1 else path


def spelled_out(path: FieldPath) -> str:
    """A path with its first name in quotes, so that no column has this text as its name."""
    match = _COLUMN.match(path)
    return path if match is None or path.startswith('"') else quoted_name(match[0]) + path[match.end() :]


def quoted_name(name: str) -> str:
    """A name in double quotes, as an identifier of SQL is."""
    return '"' + name.replace('"', '""') + '"'


def _plain(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written
