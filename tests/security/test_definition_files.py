"""Hostile references to files: no other place is read, circles end, and what files add is bounded."""

from __future__ import annotations

import json

import pytest

from lakegate.contract.documents.read_document import LARGEST_BYTES, MAX_NODES
from lakegate.contract.documents.ref_definitions import bundle_definitions
from lakegate.lints.linter import examine
from tests.unit.contract.documents.test_ref_definitions_files import Folder, contract

OUTSIDE = [
    "a/../../common.yaml#/definitions/a",
    "..%2fcommon.yaml#/definitions/a",
    "..\\common.yaml#/definitions/a",
    ".../common.yaml#/definitions/a",
    "./../" + "../" * 9 + "common.yaml#/definitions/a",
    "https://example.com/a/../../common.yaml#/definitions/a",
    "/etc/common.yaml#/definitions/a",
    "//host/common.yaml#/definitions/a",
    "\\\\host\\common.yaml#/definitions/a",
    "C:/common.yaml#/definitions/a",
    "http://example.com/common.yaml#/definitions/a",
    "https://name:secret@example.com/common.yaml#/definitions/a",
    "file:///common.yaml#/definitions/a",
    "file:common.yaml#/definitions/a",
    "%2e%2e/common.yaml#/definitions/a",
    ".hidden.yaml#/definitions/a",
    "a/.git/common.yaml#/definitions/a",
    "common.yaml\n#/definitions/a",
    "common.yaml\0#/definitions/a",
    "~/common.yaml#/definitions/a",
    "common.txt#/definitions/a",
    "common.yaml#/definitions/",
    "common.yaml#/definitions/a~1b",
    "common.yaml#/a//b",
    "common.yaml#a",
    "common.yaml#/" + "a/" * 17,
    "a/" * 9 + "common.yaml#/definitions/a",
    "x" * 101 + "/common.yaml#/definitions/a",
    "common.yaml#/definitions/a\n",
]


@pytest.mark.parametrize("reference", OUTSIDE, ids=range(len(OUTSIDE)))
def test_no_other_place_is_read(reference: str) -> None:
    """Neither above, nor absolute, nor by an URL without TLS, nor hidden: nothing is asked for, and the reference is refused."""
    folder = Folder()
    text = contract(reference)

    assert (bundle_definitions(text, folder), folder.read) == (text, [])
    assert examine(text).errors[0].code == "external-reference"


@pytest.mark.parametrize("file", [None, "sub/common.yaml"])
def test_an_address_is_asked_for_as_it_is_written(file: str | None) -> None:
    """By the document, or by a file of its folder: never joined with a folder, and refused where nobody fetches it."""
    url = "https://example.com/other.yaml"
    outer = f"{file or url}#/definitions/a"
    folder = Folder(sub__common=json.dumps({"definitions": {"a": {"$ref": f"{url}#/definitions/b"}}}).encode())
    made = bundle_definitions(contract(outer), folder)

    assert folder.read == [*filter(None, [file]), url]
    assert "external-reference" in {each.code for each in examine(made).errors}
    assert "external-reference" in {each.code for each in examine(contract(outer)).errors}


@pytest.mark.parametrize(
    "inner",
    [
        "../../other.yaml#/definitions/b",
        "/other.yaml#/definitions/b",
        "http://x/other.yaml#/definitions/b",
        "#/x",
        "#/definitions/b~0",
    ],
)
def test_a_file_leads_nowhere_else(inner: str) -> None:
    """Not out of the folder, and not into the definitions of the document."""
    folder = Folder(sub__common=json.dumps({"definitions": {"a": {"$ref": inner}}}).encode(), other=b"")
    made = bundle_definitions(
        contract("sub/common.yaml#/definitions/a", definitions={"b~": {"logicalType": "string"}}), folder
    )

    assert folder.read == ["sub/common.yaml"]
    assert "external-reference" in {each.code for each in examine(made).errors}


def test_circles_between_files_end() -> None:
    """Each definition is read once; the circle is refused."""
    files = {
        "a": b"definitions: {x: {$ref: 'b.yaml#/definitions/x'}}",
        "b": b"definitions: {x: {$ref: 'a.yaml#/definitions/x'}}",
    }
    folder = Folder(**files)
    made = bundle_definitions(contract("a.yaml#/definitions/x"), folder)

    assert folder.read == ["a.yaml", "b.yaml"]
    assert [each.code for each in examine(made).errors if "reference" in each.code] == ["circular-reference"]


def bomb(levels: int) -> bytes:
    """Each definition uses the next one ten times: 10 ** levels values."""
    parts = {
        f"a{each}": {"properties": [{"name": f"p{n}", "$ref": f"#/definitions/a{each + 1}"} for n in range(10)]}
        for each in range(levels)
    }
    return json.dumps({"definitions": {**parts, f"a{levels}": {"logicalType": "string"}}}).encode()


def test_a_bomb_in_a_file_is_refused() -> None:
    """What files add counts like what the document has; nothing else of it is judged, which would take seconds."""
    made = bundle_definitions(contract("common.yaml#/definitions/a0"), Folder(common=bomb(9)))

    assert [each.code for each in examine(made).errors] == ["too-many-nodes"]


@pytest.mark.parametrize(
    ("each", "count"),
    [("1", MAX_NODES // 2), ("'" + "x" * 100 + "'", LARGEST_BYTES // 100 // 2 + 200)],
    ids=["values", "bytes"],
)
def test_files_that_are_too_large_together_are_refused(each: str, count: int) -> None:
    """Each is a good one; together the document would not be one any more."""
    text = f"definitions: {{a: {{logicalType: string, examples: [{','.join([each] * count)}]}}}}".encode()
    made = bundle_definitions(contract("f.yaml#/definitions/a", "g.yaml#/definitions/a"), Folder(f=text, g=text))
    errors = examine(made).errors

    assert {each.code for each in errors} == {"external-reference"}
    assert "more than" in errors[-1].message
