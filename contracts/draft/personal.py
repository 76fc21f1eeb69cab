"""Recognises personal data by names of columns and by forms of values. A match is a suggestion, which a person decides about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.lint.names import PERSONAL
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from lakegate.contracts.draft.profile import ProfiledColumn

FORMS = {
    "an email address": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "an IBAN": r"[A-Z]{2}[0-9]{2}[ ]?(?:[A-Z0-9]{4}[ ]?){2,7}[A-Z0-9]{1,4}",
    "a telephone number": r"\+[0-9][0-9 ()/.-]{6,20}",
    "an IPv4 address": r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}",
    "a payment card number": r"[0-9]{4}(?:[ -][0-9]{4}){3}",
}
"""Forms of whole values, as patterns of RE2."""
ENOUGH = 0.8
"""The share of a column's values with a form that makes the column personal."""
_NAMES = re.compile(
    r"(?:^|[_ .-])(?:surname|nickname|forename|given_?name|family_?name|user_?name|customer_?name|contact|street|address|"
    r"postal_?code|zip_?code|dob|gender|sex|salary|tax_?id|national_?id|social_?security|driver_?licen[cs]e|license_?plate|"
    r"race|ethnicity|ethnic_?group|religion|latitude_?home|telefon|handy|vorname|nachname|geburt\w*|anschrift|strasse|nome|sobrenome|endereco|telefone|prenom|"
    r"adresse|nombre|apellidos?|correo|direccion)(?:$|[_ .-])",
    re.IGNORECASE,
)
_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATOR = re.compile(r"[ .-]+")


def is_named_personal(name: str) -> bool:
    """Whether the name of a column is one of personal data, in any spelling: `postal_code`, `postalCode`, `Postal Code`."""
    words = _SEPARATOR.sub("_", _WORD_BORDER.sub("_", name))
    return any(found.search(text) for found in (PERSONAL, _NAMES) for text in (words, name))


def why_personal(column: ProfiledColumn) -> str | None:
    """Why a column seems to contain personal data, in words; None if it does not."""
    if is_named_personal(column.name):
        return "its name is one of personal data"
    found = next((each for each in column.values.forms if each[1] >= ENOUGH * max(1, column.present)), None)
    return (
        None
        if found is None
        else f"{found[1]:,} of {counted(column.present, 'value')} {'looks' if found[1] == 1 else 'look'} like {found[0]}"
    )
