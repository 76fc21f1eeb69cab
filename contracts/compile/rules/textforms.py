"""Named formats of text (`format` of a string), each with a regular expression for the whole text.

They have the meaning that JSON Schema gives them: `email` is a mailbox of RFC 5321 (section 4.1.2, with the lengths of 4.5.3.1),
`uri` a URI of RFC 3986 (never a relative reference), `uuid` that of RFC 4122, `hostname` that of RFC 1123.
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

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_QUOTED = r"(?:[ !#-\[\]-~]|\\[ -~])"
_SNUM = r"(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
_LOCAL = rf'(?:{_ATOM}+(?:\.{_ATOM}+)*|"{_QUOTED}*")'
_SHORT_LOCAL = rf"""(?:[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}|"{_QUOTED}{{0,62}}")"""
_MAIL_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*+|\[(?:{_SNUM}(?:\.{_SNUM}){{3}}|[Ii][Pp][Vv]6:(?:{_IPV6}))\])"
_UNRESERVED = r"A-Za-z0-9.\-_~!$&'()*+,;="
"""The characters of URIs that are reserved nowhere, and the sub-delimiters."""
_ESCAPED = "%[0-9A-Fa-f]{2}"
_PATH = rf"(?:[{_UNRESERVED}:@/]|{_ESCAPED})*"
_IP_LITERAL = rf"\[(?:{_IPV6}|[Vv][0-9A-Fa-f]+\.[{_UNRESERVED}:]+)\]"
_AUTHORITY = rf"(?:(?:[{_UNRESERVED}:]|{_ESCAPED})*@)?(?:{_IP_LITERAL}|(?:[{_UNRESERVED}]|{_ESCAPED})*)(?::[0-9]*)?"
_AFTER_SCHEME = rf"(?://{_AUTHORITY}(?:/{_PATH})?|/?(?:(?:[{_UNRESERVED}:@]|{_ESCAPED}){_PATH})?)"
_REST = rf"(?:[{_UNRESERVED}:@/?]|{_ESCAPED})*"

TEXT_FORMS = {
    "email": TextForm(rf"\A(?={_SHORT_LOCAL}@.{{1,255}}\z){_LOCAL}@{_MAIL_HOST}\z", "an email address"),
    "uuid": TextForm(r"\A[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\z", "a UUID"),
    "uri": TextForm(rf"\A[A-Za-z][A-Za-z0-9+.-]*:{_AFTER_SCHEME}(?:\?{_REST})?(?:#{_REST})?\z", "a URI"),
    "hostname": TextForm(rf"\A{_HOST}\z", "a host name"),
    "ipv4": TextForm(rf"\A{_IPV4}\z", "an IPv4 address"),
    "ipv6": TextForm(rf"\A(?:{_IPV6})\z", "an IPv6 address"),
}
NAME_AT_DOMAIN = rf"\A[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})++\z"
"""The email address of Soda: a name at a domain with an extension."""
