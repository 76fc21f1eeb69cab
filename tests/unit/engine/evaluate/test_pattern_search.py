"""Patterns evaluated natively: DuckDB finds what the reference finds, for every pattern of contracts and for our own."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Origin, Rule
from lakegate.engine.evaluate.pattern_search import FormPattern, Search, searches_of, sql
from lakegate.patterns.date_formats import PARTS, compile_format, compile_java_format
from lakegate.patterns.ecma_patterns import rewritten
from lakegate.rules.check_builder import like_pattern, regex
from lakegate.rules.field_constraints import TEXT_FORMS
from tests.deliveries.database import connection
from tests.reference.cases import good_cases
from tests.reference.sampling import sampled
from tests.security.exploding import corpus
from tests.security.patterns import patterns, texts
from tests.security.test_engines import patterns_of
from tests.unit.patterns.test_date_formats import formats_and_texts

RULE = Rule("r", "pattern", Origin("$"))


def natively(pattern: str, subjects: Sequence[str | None]) -> list[bool | None]:
    """The result of the native engine for each text."""
    statement = f"SELECT {sql(pattern, 'x')} FROM (SELECT unnest(?::VARCHAR[]) AS x)"  # noqa: S608 - what is tested
    found = connection().execute(statement, [list(subjects)])
    return [row[0] for row in found.fetchall()]


def by_reference(pattern: str, text: str | None) -> bool | None:
    return None if text is None else re.search(pattern.replace(r"\z", r"\Z"), text, re.ASCII) is not None


def check(pattern: str, subjects: Sequence[str | None]) -> None:
    assert natively(pattern, subjects) == [by_reference(pattern, text) for text in subjects]


@sampled(80, 50_000)
@example(r"\B", ["aéa", "é", "", "a"])
@example(r"x|\B.", ["é", "aéa"])
@example(r"(?:a(?=\Bé)|b(?!a))+", ["aé", "bb", "ba"])
@example(r"[^a]\x00?", ["\x00", "a\x00"])
@given(patterns, st.lists(texts, min_size=1, max_size=8))
def test_duckdb_finds_what_the_reference_finds(pattern: str, subjects: list[str]) -> None:
    """Every pattern of a contract has the same result for every text in DuckDB as in the reference evaluator."""
    try:
        translated = regex(RULE, pattern)
    except ContractError:
        return
    check(translated, [*subjects, None])


LOOKS = st.builds("(?{}{})".format, st.sampled_from("=!"), patterns)


@sampled(80, 50_000)
@example(
    r"^(?!000)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}$", ["123-45-6789", "000-45-6789", "123-00-6789", "123-45-0000"]
)
@example(r"^(?:a|bé)(?=.*1)x", ["ax1", "bx1", "béx"])
@example(r"a(?!b)", ["a", "ab", "aba"])
@example(r"a(?=b)(?=bc)", ["a", "abc", "ab"])
@given(st.builds("{}{}{}".format, patterns, LOOKS, patterns), st.lists(texts, min_size=1, max_size=8))
def test_a_look_ahead_anywhere_has_the_result_of_the_reference(pattern: str, subjects: list[str]) -> None:
    """Look-aheads at the start, in the middle and at the end of a pattern are answered as the reference answers them."""
    try:
        translated = regex(RULE, pattern)
    except ContractError:
        return
    check(translated, [*subjects, None])


def plain(*found: str) -> tuple[Search, ...]:
    return tuple(Search(each) for each in found)


@pytest.mark.parametrize(
    ("pattern", "searches"),
    [
        ("ab(?=cd)", plain("[a][b][c][d]")),
        ("ab(?=c(?=d))", plain("[a][b][c][d]")),
        ("ab(?!c)", plain(r"[a][b](?:[\x{0}-bd-\x{10FFFF}]|\z)")),
        ("^(?=a)b(?!c)", (Search(r"\A[a]"), Search(r"\A[b][c]", wanted=False), Search(r"\A[b]"))),
        ("^a(?!b)c", (Search(r"\A[a][b]", wanted=False), *plain(r"\A[a][c]"))),
        ("^(?:ab){2}(?=c)x", plain(r"\A(?:[a][b]){2,2}[c]", r"\A(?:[a][b]){2,2}[x]")),
        ("^(?:ab){1,2}(?=c)x", (Search(r"\A(?:[a][b]){1,2}(?=[c])[x]", backtracks=True),)),
        ("^(?:ab|cd)(?=c)x", plain(r"\A(?:[a][b]|[c][d])[c]", r"\A(?:[a][b]|[c][d])[x]")),
        ("^(?:a|cd)(?=c)x", (Search(r"\A(?:[a]|[c][d])(?=[c])[x]", backtracks=True),)),
        ("^(?:a{1,2}b){2}(?=c)x", (Search(r"\A(?:(?:[a]){1,2}[b]){2,2}(?=[c])[x]", backtracks=True),)),
    ],
)
def test_a_look_ahead_becomes_a_search_of_its_own(pattern: str, searches: tuple[Search, ...]) -> None:
    """At a fixed number of characters after the start, or at the very end; elsewhere Python searches."""
    assert searches_of(regex(RULE, pattern)) == searches


@sampled(80, 20_000)
@given(st.text("%_aé\n", max_size=8), st.lists(st.text("aé\nb", max_size=6), min_size=1, max_size=4))
def test_a_pattern_of_sql_has_the_result_of_the_reference(pattern: str, subjects: list[str]) -> None:
    """LIKE is searched for as the reference does."""
    check(like_pattern(RULE, pattern), subjects)


@sampled(80, 50_000)
@given(formats_and_texts())
def test_a_format_of_dates_reads_the_same(written: tuple[str, str]) -> None:
    """A format of strftime reads natively what its own pattern reads, calendar and first reading included."""
    wanted, text = written
    check(compile_format(wanted), [text, text[:-1], text + "0", "", None])


def test_only_letters_are_folded() -> None:
    """Names of months are read in either case; the characters beside the letters of ASCII are read as they are."""
    good = ("Jan@[`{2024", "jAN@[`{2024")
    other = ("Jan`[`{2024", "Jan@{`{2024", "Jan@[@{2024", "Jan@[`[2024")

    assert natively(compile_format("%b@[`{%Y"), [*good, *other]) == [True, True, False, False, False, False]


DENSE = ("%S%H", "%H%M%S", "%d%m", "%m%d%y", "%y%d%m", "%I%p", "%d%b%Y", "%f%d", "")


@pytest.mark.parametrize("wanted", DENSE)
def test_a_format_without_separators_takes_the_first_reading(wanted: str) -> None:
    """Where digits could be read in several ways, the first way alone counts: `602` is second 60 and hour 2, not 6 and 2."""
    chance = random.Random(wanted)
    digits = ["".join(each) for length in range(5) for each in product("01236", repeat=length)]
    longer = ["".join(chance.choices("0123456789 ", k=chance.randint(4, 10))) for _ in range(1_000)]
    named = [
        f"{day}{month}{year}"
        for day in (1, 29, 30, 31)
        for month in ("Feb", "aPR", "\u017fep")
        for year in (1900, 2024)
    ]

    check(compile_format(wanted), [*digits, *longer, *named, "1am", "12PM", "1\u212am", None])


@sampled(80, 20_000)
@given(
    st.lists(st.sampled_from([*sorted(PARTS), "-", " ", "'T'"]), max_size=6).map("".join),
    st.lists(st.text("0123456789 -+:ZTJanFebAMP", max_size=14), min_size=1, max_size=20),
    st.dates(),
)
def test_a_format_of_java_reads_the_same(wanted: str, subjects: list[str], day: object) -> None:
    """A format of Java's DateTimeFormatter reads natively what its own pattern reads."""
    try:
        pattern = compile_java_format(wanted)
    except ValueError:
        return
    check(pattern, [*subjects, str(day), str(day).replace("-", ""), f"{day} 29", None])


