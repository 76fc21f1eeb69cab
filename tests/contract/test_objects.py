from __future__ import annotations

import pytest

from lakegate.base.errors import ConditionFailed, NotFound
from lakegate.gate.ports import Address, every_version
from tests.contract.conftest import Ports

AT = Address("lake", "a/b.csv")


def test_what_was_put_is_there_with_its_version(ports: Ports) -> None:
    """A put answers the version that later reads find: size, ETag and checksum included."""
    put = ports.objects.put(AT, b"one,two")
    found = ports.objects.head(Address("lake", "a/b.csv", put.version))

    assert put == found
    assert found.size == 7
    assert ports.objects.read(AT) == b"one,two"


def test_a_range_is_read(ports: Ports) -> None:
    """A range begins at its start and may be longer than the object."""
    ports.objects.put(AT, b"0123456789")

    assert ports.objects.read(AT, 2, 3) == b"234"
    assert ports.objects.read(AT, 8, 65_536) == b"89"
    assert ports.objects.read(AT, 7) == b"789"


def test_an_empty_object_is_read_as_nothing(ports: Ports) -> None:
    """The first bytes of an empty object are no bytes, and no error."""
    ports.objects.put(AT, b"")

    assert ports.objects.read(AT, 0, 65_536) == b""


def test_an_overwritten_version_stays(ports: Ports) -> None:
    """A version is read by its id for ever, whatever was written over it."""
    first = ports.objects.put(AT, b"first")
    ports.objects.put(AT, b"second")

    assert ports.objects.read(Address("lake", "a/b.csv", first.version)) == b"first"
    assert ports.objects.read(AT) == b"second"


@pytest.mark.parametrize("at", [Address("lake", "none"), Address("lake", "a/b.csv", "v0")])
def test_what_is_absent_is_not_found(ports: Ports, at: Address) -> None:
    """Neither a missing key nor a missing version is an empty answer."""
    ports.objects.put(AT, b"x")
    with pytest.raises(NotFound):
        ports.objects.head(at)
    with pytest.raises(NotFound):
        ports.objects.read(at)


def test_put_if_absent_has_one_winner(ports: Ports) -> None:
    """If-None-Match: the second writer is refused and changes nothing."""
    ports.objects.put(AT, b"first", absent=True)
    with pytest.raises(ConditionFailed):
        ports.objects.put(AT, b"second", absent=True)

    assert ports.objects.read(AT) == b"first"


def test_put_if_absent_holds_behind_a_delete_marker(ports: Ports) -> None:
    """A deleted key is absent."""
    ports.objects.put(AT, b"first")
    ports.objects.delete(AT)
    ports.objects.put(AT, b"second", absent=True)

    assert ports.objects.read(AT) == b"second"


def test_put_if_match_refuses_a_stale_writer(ports: Ports) -> None:
    """If-Match: who read an older state does not write over a newer one."""
    old = ports.objects.put(AT, b"old")
    ports.objects.put(AT, b"new", etag=old.etag)
    with pytest.raises(ConditionFailed):
        ports.objects.put(AT, b"stale", etag=old.etag)

    assert ports.objects.read(AT) == b"new"


def test_a_copy_is_of_the_version_asked_for(ports: Ports) -> None:
    """The bytes copied are those of the version, not those of the key."""
    first = ports.objects.put(Address("landing", "day.csv"), b"first")
    ports.objects.put(Address("landing", "day.csv"), b"second")
    copied = ports.objects.copy(Address("landing", "day.csv", first.version), first.etag, AT)

    assert ports.objects.read(AT) == b"first"
    assert (copied.size, copied.checksum) == (first.size, first.checksum)


def test_a_copy_of_a_deleted_version_is_not_found(ports: Ports) -> None:
    """A version that its producer deleted cannot be copied any more."""
    gone = ports.objects.put(Address("landing", "day.csv"), b"first")
    ports.objects.put(Address("landing", "day.csv"), b"second")
    ports.objects.delete(Address("landing", "day.csv", gone.version))
    with pytest.raises(NotFound):
        ports.objects.copy(Address("landing", "day.csv", gone.version), gone.etag, AT)


def test_a_copy_with_another_etag_is_refused(ports: Ports) -> None:
    """Copy-source-if-match: bytes other than those judged are never copied."""
    put = ports.objects.put(Address("landing", "day.csv"), b"first")
    with pytest.raises(ConditionFailed):
        ports.objects.copy(Address("landing", "day.csv", put.version), '"00000000000000000000000000000000"', AT)


SMALL, LARGE = b"small", b"large: copied in parts"


