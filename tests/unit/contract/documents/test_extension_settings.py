"""The JSON Schema of the extension, for editors, agrees with the reader."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema.validators import Draft7Validator

from lakegate.base.json_schemas import load
from lakegate.contract.documents.document_tree import Notes
from lakegate.contract.documents.extension_settings import (
    CSV,
    OF_CONTRACTS,
    OTHER,
    POLICY,
    STORAGE,
    Extension,
    inheritance,
)
from lakegate.contract.documents.read_document import parse
from lakegate.lints.linter import examine
from tests.unit.contract.documents.extension_page import PAGE, generated

SCHEMA: dict[str, Any] = load("lakegate-extension")
JUDGE = Draft7Validator({**SCHEMA["definitions"]["extension"], "definitions": SCHEMA["definitions"]})
FULL = 20_000 if os.environ.get("LAKEGATE_FULL") else 300
WORDS = [
    "enforce",
    "observe",
    "file",
    "rows",
    "allow",
    "warn",
    "forbid",
    "refuse",
    "accept",
    "original",
    "object",
    "push",
    "parquet",
    "jsonl",
    "gzip",
]
VALUES = (
    st.sampled_from(
        [
            *WORDS,
            "append",
            '"',
            ",",
            ";;",
            "",
            "\n",
            "é",
            "utf-8",
            "utf-8-sig",
            ".",
            "\u202f",
            "LATIN_1",
            "utf-7",
            "ISO-8859-1",
        ]
    )
    | st.booleans()
    | st.none()
    | st.integers(-1, 2)
    | st.sampled_from([0.5, 1.0, 1.5])
    | st.lists(st.sampled_from(["", "NA", 1, None, "owner", "sales.*", "*", "a*b", "**", "a/b", "a\n"]), max_size=2)
    | st.dictionaries(
        st.sampled_from(["a", "b"]), st.lists(st.sampled_from(["", "NA", 1, None]), max_size=2) | st.just("NA")
    )
    | st.sampled_from(["acme@1", "acme@01", "acme@", "@1", "a@b@0", "acme@1\n"])
)
CSVS = st.dictionaries(st.sampled_from([*CSV, "seperator"]), VALUES, max_size=3) | VALUES
KEYS = [*POLICY, *STORAGE, *OTHER, *OF_CONTRACTS, "modes"]
EXTENSIONS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)


def problems(extension: Any) -> list[str]:
    notes = Notes()
    place = parse(json.dumps({"x": extension}).encode()).top["x"]
    Extension([place], notes)
    inheritance([place], notes)
    return [each.message for each in notes.errors]


def is_refused(extension: Any) -> bool:
    return bool(problems(extension))


def test_the_schema_is_a_schema() -> None:
    """Editors can use it: it keeps to draft 7, which they all know."""
    Draft7Validator.check_schema(SCHEMA)


def test_the_schema_names_every_key_that_the_reader_reads() -> None:
    """No key is missing, none is there for nobody."""
    assert {*POLICY, *STORAGE, *OTHER, *OF_CONTRACTS, "csv"} == set(SCHEMA["definitions"]["extension"]["properties"])
    assert set(CSV) == set(SCHEMA["definitions"]["csv"]["properties"])


@settings(max_examples=FULL, deadline=None)
@given(EXTENSIONS, CSVS, st.booleans())
@example({"derive": None}, None, False)
@example({"inherits": "acme@1\n"}, None, False)
@example({"inherits": "a\nb@1"}, None, False)
def test_reader_and_schema_agree(extension: dict[str, Any], csv: Any, has_csv: bool) -> None:  # noqa: FBT001 -- drawn
    """What one refuses the other refuses."""
    whole = extension | ({"csv": csv} if has_csv else {})

    assert is_refused(whole) is not JUDGE.is_valid(whole)


@given(st.lists(st.sampled_from(["%Y", "%m", "%d", "%H", "%M", "%S", "%%", "%", "%x", "a", "\n"]), max_size=9))
@example(["%Y", "%m", "%d"])
@example(["%Y", "%m", "%d", "\n"])
@example(["%Y", "%m", "%d", "%H", "%M", "%S"])
@example(["%Y", "%m", "%d", "%M"])
@example(["%%", "Y", "%m", "%d"])
def test_reader_and_schema_agree_on_times_in_names(parts: list[str]) -> None:
    """A name has each part of a time once, and none without the coarser ones."""
    whole = {"snapshotTime": "".join(parts)}

    assert is_refused(whole) is not JUDGE.is_valid(whole)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("quietMinutes", 0, "a whole number of minutes from 1 to 1,440"),
        ("quietMinutes", 1.5, "a whole number of minutes from 1 to 1,440"),
        ("batchFiles", "many", "a whole number from 1 to 250"),
        (
            "replaces",
            "key",
            "`period`; for rows with the same key, declare `publishAs: parquet` and `mergeStrategy: upsert` instead",
        ),
        ("quarantineDays", 31, "one of `7`, `30`, `90`, `365`, in days"),
        ("inherits", "acme", "the id of a contract and a major number: `acme-policies@1`"),
        ("inherits", "acme@01", "the id of a contract and a major number: `acme-policies@1`"),
    ],
)
def test_a_value_is_refused_with_what_it_should_be(key: str, value: object, problem: str) -> None:
    """The problem describes the values that are possible."""
    (error,) = problems({key: value})

    assert problem in error


@pytest.mark.parametrize("whole", [[], "observe", 5, True, None, {}])
def test_an_extension_is_a_mapping(whole: Any) -> None:
    """Anything else is refused by both, nothing at all by none."""
    assert is_refused(whole) is not JUDGE.is_valid(whole)


DOCUMENTS: dict[str, Callable[[str], str]] = {
    "ODCS contract": lambda value: (
        f"customProperties: [{{property: a, value: 1}}, {{property: lakegate, value: {value}}}]"
    ),
    "ODCS dataset": lambda value: f"schema: [{{name: d, customProperties: [{{property: lakegate, value: {value}}}]}}]",
    "DCS contract": lambda value: f"config: {{lakegate: {value}}}",
    "DCS dataset": lambda value: f"models: {{m: {{config: {{lakegate: {value}, other: 1}}}}}}",
    "DCM contract": lambda value: f"specific: {{lakegate: {value}}}",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_judged_where_the_extension_stands(name: str) -> None:
    """In every format, for the contract and for its datasets."""
    judge = Draft7Validator(SCHEMA)
    good, bad = (parse(DOCUMENTS[name](value).encode()).plain() for value in ("{mode: observe}", "{mode: watch}"))

    assert (judge.is_valid(good), judge.is_valid(bad)) == (True, False)


@pytest.mark.parametrize("name", ["ODCS dataset", "DCS dataset"])
def test_a_dataset_inherits_nothing_of_its_own(name: str) -> None:
    """`inherits` and `require` are keys of the whole contract: at a dataset they are errors."""
    heads = {"ODCS": "apiVersion: v3.1.0\nkind: DataContract\n", "DCS": "dataContractSpecification: 1.2.1\n"}
    text = f"{heads[name.split(maxsplit=1)[0]]}id: x\nversion: 1.0.0\n{DOCUMENTS[name]('{inherits: a@1, require: [owner]}')}\n"

    assert [problem.code for problem in examine(text.encode()).errors].count("extension-key") == len(
        ("inherits", "require")
    )


def test_our_own_examples_meet_the_schema() -> None:
    """What the reader reads in them, an editor takes."""
    text = b"dataContractSpecification: 1.2.1\nid: x\ninfo: {title: t, version: 1.0.0}\nconfig: {lakegate: {mode: observe}}\n"

    assert examine(text).valid
    assert Draft7Validator(SCHEMA).is_valid(parse(text).plain())


def test_the_page_agrees_with_the_schema() -> None:
    """docs/contracts.md lists every key (`python -m tests.unit.contract.documents.extension_page` writes it)."""
    page = PAGE.read_text()

    assert generated(page) == page


@pytest.mark.parametrize("name", ["dcm-0.1.3", "lakegate-extension", "workflow"])
def test_every_pattern_of_our_schemas_has_its_form_in_words(name: str) -> None:
    """A value of a wrong form is refused with what to write, not with a regular expression."""

    def patterns(schema: object) -> list[dict[str, Any]]:
        below = list(schema.values()) if isinstance(schema, dict) else schema if isinstance(schema, list) else []
        own = [schema] if isinstance(schema, dict) and isinstance(schema.get("pattern"), str) else []
        return own + [each for child in below for each in patterns(child)]

    found = patterns(load(name))
    assert found
    assert [each["pattern"] for each in found if not each.get("x-form")] == []


def test_a_setting_of_csv_beside_csv_has_its_place_as_a_hint() -> None:
    """`delimiter` is a key of `csv`, and no misspelt `delivery`."""
    text = (
        "dataContractSpecification: 1.2.1\nid: x\ninfo: {title: t, version: 1.0.0}\n"
        "models: {m: {fields: {n: {type: long}}, config: {lakegate: {delimiter: ';'}}}}\n"
    )

    (problem,) = examine(text.encode()).errors

    assert problem.message == "The key `delimiter` is unknown in the extension. Did you mean `csv.delimiter`?"
