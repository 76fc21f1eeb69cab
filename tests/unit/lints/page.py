"""Generates the tables of docs/codes.md, and the examples of `lakegate explain`: `python -m tests.unit.lints.page`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lakegate.lints.lint_codes import CODES, FAMILIES
from tests.unit.lints import examples
from tests.unit.lints.examples import CASES

PAGE = Path(__file__).parents[3] / "docs/codes.md"
LONGEST_PART = 260
EXPLANATIONS = PAGE.parents[1] / "lakegate/cli/contracts/explanations/codes.json"
HEAD = ("code", "rule", "correct example")


def tables() -> str:
    """One table for each family of codes."""
    return "\n\n".join(f"## {words}\n\n{_table(family)}" for family, words in FAMILIES.items())


def generated(page: str) -> str:
    """The page with up-to-date tables."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.partition(END)[2]}"


def explanations() -> str:
    """The same examples, without the marks of Markdown."""
    first = {each["code"]: each for each in reversed(CASES)}
    found = {
        code: {
            "bad": _parts(case["base"], case["bad"]).replace("`", ""),
            "message": _message(case),
            "good": _parts(case["base"], case["good"]).replace("`", ""),
        }
        for code, case in ((code, first[code]) for code in CODES)
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _table(family: str) -> str:
    rows = [HEAD, ("---",) * len(HEAD), *(_row(code) for code, each in CODES.items() if each.family == family)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(code: str) -> tuple[str, ...]:
    case = next(case for case in CASES if case["code"] == code)
    level = CODES[code].level.value
    return (
        f"`{code}`<br>{level}",
        CODES[code].words.replace("|", "¦"),
        _parts(case["base"], case["good"]).removesuffix("without it"),
    )


def _message(case: dict[str, Any]) -> str:
    examined = examples.examined(case, "bad")
    problems = (*examined.errors, *examined.warnings)
    return next(each.message for each in problems if (each.code, each.path) == (case["code"], case["path"]))


def _parts(base: str, parts: dict[str, Any]) -> str:
    """The parts of an example as code; repeated or generated parts as a description."""
    if "times" in parts:
        return f"{parts['times']:,} times `{str(parts['text']).strip()}`"
    if "scheduled" in parts:
        return f"{parts['scheduled']} rules with a schedule"
    if "chain" in parts:
        return f"{parts['chain']} definitions, each a record with a field of the next"
    shown = ", ".join(_code(value) for value in _written(parts)) or "without it"
    return f"{base.upper()}: {shown}" if parts and "text" not in parts and "latin" not in parts else shown


def _written(parts: dict[str, Any]) -> Iterator[str]:
    for key, value in parts.items():
        named = key in {"version", "name", "kind", "apiVersion", "spec", "schema"}
        yield f"{key}: {value}" if named else f"{key}{value}" if key == "status" else str(value)


def _code(text: str) -> str:
    return "`" + _cell(text[:LONGEST_PART].replace("`", "'").replace("\n", "⏎").replace("\0", "NUL")).strip() + "`"


def _cell(text: str) -> str:
    return text.replace("|", "¦")


BEGIN, END = "<!-- codes -->", "<!-- end -->"

if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
    EXPLANATIONS.write_text(explanations())
