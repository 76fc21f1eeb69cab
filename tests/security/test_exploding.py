"""P11: patterns that explode in an engine that backtracks are refused, cut to a search that does not, or given to RE2."""

from __future__ import annotations

import re
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lakegate.patterns.ecma_patterns import rewritten
from lakegate.patterns.matching_cost import MAX_STEPS, MAX_WEIGHT, Part, parts_of, search_cost
from lakegate.patterns.regex_tree import PYTHON, RE2, render
from tests.security.backtracking import Search
from tests.security.exploding import FULL, Exploding, corpus, sample

MAX_SECONDS = 1


def searches(each: Exploding) -> tuple[Part, ...]:
    """The searches that the job makes of a pattern; none where it is refused."""
    try:
        return parts_of(rewritten(each.pattern))
    except ValueError:
        return ()


def test_the_corpus_is_large_and_varied() -> None:
    """At least two hundred patterns, of which most are searched for and some are refused."""
    patterns = {each.pattern for each in corpus()}
    refused = [each for each in corpus() if not searches(each)]

    assert len(patterns) == len(corpus()) >= 200
    assert 0 < len(refused) < len(corpus()) / 10


@pytest.mark.parametrize("each", corpus(), ids=lambda each: each.pattern)
def test_none_of_it_is_left_to_a_backtracking_engine_as_it_stands(each: Exploding) -> None:
    """What a backtracking engine may still get of an exploding pattern is a search of few steps, counted on the attack."""
    text = each.text(20)
    for part in searches(each):
        if part.is_bounded:
            search = Search(text)

            assert render(part.items, PYTHON) != rewritten(each.pattern).replace(r"\z", r"\Z")
            assert search.found(part.items) is bool(re.search(render(part.items, PYTHON), text, re.ASCII))
            assert search.steps <= search_cost(part.items).fixed + MAX_STEPS * len(text)


@pytest.mark.parametrize("each", sample(40), ids=lambda each: each.pattern)
def test_re2_answers_a_mebibyte(each: Exploding) -> None:
    """RE2 finds no match in an attack, grown to the longest value; in the nightly run within a second of its time."""
    text = pa.array([each.mebibyte])
    for part in searches(each):
        if not part.is_bounded:
            began = time.process_time()
            found = pc.match_substring_regex(text, render(part.items, RE2))[0].as_py()
            seconds = time.process_time() - began

            assert found is False
            assert not FULL or seconds < MAX_SECONDS


@pytest.mark.parametrize("weight", [MAX_WEIGHT] if FULL else [20])
def test_re2_answers_a_mebibyte_at_the_greatest_weight(weight: int) -> None:
    """Nor does a pattern at the bound of weight, on a text that defeats every short cut of RE2."""
    text = "".join("ab"[(number * number // 7 + number // 3) % 2] for number in range(2**20 - 100))
    pattern = f"a[ab]{{{weight - 2}}}c"

    began = time.process_time()
    found = pc.match_substring_regex(pa.array([text]), pattern)[0].as_py()
    seconds = time.process_time() - began

    assert found is False
    assert not FULL or seconds < MAX_SECONDS
