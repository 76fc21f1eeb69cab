r"""Whether a pattern is matched in time that grows with the text alone, whatever the text is.

Engines of `java.util.regex`'s kind try every way to cut a text into the repeats of a pattern. Told here are the shapes that give
them many ways: a repeat whose body ends in what it may begin with (`(a+)+`, `(\w+\s?)*`), a repeat of alternatives that begin
alike (`(foo|[a-g]oo)*`), two repeats side by side that share a character (`\d+\d*`), and a pattern over 256 characters.
"""

from __future__ import annotations

from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # the parser of the standard library, whose tree this reads
from re import _parser  # type: ignore[attr-defined]  # likewise
from typing import Any

from contracts.errors import ContractError
from contracts.model import Origin, Rule
from contracts.rules.patterns import LAST, translate

LONGEST = 256
MANY = 10
"""Times from which a bounded repeat counts as an unbounded one."""
ANY = ((0, LAST),)
Ranges = tuple[tuple[int, int], ...]
Items = list[tuple[Any, Any]]
"""A sequence of the parser's nodes: what each is, and what it says."""
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
_NOTHING = (op.AT, op.ASSERT, op.ASSERT_NOT)
_ASKING = Rule("", "pattern", Origin("$"))


@lru_cache(maxsize=1024)
def superlinear(pattern: str) -> str | None:
    """Why a pattern of ECMA-262 may take long, as the end of a sentence; None where it does not, or cannot be used at all."""
    if len(pattern) > LONGEST:
        return f"has more than {LONGEST} characters"
    try:
        tree = _parser.parse(translate(_ASKING, pattern).replace(r"\z", r"\Z"))
    except ContractError:
        return None
    return _judged(_flat(tree))


def _judged(items: Items) -> str | None:
    """The first reason in a sequence, or below it."""
    for at, (kind, said) in enumerate(items):
        inner = next(filter(None, map(_judged, _bodies(kind, said))), None)
        if inner is not None:
            return inner
        if _is_many(kind, said):
            body = _flat(said[2])
            if _overlap(_open_end(body), _first(body)) or _blurred(body):
                return "repeats what already repeats"
            if _alike(body):
                return "repeats alternatives that begin alike"
            if _overlap(_first(body), _next_repeat(items[at + 1 :])):
                return "has two repeats side by side that share a character"
    return None


def _flat(tree: Any) -> Items:  # noqa: ANN401 -- nodes of the parser's tree
    """A sequence with its groups written out: a group that captures nothing changes nothing."""
    items: Items = []
    for kind, said in tree:
        items += _flat(said[3]) if kind is op.SUBPATTERN else [(kind, said)]
    return items


def _bodies(kind: Any, said: Any) -> list[Items]:  # noqa: ANN401 -- as above
    """The sequences inside a node."""
    if kind in _REPEATS:
        return [_flat(said[2])]
    if kind is op.BRANCH:
        return [_flat(each) for each in said[1]]
    return [_flat(said[1])] if kind in {op.ASSERT, op.ASSERT_NOT} else []


def _is_many(kind: Any, said: Any) -> bool:  # noqa: ANN401 -- as above
    return kind in _REPEATS and bool(said[1] >= MANY)


def _blurred(body: Items) -> bool:
    """Whether a repeat inside a body may take what follows it there."""
    inner = ((said[2], body[at + 1 :]) for at, (kind, said) in enumerate(body) if _is_many(kind, said))
    return any(_overlap(_first(_flat(each)), _first(rest)) for each, rest in inner)


def _alike(body: Items) -> bool:
    """Whether a body is a choice of alternatives that may begin with the same character.

    The parser writes alternatives of one character each as one class, which may then name a character twice.
    """
    if [kind for kind, _ in body] == [op.IN]:
        firsts = [_characters(op.IN, [each]) for each in body[0][1] if each[0] is not op.NEGATE]
    elif [kind for kind, _ in body] == [op.BRANCH]:
        firsts = [_first(each) for each in _bodies(*body[0])]
    else:
        return False
    return any(_overlap(one, other) for at, one in enumerate(firsts) for other in firsts[at + 1 :])


def _nullable(kind: Any, said: Any) -> bool:  # noqa: ANN401 -- as above
    """Whether a node may match nothing."""
    if kind in _NOTHING or (kind in _REPEATS and said[0] == 0):
        return True
    return any(all(_nullable(*item) for item in body) for body in _bodies(kind, said))


def _first(items: Items) -> Ranges:
    """The characters that a sequence may begin with."""
    found: Ranges = ()
    for kind, said in items:
        if kind not in _NOTHING:
            found += _characters(kind, said) + tuple(each for body in _bodies(kind, said) for each in _first(body))
        if not _nullable(kind, said):
            break
    return found


def _open_end(items: Items) -> Ranges:
    """The characters that a sequence may go on with where it could as well end."""
    found: Ranges = ()
    for kind, said in reversed(items):
        if _is_many(kind, said) or _nullable(kind, said):
            found += _first([(kind, said)])
        found += tuple(each for body in _bodies(kind, said) for each in _open_end(body))
        if not _nullable(kind, said):
            break
    return found


def _next_repeat(items: Items) -> Ranges:
    """The characters of the repeats that may follow at once."""
    found: Ranges = ()
    for kind, said in items:
        if _is_many(kind, said):
            found += _first(_flat(said[2]))
        if not _nullable(kind, said):
            break
    return found


def _characters(kind: Any, said: Any) -> Ranges:  # noqa: ANN401 -- as above
    """The characters of one place of a pattern; none for a node that has parts."""
    if kind is op.LITERAL:
        return ((said, said),)
    if kind is not op.IN:
        return ANY if kind in {op.NOT_LITERAL, op.ANY} else ()
    ranges = tuple(each[1] if each[0] is op.RANGE else (each[1], each[1]) for each in said if each[0] is not op.NEGATE)
    return _others(ranges) if said[0][0] is op.NEGATE else ranges


def _others(ranges: Ranges) -> Ranges:
    """All characters outside of some."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def _overlap(one: Ranges, other: Ranges) -> bool:
    return any(low <= end and start <= high for low, high in one for start, end in other)
