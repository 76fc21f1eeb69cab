"""Documents are read whole, exactly as written, or refused with a code and a line."""

from __future__ import annotations

import os
import time
import tracemalloc
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.base.errors import ContractError, Problem
from lakegate.contract.documents.document_tree import address, steps_of
from lakegate.contract.documents.read_document import MAX_PROBLEMS, parse

EXAMPLES = 1_000_000 if os.environ.get("LAKEGATE_FULL") else 300
NINE = b"[" + b",".join([b"*%c"] * 9) + b"]"


def ladder(step: bytes) -> bytes:
    return b"a: &a {x: 1}\n" + b"".join(step % ((98 + i, 98 + i) + (97 + i,) * 9) for i in range(9))


REFUSED = {
    "aliases of aliases": ("too-many-nodes", ladder(b"%c: &%c " + NINE + b"\n")),
    "merges of merges": ("too-many-nodes", ladder(b"%c: &%c {<<: " + NINE + b"}\n")),
    "nested lists": ("too-deep", b"[" * 1_000_000),
    "nested mappings": ("too-deep", b"{a: " * 200_000),
    "nested keys": ("too-deep", b"? " * 300_000),
    "nested by indentation": ("too-deep", b"".join(b" " * i + b"-\n" for i in range(1_000))),
    "nested by alias": ("too-deep", b"- &a " + b"[" * 20 + b"]" * 20 + b"\n- " + b"[" * 20 + b"*a" + b"]" * 20),
    "alias to itself": ("unknown-alias", b"&a [*a]"),
    "long list": ("too-many-nodes", b"- 1\n" * 60_000),
    "many anchors": ("too-many-nodes", b"".join(b"&a%d k%d: 1\n" % (i, i) for i in range(30_000))),
    "large": ("document-too-large", b"x" * 2_000_000),
    "huge exponent": ("number-too-large", b"a: 1e999999999"),
    "many digits": ("number-too-large", b"a: " + b"9" * 5_000),
    "unclosed quote": ("syntax", b'"' + b"\n" * 900_000),
    "not YAML": ("syntax", b"a: [1\nb: 2"),
    "UTF-16": ("not-utf-8", "a: 1".encode("utf-16")),
    "Latin-1": ("not-utf-8", "a: é".encode("latin-1")),
    "NUL": ("unseen-character", b"a: \0"),
    "lone surrogate": ("syntax", b'{"a": "\\ud83d"}'),
    "two documents": ("several-documents", b"a: 1\n---\nb: 2\n"),
    "nothing": ("empty-document", b""),
    "only a comment": ("empty-document", b"#" * 1_000),
    "tagged value": ("tag", b"a: !!python/object x"),
    "tagged list": ("tag", b"a: !!set [x]"),
    "duplicate key": ("duplicate-key", b"a: 1\na: 2"),
    "duplicate key below a list": ("duplicate-key", b"- {a: 1, 'a': 2}"),
    "list as key": ("key-not-plain", b"? [a]\n: 1"),
    "long key": ("key-not-plain", b"? " + b"a" * 300 + b"\n: 1"),
    "merge of a text": ("merge-of-no-mapping", b"<<: x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_is_refused_by_name(name: str) -> None:
    """Each shape that breaks other readers is refused with the code that names it."""
    code, text = REFUSED[name]

    with pytest.raises(ContractError) as refusal:
        parse(text)

    assert [code] == [problem.code for problem in refusal.value.problems]


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_takes_little_memory(name: str) -> None:
    """No refusal takes 20 MB."""
    tracemalloc.start()
    with pytest.raises(ContractError):
        parse(REFUSED[name][1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20_000_000


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_takes_little_time(name: str) -> None:
    """No refusal keeps a processor busy (the bound is ten times what the slowest takes)."""
    started = time.process_time()
    with pytest.raises(ContractError):
        parse(REFUSED[name][1])

    assert time.process_time() - started < 3


MEANINGS = [
    ("NO", "NO"),
    ("on", "on"),
    ("12:30", "12:30"),
    ("12:30:00", "12:30:00"),
    ("010", "010"),
    ("0x1F", "0x1F"),
    ("1_000", "1_000"),
    ("2024-01-01", "2024-01-01"),
    (".inf", ".inf"),
    ("1.0.0", "1.0.0"),
    ("'1'", "1"),
    ('"true"', "true"),
    ("=", "="),
    ("1", 1),
    ("-0", 0),
    ("+12", 12),
    ("1.10", Decimal("1.10")),
    (".5", Decimal("0.5")),
    ("1.", Decimal(1)),
    ("1e3", Decimal(1000)),
    ("true", True),
    ("False", False),
    ("null", None),
    ("~", None),
    ("", None),
]


@pytest.mark.parametrize(("written", "value"), MEANINGS)
def test_an_unquoted_text_has_its_type(written: str, value: object) -> None:
    """Only true, false, null and plain numbers are more than text; no surprise of older YAML is left."""
    place = parse(b"a: " + written.encode()).top["a"]

    assert (type(value), value) == (type(place.scalar), place.scalar)


def test_a_number_keeps_how_it_was_written() -> None:
    """The text of a number survives, so that `1.10` in a list of allowed texts stays `1.10`."""
    place = parse(b"a: 1.10").top["a"]

    assert place.written == str(place.number) != str(1.10)


def test_json_and_yaml_are_one() -> None:
    """A JSON document reads like its YAML twin, characters beyond U+FFFF and a byte order mark included."""
    yaml = parse("a: {b: [1, '\U0001f600', null]}".encode()).plain()
    json = parse(b'\xef\xbb\xbf{"a":\t{"b": [1, "\\ud83d\\ude00", null]}}').plain()

    assert yaml == json == {"a": {"b": [1, "\U0001f600", None]}}


def test_an_escaped_backslash_before_a_u_is_no_escape() -> None:
    r"""JSON's `\\ud83d\ude00` begins with a backslash, which is kept; the half pair behind it is refused."""
    with pytest.raises(ContractError):
        parse(b'{"a": "\\\\ud83d\\ude00"}')

    expected = {"a": "\\ud83d\\\U0001f600"}
    assert expected == parse(b'{"a": "\\\\ud83d\\\\\\ud83d\\ude00"}').plain()


def test_aliases_and_merges_are_written_out() -> None:
    """A merge adds the keys that the mapping does not have; the first of several merges has precedence."""
    text = (
        b"one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nthree: {<<: [*one, *two], a: 3}\nfour: {<<: *one, '<<': x}\n"
    )

    expected = {"a": 3, "b": 1, "c": 2}, {"a": 1, "b": 1, "<<": "x"}
    plain = parse(text).root.content

    assert expected == (plain["three"].plain(), plain["four"].plain())  # type: ignore[call-overload,index]  # a mapping


def test_every_node_knows_its_line() -> None:
    """A key's line is that of the key, an item's that of the item, an absent one's that of what should hold it."""
    document = parse(b"a: 1\nb:\n  - x\n  -\n    c: 2\n")
    expected = {"$.a": 1, "$.b": 2, "$.b[0]": 3, "$.b[1].c": 5, "$.b[1].d": 5, "$.b[9]": 3, "$.c": 1}

    assert expected == {path: document.line(path) for path in expected}


def test_a_value_of_another_type_reads_as_nothing() -> None:
    """A place can be read as any type: a missing value is None or empty, never an error."""
    top = parse(b"text: x\nflag: true\nlist: [1]\n").top
    list_as_scalar = (top["list"].text, top["list"].number, top["list"].flag, top["list"].scalar)

    assert not any(list_as_scalar)
    assert not any((top["text"].items, top["text"].entries, top["text"].flag, top["flag"].number))
    assert not any((top["nowhere"].written, top["nowhere"].items, top["nowhere"][3]["x"].present))
    assert top["list"].items[0].number == Decimal(1)


@given(st.lists(st.text() | st.integers(0, 999)))
def test_an_address_leads_back_to_its_steps(steps: list[str | int]) -> None:
    """Whatever a key holds, its address is one line of plain characters and reads back."""
    path = address(tuple(steps))

    assert tuple(steps) == steps_of(path)
    assert path.isascii()
    assert path.isprintable()


def test_all_duplicates_are_reported_at_once() -> None:
    """Mistakes that do not hide others are collected, up to a hundred."""
    with pytest.raises(ContractError) as few:
        parse(b"a: 1\na: 2\nb: {c: 1, c: 2}\n")
    with pytest.raises(ContractError) as many:
        parse(b"a: 1\n" * 200)

    expected = [("$.a", 2), ("$.b.c", 3)]

    assert expected == [(problem.path, problem.line) for problem in few.value.problems]
    assert len(many.value.problems) == MAX_PROBLEMS


PIECES = st.sampled_from(
    [*list("{}[],:&*!|>'\"%#@`?-<\n\t \\~=.0123456789eabxyzé\ufeff\u2028\x00"), "<<: ", "&a ", "*a", "- ", ": "]
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=60) | st.lists(PIECES, max_size=40).map(lambda pieces: "".join(pieces).encode()))
def test_only_contract_errors_escape(text: bytes) -> None:
    """Whatever the bytes, the reader answers with a document or with located problems."""
    problems: tuple[Problem, ...] = ()
    try:
        parse(text).plain()
    except ContractError as error:
        problems = error.problems

    assert all(problem.line is not None and problem.line > 0 for problem in problems)
