"""`lakegate check` on objects of S3: the same verdict as on files, one version of each object, one sentence for each refusal."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import boto3
import pyarrow as pa
import pytest
from botocore.stub import Stubber
from click.testing import CliRunner
from pyarrow import parquet

from lakegate.cli.main import app, main
from lakegate.job import job_storage
from lakegate.local_check import data_in_s3
from tests.fakes.quick_moto import quick_aws

BUCKET = "producer-data"
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
customProperties: [{property: lakegate, value: {FORM}}]
schema:
  - name: orders
    logicalType: object
    properties:
      - {name: id, logicalType: integer, required: true, unique: true}
      - {name: name, logicalType: string, required: true}
"""
ROWS = [{"id": at, "name": f"n{at}"} for at in range(1, 2_001)]
TEXT = ("id,name\n" + "".join(f"{each['id']},{each['name']}\n" for each in ROWS)).encode()


def in_parquet() -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(ROWS), file, row_group_size=500)
    return file.getvalue()


FORMS = {
    "csv": ("{format: csv}", TEXT),
    "gzip": ("{format: csv, compression: gzip}", gzip.compress(TEXT)),
    "zstd": ("{format: csv, compression: zstd}", pa.compress(TEXT, "zstd", asbytes=True)),
    "parquet": ("{format: parquet}", in_parquet()),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, (form, _) in FORMS.items():
        (tmp_path / f"{name}.yaml").write_text(CONTRACT.replace("{FORM}", form))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a session that the tests share, with credentials by the environment; reading botocore's models takes long."""
    folder = tmp_path_factory.mktemp("aws")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "ACCESS_KEY_ID": "testing",
            "SECRET_ACCESS_KEY": "testing",
            "DEFAULT_REGION": "us-east-1",
            "CONFIG_FILE": str(folder / "config"),
            "SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        }.items():
            patch.setenv(f"AWS_{name}", value)
        patch.setattr(boto3, "DEFAULT_SESSION", None)
        _forget()
        yield boto3.client("s3")
        _forget()


KEPT: Final = {"core": {"reset_boto3_session": False}}
"""moto makes a new session for each test otherwise."""


@pytest.fixture
def s3(folder: Path, client: Any) -> Iterator[Any]:
    """A bucket that keeps no versions."""
    del folder
    with quick_aws(KEPT):
        client.create_bucket(Bucket=BUCKET)
        yield client


@pytest.fixture
def _new_clients() -> Iterator[None]:
    """The product makes its clients in the test."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    data_in_s3._client.cache_clear()  # noqa: SLF001 - a process makes one client
    job_storage._buckets.cache_clear()  # noqa: SLF001 - likewise


def judged(form: str, *names: str) -> dict[str, Any]:
    answer = CliRunner().invoke(app, ["check", "--json", "--contract", f"{form}.yaml", *names])
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def refusal(form: str, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = judged(form, *names)["error"]
    return found


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in document.items() if name not in {"inputs", "timings"}}


@pytest.mark.parametrize("form", FORMS)
def test_an_object_gets_the_verdict_of_the_file(form: str, s3: Any, folder: Path) -> None:
    """Text, packed text and Parquet in S3 are judged as the same bytes in a file; a key may hold any character."""
    content = FORMS[form][1]
    (folder / "data").write_bytes(content)
    s3.put_object(Bucket=BUCKET, Key="day 1/a?b#c%20.x", Body=content)
    name = f"s3://{BUCKET}/day 1/a?b#c%20.x"

    of_file, of_object = judged(form, "data"), judged(form, name)

    assert (of_object["verdict"], of_object["rows"]) == ("accepted", 2_000)
    assert without_times(of_object) == without_times(of_file)
    assert of_object["inputs"]["files"] == [
        {
            "file": name,
            "size": len(content),
            "sha256": None,
            "etag": s3.head_object(Bucket=BUCKET, Key="day 1/a?b#c%20.x")["ETag"],
        }
    ]


def test_folders_and_patterns_name_several_objects(s3: Any) -> None:
    """A folder stands for its data below it, a pattern for what it matches folder by folder; files and objects mix."""
    for key in ("in/b.csv", "in/a.csv", "in/deep/c.csv", "in/_SUCCESS", "in/.d.csv.crc", "in/_tmp/e.csv", "inside.csv"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=TEXT)
    s3.put_object(Bucket=BUCKET, Key="in/empty/", Body=b"")
    root = f"s3://{BUCKET}"

    def found(*names: str) -> list[str]:
        return [each["file"] for each in judged("csv", *names)["inputs"]["files"]]

    everything = [f"{root}/in/a.csv", f"{root}/in/b.csv", f"{root}/in/deep/c.csv"]
    assert found(f"{root}/in/") == everything
    assert found(f"{root}/in/[ab].csv") == everything[:2]
    assert found(f"{root}/in/*/*.csv") == [f"{root}/in/_tmp/e.csv", f"{root}/in/deep/c.csv"]
    assert found(f"{root}/in/**/c.csv") == everything[2:]
    assert found(f"{root}/inside.csv", f"{root}/in/a.csv") == [f"{root}/inside.csv", f"{root}/in/a.csv"]


def test_a_pattern_of_many_folders_is_no_work(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of a contract may have the pattern, and a producer the key."""
    s3.put_object(Bucket=BUCKET, Key=f"{'a/' * 60}b", Body=TEXT)
    times = iter(range(10_000))
    monkeypatch.setattr(data_in_s3, "fnmatchcase", lambda *given: next(times) >= 0 and fnmatchcase(*given))

    assert "matches no object" in refusal("csv", f"s3://{BUCKET}/{'**/a/' * 12}[c]")["message"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "s3://no-such-bucket/a.csv",
            "s3://no-such-bucket/a.csv cannot be read: there is no bucket no-such-bucket; correct its name",
        ),
        (
            "s3://no-such-bucket/a/",
            "s3://no-such-bucket/a/ cannot be read: there is no bucket no-such-bucket; correct its name",
        ),
        (
            f"s3://{BUCKET}/a.csv",
            f"s3://{BUCKET}/a.csv does not exist: correct the key, or end the name of a folder with a /",
        ),
        (
            f"s3://{BUCKET}/a/",
            f"s3://{BUCKET}/a/ has no objects with data: name an object, a folder with a / at its end, or another pattern",
        ),
        (
            f"s3://{BUCKET}/a-*",
            f"s3://{BUCKET}/a-* matches no object: name an object, a folder with a / at its end, or another pattern",
        ),
        ("s3://", "s3:// is not an address of S3: write s3://BUCKET/KEY"),
        ("s3:///a.csv", "s3:///a.csv is not an address of S3: write s3://BUCKET/KEY"),
    ],
)
@pytest.mark.usefixtures("s3")
def test_what_is_not_there_is_one_sentence(name: str, message: str) -> None:
    """A bucket, key, folder or pattern without an object is refused by name, with the correction."""
    assert refusal("csv", name) == {"kind": "input", "message": message, "problems": []}