ALPHABETS = {
    "email": 'ab0.-@_[]:"\\ \n',
    "uuid": "0fF-g",
    "uri": "a0:/?#[]@%\né",
    "hostname": "aZ9.-\n\u2028é",
    "ipv4": "0125.\n",
    "ipv6": "0fF12:.g",
}
GOOD = {
    "email": (
        "ana@example.org",
        "a@" + "b" * 63 + ".org",
        "a@" + "b" * 64 + ".org",
        "a" * 64 + "@b.c",
        "a" * 65 + "@b.c",
        '"' + "a" * 62 + '"@b.c',
        '"' + "a" * 63 + '"@b.c',
        "a@" + "b." * 127 + "c",
        "a@" + "b." * 128 + "c",
        '"a b\\""@[IPv6:::1]',
        "a@[127.0.0.1]",
    ),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "uri": ("https://example.org/a?b#c", "mailto:a@b", "http://a:b@[::1]:80/%20?a#b", "a:", "a:/b//c"),
    "hostname": ("a.b-c.d", "-a", "a-", ".".join(["a" * 63] * 3), ".".join(["a"] * 127), ".".join(["a"] * 128)),
    "ipv4": ("127.0.0.1", "256.1.1.1", "01.1.1.1"),
    "ipv6": ("::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2::7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1::2::3"),
}


