"""Archives that are pulled: the one member that fits is delivered; bombs, damages and ambiguous names are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from lakegate.base.errors import PortError
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull import archive_members
from lakegate.features.pull.archive_members import ArchiveMembers
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity
from tests.unit.features.pull.test_pull_settings import SOURCE, errors, examine, text

SEEN = SourceIdentity('"v1"')
ROWS = b"id\n" + b"".join(b"%d\n" % each for each in range(5_000))
FILES = {"readme.txt": b"not this", "data/": b"", "data/2026/rows.csv": ROWS, "data/rows.json": b"{}"}


@dataclass
class Served:
    """A source that has these bytes."""

    body: bytes
    size: int | None = None

    @contextmanager
    def open(
        self, _contract: str, _pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, _at: int = 0
    ) -> Iterator[OpenedSource | None]:
        assert begun is None
        stream = io.BytesIO(self.body)
        size = len(self.body) if self.size is None else self.size
        yield (
            None
            if unless == SEEN
            else OpenedSource(SEEN, size if size >= 0 else None, resumable=True, read=stream.read)
        )


def read(
    body: bytes, member: str = "data/*.csv", unless: SourceIdentity | None = None, size: int | None = None
) -> bytes | None:
    """What is delivered of an archive, read in pieces; None where it is unchanged."""
    source = ArchiveMembers(Served(body, size))
    with source.open("shop", Pull(SOURCE, member=member), unless or SourceIdentity()) as opened:
        if opened is None:
            return None
        pieces = [opened.read(7_000) for _ in range(-(-(opened.size or 0) // 7_000) + 1)]
        assert (opened.identity, opened.resumable, opened.size) == (SEEN, False, sum(map(len, pieces)))
        return b"".join(pieces)


def zipped(files: dict[str, bytes] = FILES, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return made.getvalue()


def tarred(files: dict[str, bytes] = FILES, form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, body in files.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = (tarfile.DIRTYPE, 0) if name.endswith("/") else (tarfile.REGTYPE, len(body))
            archive.addfile(entry, io.BytesIO(body))
    return made.getvalue()


LONG = {f"{'deep/' * 60}rows.csv": ROWS, "ä/rows.txt": b"x"}
PACKED = {
    "deflated": zipped(),
    "stored": zipped(method=zipfile.ZIP_STORED),
    "zip with bzip2": zipped(method=zipfile.ZIP_BZIP2),
    "tar": tarred(),
    "tar.gz": gzip.compress(tarred()),
    "tar.bz2": bz2.compress(tarred()),
    "tar of GNU": tarred(form=tarfile.GNU_FORMAT),
    "tar of ustar": tarred(form=tarfile.USTAR_FORMAT),
}


@pytest.mark.parametrize("name", PACKED)
def test_the_member_that_fits_is_delivered(name: str) -> None:
    """Of every kind of archive, whatever it states of its own size."""
    assert [read(PACKED[name]), read(PACKED[name], size=-1)] == [ROWS, ROWS]
    assert read(PACKED[name], "readme.txt") == b"not this"
    assert read(PACKED[name], unless=SEEN) is None


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_are_those_of_their_members(form: int) -> None:
    """Also where they do not fit the header, and have other letters."""
    assert read(tarred(LONG, form), "deep/*.csv") == ROWS
    assert read(tarred(LONG, form), "?/rows.txt") == b"x"


def test_a_source_without_a_member_is_what_it_was() -> None:
    """No archive is looked into; and a member is never continued."""
    with ArchiveMembers(Served(PACKED["tar"])).open("shop", Pull(SOURCE), SourceIdentity()) as opened:
        assert opened is not None
        assert (opened.resumable, opened.read(1 << 20)) == (True, PACKED["tar"])
    with (
        pytest.raises(SourceChanged),
        ArchiveMembers(Served(b"")).open("shop", Pull(SOURCE, member="a"), SourceIdentity(), SEEN, 3),
    ):
        pytest.fail("it was opened")


def other_checksum(body: bytes) -> bytes:
    return body[:148] + b"0000001\0" + body[156:]


def sized(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header of a tar archive that states a size, and nothing behind it."""
    entry = tarfile.TarInfo("data/rows.csv")
    entry.size, entry.type = size, kind
    return entry.tobuf(tarfile.GNU_FORMAT)


