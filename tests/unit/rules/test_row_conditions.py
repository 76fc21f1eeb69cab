"""The language of conditions: what it reads as which predicate, and what it does not read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Field, Origin
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.predicates import All, Not, OneOf, Predicate, Present, Within
from lakegate.rules.row_conditions import (
    DEEPEST_CONDITION,
    LONGEST_CONDITION,
    UnreadConditionError,
    columns_of,
    condition_of,
)
from tests.reference.cases import rule_of

RULE = rule_of("custom", {}, ())
FIELDS = {
    name: Field(name, logical, Origin("$.field"))
    for name, logical in (
        ("n", LogicalType.INTEGER),
        ("t", LogicalType.STRING),
        ("b", LogicalType.BOOLEAN),
        ("a b", LogicalType.STRING),
    )
}
TOKENS = (
    *(
        "n",
        "t",
        "`a b`",
        'col("n")',
        '"n"',
        "'x'",
        "1",
        "-2.5",
        "true",
        "not",
        "and",
        "or",
        "&",
        "|",
        "~",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        ",",
        "in",
        "between",
        "is",
        "null",
        ".isnull()",
        ".notnull()",
        "==",
        "=",
        "!=",
        "<>",
        "<",
        ">=",
        "like",
        "%",
        "+",
    ),
)
X = OneOf("t", ("x",))
FIVE = OneOf("n", ("5",))
TRUE = OneOf("b", ("true",))


def condition_in(text: str, *, is_sql: bool = False) -> Predicate:
    return condition_of(RULE, text, FIELDS, is_sql=is_sql)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t == 'x'", X),
        ('t=="x"', X),
        ('col("t") == "x"', X),
        ("col('t') = 'x'", X),
        ("`a b` == 'x'", OneOf("a b", ("x",))),
        ("t != 'x'", Not(X)),
        ("t <> 'it''s'", Not(OneOf("t", ("it's",)))),
        ("n > 5", Within("n", "5", None, low_open=True)),
        ("n >= -5", Within("n", "-5", None)),
        ("n < 5", Within("n", None, "5", high_open=True)),
        ("n <= +5", Within("n", None, "5")),
        ("n == 5 and t == 'x'", All((FIVE, X))),
        ("n == 5 & t == 'x'", All((FIVE, X))),
        ("(n == 5) | (t == 'x')", Not(All((Not(FIVE), Not(X))))),
        ("n == 5 or n == 5 and t == 'x'", Not(All((Not(FIVE), Not(All((FIVE, X))))))),
        ("not n == 5", Not(FIVE)),
        ("~(n == 5)", Not(FIVE)),
        ("t in ('x', \"y\")", OneOf("t", ("x", "y"))),
        ("t in ['x']", X),
        ("t NOT IN ('x')", Not(X)),
        ("n between 1 and 5", Within("n", "1", "5")),
        ("n not between 1 and 5 and t == 'x'", All((Not(Within("n", "1", "5")), X))),
        ("t is null", Not(Present("t"))),
        ("t IS NOT NULL", Present("t")),
        ("t.isnull()", Not(Present("t"))),
        ('col("t").notNull()', Present("t")),
        ("b == True", OneOf("b", ("true",))),
        ("b = false", OneOf("b", ("false",))),
        ("b", TRUE),
        ("t = 'x' and not b", All((X, Not(TRUE)))),
        ("~b & (b | n == 5)", All((Not(TRUE), Not(All((Not(TRUE), Not(FIVE))))))),
    ],
)
def test_a_condition_is_a_predicate(text: str, expected: Predicate) -> None:
    """Comparisons of columns with values, joined by and, or and not, are read as what they mean."""
    assert expected == condition_in(text)


def test_quotes_are_names_in_sql_and_texts_elsewhere() -> None:
    """SQL quotes its names twice, and everybody else their texts."""
    assert condition_in("\"t\" = 'x'", is_sql=True) == X
    assert columns_of("\"a b\" = 'x'", is_sql=True) == ("a b",)
    assert columns_of('"a b" == t', is_sql=False) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t == 'x' and not lower(t)",
        "n in",
        "n not in",
        "not",
        "n is",
        "n not",
        f"{'(' * (DEEPEST_CONDITION + 1)}b{')' * (DEEPEST_CONDITION + 1)}",
        f"{'not ' * 200}b",
        f"{'(' * LONGEST_CONDITION}",
        "t ==",
        "t == t",
        "== 'x'",
        "t == 'x' and",
        "(t == 'x'",
        "t == 'x')",
        "t like 'x%'",
        "lower(t) == 'x'",
        "t.str.len() > 3",
        "t in 'x'",
        "t in ('x']",
        "t in ()",
        "t in ('x',)",
        "t is 'x'",
        "t not == 'x'",
        "n between 1 or 5",
        "n + 1 > 5",
        "n ! 5",
        "t == 'x",
        "t == 'x' 'y'",
        "t == 'a\\'",
        "t; drop table t",
        f"t == '{'x' * LONGEST_CONDITION}'",
    ],
)
def test_an_unknown_condition_is_not_read(text: str) -> None:
    """A condition outside of this language raises an error and has no columns."""
    with pytest.raises(UnreadConditionError):
        condition_in(text)

    assert columns_of(text, is_sql=False) == ()


def test_a_column_alone_is_a_condition_only_if_it_is_boolean() -> None:
    """A text is neither true nor false."""
    with pytest.raises(UnreadConditionError):
        condition_in("t")


@given(tokens=st.lists(st.sampled_from(TOKENS), max_size=12), is_sql=st.booleans())
def test_a_condition_that_begins_readable_is_read_or_not(*, tokens: list[str], is_sql: bool) -> None:
    """No text of tokens, whatever follows its readable beginning, raises another error than the two that rules handle."""
    text = " ".join(tokens)
    known = dict.fromkeys(columns_of(text, is_sql=is_sql), FIELDS["n"])
    try:
        condition_of(RULE, text, known, is_sql=is_sql)
    except (UnreadConditionError, ContractError):
        return
    assert known


def test_a_value_that_is_none_of_its_column_is_a_problem() -> None:
    """A condition that can be read, and compares a number with a word, is refused with the rule's place."""
    with pytest.raises(ContractError) as refusal:
        condition_in("n == 'five'")

    assert [each.code for each in refusal.value.problems] == ["value-not-of-type"]


def test_columns_are_named_once_and_in_order() -> None:
    """Whatever a condition compares, its columns are known before any of them is."""
    assert columns_of("z > 'a' and n == 5 or z is null", is_sql=True) == ("z", "n")
