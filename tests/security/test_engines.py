"""P11: every engine gives the same result for a pattern, in a time that no text can stretch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Origin, Rule
from lakegate.engine.evaluate.pattern_search import Search as EngineSearch
from lakegate.engine.evaluate.pattern_search import searches_of
from lakegate.lints.pattern_lints import superlinear
from lakegate.patterns.date_formats import compile_format
from lakegate.patterns.ecma_patterns import rewritten
from lakegate.patterns.matching_cost import Part, parts_of, search_cost, shortest
from lakegate.patterns.regex_tree import PYTHON, RE2, Items, parse, render
from lakegate.plan.predicates import All, Matches, Not, Predicate
from lakegate.rules.check_builder import like_pattern, regex
from lakegate.rules.field_constraints import TEXT_FORMS
from tests.reference.cases import good_cases
from tests.reference.sampling import sampled
from tests.security.backtracking import Search
from tests.security.patterns import patterns, texts

RULE = Rule("r", "pattern", Origin("$"))


def by_python(pattern: str, text: str) -> bool:
    """The result of the reference evaluator for a pattern of a plan."""
    return re.search(pattern.replace(r"\z", r"\Z"), text, re.ASCII) is not None


def by_re2(pattern: str, text: str) -> bool:
    found: bool = pc.match_substring_regex(pa.array([text]), pattern)[0].as_py()
    return found


def by_parts(parts: tuple[Part, ...], text: str) -> bool:
    return all(by_part(part, text) is part.wanted for part in parts)


def by_part(part: Part, text: str) -> bool:
    return by_python(render(part.items, PYTHON), text) if part.is_bounded else by_re2(render(part.items, RE2), text)


def tree_of(pattern: str) -> Items:
    try:
        return parse(rewritten(pattern))
    except ValueError:
        assume(False)
        raise


@sampled(120, 50_000)
@given(patterns, st.lists(texts, min_size=1, max_size=5))
def test_the_searches_of_a_pattern_are_equivalent_to_it(pattern: str, subjects: list[str]) -> None:
    """The searches of a pattern, each by its own engine, together find just what the pattern finds."""
    with suppress(ContractError):
        translated = regex(RULE, pattern)
        found = [by_parts(parts_of(translated), text) for text in subjects]

        assert [by_python(translated, text) for text in subjects] == found


@sampled(120, 50_000)
@example(r"\B", ["aéa"])
@example(r"x|\B.", ["é", "aéa"])
@example(r"[^a]", ["😀", "é"])
@given(patterns, st.lists(texts, min_size=1, max_size=5))
def test_the_dialect_of_each_engine_has_the_same_result(pattern: str, subjects: list[str]) -> None:
    """What RE2 can express has the result of the reference, also where the other engine would be chosen; and so does the tree."""
    items = tree_of(pattern)
    expected = [by_python(rewritten(pattern), text) for text in subjects]

    assert [by_python(render(items, PYTHON), text) for text in subjects] == expected
    assert [by_python(render(shortest(items), PYTHON), text) for text in subjects] == expected
    if not re.search(r"\(\?=|\(\?!(?!\))|\\B", pattern):
        assert [by_re2(render(items, RE2), text) for text in subjects] == expected


@sampled(120, 50_000)
@given(patterns, st.text("ab1 -", min_size=1, max_size=3), st.integers(0, 12), texts)
def test_the_bound_of_steps_holds(pattern: str, pump: str, times: int, tail: str) -> None:
    """An engine that tries every way takes no more steps than the bound, whatever the pattern and the text."""
    items = shortest(tree_of(pattern))
    cost = search_cost(items)
    text = pump * times + tail
    bound = cost.fixed + cost.each * len(text)
    assume(bound < 100_000)

    search = Search(text)

    assert search.found(items) is by_python(rewritten(pattern), text)
    assert search.steps <= bound


@sampled(80, 20_000)
@given(patterns)
def test_what_people_are_warned_of_is_never_left_to_backtracking(pattern: str) -> None:
    """A pattern whose shape lint reports goes to RE2, is refused, or was cut to a shape without choices."""
    with suppress(ContractError):
        parts = parts_of(regex(RULE, pattern))
        if superlinear(pattern) is not None:
            assert all(search_cost(part.items).each <= 200 for part in parts if part.is_bounded)


@pytest.mark.parametrize(
    ("pattern", "engines"),
    [
        ("^ORD-[0-9]{8}$", "B"),
        (r"\d+", "B"),
        ("a+b", "B"),
        (r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", "R"),
        ("(.*a){12}$", "R"),
        ("^(a|bc)*$", "R"),
        ("^(?:a|b)*$", "B"),
        ("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", "B"),
        ("^(?=.*a.*b)(?!(c|dd)*$)x", "RRB"),
        ("^(?!)x.*y.*z", "R"),
    ],
)
def test_a_pattern_is_given_to_the_engine_that_bounds_it(pattern: str, engines: str) -> None:
    """Backtracking engines may search for cheap patterns (B), RE2 for all others (R), and for look-aheads at the start apart."""
    assert engines == "".join("B" if part.is_bounded else "R" for part in parts_of(regex(RULE, pattern)))


AT_ONCE = "at more than 150 places at once"
LOOKS = "a look-around or"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("x(?=[ab]*y)z[ab]*c[ab]*d", LOOKS),
        (r"(?:\A(?=(?:a|bc)*\z)|b)c", LOOKS),
        (r"\A(?:a|bc)*(?!d)e", LOOKS),
        ("a[ab]{0,200}b[ab]{0,200}c", AT_ONCE),
        ("a(?:ab?){200}c[^z]*d[^z]*e", AT_ONCE),
        ("(?<=a+)b", "a look-behind is of one length"),
        ("(", "is not a pattern"),
        ("(?i:a)", "is not a pattern"),
        ("(a)\\1", "is not a pattern"),
        ("a$", "is not a pattern"),
    ],
)
def test_what_no_engine_bounds_is_refused(pattern: str, words: str) -> None:
    """Neither engine gets a look-ahead in the middle of a slow pattern, nor one that is at too many places at once."""
    with pytest.raises(ValueError, match=words):
        parts_of(pattern)


@sampled(80, 20_000)
@given(st.text("%_aé\n", max_size=8), st.lists(st.text("aé\nb", max_size=6), min_size=1, max_size=4))
def test_a_pattern_of_sql_says_the_same(pattern: str, subjects: list[str]) -> None:
    """LIKE is searched for as the reference does, with as many runs of anything as it has."""
    translated = like_pattern(RULE, pattern)

    assert [by_python(translated, text) for text in subjects] == [
        by_parts(parts_of(translated), text) for text in subjects
    ]


def test_every_pattern_of_every_case_can_be_searched_for() -> None:
    """The patterns that all kinds of rules make, in all cases, are searched for: none is refused."""
    checks = [check for case in good_cases() for check in case.plan.checks]
    tiers = [tier for check in checks for tier in (check.accept, check.tolerate) if tier and tier.predicate]
    found = [pattern for tier in tiers for pattern in patterns_of(tier.predicate)]

    assert len(found) > 50
    assert all(searches_of(pattern) for pattern in found)


def patterns_of(predicate: Predicate | None) -> Iterator[str]:
    match predicate:
        case Matches(_, pattern):
            yield pattern
        case Not(inner):
            yield from patterns_of(inner)
        case All(inner):
            for each in inner:
                yield from patterns_of(each)


def test_our_own_patterns_never_backtrack() -> None:
    """Forms of text and formats of dates are searched for by RE2 alone."""
    own = [form.pattern for form in TEXT_FORMS.values()] + [compile_format("%Y-%m-%d %H:%M:%S")]
    found = [search for pattern in own for search in searches_of(pattern)]

    assert len(found) >= len(own)
    assert not any(isinstance(each, EngineSearch) and each.backtracks for each in found)