def encrypted(body: bytes) -> bytes:
    at = body.index(b"PK\x01\x02")
    return body[: at + 8] + b"\x01" + body[at + 9 :]


def with_directory(body: bytes, size: int) -> bytes:
    at = body.rindex(b"PK\x05\x06") + 12
    return body[:at] + size.to_bytes(4, "little") + body[at + 4 :]


TWO = {"data/a.csv": b"1", "data/b.csv": b"2"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (zipped(TWO), "member-ambiguous"),
        (tarred(TWO), "member-ambiguous"),
        (zipped({"other.csv": b""}), "member-missing"),
        (tarred({"other.csv": b""}), "member-missing"),
        (zipped({"data/dir.csv/": b""}), "member-missing"),
        (b"", "member-missing"),
        (ROWS, "archive-damaged"),
        (gzip.compress(ROWS), "archive-damaged"),
        (zipped()[:-30], "archive-damaged"),
        (zipped(method=zipfile.ZIP_STORED).replace(b"\n4999\n", b"\n4998\n"), "archive-damaged"),
        (gzip.compress(tarred())[:-100], "archive-damaged"),
        (tarred()[:9_000], "archive-damaged"),
        (other_checksum(tarred()), "archive-damaged"),
        (zipped(method=zipfile.ZIP_LZMA), "archive-refused"),
        (encrypted(zipped({"data/rows.csv": ROWS})), "archive-refused"),
        (with_directory(zipped(), 5 << 20), "archive-refused"),
        (with_directory(zipped(), int.from_bytes(b"PK\x05\x06", "little")), "archive-refused"),
        (zipped()[:-22] + b"PK\x06\x07" + bytes(16) + zipped()[-22:], "archive-refused"),
        (sized(2 << 30), "archive-too-large"),
        (sized(1 << 20, tarfile.XHDTYPE), "archive-refused"),
        (sized(1 << 20, tarfile.GNUTYPE_LONGNAME), "archive-refused"),
    ],
)
def test_what_is_no_archive_with_one_such_member_is_refused(body: bytes, reason: str) -> None:
    """With a code, and nothing of what the archive has."""
    with pytest.raises(PortError, match=f"^{reason}$"):
        read(body)


@pytest.mark.parametrize("pack", [zipped, lambda files: gzip.compress(tarred(files))])
def test_a_bomb_is_refused_before_it_is_unpacked(
    pack: Callable[[dict[str, bytes]], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what it unpacks to, or by its own size."""
    bomb = pack({"data/rows.csv": bytes(1 << 20)})
    monkeypatch.setattr(archive_members, "MOST_UNPACKED", 1 << 19)
    with pytest.raises(PortError, match="archive-too-large"):
        read(bomb)
    monkeypatch.setattr(archive_members, "LARGEST", len(bomb) - 1)
    for size in (None, -1):
        with pytest.raises(PortError, match="archive-too-large"):
            read(bomb, size=size)


def test_many_members_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is a step, whatever its size."""
    monkeypatch.setattr(archive_members, "MOST_MEMBERS", 3)
    with pytest.raises(PortError, match="archive-refused"):
        read(tarred({f"{each}": b"" for each in range(4)}, tarfile.USTAR_FORMAT))


def test_headers_without_a_member_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no member, and unpack to as much: some kilobytes were hours of work."""
    monkeypatch.setattr(archive_members, "MOST_HEADERS", 1 << 17)
    record = b"5 a=\n"
    header = sized(len(record) * 12_000, tarfile.XHDTYPE) + (record * 12_000).ljust(60_416, b"\0")
    with pytest.raises(PortError, match="archive-refused"):
        read(gzip.compress(header * 3))
    assert read(header * 2 + tarred()) == ROWS


def test_a_contract_names_the_member() -> None:
    """In ASCII, and not without a text."""
    pull = {"source": SOURCE, "schedule": "rate(1 day)", "member": "data/*.csv"}
    (dataset,) = examine(text(pull)).contract.datasets

    assert (errors(pull), dataset.policy.pull) == ([], Pull(SOURCE, "rate(1 day)", member="data/*.csv"))
    assert [path for path, _ in errors({**pull, "member": "ä"})] == ["pull.member"]
    assert [path for path, _ in errors({**pull, "member": ""})] == ["pull.member"]