@pytest.mark.parametrize("name", TEXT_FORMS)
def test_a_form_of_text_has_the_result_of_the_reference(name: str) -> None:
    """A well-known form accepts natively what its own pattern accepts: good texts, damaged ones and random ones."""
    chance = random.Random(name)
    damaged = [
        each[:at] + chance.choice([*ALPHABETS[name], ""]) + each[at + chance.randint(0, 1) :]
        for each in GOOD[name]
        for at in (chance.randrange(len(each) + 1) for _ in range(200))
    ]
    drawn = ["".join(chance.choices(ALPHABETS[name], k=chance.randint(0, 20))) for _ in range(1_000)]

    check(TEXT_FORMS[name].pattern, [*GOOD[name], *damaged, *drawn, "", None])


def test_the_patterns_of_all_cases_have_the_result_of_the_reference() -> None:
    """Each pattern of the case files finds natively what it finds for the reference, in all the values of its case."""
    counted = 0
    for case in good_cases():
        values = {value for row in case.rows for value in row if isinstance(value, str)}
        for pattern in case_patterns(case):
            check(pattern, [*sorted(values), None])
            counted += 1
    assert counted > 50


def case_patterns(case: object) -> set[str]:
    tiers = [tier for each in case.plan.checks for tier in (each.accept, each.tolerate) if tier]  # type: ignore[attr-defined]
    return {pattern for tier in tiers for pattern in patterns_of(tier.predicate)}


def test_few_patterns_are_left_to_python() -> None:
    """Of the patterns of all cases and of the corpus of attacks, those that RE2 does not search for.

    It has no look-behind, counts up to 1,000, and has memory for some hundred letters of any script.
    """
    found = {pattern for case in good_cases() for pattern in case_patterns(case)}
    found |= {pattern for each in corpus() if (pattern := plain_or_none(each.pattern))}
    searched = [search for pattern in found for search in searches_or_none(pattern)]

    assert len(found) > 250
    letters = rewritten(r"\p{L}")
    assert {each.pattern for each in searched if isinstance(each, Search) and each.backtracks} == {
        r"(?<=[E][U][R][\x20])(?:[0-9]){1,9}\Z",
        r"(?<![\x2D])[5]",
        r"\A(?:[a-z]){2,2048}\Z",
        rf"\A(?:{letters}){{1,500}}\Z",
    }
    assert any(isinstance(each, FormPattern) for each in searched)


def plain_or_none(pattern: str) -> str | None:
    try:
        return rewritten(pattern)
    except ValueError:
        return None


