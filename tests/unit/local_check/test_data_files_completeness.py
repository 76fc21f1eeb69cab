"""`check` of deliveries of several files: the same set as in the gate."""

from __future__ import annotations

import hashlib
import json
import zlib
from base64 import b64encode
from pathlib import Path

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.library.api import check
from lakegate.local_check.data_files import complete, files_of

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: parts
version: 1.0.0
status: active
schema:
  - name: sales
    properties:
      - {name: id, logicalType: integer, required: true, unique: true}
    customProperties: [{property: lakegate, value: {delivery: manifest}}]
"""


def folder(at: Path, *parts: dict[str, object], **files: str) -> Path:
    data = at / "run"
    data.mkdir()
    for name, text in files.items():
        (data / f"{name}.csv").write_text(text)
    if parts:
        (data / "_delivery.json").write_text(json.dumps({"format": "lakegate-delivery/1", "parts": parts}))
    return data


def contract(at: Path) -> Path:
    path = at / "contract.yaml"
    path.write_text(CONTRACT)
    return path


def test_the_listed_files_are_judged_together(tmp_path: Path) -> None:
    """What the manifest does not list is no part; an id in two parts is a duplicate."""
    listed = [{"key": "a.csv", "size": 5}, {"key": "b.csv", "size": 5}]
    data = folder(tmp_path, *listed, a="id\n1\n", b="id\n1\n", extra="id\nx\n")
    found = check(contract(tmp_path), data)

    assert (found.verdict.value, found.rows) == ("rejected", 2)
    assert {each.rule for each in found.reasons} == {"id:unique:1"}


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("sha256", hashlib.sha256(b"id\n1\n").digest()),
        ("sha1", hashlib.sha1(b"id\n1\n").digest()),  # noqa: S324 - as S3 has it
        ("crc32", zlib.crc32(b"id\n1\n").to_bytes(4)),
    ],
)
def test_checksums_of_a_manifest_are_compared(tmp_path: Path, algorithm: str, digest: bytes) -> None:
    """The right one is accepted; a wrong one is an error that names the entry, as in the gate."""
    right = f"{algorithm}:{b64encode(digest).decode()}"
    data = folder(tmp_path, {"key": "a.csv", "size": 5, "checksum": right}, a="id\n1\n")
    files = files_of([str(data)])
    assert complete(files, DeliveryUnit.MANIFEST) == files
    (data / "a.csv").write_text("id\n2\n")

    with pytest.raises(InputError, match=r"entry 1 of 1 in `_delivery\.json` states another checksum"):
        complete(files, DeliveryUnit.MANIFEST)


@pytest.mark.parametrize(("algorithm", "digest"), [("crc32c", "e3069283"), ("crc64nvme", "ae8b14860a799888")])
def test_every_checksum_of_s3_is_compared(tmp_path: Path, algorithm: str, digest: str) -> None:
    """Those that Python does not have, too; the digests are the check values of their catalogue."""
    right = f"{algorithm}:{b64encode(bytes.fromhex(digest)).decode()}"
    data = folder(tmp_path, {"key": "a.csv", "size": 9, "checksum": right}, a="123456789")
    files = files_of([str(data)])
    assert complete(files, DeliveryUnit.MANIFEST) == files
    (data / "a.csv").write_text("123456780")

    with pytest.raises(InputError, match=r"entry 1 of 1 in `_delivery\.json` states another checksum"):
        complete(files, DeliveryUnit.MANIFEST)


def test_a_missing_part_is_an_error(tmp_path: Path) -> None:
    """As in the gate, where the manifest would wait for it and then be rejected."""
    data = folder(tmp_path, {"key": "b.csv", "size": 5}, a="id\n1\n")

    with pytest.raises(
        InputError, match=r"entry 1 of 1 in `_delivery\.json` names an object that is not in the folder"
    ):
        complete(files_of([str(data)]), DeliveryUnit.MANIFEST)


def test_files_of_several_folders_are_several_deliveries(tmp_path: Path) -> None:
    """Where deliveries have parts, only files directly in one folder are one."""
    data = folder(tmp_path, a="id\n1\n")
    (data / "deeper").mkdir()
    (data / "deeper/b.csv").write_text("id\n2\n")
    files = files_of([str(data)])

    assert complete(files, DeliveryUnit.OBJECT) == files
    with pytest.raises(InputError, match="files directly in one folder"):
        complete(files, DeliveryUnit.SUCCESS)


def test_without_a_manifest_the_files_of_the_folder_are_judged(tmp_path: Path) -> None:
    """A producer checks what a delivery will contain before the manifest is written."""
    files = files_of([str(folder(tmp_path, a="id\n1\n", b="id\n2\n"))])

    assert complete(files, DeliveryUnit.MANIFEST) == files
    assert complete(files, DeliveryUnit.SUCCESS) == files
