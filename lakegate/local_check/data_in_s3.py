"""Objects of S3 as named: `s3://bucket/key`, folders and patterns, each pinned to the version that is there now.

Profile, region and endpoint are boto3's own settings: `AWS_PROFILE`, `AWS_REGION`, `AWS_ENDPOINT_URL` and the files of `~/.aws`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from glob import has_magic
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Final

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from lakegate.aws.open_stack import SENTENCES
from lakegate.base.errors import InputError, SetUpError
from lakegate.job.job_storage import PinnedObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ARCHIVED: Final = {"GLACIER", "DEEP_ARCHIVE"}
RESTORED: Final = 'ongoing-request="false"'
_ABSENT: Final = {"404", "NoSuchKey"}
_DENIED: Final = {"403", "AccessDenied", "AllAccessDisabled"}


def pin_objects(name: str, markers: tuple[str, ...]) -> list[PinnedObject]:
    """The objects that an `s3://` name stands for, in the order of their keys; those of a folder without markers and empty ones.

    A marker is an object whose name, or whose folder's name, begins with one of `markers`.
    InputError where there are none, or one cannot be read; SetUpError where credentials or settings are missing.
    """
    bucket, _, key = name.removeprefix("s3://").partition("/")
    with _errors_of_s3(name, bucket):
        keys = (
            [key] if key and not key.endswith("/") and not has_magic(key) else list(_listed(name, bucket, key, markers))
        )
        return [_pin(bucket, key) for key in keys]


def names_in(folder: str) -> list[str]:
    """The names of the objects directly in a folder, `s3://BUCKET/FOLDER`. Raises as `pin_objects`."""
    bucket, _, key = folder.removeprefix("s3://").partition("/")
    with _errors_of_s3(folder, bucket):
        pages = _client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{key}/", Delimiter="/")
        return [each["Key"].rpartition("/")[2] for page in pages for each in page.get("Contents", [])]


def _listed(name: str, bucket: str, key: str, markers: tuple[str, ...]) -> Iterator[str]:
    """The keys below a folder, or those that a pattern matches."""
    pattern = key.split("/") if has_magic(key) else None
    folder = key if pattern is None else next(key[:at] for at in range(len(key)) if has_magic(key[at]))
    pages = _client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder)
    found = [each for page in pages for each in page.get("Contents", []) if not each["Key"].endswith("/")]
    if pattern is None:
        keys = [
            each["Key"]
            for each in found
            if each["Size"]
            and not any(step.startswith(markers) for step in each["Key"].removeprefix(folder).split("/"))
        ]
    else:
        keys = [each["Key"] for each in found if each["Key"] == key or _matches(each["Key"].split("/"), pattern)]
    if not keys:
        what = "has no objects with data" if pattern is None else "matches no object"
        raise InputError(f"{name} {what}: name an object, a folder with a / at its end, or another pattern")
    yield from sorted(keys)


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """Whether a key fits a pattern, folder by folder; `**` stands for any number of folders."""
    fits = [*(False for _ in parts), True]  # whether the parts from each place on fit the rest of the pattern
    for each in reversed(pattern):
        if each == "**":
            fits = list(accumulate(reversed(fits), or_))[::-1]
        else:
            fits = [after and fnmatchcase(part, each) for part, after in zip(parts, fits[1:], strict=True)] + [False]
    return fits[0]


def _pin(bucket: str, key: str) -> PinnedObject:
    name = f"s3://{bucket}/{key}"
    with _errors_of_s3(name, bucket):
        found = _client().head_object(Bucket=bucket, Key=key)
    if found.get("StorageClass") in ARCHIVED and RESTORED not in found.get("Restore", ""):
        raise InputError(f"{name} is archived ({found['StorageClass']}): restore it first (`aws s3api restore-object`)")
    version = found.get("VersionId")
    return PinnedObject(bucket, key, found["ContentLength"], found["ETag"], None if version == "null" else version)


@cache
def _client() -> S3Client:
    return boto3.client("s3")


@contextmanager
def _errors_of_s3(name: str, bucket: str) -> Iterator[None]:
    """Turn what S3 refuses inside into one sentence about a name."""
    try:
        yield
    except ClientError as error:
        raise _refused(name, bucket, error.response["Error"]["Code"]) from None
    except BotoCoreError as error:
        kind = type(error).__name__
        if kind == "ParamValidationError":
            raise InputError(f"{name} is not an address of S3: write s3://BUCKET/KEY") from None
        raise SetUpError(f"{name} cannot be read: {SENTENCES.get(kind, f'S3 does not answer ({kind})')}") from None


def _refused(name: str, bucket: str, code: str) -> InputError | SetUpError:
    if code == "NoSuchBucket" or (code in _ABSENT and not _is_there(bucket)):
        return InputError(f"{name} cannot be read: there is no bucket {bucket}; correct its name")
    if code in _ABSENT:
        return InputError(f"{name} does not exist: correct the key, or end the name of a folder with a /")
    if code in _DENIED:
        need = "s3:GetObject, and s3:ListBucket for folders and patterns"
        return InputError(f"{name} cannot be read: access is denied; these credentials need {need}")
    return SetUpError(f"{name} cannot be read: {SENTENCES.get(code, f'S3 answers {code}')}")


def _is_there(bucket: str) -> bool:
    """Whether a bucket exists, as far as these credentials show it."""
    try:
        _client().head_bucket(Bucket=bucket)
    except ClientError as error:
        return error.response["Error"]["Code"] not in {"404", "NoSuchBucket"}
    return True
