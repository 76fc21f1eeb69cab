"""`$ref` of a document may name definitions in files beside it: they become part of it, with their digests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.contract.documents.read_document import LARGEST_BYTES, parse
from lakegate.contract.documents.ref_definitions import FILES, MAX_FILES, bundle_definitions, outside_reference
from lakegate.lints.linter import examine
from tests.reference.sampling import sampled
from tests.unit.diff.builder import document

COMMON = b"""definitions:
  email: {logicalType: string, classification: confidential, logicalTypeOptions: {maxLength: 254}}
  person:
    logicalType: object
    properties: [{name: mail, $ref: '#/definitions/email'}, {name: at, $ref: 'time/moments.yaml#/definitions/at'}]
  unused: {logicalType: string}
"""
MOMENTS = b"definitions: {at: {logicalType: timestamp}, back: {$ref: '../common.yaml#/definitions/email'}}"
AT = "$.schema[0].properties[0]"


class Folder(dict[str, bytes]):
    """Files by name; it keeps what was read."""

    def __init__(self, **files: bytes) -> None:
        super().__init__({name.replace("__", "/") + ".yaml": text for name, text in files.items()})
        self.read: list[str] = []

    def __call__(self, name: str) -> bytes:
        self.read.append(name)
        if name not in self:
            raise InputError("the file cannot be read: No such file or directory")
        return self[name]


def contract(*references: Any, **root: Any) -> bytes:
    """A property for each reference."""
    properties = [{"name": f"f{number}", "$ref": each} for number, each in enumerate(references)]
    return document({"properties": properties, "root": root})


def as_yaml(text: bytes) -> bytes:
    return yaml.safe_dump(json.loads(text), sort_keys=False).encode()


def family() -> Folder:
    return Folder(common=COMMON, time__moments=MOMENTS)


@pytest.mark.parametrize("form", [bytes, as_yaml])
def test_definitions_of_files_become_part_of_the_document(form: Any) -> None:
    """Those that are used, and those that they use, with the digest of each file; the text before them is unchanged."""
    folder, text = family(), form(contract("common.yaml#/definitions/person"))
    made = bundle_definitions(text, folder)
    at = {"$ref": "time/moments.yaml#/definitions/at"}
    mail = {"$ref": "common.yaml#/definitions/email"}

    assert made.startswith(text.rstrip(b"}\n"))
    assert parse(made).plain()[FILES] == {  # type: ignore[index, call-overload] # a mapping
        "common.yaml": {
            "sha256": hashlib.sha256(COMMON).hexdigest(),
            "definitions": {
                "email": {
                    "logicalType": "string",
                    "classification": "confidential",
                    "logicalTypeOptions": {"maxLength": 254},
                },
                "person": {
                    "logicalType": "object",
                    "properties": [{"name": "mail", **mail}, {"name": "at", **at}],
                },
            },
        },
        "time/moments.yaml": {
            "sha256": hashlib.sha256(MOMENTS).hexdigest(),
            "definitions": {"at": {"logicalType": "timestamp"}},
        },
    }
    assert parse(made).without(FILES).plain() == parse(text).plain()
    assert sorted(folder.read) == ["common.yaml", "time/moments.yaml"]


def test_a_bundled_document_needs_no_file() -> None:
    """It means what the same document with definitions of its own means; bundling it again reads nothing."""
    made = bundle_definitions(contract("common.yaml#/definitions/email"), family())
    definitions = yaml.safe_load(COMMON)["definitions"]
    alone = contract("#/definitions/email", definitions={"email": definitions["email"]})
    nowhere = Folder()

    assert (bundle_definitions(made, nowhere), nowhere.read) == (made, [])
    found, wanted = examine(made), examine(alone)
    assert (found.errors, found.warnings) == ((), ())
    assert found.contract is not None
    assert wanted.contract is not None
    assert [(each.name, each.type, each.classification) for each in found.contract.datasets[0].fields] == [
        (each.name, each.type, each.classification) for each in wanted.contract.datasets[0].fields
    ]


def test_a_document_of_dcs_uses_files_too() -> None:
    """Its layers read them like definitions of its own."""
    text = b"""dataContractSpecification: 1.2.1
id: shop
info: {title: Shop, version: 1.0.0}
models:
  orders:
    fields:
      mail: {$ref: 'common.yaml#/definitions/mail', required: true}