@pytest.mark.parametrize("storage_class", ["GLACIER", "DEEP_ARCHIVE"])
def test_an_archived_object_is_refused_before_it_is_read(storage_class: str, s3: Any) -> None:
    """An archived object is reported at once, with the command that restores it."""
    s3.put_object(Bucket=BUCKET, Key="old.csv", Body=TEXT, StorageClass=storage_class)

    assert refusal("csv", f"s3://{BUCKET}/old.csv")["message"] == (
        f"s3://{BUCKET}/old.csv is archived ({storage_class}): restore it first (`aws s3api restore-object`)"
    )


def test_a_restored_object_is_read(s3: Any) -> None:
    """An archived object that was restored is judged as any other."""
    s3.put_object(Bucket=BUCKET, Key="old.csv", Body=TEXT, StorageClass="GLACIER")
    s3.restore_object(Bucket=BUCKET, Key="old.csv", RestoreRequest={"Days": 1})

    assert judged("csv", f"s3://{BUCKET}/old.csv")["verdict"] == "accepted"


def _replace_after(monkeypatch: pytest.MonkeyPatch, client: Any, reads: int) -> None:
    """Replace the object when so many ranges of it were read."""
    read_range, left = job_storage.Buckets._range, iter(range(1_000))  # noqa: SLF001 - where a range is read

    def reading(own: Any, start: int, size: int, **which: str) -> bytes:
        if next(left) == reads:
            client.put_object(Bucket=BUCKET, Key="day.csv", Body=b"x" * len(TEXT))
        return read_range(own, start, size, **which)

    monkeypatch.setattr(job_storage.Buckets, "_range", reading)


