"""Well-known forms of text (`format` of a string), each a whole-text regular expression of our own.

Forms that say how a text is shown or stored (`password`, `byte`, `binary`) are absent: nothing of them can be measured.

What could be read in several ways stands in atomic groups: a text is tried once, however it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextForm:
    """A form: its pattern (java.util.regex) and its name in a sentence."""

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
