"""Characters with a property of Unicode: general categories and the few properties that need no other table."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from lakegate.patterns.regex_tree import ANY, LAST, Ranges, others, union

MAX_PROPERTIES = 16
"""Properties in one pattern: each is a class of up to some 700 ranges."""
_NAMES = {
    "L": "Letter",
    "LC": "Cased_Letter",
    "Lu": "Uppercase_Letter",
    "Ll": "Lowercase_Letter",
    "Lt": "Titlecase_Letter",
    "Lm": "Modifier_Letter",
    "Lo": "Other_Letter",
    "M": "Mark Combining_Mark",
    "Mn": "Nonspacing_Mark",
    "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark",
    "N": "Number",
    "Nd": "Decimal_Number digit",
    "Nl": "Letter_Number",
    "No": "Other_Number",
    "P": "Punctuation punct",
    "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation",
    "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation",
    "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation",
    "Po": "Other_Punctuation",
    "S": "Symbol",
    "Sm": "Math_Symbol",
    "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol",
    "So": "Other_Symbol",
    "Z": "Separator",
    "Zs": "Space_Separator",
    "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator",
    "C": "Other",
    "Cc": "Control cntrl",
    "Cf": "Format",
    "Cs": "Surrogate",
    "Co": "Private_Use",
    "Cn": "Unassigned",
}
CATEGORIES = {name: short for short, names in _NAMES.items() for name in (short, *names.split())}
"""The general categories by their names in ECMA-262."""
_CASED = ("Lu", "Ll", "Lt")
_PROPERTY = re.compile(r"(?:(?:General_Category|gc)=)?(?P<category>[A-Za-z_]{1,40})")


def characters_of(property_: str) -> Ranges:
    r"""The characters of what stands in the braces of `\p{…}`. ValueError for a property that is not known here."""
    if property_ == "Any":
        return ANY
    if property_ == "ASCII":
        return ((0, 0x7F),)
    if property_ == "Assigned":
        return others(_of_category("Cn"))
    match = _PROPERTY.fullmatch(property_)
    category = CATEGORIES.get(match["category"]) if match else None
    if category is None:
        raise ValueError(
            rf"\p{{{property_}}} is not known: of Unicode's properties general categories are (`\p{{Lu}}`), "
            "and Any, ASCII and Assigned"
        )
    return _of_category(category)


def _of_category(short: str) -> Ranges:
    wanted = _CASED if short == "LC" else (short,)
    return union(*(ranges for name, ranges in _categories().items() if name.startswith(wanted)))


@cache
def _categories() -> dict[str, Ranges]:
    """The ranges of each category; computed once, in some tenths of a second, for patterns with a property."""
    found: dict[str, list[tuple[int, int]]] = {}
    start, before = 0, unicodedata.category("\0")
    for code in range(1, LAST + 2):
        now = unicodedata.category(chr(code)) if code <= LAST else ""
        if now != before:
            found.setdefault(before, []).append((start, code - 1))
            start, before = code, now
    return {name: tuple(ranges) for name, ranges in found.items()}
