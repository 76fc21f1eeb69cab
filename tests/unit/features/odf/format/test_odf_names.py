"""Identities, aliases and references of datasets, by the grammar of Open Data Fabric."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.odf.format.odf_names import (
    DatasetAlias,
    DatasetId,
    DatasetUrl,
    RemoteAlias,
    RemoteId,
    dataset_alias,
    dataset_id,
    local_reference,
    reference,
    remote_reference,
)

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("names.yaml").read_text())
DIGITS = "2126262ba49e1ba8392c26f7a39e1ba8d756c7469786d3365200c68402ff65dc"
IDENTITY = f"did:odf:fed01{DIGITS}"
"""The example of the specification."""
KNOWN = DatasetId(bytes.fromhex(DIGITS))
NAMES = st.from_regex(r"[a-zA-Z0-9]{1,4}(-[a-zA-Z0-9]{1,4}){0,2}(\.[a-zA-Z0-9]{1,4}){0,2}", fullmatch=True)


def parsed(read: Any, text: str) -> Any:
    """What a rule reads; None where it does not match."""
    try:
        return read(text)
    except InputError:
        return None


def expected(case: dict[str, Any], rule: str) -> Any:
    """What a case says that a rule reads."""
    parts = case.get(rule)
    if parts == "address":
        return DatasetUrl(case["text"])
    return parts and (DatasetAlias, RemoteAlias)[len(parts) - 2](*parts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["text"]))
def test_a_text_is_read_by_the_rules_of_the_grammar(case: dict[str, Any]) -> None:
    """Each rule reads exactly the texts of its cases, and writes them again."""
    rules = {"alias": dataset_alias, "remote": remote_reference, "any": reference}
    found = {rule: parsed(read, case["text"]) for rule, read in rules.items()}

    assert found == {rule: expected(case, rule) for rule in rules}
    assert {str(each) for each in found.values() if each is not None} <= {case["text"]}
    assert parsed(local_reference, case["text"]) == found["alias"]


def test_an_identity_is_read_wherever_a_reference_may_be() -> None:
    """It is a reference, remote or not, and has a repository in front only where it is remote."""
    remote = RemoteId("data.gov", KNOWN)

    assert (dataset_id(IDENTITY), local_reference(IDENTITY), str(KNOWN), KNOWN.key) == (
        KNOWN,
        KNOWN,
        IDENTITY,
        IDENTITY,
    )
    assert [remote_reference(IDENTITY), reference(IDENTITY)] == [RemoteId(None, KNOWN)] * 2
    assert [remote_reference(f"data.gov/{IDENTITY}"), reference(f"data.gov/{IDENTITY}")] == [remote] * 2
    assert (str(remote), RemoteId("DATA.gov", KNOWN).key) == (f"data.gov/{IDENTITY}", remote.key)
    assert parsed(local_reference, f"data.gov/{IDENTITY}") is None


def test_an_identity_may_be_in_any_encoding() -> None:
    """It is written in base16, whatever it was read from; `did:key` has the same text in base58."""
    data = bytes.fromhex(f"ed01{DIGITS}")
    texts = [f"F{data.hex().upper()}", f"u{base64.urlsafe_b64encode(data).decode().rstrip('=')}"]

    assert [str(dataset_id(f"did:odf:{text}")) for text in texts] == [IDENTITY] * 2


@pytest.mark.parametrize(
    "text",
    [
        "did:odf:",
        f"did:key:fed01{DIGITS}",
        f"DID:ODF:fed01{DIGITS}",
        f"did:odf:fec01{DIGITS}",
        f"did:odf:fed01{DIGITS[2:]}",
        f"did:odf:fed01{DIGITS}00",
        f"did:odf:fed01{DIGITS} ",
        f"did:odf:fed01{DIGITS}\n",
        f"did:odf:{DIGITS}",
        "did:odf:x",
    ],
)
def test_what_is_no_key_is_no_identity(text: str) -> None:
    """Another method, codec, length or alphabet is refused, by every rule that could read it."""
    assert [parsed(read, text) for read in (dataset_id, local_reference, remote_reference, reference)] == [None] * 4
    assert parsed(remote_reference, f"data.gov/{text}") is None


@given(st.none() | NAMES, st.none() | NAMES, NAMES)
def test_names_are_written_and_read_and_have_no_case(repository: str | None, account: str | None, name: str) -> None:
    """What is written is read as the same, and names that differ by case have one key."""
    wanted: Any = DatasetAlias(account, name) if repository is None else RemoteAlias(repository, account, name)
    read: Any = dataset_alias if repository is None else remote_reference

    assert read(str(wanted)) == wanted
    assert read(str(wanted).swapcase()).key == wanted.key


@given(st.binary(min_size=32, max_size=32), st.none() | NAMES)
def test_identities_are_written_and_read(key: bytes, repository: str | None) -> None:
    """Every key, with and without a repository."""
    wanted = RemoteId(repository, DatasetId(key))

    assert (reference(str(wanted)), dataset_id(str(wanted.id))) == (wanted, wanted.id)


@given(st.text() | st.text("aA0-./:dif\n", max_size=12))
def test_any_text_is_read_whole_or_refused(text: str) -> None:
    """Nothing but InputError is raised, and what is read is written as the text."""
    found = [parsed(read, text) for read in (dataset_id, dataset_alias, local_reference, remote_reference, reference)]

    assert {str(each) for each in found if each is not None} <= {text}


def test_an_address_keeps_its_case() -> None:
    """Paths have a case, names have none."""
    assert (DatasetUrl("https://a/B").key, DatasetAlias("A", "B").key, RemoteAlias("R", None, "B").key) == (
        "https://a/B",
        "a/b",
        "r/b",
    )
