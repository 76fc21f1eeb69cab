"""Named formats of text (`format` of a string), each with a regular expression for the whole text.

Formats of display or storage (`password`, `byte`, `binary`) are not included, because they cannot be measured.

Ambiguous parts are in atomic groups, so that the engine does not backtrack.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextForm:
    """A format: its pattern (in the dialect of plans) and its name in messages."""

    pattern: str
    words: str


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_LABEL = r"(?>[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"
_HOST = rf"(?=.{{1,253}}\z){_LABEL}(?:\.{_LABEL})*+"
_GROUP = r"(?>[0-9A-Fa-f]{1,4})"
_IPV6 = "|".join(
    [
        rf"(?:{_GROUP}:){{7}}{_GROUP}",
        *(rf"(?:{_GROUP}:){{{n}}}(?::{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)),
        rf":(?::{_GROUP}){{1,7}}",
        rf"(?:{_GROUP}:){{1,7}}:",
        "::",
        rf"(?:{_GROUP}:){{6}}{_IPV4}",
        rf"::(?:{_GROUP}:){{0,5}}{_IPV4}",
        *(rf"(?:{_GROUP}:){{{n}}}(?::{_GROUP}){{0,{5 - n}}}:{_IPV4}" for n in range(1, 6)),
    ]
)

TEXT_FORMS = {
    "email": TextForm(rf"\A[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})++\z", "an email address"),
    "uuid": TextForm(r"\A[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\z", "a UUID"),
    "uri": TextForm(r"\A[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+\z", "a URI"),
    "hostname": TextForm(rf"\A{_HOST}\z", "a host name"),
    "ipv4": TextForm(rf"\A{_IPV4}\z", "an IPv4 address"),
    "ipv6": TextForm(rf"\A(?:{_IPV6})\z", "an IPv6 address"),
}
