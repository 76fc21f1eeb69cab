"""Patterns of ECMA-262 mean in the engine what they mean in the contract."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Origin, Rule
from lakegate.patterns.ecma_patterns import rewritten
from lakegate.patterns.regex_tree import LONGEST_PATTERN
from lakegate.rules.check_builder import regex
from tests.reference.sampling import sampled
from tests.reference.strategies import texts

RULE = Rule("r", "pattern", Origin("$"))


def matches(pattern: str, text: str) -> bool:
    return re.search(regex(RULE, pattern).replace(r"\z", r"\Z"), text, re.ASCII) is not None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^ab$", r"^ab\z"),
        (r"[$^.]", r"[\x24\x5E\x2E]"),
        (r"a\/b", "a/b"),
        (r"\]\{\}[\-]", r"\x5D\x7B\x7D[\x2D]"),
        ("[a-z&&[^b]", "[a-z\\x26\\x26\\x5B\\x5Eb]"),
        (r"\d\D", "[0-9][\\x00-\\x2F\\x3A-\U0010ffff]"),
        ("(?<year_1>a)", "(?:a)"),
        ("(a)(?:b)", "(?:a)(?:b)"),
        ("a{2}b{2,}c{2,3}?", "a{2}b{2,}c{2,3}?"),
        (r"\u{1F600}", "😀"),
        (r"\uD83D\uDE00", "😀"),
        (r"\x41\u0042", "AB"),
        (r"[\b]", r"[\x08]"),
        (r"\0\t\n\v\f\r", r"\x00\x09\x0A\x0B\x0C\x0D"),
        (r"\cj\cJ", r"\x0A\x0A"),
        ("[a-]", r"[a\x2D]"),
        ("[-a]", r"[\x2Da]"),
        ("[^a-z0-9]", "[^a-z0-9]"),
        ("[]", "(?:(?!))"),
        ("é", "é"),
        ("\u0085", r"\x85"),
    ],
)
def test_a_pattern_is_translated(pattern: str, expected: str) -> None:
    """The translation is the text that java.util.regex must be given."""
    assert expected == regex(RULE, pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a|b", "xb", True),
        (r"^\w+$", "é", False),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "afoo", False),
        (r"\Boo", "foo", True),
        (r"\Bfoo", "foo", False),
        (r"^\S+$", "a\u2003b", False),
        (r"^[^\s]$", "\u2003", False),
        (r"^[\W]$", "é", True),
        (r"^[\D]$", "5", False),
        ("^.$", "\u2029", False),
        ("^.$", "\r", False),
        ("^[^]$", "\n", True),
        ("^", "", True),
        ("$", "x", True),
        ("(?=b)b", "ab", True),
        ("a(?!b)", "ab", False),
        ("^a*?$", "aaa", True),
    ],
)
def test_a_translated_pattern_finds_what_ecma_finds(pattern: str, text: str, expected: object) -> None:
    """Anchors, classes, edges and look-aheads keep their meaning of ECMA-262."""
    assert expected is matches(pattern, text)


@sampled(300, 20000)
@given(texts, texts)
def test_an_escaped_text_matches_itself_alone(text: str, other: str) -> None:
    """Every character can be written as itself or escaped, in and out of classes, and then stands for itself."""
    escaped = "".join(f"\\u{{{ord(char):X}}}" for char in text)

    assert matches(f"^{escaped}$", text)
    assert (other == text) is matches(f"^{escaped}$", other)


@sampled(300, 20000)
@given(st.characters(exclude_categories=["Cs"]), st.characters(exclude_categories=["Cs"]))
def test_a_character_in_a_class_stands_for_itself(inside: str, other: str) -> None:
    """No character means more in a class of the engine than it does in the contract."""
    escape = "\\" if inside in "\\^]-" else ""
    pattern = f"^[{escape}{inside}]$"

    assert matches(pattern, inside)
    assert (other == inside) is matches(pattern, other)


@sampled(300, 20000)
@given(st.text(alphabet="ab01.*+?|()[]{}^$\\-,:=!<>dDwWsSbBu/_ ", max_size=12))
def test_a_pattern_is_translated_or_refused(pattern: str) -> None:
    """Whatever a contract writes, the answer is a pattern that compiles or a ContractError; nothing else escapes."""
    with suppress(ContractError):
        re.compile(regex(RULE, pattern).replace(r"\z", r"\Z"))


@pytest.mark.parametrize(
    "pattern",
    [
        "a**",
        "^*",
        "(?i)a",
        "(?<=a+)b",
        "(?<!a|bc)d",
        "(?<=a{1000})b",
        r"\k<a>",
        r"\p{Script=Greek}",
        r"\p{Lz}",
        r"\p{}",
        r"\p{L",
        r"\pL",
        r"[\p]",
        r"\p{L}" * 17,
        r"\1",
        r"\01",
        "[a",
        "[a-",
        r"[\d-z]",
        "(",
        ")",
        r"\uD83D",
        "\\",
        "a{2,1}",
        "(" * 51 + ")" * 51,
        "a[ab]{0,200}b[ab]{0,200}c",
        "x(?=.*y)z",
    ],
)
def test_an_untranslatable_pattern_is_refused(pattern: str) -> None:
    """A pattern that has another meaning in the engine is refused."""
    with pytest.raises(ContractError, match="the pattern cannot be used"):
        regex(RULE, pattern)


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        (r"^\p{Lu}\p{Ll}+$", ["Ärger", "Straße"], ["ärger", "A1"]),
        (r"^\P{L}+$", ["12 -"], ["1a"]),
        (r"^[\p{L}\p{Mn}' -]+$", ["O'Neill", "e\u0301"], ["a1"]),
        (r"^[^\p{Letter}]$", ["1"], ["ö"]),
        (r"^\p{gc=Nd}\p{General_Category=Currency_Symbol}$", ["٣€"], ["a€"]),
        (r"^\p{LC}\p{ASCII}\p{Any}$", ["Ωa\U0001f600"], ["ªäb"]),
        (r"^\p{Assigned}$", ["a"], ["\u0378"]),
        (r"(?<=a)b", ["ab"], ["b", "cb"]),
        (r"(?<!a)b", ["b", "cb"], ["ab"]),
        (r"^.{3}(?<![0-9]{2})$", ["12a", "1a2"], ["a12"]),
        (r"(?<=(?:EUR|USD) )[0-9]", ["EUR 1"], ["CHF 1"]),
        (r"(?<=\ba)c", ["ac", "-ac"], ["xac"]),
    ],
)
def test_properties_and_look_behind_mean_what_they_do_elsewhere(
    pattern: str, found: list[str], not_found: list[str]
) -> None:
    """The categories of Unicode as the standard library has them; a look-behind of one length."""
    assert [matches(pattern, each) for each in (*found, *not_found)] == [True] * len(found) + [False] * len(not_found)


def test_a_pattern_has_a_longest_length() -> None:
    """Patterns are bounded in length."""
    longest = f"^{'a' * (LONGEST_PATTERN - 1)}"

    assert regex(RULE, longest) == longest
    with pytest.raises(ContractError, match="at most 1,024 characters"):
        regex(RULE, f"{longest}a")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("^SKU[0-9]{4", r"the `{` at character 10 begins no quantifier: write `{4}` or `\{`"),
        ("a{1, 5}", r"the `{` at character 2 begins no quantifier: write `{1,5}` or `\{`"),
        ("^SKU[0-9{4}$", "the character class that opens at character 5 is not closed: add `]`"),
        ("^(SKU$", "the group that opens at character 2 is not closed: add `)`"),
        ("^SKU)$", r"`)` at character 5 closes no group: remove it, or write `\)`"),
        ("^a{,3}$", r"the `{` at character 3 begins no quantifier: write `{0,3}` or `\{`"),
        ("^a]$", r"the `]` at character 3 closes nothing: write `\]`"),
        ("^a}$", r"the `}` at character 3 closes nothing: write `\}`"),
        ("^a{$", r"the `{` at character 3 begins no quantifier: write `\{`"),
        ("^[a-z&&[^b]]+$", r"the `]` at character 12 closes nothing: write `\]`"),
        (r"a\-b", r"the escape \- means nothing else than `-`: write that"),
        ("(?=a)*", "a quantifier has nothing to repeat"),
        ("(?<a>x)(?<a>y)", "two groups have the name a"),
    ],
)
def test_an_unclosed_bracket_is_refused_with_its_position(pattern: str, message: str) -> None:
    """A pattern with an unclosed bracket is refused, with the position in the message."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        rewritten(pattern)