"""
    made = bundle_definitions(text, Folder(common=b"definitions: {mail: {type: string, maxLength: 5}}"))
    wrong = examine(bundle_definitions(text, Folder(common=b"definitions: {mail: {type: strin}}")))
    found = examine(made)

    assert (found.errors, found.warnings) == ((), ())
    assert found.contract is not None
    assert "maxLength" in {each.kind for each in found.contract.datasets[0].rules}
    assert [each.line for each in wrong.errors] == [7]
    assert examine(text).errors[0].code == "external-reference"


def test_a_problem_of_a_definition_is_at_the_reference() -> None:
    """The author of the document sees the line of his own text, and the key that is wrong."""
    text = as_yaml(contract("common.yaml#/definitions/a"))
    found = examine(bundle_definitions(text, Folder(common=b"definitions: {a: {logicalType: strin}}")))
    (error,) = found.errors
    (line,) = [number for number, each in enumerate(text.decode().splitlines(), 1) if "$ref" in each]

    assert (error.path, error.line) == (f"{AT}.logicalType", line)


REASONS: list[tuple[bytes, str]] = [
    (b"definitions: [", "line 2 of the file: This is neither YAML nor JSON"),
    (b"a: &a [*a]", "line 1 of the file: The alias names nothing"),
    (b"definitions: {aa: {logicalType: string}}", "the file has no such definition."),
    (b"definitions: {a: text}", "the file has no such definition."),
    (b"definitions: [a]", "the file has no such definition."),
    (b"text", "the file has no such definition."),
    (b"x" * (LARGEST_BYTES + 1), "line 1 of the file: The document has more than 1,048,576 bytes"),
    (b"definitions: {a: !!python/object:os.system {x: 1}}", "line 1 of the file: Tags"),
]


@pytest.mark.parametrize(("text", "reason"), REASONS, ids=[reason[:40] for _, reason in REASONS])
def test_a_file_that_cannot_be_used_is_an_error_at_each_reference(text: bytes, reason: str) -> None:
    """With its reason; other mistakes of the document are reported beside it."""
    name = "common.yaml#/definitions/a"
    made = bundle_definitions(contract(name, name, "#/definitions/none", definitions={}), Folder(common=text))
    errors = [each for each in examine(made).errors if "reference" in each.code]

    assert [(each.code, each.path) for each in errors] == [
        ("external-reference", f'{AT}["$ref"]'),
        ("external-reference", '$.schema[0].properties[1]["$ref"]'),
        ("dangling-reference", '$.schema[0].properties[2]["$ref"]'),
    ]
    assert errors[0].message.startswith(f"`{name}` cannot be used: {reason}")


@pytest.mark.parametrize("end", [b"...\n", b"# }\n"])
def test_a_text_whose_end_is_not_its_root_is_refused_or_right(end: bytes) -> None:
    """The definitions are added at the end; where that is not possible, the reference stays an error."""
    for text in (contract("common.yaml#/definitions/email"), as_yaml(contract("common.yaml#/definitions/email"))):
        found = examine(bundle_definitions(text + b"\n" + end, family()))
        assert found.errors == () or {each.code for each in found.errors} == {"external-reference"}


@pytest.mark.parametrize("files", [5, [], {"common.yaml": 5}, {"common.yaml": {"definitions": {"email": 5}}}])
def test_a_key_that_somebody_wrote_is_read_with_care(files: Any) -> None:
    """`definitionFiles` of another form has no definitions; no file is read."""
    text = contract("common.yaml#/definitions/email", definitionFiles=files)
    folder = family()

    assert (bundle_definitions(text, folder), folder.read) == (text, [])
    assert "external-reference" in {each.code for each in examine(text).errors}


@pytest.mark.parametrize(
    "text", [b"", b"a: 1", b"$ref: [", b"- $ref: common.yaml#/definitions/email", contract("#/definitions/a")]
)
def test_a_text_that_uses_no_file_is_left_as_it_is(text: bytes) -> None:
    """Also one that is no document, or a list."""
    folder = family()

    assert (bundle_definitions(text, folder), folder.read) == (text, [])


def test_definitions_of_another_form_are_an_error_beside_those_of_files() -> None:
    """The document's own key is reported, and nothing is added to it."""
    text = contract("common.yaml#/definitions/email", definitions=5)

    assert examine(bundle_definitions(text, family())).errors != ()


def test_a_missing_file_is_a_reason() -> None:
    """What the reader of files says stands at the reference."""
    (error, *_) = examine(bundle_definitions(contract("none.yaml#/definitions/a"), family())).errors

    assert (
        error.message
        == "`none.yaml#/definitions/a` cannot be used: the file cannot be read: No such file or directory."
    )


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cf", "Co", "Cn")), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS | st.decimals(-9, 9, places=2).map(float),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(lambda key: key != "$ref"), inner, max_size=3)
    ),
    max_leaves=12,
)