@pytest.mark.parametrize("form", FORMS)
def test_an_object_that_is_replaced_meanwhile_is_an_error(form: str, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of two versions are never judged as one file, whatever the format."""
    s3.put_object(Bucket=BUCKET, Key="day.csv", Body=FORMS[form][1])
    _replace_after(monkeypatch, s3, reads=1)

    assert refusal(form, f"s3://{BUCKET}/day.csv")["message"] == (
        f"s3://{BUCKET}/day.csv changed while it was read: repeat the command"
    )


def test_a_version_is_read_to_its_end(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a bucket that keeps versions, an object that is replaced meanwhile is judged as it was at the beginning."""
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket=BUCKET, Key="day.csv", Body=TEXT)
    _replace_after(monkeypatch, s3, reads=1)

    assert judged("csv", f"s3://{BUCKET}/day.csv")["verdict"] == "accepted"


@pytest.mark.usefixtures("_new_clients")
def test_without_credentials_the_sentence_says_so(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing permission or setting is a set-up error that names the object and the remedy."""
    s3.put_object(Bucket=BUCKET, Key="day.csv", Body=TEXT)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    assert refusal("csv", f"s3://{BUCKET}/day.csv") == {
        "kind": "set-up",
        "message": f"s3://{BUCKET}/day.csv cannot be read: no AWS credentials were found: "
        "set AWS_PROFILE, or sign in (`aws sso login`)",
        "problems": [],
    }


@pytest.mark.usefixtures("_new_clients")
def test_a_profile_that_does_not_exist_is_one_sentence(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS_PROFILE is boto3's own setting; a wrong one is named as such."""
    del s3
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    assert refusal("csv", f"s3://{BUCKET}/day.csv")["message"] == (
        f"s3://{BUCKET}/day.csv cannot be read: the AWS profile does not exist: `aws configure list-profiles` lists those that do"
    )


@pytest.mark.usefixtures("_new_clients")
def test_denied_access_names_the_permissions(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that these credentials may not read is refused with the permissions they need."""
    stub = Stubber(s3)
    stub.add_client_error("head_object", "403", http_status_code=403)
    monkeypatch.setattr(boto3, "client", lambda _: s3)

    with stub:
        error = refusal("csv", f"s3://{BUCKET}/day.csv")

    assert error["message"] == (
        f"s3://{BUCKET}/day.csv cannot be read: access is denied; "
        "these credentials need s3:GetObject, and s3:ListBucket for folders and patterns"
    )


@pytest.mark.parametrize(
    ("form", "reads"), [("csv", 1), ("gzip", 2), ("zstd", 1), ("zstd", 2), ("parquet", 1), ("parquet", 2)]
)
def test_a_storage_that_fails_during_the_read_gives_no_verdict(
    form: str, reads: int, s3: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer of S3 that breaks the read off is an error of the machine, not a damaged file."""
    s3.put_object(Bucket=BUCKET, Key="day.csv", Body=FORMS[form][1])
    read_range, left = job_storage.Buckets._range, iter(range(1_000))  # noqa: SLF001 - where a range is read

    def failing(own: Any, start: int, size: int, **which: str) -> bytes:
        if next(left) >= reads:
            raise OSError(5, "S3 answers SlowDown")
        return read_range(own, start, size, **which)

    monkeypatch.setattr(job_storage.Buckets, "_range", failing)
    monkeypatch.setattr(sys, "argv", ["lakegate", "check", "--contract", f"{form}.yaml", f"s3://{BUCKET}/day.csv"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert (ended.value.code, *capsys.readouterr()) == (
        2,
        "",
        "lakegate: the files cannot be read to their end (S3 answers SlowDown): repeat the command\n",
    )
