"""Which versions are the parts of a delivery, and what is wrong with a manifest: hostile input."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.admission.multi_file_delivery import (
    FORMAT,
    MAX_BYTES,
    MAX_PARTS,
    ChosenParts,
    ManifestEntry,
    PartVersion,
    completed_by_manifest,
    completed_by_quiet,
    completed_by_success,
    folder_of,
    name_of,
    read_manifest,
)
from lakegate.base.errors import InputError

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
AGAIN = "upload what the manifest describes, or correct the manifest, and deliver all parts again"


def part(name: str, minutes: int = 0, *, version: str = "1", size: int = 6, current: bool = True) -> PartVersion:
    return PartVersion(name, version, size, "sha256:AAAA", NOON + minutes * MINUTE, current)


def manifest(*parts: object, **changed: object) -> bytes:
    return json.dumps({"format": FORMAT, "parts": list(parts)} | changed).encode()


def entry(key: str, size: object = 6, **more: object) -> dict[str, object]:
    return {"key": key, "size": size} | more


def reasons(body: bytes, *versions: PartVersion) -> tuple[str, ...]:
    return completed_by_manifest(versions, body, may_arrive=False).problems


def test_a_key_is_a_folder_and_a_name() -> None:
    """The folder ends with its slash; a key at the top has none."""
    assert [(folder_of(key), name_of(key)) for key in ("a/b/c.csv", "c.csv", "a/")] == [
        ("a/b/", "c.csv"),
        ("", "c.csv"),
        ("a/", ""),
    ]


def test_success_completes_what_was_written_before_it() -> None:
    """Of each name the newest version that is not younger than `_SUCCESS`, in the order of names."""
    versions = [
        part("b", 0),
        part("a", 9, version="3"),
        part("a", -1, version="2", current=False),
        part("a", -2, version="1", current=False),
        part("late", 1),
    ]

    assert completed_by_success(versions, NOON, None) == ChosenParts((versions[2], versions[0]))


def test_what_an_earlier_success_completed_is_not_completed_again() -> None:
    """A part that is not younger than the `_SUCCESS` before belongs to that one's delivery."""
    old, new = part("a", -5), part("b", -1)

    assert completed_by_success([old, new], NOON, NOON - 5 * MINUTE) == ChosenParts((new,))


def test_an_object_that_its_producer_deleted_is_no_part() -> None:
    """Below a delete marker nothing is delivered, by `_SUCCESS` or after a quiet time."""
    gone, there = part("a", -1, current=False), part("b", -1)

    assert completed_by_success([gone, there], NOON, None) == ChosenParts((there,))
    assert completed_by_quiet([gone, there]) == ChosenParts((there,))


def test_success_without_objects_is_rejected() -> None:
    """The reason states what to do: write the data before the marker."""
    words = "`_SUCCESS` completes a folder without objects: write the data before it, directly into its folder"

    assert completed_by_success([], NOON, None) == ChosenParts((), (f"file/parts: {words}",))
    assert completed_by_quiet([]) == ChosenParts()


def test_a_delivery_has_a_bounded_number_of_parts() -> None:
    """Of more parts the first ones are kept for the quarantine, and the reason states the bound."""
    versions = [part(f"{number:04}") for number in range(MAX_PARTS + 1)]
    words = "file/parts: the delivery has 501 parts, 500 are allowed: write fewer, larger files"

    assert completed_by_success(versions, NOON, None) == ChosenParts(tuple(versions[:-1]), (words,))


def test_a_manifest_chooses_the_version_that_it_describes() -> None:
    """Size and, if given, checksum select the newest version that agrees; what is not listed is no part."""
    versions = [
        part("a", 1, version="2", size=7),
        part("a", version="1", current=False),
        part("b"),
        part("extra"),
    ]
    body = manifest(entry("b", checksum="sha256:AAAA"), entry("a"))

    assert completed_by_manifest(versions, body, may_arrive=False) == ChosenParts((versions[1], versions[2]))


