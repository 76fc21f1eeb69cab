r"""Translates patterns of ECMA-262 (with the `u` flag) to the dialect of plans.

The dialect is the common subset of java.util.regex and Python, except for `\z`: `$` is the very end, `.` and `\s` are ECMA's,
`\d`, `\w` and `\b` are ASCII, properties of Unicode are classes of their characters, groups do not capture. Patterns without an
exact translation (look-behind of a length that varies, back references, possessive quantifiers, surrogates) or over 1,024
characters are refused, never approximated. So is all that the grammar of the `u` flag refuses; patterns of other engines (Great
Expectations, Soda) may escape any punctuation, as theirs do.
"""

from __future__ import annotations

import re

from lakegate.patterns.matching_cost import parts_of
from lakegate.patterns.regex_tree import (
    ANY,
    EDGE,
    INNER,
    LAST,
    LONGEST_PATTERN,
    PLAIN_PARTS,
    member,
    others,
    plain,
    spell_ranges,
)
from lakegate.patterns.unicode_properties import MAX_PROPERTIES, characters_of

MAX_REPEATS = 10_000
MAX_NESTED = 50
_SPACES = (
    *((9, 13), (32, 32), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
    *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_WORD = "A-Za-z0-9_"
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]{1,9})(,([0-9]{0,9}))?\}")
_MEANT = re.compile(r" *([0-9]{1,9}) *(,?) *([0-9]{0,9})")
"""The text after the brace of a malformed quantifier, which would match literally: `{4`, `{1, 5}`."""
_AT_MOST = re.compile(r" *, *([0-9]{1,9}) *\}")
"""The same of `{,3}`, which other dialects read as at most three."""
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_GROUP = re.compile(r"\?(?:[:=!]|<[=!]|<(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)>)|(?!\?)")
_PROPERTY = re.compile(r"(?P<sign>[pP])\{(?P<name>[A-Za-z_=]{1,60})\}")
LOOKS = frozenset({"?=", "?!", "?<=", "?<!"})
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
"""The characters that a backslash may stand before, so that they stand for themselves; in a class also `-`."""


class PatternError(ValueError):
    """The pattern cannot be translated, or its matching time has no bound; the message says why."""


def translate(pattern: str, *, is_strict: bool) -> str:
    """The pattern for plans; PatternError if there is none. `is_strict`: see `rewritten`."""
    _judge_length(pattern)
    try:
        translated = rewritten(pattern, is_strict=is_strict)
    except ValueError as error:
        raise PatternError(f"the pattern cannot be used: {error}") from None
    return _bounded(translated)


def like(pattern: str) -> str:
    """A pattern of SQL's LIKE: `%` is any run of characters, `_` is one, and the whole text must match."""
    _judge_length(pattern)
    any_one = f"[{spell_ranges(ANY)}]"
    parts = {"%": f"{any_one}*", "_": any_one}
    return _bounded(rf"\A{''.join(parts.get(char) or plain(ord(char)) for char in pattern)}\z")


def _judge_length(pattern: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"a pattern has at most {LONGEST_PATTERN:,} characters")


def _bounded(translated: str) -> str:
    """A pattern of plans that an engine can search for in bounded time."""
    try:
        parts_of(translated)
    except ValueError as error:
        raise PatternError(f"the pattern cannot be used: {error}") from None
    return translated


def rewritten(pattern: str, *, is_strict: bool = True) -> str:
    """The pattern in the dialect of plans; ValueError names the part that cannot be translated.

    Not `is_strict`: a `]`, `{` or `}` that closes or begins nothing stands for itself, as any punctuation after a backslash does.
    """
    return _Reader(pattern, is_strict=is_strict).read()


_CLASSES = {
    "d": "0-9",
    "w": _WORD,
    "s": spell_ranges(_SPACES),
    "D": spell_ranges(others(((48, 57),))),
    "W": spell_ranges(others(((48, 57), (65, 90), (95, 95), (97, 122)))),
    "S": spell_ranges(others(_SPACES)),
}


