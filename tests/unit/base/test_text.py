"""Hints at similar words, and the work that hostile words can cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.admission.header import why_no_header
from lakegate.base import text
from lakegate.contract.file_formats import Csv
from lakegate.lints.linter import examine
from lakegate.plan.result import Columns, Result
from lakegate.verdict.verdict import early_rejections, judge
from tests.reference.cases import contract_of, only_plan, rule_of
from tests.unit.diff.builder import document

ROOT = Path(__file__).parents[2]
LONG = [f"{number:0>200b}".replace("0", "a").replace("1", "b") for number in range(300)]
"""Names that are long, and alike."""


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("custmer_email", ["customer_email", "customer_id", "email"], "customer_email"),
        ("qualty", ["quality", "name"], "quality"),
        ("x", ["quality"], None),
        ("", ["", "a"], ""),
        ("a", [], None),
    ],
)
def test_the_most_similar_word_is_found(word: str, known: list[str], found: str | None) -> None:
    """None where no word is similar."""
    assert text.closest(word, known) == found


@given(
    st.text("abcd_", min_size=8, max_size=30), st.lists(st.text("abcd_", max_size=30), max_size=30), st.integers(0, 7)
)
def test_a_word_without_one_letter_is_found(word: str, others: list[str], at: int) -> None:
    """Or another word that is at least as similar; never one that is not."""
    found = text.closest(word[:at] + word[at + 1 :], [*others, word])

    assert found is not None
    assert SequenceMatcher(None, found, word[:at] + word[at + 1 :], autojunk=False).ratio() >= 0.7


def test_all_hints_of_a_block_share_their_work() -> None:
    """After it there is no hint; an inner block has no work of its own, and the next block has."""
    with text.limit_hints(), text.limit_hints():
        hints = [text.did_you_mean("qualty", ["quality"]) for _ in range(text.MAX_HINTS + 1)]
    after = text.did_you_mean("qualty", ["quality"])

    assert after == " Did you mean `quality`?"
    assert hints == [after] * text.MAX_HINTS + [""]
    with text.limit_hints():
        assert text.did_you_mean("qualty", ["quality"]) == after


def _door() -> None:
    why_no_header(",".join(LONG), Csv(), tuple(each + "c" for each in LONG), "\n".join([",".join(LONG)] * 50).encode())


def _judged() -> None:
    rules = [rule_of("required", {}, (each,)) for each in LONG]
    plan = only_plan(contract_of(dict.fromkeys(LONG, "string"), *rules))
    columns = Columns((), absent=tuple(LONG), extra=tuple(each + "c" for each in LONG))
    early_rejections(plan, columns)
    judge(plan, Result("w", 1, plan.digest, "v", rows=1, columns=columns))


def _linted() -> None:
    properties = [{"name": each, "logicalType": "string"} for each in LONG]
    quality = [{"metric": "nullValues", "mustBe": 0, "arguments": {"properties": [f"{each}c"]}} for each in LONG]
    examine(document({"object": {"quality": quality, "properties": properties}}))


@pytest.mark.parametrize("hostile", [_door, _judged, _linted])
def test_hostile_names_are_compared_letter_by_letter_within_a_bound(
    hostile: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the door, in the judgement and in lint: whatever the number and the length of names."""
    compared = []

    class Counting(SequenceMatcher[str]):
        def ratio(self) -> float:
            compared.append((len(self.a), len(self.b)))
            return super().ratio()

    monkeypatch.setattr(text, "SequenceMatcher", Counting)

    hostile()

    assert 0 < len(compared) <= 2 * text.MOST_WORK / text.LETTERS_WORK
    assert max(map(max, compared)) <= text.LONGEST_SHOWN


NOUNS = (
    "are|attempts|blocks|bytes|chains|checks|columns|days|deliveries|differences|documents|elements|errors|fields|files|findings|have"
    "|hours|items|keys|lines|minutes|objects|parts|probes|records|rows|rules|seconds|slices|statements|suggestions|tables|values"
    "|versions|warnings|were|words"
)
LIMITS = {"most", "free"}
"""Numbers of many, whose sentences are refusals of more."""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (text.plural(0, "row"), "0 rows"),
        (text.plural(1, "row"), "1 row"),
        (text.plural(2_000, "row"), "2,000 rows"),
        (text.plural(1, "delivery is held", "deliveries are held"), "1 delivery is held"),
        (text.plural(11, "delivery is held", "deliveries are held"), "11 deliveries are held"),
        (text.format_limit("at least 1", "row"), "at least 1 row"),
        (text.format_limit("at least 11", "character"), "at least 11 characters"),
        (text.format_limit("more than 1 and at most 5", "row", " missing"), "more than 1 and at most 5 rows missing"),
    ],
)
def test_what_is_counted_is_one_or_several(text: str, wanted: str) -> None:
    """The noun after a number, and the verb after it, are those of the number."""
    assert text == wanted


def test_every_count_in_a_message_has_its_noun_from_one_place() -> None:
    """No message of the product writes a plural behind a number by itself: of 1 it would be wrong."""
    found = [
        f"{path.relative_to(ROOT)}:{value.lineno}: {name}{after.value[:30]}"
        for folder in ("cli", "contracts", "engine", "functions", "lakegate", "spark_jobs")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in ast.walk(ast.parse(path.read_text()))
        if isinstance(text, ast.JoinedStr)
        for value, after in zip(text.values, text.values[1:], strict=False)
        if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant)
        for name in (ast.unparse(value.value),)
        if name.startswith("len(") or (value.format_spec and "," in ast.unparse(value.format_spec))
        if re.match(rf" (?:[a-z-]+ ){{0,2}}(?:{NOUNS})\b", after.value)
        if name not in LIMITS and not re.search(r"\b_?[A-Z][A-Z_]+\b", name)
    ]

    assert found == []
