"""Thresholds of Soda's contracts: every one of a check counts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.contract_model import Severity
from lakegate.features.soda.soda_syntax import SodaSyntaxError, parse_check, wanted_intervals
from tests.reference.cases import rule_of

RULE = rule_of("custom", {}, ())
LOWER: dict[str, Callable[[int, int], bool]] = {
    "must_be_greater_than": operator.gt,
    "must_be_greater_than_or_equal_to": operator.ge,
}
UPPER: dict[str, Callable[[int, int], bool]] = {
    "must_be_less_than": operator.lt,
    "must_be_less_than_or_equal_to": operator.le,
}
EXACT: dict[str, Callable[[int, int], bool]] = {"must_be": operator.eq, "must_not_be": operator.ne}
SINGLE = LOWER | UPPER | EXACT


def passes(number: int, bounds: dict[str, int]) -> bool:
    """By the words of the reference: a lower and an upper bound are a range, or what is outside of it."""
    lower, upper = ([key for key in bounds if key in keys] for keys in (LOWER, UPPER))
    held = {key: SINGLE[key](number, bound) for key, bound in bounds.items()}
    if len(lower) == len(upper) == 1 and bounds[lower[0]] > bounds[upper[0]]:
        rest = all(each for key, each in held.items() if key in EXACT)
        return rest and (held[lower[0]] or held[upper[0]])
    return all(held.values())


@given(st.dictionaries(st.sampled_from(sorted(SINGLE)), st.integers(0, 4), min_size=1), st.integers(-1, 6))
def test_a_number_is_good_where_every_threshold_holds(bounds: dict[str, int], number: int) -> None:
    """Whatever the bounds are; those that no number meets are refused."""
    arguments = {key: str(bound) for key, bound in bounds.items()}
    try:
        found = wanted_intervals(RULE, parse_check("row_count", arguments), None)
    except SodaSyntaxError:
        assert not any(passes(each, bounds) for each in range(-1, 7))
        return

    assert all(good.holds(Fraction(number)) for _, good, _ in found) is passes(number, bounds)


@given(st.sampled_from(sorted(SINGLE)), st.sampled_from(sorted(SINGLE)), st.permutations(("warn", "fail")))
def test_each_of_two_levels_has_its_threshold(first: str, second: str, levels: list[str]) -> None:
    """Of version 4: the threshold and the additional one differ in their level, in either order."""
    short = {key: key.removesuffix("_to") for key in SINGLE}
    more = {short[second]: 2, "level": levels[1]}
    threshold = {short[first]: 1, "level": levels[0], "additional": more}
    found = wanted_intervals(RULE, parse_check("row_count", {"threshold": threshold}), None)

    assert [severity for _, _, severity in found] == [Severity.WARN if each == "warn" else None for each in levels]
    for number in range(4):
        held = [good.holds(Fraction(number)) for _, good, _ in found]
        assert held == [SINGLE[first](number, 1), SINGLE[second](number, 2)]
