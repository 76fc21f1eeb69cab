"""Patterns from shapes: `AAA-999` becomes `[A-Z]{3}-[0-9]{3}`, in the part of ECMA-262 that every engine reads alike."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakegate.contracts.draft.profile import Values

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
SETS = ("[A-Z0-9]", "[0-9a-f]")
"""Sets of characters of codes."""
DIGIT = ".*[0-9].*"
CODES = (UUID, *(f"{each}+" for each in SETS), DIGIT)
"""Forms of whole values, as patterns of RE2, that recognise codes of too many shapes."""
MAX_FORMS = 3
"""Alternatives of a pattern; values of more forms have none."""
MAX_RUNS = 12
"""Runs of one kind of character in a form."""
LONGEST_CODE = 5
"""Letters of a code without a digit, such as a currency."""
_CLASSES = {"A": "[A-Z]", "a": "[a-z]", "9": "[0-9]"}
_LITERAL = re.compile(r"[ #%&,/:;=@_-]|[.+()*|]")
_ESCAPED = frozenset(".+()*|/")
Run = tuple[str, int]


def pattern_of(values: Values, present: int) -> str | None:
    """The pattern that all values match; None where their shapes are too many, or say nothing."""
    return _of_shapes(values, present) or _of_codes(values, present)


def _of_codes(values: Values, present: int) -> str | None:
    """The pattern of UUIDs, or of codes of one length of which some have digits."""
    counts = dict(values.codes)
    if counts.get(UUID) == present:
        return f"^{UUID}$"
    if values.shortest != values.longest or not counts.get(DIGIT):
        return None
    found = next((each for each in SETS if counts[f"{each}+"] == present), None)
    return found and f"^{found}{{{values.longest}}}$"


def _of_shapes(values: Values, present: int) -> str | None:
    if not values.shapes or sum(count for _, count in values.shapes) != present:
        return None
    forms: dict[str, list[list[Run]]] = {}
    for shape, _ in values.shapes:
        runs = [(character, len(list(same))) for character, same in groupby(shape)]
        forms.setdefault("".join(character for character, _ in runs), []).append(runs)
    if len(forms) > MAX_FORMS or not all(_is_telling(form, found) for form, found in forms.items()):
        return None
    prefix = _prefix(values) if len(forms) == 1 else ""
    written = sorted(_form(found, prefix) for found in forms.values())
    return f"^{written[0]}$" if len(written) == 1 else f"^(?:{'|'.join(written)})$"


def _is_telling(form: str, found: list[list[Run]]) -> bool:
    """Whether the form of values is one of codes, not of words."""
    if not form or len(form) > MAX_RUNS or not all(each in _CLASSES or _LITERAL.fullmatch(each) for each in form):
        return False
    return "9" in form or (form == "A" and len(found) == 1 and found[0][0][1] <= LONGEST_CODE)


def _prefix(values: Values) -> str:
    """The letters and signs that all values begin with."""
    pairs = zip(values.low or "", values.high or "", strict=False)
    same = []
    for low, high in pairs:
        if low != high or low.isdigit():
            break
        same.append(low)
    return "".join(same)


def _form(found: list[list[Run]], prefix: str) -> str:
    """One form with the numbers of characters that its runs have; its first letters are those of the prefix."""
    written, at = [], 0
    for runs in zip(*found, strict=True):
        character, sizes = runs[0][0], [size for _, size in runs]
        low, high = min(sizes), max(sizes)
        known = prefix[at : at + low] if low == high else ""
        at += low if low == high else len(prefix)
        if character not in _CLASSES:
            written.append((f"\\{character}" if character in _ESCAPED else character) + _times(low, high))
        else:
            written.append(known if len(known) == low else _CLASSES[character] + _times(low, high))
    return "".join(written)


def _times(low: int, high: int) -> str:
    if low == high:
        return "" if low == 1 else f"{{{low}}}"
    return f"{{{low},{high}}}"