FRAGMENTS = (
    *"ab01.*+?|()[]{}^$\\-,:=!<>/_ &",
    *(
        "(?:",
        "(?=",
        "(?!",
        "(?<a>",
        "(?<b>",
        "[^",
        r"\d",
        r"\w",
        r"\S",
        r"\b",
        r"\B",
        "{2}",
        "{,3}",
        "{1,}",
        "{1,3}",
        "{3,1}",
    ),
    *(
        r"\-",
        r"\/",
        r"\.",
        r"\]",
        r"\}",
        r"\u{41}",
        r"\x41",
        r"\u0041",
        r"\cA",
        r"\c1",
        r"\0",
        r"\01",
        "[a-z]",
        r"[\d-x]",
    ),
    *(r"[a-\d]", "[--a]", r"[\-]", r"[\b]", r"[\B]", r"\e", r"\_", "&&", "[[", "]]", "x*?", "x{2}?", "(a)", "(?=a)"),
)


class Grammar:
    """The grammar of ECMA-262 for patterns with the u flag, without properties, references and look-behind."""

    QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]+)(?:(,)([0-9]*))?\})\??")
    ESCAPE = (
        r"[fnrtvdDsSwW]|c[A-Za-z]|0(?![0-9])|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,5}\}|[$^\\.*+?()\[\]{}|/]"
    )
    ATOM = re.compile(rf"\\(?:{ESCAPE})|\.|[^$^\\.*+?()\[\]{{}}|]")
    MEMBER = re.compile(rf"\\(?:{ESCAPE}|[-b])|[^\\\]]")
    SETS = re.compile(r"\\[dDsSwW]")
    OPENING = re.compile(r"\((?:\?:|\?<([A-Za-z_$][A-Za-z0-9_$]*)>|(?!\?))")

    def __init__(self, pattern: str) -> None:
        self.text, self.at, self.names = pattern, 0, list[str]()

    def holds(self) -> bool:
        """Whether the whole text is a pattern."""
        return self.alternatives() and self.at == len(self.text) and len(self.names) == len(set(self.names))

    def take(self, shape: re.Pattern[str]) -> re.Match[str] | None:
        found = shape.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def alternatives(self) -> bool:
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.take(re.compile(r"\||\^|\$|\\[bB]")):
                continue
            if self.take(re.compile(r"\(\?[=!]")):
                if not (self.alternatives() and self.take(re.compile(r"\)"))):
                    return False
            elif not (self.atom() and self.repeated()):
                return False
        return True

    def repeated(self) -> bool:
        found = self.take(self.QUANTIFIER)
        return found is None or not (found[1] and found[3]) or int(found[1]) <= int(found[3])

    def atom(self) -> bool:
        if self.text.startswith("[", self.at):
            return self.members()
        opening = self.take(self.OPENING)
        if opening:
            self.names += [opening[1]] if opening[1] else []
            return self.alternatives() and self.take(re.compile(r"\)")) is not None
        return self.take(self.ATOM) is not None

    def members(self) -> bool:
        self.take(re.compile(r"\[\^?"))
        while not self.take(re.compile(r"\]")):
            low = self.take(self.MEMBER)
            if low is None:
                return False
            if self.take(re.compile(r"-(?!\])")):
                high = self.take(self.MEMBER)
                if high is None or any(self.SETS.fullmatch(each[0]) for each in (low, high)):
                    return False
                if self.code(low[0]) > self.code(high[0]):
                    return False
        return True

    @staticmethod
    def code(written: str) -> int:
        escaped = re.fullmatch(r"\\[xu]\{?([0-9a-fA-F]+)\}?", written)
        if escaped:
            return int(escaped[1], 16)
        controls = {r"\f": 12, r"\n": 10, r"\r": 13, r"\t": 9, r"\v": 11, r"\0": 0, r"\b": 8}
        if written.startswith(r"\c"):
            return ord(written[2]) % 32
        return controls.get(written, ord(written[-1]))


@sampled(2_000, 100_000)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=7).map("".join))
def test_a_pattern_is_usable_exactly_if_the_u_flag_allows_it(pattern: str) -> None:
    """A recogniser of the grammar, which shares no code with the translation, decides for every pattern alike."""
    try:
        rewritten(pattern)
    except ValueError:
        assert not Grammar(pattern).holds()
    else:
        assert Grammar(pattern).holds()


def test_patterns_of_other_engines_may_escape_any_punctuation() -> None:
    """In Great Expectations and Soda a backslash before punctuation is usual, and a lone bracket stands for itself."""
    custom = Rule("r", "custom", Origin("$"))

    assert [regex(custom, each) for each in (r"a\-b\@c", "a]}")] == [r"a-b@c", r"a\x5D\x7D"]
    with pytest.raises(ContractError, match=r"write `\{0,3\}`"):
        regex(custom, "a{,3}")