@pytest.mark.parametrize(
    ("algorithm", "small", "large"),
    [
        ("sha256", "sha256", "crc64nvme"),
        ("sha1", "sha1", "crc64nvme"),
        ("crc64nvme", "crc64nvme", "crc64nvme"),
        ("crc32", "crc64nvme", "crc64nvme"),
        ("crc32c", "crc64nvme", "crc64nvme"),
        ("composite", "crc64nvme", "crc64nvme"),
    ],
)
def test_a_copy_has_a_checksum_that_identifies_its_content(
    ports: Ports, algorithm: str, small: str, large: str
) -> None:
    """Whatever checksum a producer chose and however large the object is, its copy has a long one of the whole object."""
    copies = []
    for number, body in enumerate((SMALL, LARGE)):
        landed = ports.land(Address("landing", f"{number}.csv"), body, algorithm)
        source, to = Address("landing", landed.key, landed.version), Address("lake", f"{number}.csv")
        copy = ports.in_parts.copy(source, landed.etag, to, absent=True)
        copies.append((ports.objects.read(to), copy.size, copy.checksum.partition(":")[0]))
        if landed.checksum.startswith(copy.checksum.partition(":")[0]):
            assert copy.checksum == landed.checksum

    assert copies == [(SMALL, len(SMALL), small), (LARGE, len(LARGE), large)]


@pytest.mark.moto_gap("CopyObject ignores If-None-Match on the destination")
def test_a_copy_onto_what_exists_is_refused(ports: Ports) -> None:
    """A destination is written once: a second safeguard beside keys that carry the workload."""
    put = ports.objects.put(Address("landing", "day.csv"), b"first")
    source = Address("landing", "day.csv", put.version)
    ports.objects.copy(source, put.etag, AT, absent=True)
    with pytest.raises(ConditionFailed):
        ports.objects.copy(source, put.etag, AT, absent=True)


def test_a_version_is_deleted_alone(ports: Ports) -> None:
    """Deleting a version deletes nothing else, and is idempotent."""
    first = ports.objects.put(AT, b"first")
    ports.objects.put(AT, b"second")
    for _ in range(2):
        ports.objects.delete(Address("lake", "a/b.csv", first.version))

    assert ports.objects.read(AT) == b"second"
    assert [each.key for each in ports.objects.versions("lake", "a/").versions] == ["a/b.csv"]


def test_a_delete_without_version_hides_the_key(ports: Ports) -> None:
    """A delete marker is not described, and hides what lies under it from readers without version id."""
    first = ports.objects.put(AT, b"first")
    ports.objects.delete(AT)
    with pytest.raises(NotFound):
        ports.objects.head(AT)
    listed = ports.objects.versions("lake", "a/").versions

    assert [(first.version, False)] == [(each.version, each.current) for each in listed]


def test_versions_are_listed_by_key_and_newest_first(ports: Ports) -> None:
    """The listing names every version under the prefix, and which one is current."""
    for key, body in (("a/2", b"x"), ("a/1", b"old"), ("a/1", b"new"), ("b/1", b"y")):
        ports.objects.put(Address("lake", key), body)
    listed = every_version(ports.objects, "lake", "a/")

    assert [(v.key, v.size, v.current) for v in listed] == [("a/1", 3, True), ("a/1", 3, False), ("a/2", 1, True)]


def test_entries_are_what_lies_directly_below_a_prefix(ports: Ports) -> None:
    """Current objects and folders with one, each once."""
    for key in ("a/2", "a/1/x", "a/1/y", "a/gone", "ab/1", *(f"a/many/{number}" for number in range(3))):
        ports.objects.put(Address("lake", key), b"x")
    ports.objects.delete(Address("lake", "a/gone"))

    assert ports.objects.entries("lake", "a/") == ("a/1/", "a/2", "a/many/")
    assert ports.objects.entries("lake", "none/") == ()


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_together_are_the_listing(ports: Ports, limit: int) -> None:
    """Going on behind each page sees every version once, in order, whatever the size of the page."""
    for key in ("a/1", "a/1", "a/2", "a/3", "a/3"):
        ports.objects.put(Address("lake", key), b"x")
    whole = [v.version for v in every_version(ports.objects, "lake", "a/")]
    seen: list[str] = []
    after = None
    while True:
        page = ports.objects.versions("lake", "a/", after, limit)
        seen += [v.version for v in page.versions]
        after = page.after
        if after is None:
            break

    assert whole == seen
    assert len(seen) == 5


@pytest.mark.moto_gap("ListObjectVersions lists nothing behind a version marker that is gone")
def test_a_page_goes_on_where_it_ended_though_that_version_is_gone(ports: Ports) -> None:
    """A cursor kept by one sweep is good for the next one, which may have deleted what it stopped at."""
    puts = [ports.objects.put(Address("lake", f"a/{number}"), b"x") for number in range(3)]
    page = ports.objects.versions("lake", "a/", None, 1)
    ports.objects.delete(Address("lake", "a/0", puts[0].version))
    last = ports.objects.versions("lake", "a/", page.after, 10)

    assert [v.key for v in last.versions] == ["a/1", "a/2"]