class _Reader:
    """One pass over a pattern; ValueError names what cannot be translated."""

    def __init__(self, pattern: str, *, is_strict: bool) -> None:
        self.text = pattern
        self.is_strict = is_strict
        self.at = 0
        self.open: list[tuple[int, bool]] = []
        """The start positions of open groups, from 1, and whether they may be repeated."""
        self.names: set[str] = set()
        self.properties = 0

    def read(self) -> str:
        """The whole pattern, translated."""
        parts = []
        repeatable = False
        while self.at < len(self.text):
            quantifier = _QUANTIFIER.match(self.text, self.at)
            if quantifier:
                if not repeatable:
                    raise ValueError("a quantifier has nothing to repeat")
                parts.append(self._quantifier(quantifier))
                repeatable = False
            else:
                part, repeatable = self._part()
                parts.append(part)
        if self.open:
            raise ValueError(f"the group that opens at character {self.open[-1][0]} is not closed: add `)`")
        return "".join(parts)

    def _take(self, count: int = 1) -> str:
        taken = self.text[self.at : self.at + count]
        self.at += count
        return taken

    def _quantifier(self, match: re.Match[str]) -> str:
        low, high = (int(each) if each else None for each in (match[1], match[3]))
        if max(low or 0, high or 0) > MAX_REPEATS or (low is not None and high is not None and low > high):
            raise ValueError(f"a quantifier counts up to {MAX_REPEATS:,}, the smaller number first")
        self.at = match.end()
        lazy = self._take() if self.text.startswith("?", self.at) else ""
        return match[0] + lazy

    def _part(self) -> tuple[str, bool]:
        """The next part, and whether a quantifier may follow it."""
        char = self._take()
        if char in PLAIN_PARTS:
            return PLAIN_PARTS[char]
        match char:
            case "\\":
                return self._escape()
            case "[":
                return self._class(), True
            case "(":
                return self._group(), False
            case ")":
                return self._close()
            case "{" if meant := _MEANT.match(self.text, self.at):
                counted = "".join(meant.groups())
                raise ValueError(
                    f"the `{{` at character {self.at} begins no quantifier: write `{{{counted}}}` or `\\{{`"
                )
            case "{" if most := _AT_MOST.match(self.text, self.at):
                raise ValueError(
                    f"the `{{` at character {self.at} begins no quantifier: write `{{0,{most[1]}}}` or `\\{{`"
                )
            case "{" | "}" | "]" if self.is_strict:
                does = "begins no quantifier" if char == "{" else "closes nothing"
                raise ValueError(f"the `{char}` at character {self.at} {does}: write `\\{char}`")
            case _:
                return plain(_code(char)), True

    def _close(self) -> tuple[str, bool]:
        if not self.open:
            raise ValueError(f"`)` at character {self.at} closes no group: remove it, or write `\\)`")
        _, is_repeatable = self.open.pop()
        return ")", is_repeatable

    def _group(self) -> str:
        match, start = _GROUP.match(self.text, self.at), self.at
        if not match:
            raise ValueError("inline flags are not supported")
        self.at = match.end()
        is_look = match[0] in LOOKS
        if match["name"] in self.names:
            raise ValueError(f"two groups have the name {match['name']}")
        self.names |= {match["name"]} - {None}
        self.open.append((start, not is_look))
        if len(self.open) > MAX_NESTED:
            raise ValueError(f"groups are nested at most {MAX_NESTED} deep")
        return f"({match[0]}" if is_look else "(?:"

    def _escape(self) -> tuple[str, bool]:
        name = self.text[self.at : self.at + 1]
        if name in _CLASSES and name:
            self.at += 1
            return f"[{_CLASSES[name]}]", True
        if name in {"p", "P"}:
            return f"[{self._property()}]", True
        if name in {"b", "B"}:
            self.at += 1
            return (EDGE if name == "b" else INNER), False
        return plain(self._escaped_code()), True

    def _property(self) -> str:
        r"""The content of a class: the characters of `\p{…}`, or (`\P{…}`) all others."""
        match = _PROPERTY.match(self.text, self.at)
        self.properties += 1
        if match is None:
            raise ValueError(r"a property of Unicode is written with braces: `\p{L}`")
        if self.properties > MAX_PROPERTIES:
            raise ValueError(f"a pattern has at most {MAX_PROPERTIES} properties of Unicode")
        self.at = match.end()
        ranges = characters_of(match["name"])
        return spell_ranges(others(ranges) if match["sign"] == "P" else ranges)

    def _escaped_code(self, also: str = "") -> int:
        """The code point of the escape after a backslash; `also` are characters that may be escaped here."""
        match = _HEX.match(self.text, self.at)
        if match:
            self.at = match.end()
            return self._paired(int(match[1] or match[2] or match[3], 16))
        name = self._take()
        if name in _CONTROLS and not (name == "0" and self.text[self.at : self.at + 1].isdigit()):
            return _CONTROLS[name]
        if name == "c" and self.text[self.at : self.at + 1].isascii() and self.text[self.at : self.at + 1].isalpha():
            return ord(self._take()) % 32
        if not name or name.isalnum():
            raise ValueError(f"the escape \\{name} is not supported")
        if self.is_strict and name not in _SYNTAX and name not in also:
            raise ValueError(f"the escape \\{name} means nothing else than `{name}`: write that")
        return _code(name)

    def _paired(self, code: int) -> int:
        """The code point of one escape, or of two that are a surrogate pair."""
        low = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})").match(self.text, self.at)
        if 0xD800 <= code <= 0xDBFF and low:  # noqa: PLR2004 - the range of high surrogates
            self.at = low.end()
            return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
        if code > LAST:
            raise ValueError("a code point lies beyond Unicode")
        return _code(chr(code))

    def _class(self) -> str:
        start, negated = self.at, self.text.startswith("^", self.at)
        self.at += negated
        members = []
        while not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise ValueError(f"the character class that opens at character {start} is not closed: add `]`")
            members.append(self._range())
        self.at += 1
        if not members:
            return f"[{spell_ranges(ANY)}]" if negated else "(?:(?!))"
        return f"[{'^' if negated else ''}{''.join(members)}]"

    def _range(self) -> str:
        low = self._class_item()
        is_range = self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at)
        if not is_range:
            return low if isinstance(low, str) else member(low)
        self.at += 1
        high = self._class_item() if self.at < len(self.text) else 0
        if isinstance(low, str) or isinstance(high, str) or low > high:
            raise ValueError("a range in a character class goes from a smaller to a greater character")
        return spell_ranges(((low, high),))

    def _class_item(self) -> int | str:
        """One code point, or the content of the class of an escape."""
        char = self._take()
        if char != "\\":
            return _code(char)
        name = self.text[self.at : self.at + 1]
        if name and name in _CLASSES:
            self.at += 1
            return _CLASSES[name]
        if name in {"p", "P"}:
            return self._property()
        if name == "b":
            self.at += 1
            return 8
        return self._escaped_code("-")


def _code(char: str) -> int:
    """The code point of a character; ValueError for a surrogate, which no text can contain."""
    if "\ud800" <= char <= "\udfff":
        raise ValueError("half of a surrogate pair is not a character")
    return ord(char)
