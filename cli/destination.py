"""Which keys of the landing bucket files get: folders or a whole key, as people know it from `cp` and `aws s3 cp`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted
from lakegate.functions.usecases.routing import usable

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_KEY = 1024
UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f\ufffe\uffff]")
S3 = re.compile(r"s3://([^/]*)/?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Destination:
    """What `--to` and `--as` say."""

    bucket: str
    """Empty where only folders or a key were given."""
    keys: tuple[str, ...]
    """One for each file, in their order."""

    def in_bucket(self, landing: str) -> tuple[str, ...]:
        """The keys. Raises InputError where another bucket was meant."""
        if self.bucket and self.bucket != landing:
            raise InputError(f"the landing bucket is {landing}, not {self.bucket}: leave s3://{self.bucket}/ out")
        return self.keys


def destination(files: list[Path], to: str, name: str | None) -> Destination:
    """Where each file is to land. Raises InputError for what cannot be, before anything is read or sent.

    `orders/` and `orders` are folders; a last part with a dot is the name of the one file, `orders/day.csv`.
    """
    bucket, path = match.groups() if (match := S3.fullmatch(to)) else ("", to)
    folders, _, last = path.rpartition("/")
    if "." in last:
        if len(files) > 1:
            folder = to.removesuffix(last) or f"{to}/"
            raise InputError(f"{to} is the name of one file, and there are {len(files)}: give a folder, --to {folder}")
        if name is not None:
            raise InputError("the object's name is given twice, in --to and in --as: leave one out")
        path, name = f"{folders}/" if folders else "", last
    if name is not None and len(files) > 1:
        raise InputError(f"--as names one file, and there are {len(files)}")
    keys = tuple(_key(path, name or _name(each)) for each in files)
    key, count = Counter(keys).most_common(1)[0]
    if count > 1:
        raise InputError(f"{count} of the files would get the key {key}: upload them one by one, with --as")
    return Destination(bucket, keys)


def _name(file: Path) -> str:
    if file.is_dir():
        raise InputError(f"{file} is a folder: name the files in it, for example {file / '*.csv'}")
    return file.name


def _key(prefix: str, name: str) -> str:
    if not prefix:
        raise InputError(f"a key needs a folder, which its route covers: --to FOLDER/ or --to FOLDER/{name}")
    folders = prefix if prefix.endswith("/") else f"{prefix}/"
    usable(folders)
    if UNSPEAKABLE.search(folders + name):
        raise InputError(
            "the key would hold control characters, which XML, and so S3's lists, cannot: choose others with --as"
        )
    try:
        length = len(f"{folders}{name}".encode())
    except UnicodeEncodeError:
        raise InputError("the file's name is no UTF-8, which keys must be: give another one with --as") from None
    if not name or length > LONGEST_KEY:
        raise InputError(
            f"the key would have {counted(length, 'byte')}; S3 takes 1 to {LONGEST_KEY:,}: give a shorter name with --as"
        )
    return f"{folders}{name}"