def searches_or_none(pattern: str) -> tuple[Search | FormPattern, ...]:
    try:
        return searches_of(pattern)
    except ValueError:
        return ()


def test_a_look_ahead_in_the_middle_is_left_to_python() -> None:
    """A pattern that RE2 cannot search is searched by Python, within the bound of steps that the compiler has proven."""
    assert searches_of(regex(RULE, "a+(?!bc)d?")) == (Search("(?:[a]){1,1}(?![b][c])", backtracks=True),)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?>a)(?=b",
        "(?>a)\\1",
        r"\A(?>(a)b)\z",
        r"\A(?>()a)\z",
        r"\A(?>a()b())\z",
        r"\A(?i:(?>a)b)\z",
        r"\A(?m:(?>a))\z",
        r"\A(?>a)\z(?!b)",
        r"\A(?>a())\z(?!\1)(?!\1)",
        r"\Aa\z(?!(?>b))",
        "x(?=[ab]*y)z[ab]*c[ab]*d",
    ],
)
def test_what_nobody_searches_for_is_refused(pattern: str) -> None:
    """A text that is not a pattern of a plan, or has no bounded time, is refused."""
    with pytest.raises(ValueError, match=r"is not a pattern|put look-aheads"):
        searches_of(pattern)


def test_an_atomic_group_that_is_not_a_whole_date_is_searched_for_as_a_form() -> None:
    """A repeated group, or one with something behind it, is not the reading of a date."""
    assert searches_of(r"\A(?>a)+\z") == plain(r"\A(?:[a]){1,}\z")
    assert searches_of(r"\A(?>a)b\z") == plain(r"\A[a][b]\z")
    folded = r"[\x{40}-CX-Za-cx-z]"
    assert searches_of(r"\A(?i:(?>[a-cX-Z@]))\z") == (FormPattern(rf"\A({folded})", rf"\A(?:{folded})\z", 0),)
    assert searches_of(r"\A(?>a())\z(?!\1)") == (FormPattern(r"\A(([a]))", r"\A(?:([a]))\z", 1, "({0}.g1 <> '')"),)


def test_a_text_is_never_sql() -> None:
    """Of a pattern nothing but hexadecimal digits reaches SQL."""
    searched = sql(regex(RULE, "' OR 1=1 --"), "x")

    assert re.fullmatch(r"\(regexp_matches\(x, decode\(unhex\('[0-9a-f]+'\)\)\)\)", searched)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^a\x00b$", "a\x00b", True),
        ("^[^é]{2}$", "😀\x00", True),
        ("^.$", "é", True),
        ("^.$", "e\u0301", False),
        ("a$", "a\n", False),
        ("^\\w+$", "é", False),
        ("^[^x]{1000}$", "é" * 1000, True),
        ("(?:[^a]{12}){12}b", "é" * 144 + "b", True),
    ],
)
def test_characters_are_code_points(pattern: str, text: str, found: bool) -> None:  # noqa: FBT001 - a column of the table
    """NUL, characters beyond ASCII, combining marks, line feeds at the end and large counts are what they are in Java."""
    assert natively(regex(RULE, pattern), [text]) == [found]


@pytest.mark.parametrize(
    ("pattern", "lengths"),
    [
        (r"^\p{L}{1,500}$", (0, 1, 500, 501)),
        (r"^\p{L}{0,456}$", (456, 457)),
        (r"^[^x]{2,2048}$", (1, 2, 2048, 2049)),
        (r"^é{1001}$", (1000, 1001, 1002)),
        (r"^(?:[^é]{0,40}é){0,40}$", (0, 1, 40, 41)),
        (r"^(?!x).{0,10000}$", (0, 10_000, 10_001)),
    ],
)
def test_what_is_too_large_for_re2_is_counted_as_well(pattern: str, lengths: Sequence[int]) -> None:
    """RE2 counts up to 1,000, in nested groups together, and has memory for some hundred letters of any script."""
    check(regex(RULE, pattern), ["é" * length for length in lengths])