def test_each_part_that_differs_from_its_manifest_is_named() -> None:
    """Missing, of another size, of another checksum, of another algorithm: which entry, what, and what to do."""
    versions = [part("a", size=7), part("b"), part("c"), part("d")._replace(checksum="")]
    body = manifest(
        entry("a"),
        entry("b", checksum="sha256:BBBB"),
        entry("c", checksum="crc32:AAAA=="),
        entry("d", checksum="crc32:AAAA=="),
        entry("e"),
    )

    assert reasons(body, *versions) == (
        f"file/parts: entry 1 of 5 in `_delivery.json` states 6 bytes, the object has 7: {AGAIN}",
        f"file/parts: entry 2 of 5 in `_delivery.json` states another checksum than the object has: {AGAIN}",
        (
            "file/parts: entry 3 of 5 in `_delivery.json` states a checksum by crc32, the object has sha256: upload it with "
            "crc32, or leave the checksum out"
        ),
        (
            "file/parts: entry 4 of 5 in `_delivery.json` states a checksum by crc32, the object has none: upload it with "
            "crc32, or leave the checksum out"
        ),
        (
            "file/parts: entry 5 of 5 in `_delivery.json` names an object that is not in the folder: upload every part, then "
            "`_delivery.json`; deliver all of them again"
        ),
    )


def test_a_missing_part_is_waited_for() -> None:
    """While it may still arrive nothing is decided; an object that differs does not change by waiting."""
    body = manifest(entry("a"), entry("b"))

    assert completed_by_manifest([part("a")], body, may_arrive=True).is_waiting
    assert not completed_by_manifest([part("a"), part("b", size=1)], body, may_arrive=True).is_waiting


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\xff", "is not JSON in UTF-8"),
        (b"{", "is not JSON in UTF-8"),
        (b"[" * 100_000, "must be an object"),
        (b'{"a": ' * 5 + b"1" + b"}" * 5, "must be an object"),
        (b"null", "must be an object"),
        (manifest(entry("a"), format="lakegate-delivery/2"), "must be an object"),
        (manifest(entry("a"), more=1), "must be an object"),
        (manifest(), "must be a list of 1 to 500 parts"),
        (manifest(parts={"a": 1}), "must be a list of 1 to 500 parts"),
        (manifest(*map(entry, map(str, range(501)))), "must be a list of 1 to 500 parts"),
        (b" " * (MAX_BYTES + 1), "has more than 1,048,576 bytes"),
        (manifest(entry("a"), entry("a")), "lists one key twice"),
        (manifest("a"), "must have `key` and `size`"),
        (manifest({"key": "a"}), "must have `key` and `size`"),
        (manifest(entry("a", etag="x")), "must have `key` and `size`"),
        (manifest(entry("")), "has another `key`"),
        (manifest(entry("../b/a.csv")), "has another `key`"),
        (manifest(entry("other/a.csv")), "has another `key`"),
        (manifest(entry("_delivery.json")), "has another `key`"),
        (manifest({"key": 1, "size": 1}), "has another `key`"),
        (manifest(entry("a", -1)), "has a `size`"),
        (manifest(entry("a", True)), "has a `size`"),
        (manifest(entry("a", 1.5)), "has a `size`"),
        (manifest(entry("a", 6 << 40)), "has a `size`"),
        (manifest(entry("a", checksum=1)), "has a `checksum`"),
        (manifest(entry("a", checksum="md5:AAAA")), "has a `checksum`"),
        (manifest(entry("a", checksum="sha256:<b>\n")), "has a `checksum`"),
    ],
)
def test_what_is_no_manifest_is_refused(body: bytes, why: str) -> None:
    """The reason names what is wrong, and has nothing of the text."""
    with pytest.raises(InputError) as refused:
        read_manifest(body)

    assert why in str(refused.value)
    assert reasons(body) == (f"file/manifest: {refused.value}",)


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(
        lambda x: json.dumps(x).encode()
    )
)
def test_no_manifest_breaks_its_reader(body: bytes) -> None:
    """Any bytes are a manifest or a reason."""
    try:
        entries = read_manifest(body)
    except InputError:
        return
    assert all(isinstance(each, ManifestEntry) for each in entries)


@given(
    st.sets(
        st.text(st.characters(exclude_characters="/", exclude_categories=("Cs",)), min_size=1), min_size=1, max_size=9
    )
)
def test_a_manifest_of_any_names_lists_them(names: set[str]) -> None:
    """Names of any characters but the slash are read as they are, and find their objects."""
    wanted = sorted(names - {"_SUCCESS", "_delivery.json"} or {"a"})
    body = manifest(*map(entry, wanted))

    assert tuple(wanted) == tuple(each.name for each in read_manifest(body))
    assert completed_by_manifest([part(name) for name in wanted], body, may_arrive=False).problems == ()
