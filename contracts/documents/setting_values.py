"""Values of the `lakegate` extension: one function for each form, which raises with the values that are possible."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lakegate.contracts.model.contract import ParentReference
from lakegate.contracts.model.name_times import WRITTEN, pattern_of
from lakegate.contracts.model.policy import QUARANTINE_DAYS, WORKFLOW, Pull
from lakegate.contracts.model.storage import ENCODINGS, NullWords
from lakegate.contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from decimal import Decimal
    from enum import Enum

    from lakegate.contracts.documents.nodes import Place

REQUIREMENTS = ("owner", "classified-personal-data")
"""What a contract may require of itself and of those that inherit from it (`lakegate.contracts.lint.inheritance`)."""


_ADDRESS = (
    r"https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/[!$-~]{0,2000}|"
    r"sftp://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/[!$->@-~]{1,1024}|"
    r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[!-~]{1,1024}"
)
PULL = {
    "source": (
        _ADDRESS,
        "`https://HOST/PATH` or `sftp://HOST/PATH` without user and password, or `s3://BUCKET/KEY`, in ASCII",
    ),
    "schedule": (r"(rate|cron)\([ -~]{1,200}\)", "`rate(1 hour)` or `cron(0 6 * * ? *)`"),
    "secret": (
        r"[A-Za-z0-9_-]{1,64}",
        "the name of a secret behind the stack's prefix: 1 to 64 letters, digits, `-` and `_`",
    ),
}
"""The keys of `pull`, each with its pattern and its description."""


class InvalidValueError(Exception):
    """The key does not accept the value; the message names the values it accepts."""

    def __init__(self, expected: str, at: Place | None = None) -> None:
        super().__init__(expected)
        self.at = at
        """Where the value is, if it is a part of the key's."""


Parser = Callable[["Place"], Any]


def one_of(enum: type[Enum], *hidden: Enum) -> Parser:
    """A value of an enumeration, but the hidden ones."""

    def parse(place: Place) -> Enum:
        known = [str(each.value) for each in enum if each not in hidden]
        if place.text not in known:
            raise InvalidValueError(f"one of {listed(known)}")
        return enum(place.text)

    return parse


def flag(place: Place) -> bool:
    """`true` or `false`."""
    if place.flag is None:
        raise InvalidValueError("`true` or `false`")
    return place.flag


def share(place: Place) -> Decimal:
    """From 0 to 1."""
    if place.number is None or not 0 <= place.number <= 1:
        raise InvalidValueError("a number from 0 to 1")
    return place.number


def count(place: Place) -> int:
    """A whole number from 1."""
    if place.number is None or place.number < 1 or place.number % 1:
        raise InvalidValueError("a whole number from 1")
    return int(place.number)


def count_to(most: int, unit: str = "", least: int = 1) -> Parser:
    """A whole number from a least one to a largest one."""

    def parse(place: Place) -> int:
        if place.number is None or not least <= place.number <= most or place.number % 1:
            raise InvalidValueError(f"a whole number{unit} from {least} to {most:,}")
        return int(place.number)

    return parse


def days(place: Place) -> int:
    """Days of quarantine."""
    if place.number not in QUARANTINE_DAYS:
        raise InvalidValueError(f"one of {listed(map(str, QUARANTINE_DAYS))}, in days")
    return int(place.number)


def character(place: Place) -> str:
    """One character."""
    if place.text is None or len(place.text) != 1 or place.text in "\r\n\0":
        raise InvalidValueError("one character, in quotes")
    return place.text


def encoding(place: Place) -> str:
    """The encoding of text files."""
    known = ENCODINGS.get((place.text or "").lower().replace("_", "-"))
    if known is None:
        raise InvalidValueError(f"one of {listed(ENCODINGS)}")
    return known


def texts(place: Place) -> tuple[str, ...]:
    """A list of texts."""
    items = tuple(each.text for each in place.items if each.text is not None)
    if not items or len(items) < len(place.items):
        raise InvalidValueError("a list of texts, each in quotes")
    return items


def texts_by_column(place: Place) -> tuple[NullWords, ...]:
    """A list of texts for each of some columns; an empty one for no text."""
    found = []
    for name, each in place.entries.items():
        items = tuple(item.text for item in each.items if item.text is not None)
        if not each.is_list or len(items) < len(each.items):
            raise InvalidValueError("a list of texts for each column, each in quotes", each)
        found.append(NullWords(name, items))
    if not found:
        raise InvalidValueError('a list of texts for each column: `{COLUMN: ["NA"]}`')
    return tuple(sorted(found, key=lambda each: each.column))


def one_character_of(*known: str) -> Parser:
    """One of some characters."""

    def parse(place: Place) -> str:
        if place.text not in known:
            raise InvalidValueError(f"one of {listed(known)}, in quotes")
        return str(place.text)

    return parse


def time_in_name(place: Place) -> str:
    """Where the name of an object has a time."""
    if place.text is None or pattern_of(place.text) is None:
        raise InvalidValueError(WRITTEN)
    return place.text


def parent(place: Place) -> ParentReference:
    """A contract with its major number."""
    contract, _, major = (place.text or "").rpartition("@")
    if not contract or not re.fullmatch(r"0|[1-9][0-9]{0,8}", major):
        raise InvalidValueError("the id of a contract and a major number: `acme-policies@1`")
    return ParentReference(contract, int(major), place.origin)


def column(place: Place) -> str:
    """The name of a column."""
    if not place.text:
        raise InvalidValueError("the name of a column")
    return str(place.text)


def workflow(place: Place) -> str:
    """The name of a workflow."""
    if not re.fullmatch(WORKFLOW, place.text or ""):
        raise InvalidValueError("`push`, or the name and the major number of a published workflow: `strict@1`")
    return str(place.text)


def requirements(place: Place) -> tuple[str, ...]:
    """What a contract requires of those that inherit from it."""
    names = texts(place)
    if not set(names) <= set(REQUIREMENTS):
        raise InvalidValueError(f"a list of {listed(REQUIREMENTS)}")
    return names


def shared_with(place: Place) -> tuple[str, ...]:
    """Contracts of other owners, by patterns of their ids."""
    names = texts(place)
    if not all(re.fullmatch(r"[^*/\r\n]+\*?|\*", each) for each in names):
        raise InvalidValueError(
            'a list of ids of contracts, or of the beginning of ids and a star: `["sales.*", "hr.people"]`'
        )
    return names


def only(value: str) -> Parser:
    """Accepts only one value."""

    def parse(place: Place) -> None:
        if place.text != value:
            raise InvalidValueError(f"{shown(value)} (this version supports no other)")

    return parse


def pull(place: Place) -> Pull | None:
    """Where data is fetched from, and when."""
    if not place.entries:
        if place.node is None or place.node.content is None:
            return None
        raise InvalidValueError("a mapping with `source`")
    parts: dict[str, str] = {}
    for key, value in place.entries.items():
        if key not in PULL:
            raise InvalidValueError(
                f"no key {shown(key)}, only {listed(PULL)}.{did_you_mean(key, PULL)}".rstrip("."), value
            )
        pattern, expected = PULL[key]
        if not re.fullmatch(pattern, value.text or ""):
            raise InvalidValueError(f"as `{key}` {expected}", value)
        parts[key] = str(value.text)
    if "source" not in parts:
        raise InvalidValueError("a mapping with `source`")
    if parts["source"].startswith("sftp:") and "secret" not in parts:
        raise InvalidValueError("with a source over SFTP a `secret`: user, password or key, and the server's key")
    return Pull(**parts)
