"""Damaged contracts before the whole reader and linter: nothing but located problems may come out.

`python -m tests.golden.fuzz 1000000 [seed]` makes so many documents from a printed seed and stops at the first that breaks the
promise, with the document. Each is a golden document or an example, damaged up to four times: a value replaced, moved, doubled or
removed, or bytes of its text changed.
"""

from __future__ import annotations

import json
import random
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from lakegate.base.errors import ContractError
from lakegate.contract.documents.read_document import parse
from lakegate.lints.lint_codes import CODES
from lakegate.lints.linter import examine, read
from tests.golden.cases import FILES, golden

ROOT = Path(__file__).parents[2]
MAX_DAMAGES = 4
STEP = 10_000
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        -1,
        0,
        1.5,
        10**60,
        2**63,
        "",
        " ",
        "x",
        "NaN",
        "1e5",
        "^(",
        "(a+)+",
        "2024-13-01",
        "${A}",
        "\u202e",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        [{}],
        {"": ""},
        {"$ref": "#/definitions/code"},
        "#/",
        "#/models/orders",
        "SELECT MAX(x OVER (",
        "percent",
    ),
)
BITS = (
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b",",
    b"&a ",
    b"*a",
    b"<<",
    b"!",
    b"'",
    b'"',
    b"\n",
    b"\t",
    b"\x00",
    b"\xff",
    b"- ",
    b"#",
    b"|",
)


def damaged(chance: random.Random) -> bytes:
    """One document, from chance alone."""
    plain = deepcopy(chance.choice(_seeds()))
    for _ in range(chance.randint(1, MAX_DAMAGES)):
        _damage(plain, chance)
    text = json.dumps(plain, default=str).encode()
    return _scratched(text, chance) if chance.random() < 0.3 else text


def judge(text: bytes) -> None:
    """AssertionError where anything but located problems of known codes comes out of a document."""
    examined = examine(text)
    problems = (*examined.errors, *examined.warnings)
    assert all(problem.code in CODES for problem in problems), sorted(
        {problem.code for problem in problems} - set(CODES)
    )
    assert all(problem.line and problem.path.startswith("$") and problem.message for problem in problems)
    try:
        contract = read(text)
    except ContractError:
        assert examined.errors
    else:
        assert examined.valid
        assert contract == examined.contract


@cache
def _seeds() -> tuple[Any, ...]:
    """Golden documents and our examples, as plain values."""
    texts = [case.text for name in FILES for case in golden(name)]
    texts += [path.read_bytes() for path in sorted((ROOT / "contracts/examples").glob("*.yaml"))]
    return tuple(json.loads(json.dumps(parse(text).plain(), default=float)) for text in texts)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a value with each of its keys or indices."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inner for place in [(value, key), *_places(each)]]


def _damage(plain: Any, chance: random.Random) -> None:
    places = _places(plain)
    if not places:
        return
    (holder, key), (other, name) = chance.choice(places), chance.choice(places)
    match chance.randrange(4):
        case 0:
            holder[key] = deepcopy(chance.choice(ODD))
        case 1:
            holder[key] = deepcopy(other[name])
        case 2 if isinstance(holder, list):
            holder.append(deepcopy(holder[key]))
        case 2 if isinstance(key, str):
            holder[key[:-1]] = holder[key]
        case _:
            del holder[key]


def _scratched(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(BITS) + text[at + chance.randrange(3) :]


def main(count: int, seed: int) -> int:
    """Judge so many documents; the exit code."""
    sys.stdout.write(f"{count:,} documents from seed {seed}\n")
    for number in range(count):
        text = damaged(random.Random(f"{seed}:{number}"))
        try:
            judge(text)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is what is looked for
            sys.stdout.write(f"document {number}: {error!r}\n{text.decode('utf-8', 'replace')}\n")
            return 1
        if (number + 1) % STEP == 0:
            sys.stdout.write(f"{number + 1:,} judged\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**9)))