@sampled(40, 1_000)
@given(
    st.dictionaries(TEXTS.filter(lambda key: key != "$ref"), VALUES, min_size=1, max_size=4),
    st.sampled_from([bytes, as_yaml]),
)
def test_every_definition_is_the_same_in_the_document(value: dict[str, Any], form: Any) -> None:
    """Whatever texts, numbers and keys it has, in documents of JSON and of YAML."""
    common = json.dumps({"definitions": {"a": value}}, ensure_ascii=False).encode()
    try:
        wanted = parse(common).plain()["definitions"]  # type: ignore[index, call-overload] # a mapping
    except Exception:  # noqa: BLE001 - characters that no document may have
        return
    made = parse(bundle_definitions(form(contract("common.yaml#/definitions/a")), Folder(common=common))).plain()

    assert made[FILES]["common.yaml"]["definitions"] == wanted  # type: ignore[index, call-overload] # mappings


def test_a_document_uses_a_bounded_number_of_files() -> None:
    """One more is the reason at its reference, and is not read."""
    names = [f"f{number:02}" for number in range(MAX_FILES + 1)]
    folder = Folder(**dict.fromkeys(names, b"definitions: {a: {logicalType: string}}"))
    made = bundle_definitions(contract(*(f"{name}.yaml#/definitions/a" for name in names)), folder)
    (error,) = examine(made).errors

    assert len(folder.read) == MAX_FILES
    assert error.message.endswith(f"cannot be used: a document uses at most {MAX_FILES} files.")


@pytest.mark.parametrize(
    ("text", "file", "found"),
    [
        ("./a.yaml#/definitions/x", "", "a.yaml#/definitions/x"),
        ("././b/a.yaml#/definitions/x/y", "", "b/a.yaml#/definitions/x/y"),
        ("a.yaml", "", "a.yaml#"),
        ("a.yaml#", "", "a.yaml#"),
        ("a.yaml#/other/x", "", "a.yaml#/other/x"),
        ("../a.yaml#/definitions/x", "", "../a.yaml#/definitions/x"),
        ("../a.yaml#/definitions/x", "b/c.yaml", "a.yaml#/definitions/x"),
        ("../../a.yaml", "b/c.yaml", "../a.yaml#"),
        ("../b/a.yaml", "../c/d.yaml", "../b/a.yaml#"),
        ("#/definitions/x", "../c/d.yaml", "../c/d.yaml#/definitions/x"),
        ("#", "c.yaml", "c.yaml#"),
        ("a.yaml", "https://host/b/c.yaml", "https://host/b/a.yaml#"),
        ("../a.yaml", "https://host/b/c.yaml", None),
        ("https://host/a.yaml", "b/c.yaml", "https://host/a.yaml#"),
        ("b/../a.yaml", "", None),
        ("../" * 9 + "a.yaml", "", None),
        ("#/definitions/x", "", None),
        ("..%2fa.yaml", "", None),
        ("", "", None),
    ],
)
def test_every_way_to_write_a_reference_has_one_form(text: str, file: str, found: str | None) -> None:
    """Relative to the file that has it, without detours; None where it leads nowhere that is read."""
    reference = outside_reference(text, file)

    assert (None if reference is None else reference.text) == found


def test_a_file_above_is_part_of_the_document_as_far_as_it_may_be_read() -> None:
    """Nothing above is asked for otherwise, neither by the document nor by a file below it."""
    folder = Folder(
        **{"..__common": COMMON, "sub__up": b"definitions: {a: {$ref: '../../common.yaml#/definitions/email'}}"}
    )
    text = contract("../common.yaml#/definitions/email", "sub/up.yaml#/definitions/a")
    refused = examine(bundle_definitions(text, folder))

    assert folder.read == ["sub/up.yaml"]
    assert {each.code for each in refused.errors} == {"external-reference"}
    assert all("leads above the folder that may be read" in each.message for each in refused.errors)
    assert examine(bundle_definitions(text, folder, above=1)).errors == ()


def test_a_whole_file_and_other_places_are_definitions_of_both_formats() -> None:
    """A name of theirs never is that of another definition of the file."""
    files = Folder(
        whole=b"{type: string, maxLength: 5}", other=b"{x: {y: {type: long}}, definitions: {x/y: {type: date}}}"
    )
    text = b"""dataContractSpecification: 1.2.1
id: shop
info: {title: Shop, version: 1.0.0}
models:
  orders:
    fields:
      a: {$ref: whole.yaml}
      b: {$ref: 'other.yaml#/x/y'}
      c: {$ref: './other.yaml#/definitions/x/y'}
"""
    found = examine(bundle_definitions(text, files))
    assert found.contract is not None

    assert (found.errors, found.warnings) == ((), ())
    assert [each.type.value for each in found.contract.datasets[0].fields] == ["string", "integer", "date"]
