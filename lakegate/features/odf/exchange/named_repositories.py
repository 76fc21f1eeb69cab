"""Repositories that a person has named in a file, with the credentials that they ask for."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import yaml

from lakegate.base.errors import InputError
from lakegate.base.text import join_words, quote
from lakegate.features.odf.format.odf_names import RemoteAlias, RemoteId, remote_reference

# The file is a person's own, and has no secrets: each credential is the name of an environment variable that has it.
#
#     partner: {address: https://data.example.com/odf, token: PARTNER_TOKEN}
#     archive: {address: https://archive.example.com, user: lake, password: ARCHIVE_PASSWORD}
#     own: {address: s3://shared-data}


VARIABLE: Final = "LAKEGATE_REPOSITORIES"
DEFAULT: Final = Path("~/.config/lakegate/repositories.yaml")
LONGEST_FILE: Final = 1 << 16
"""Bytes of the file."""
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_KEYS: Final = ({"address"}, {"address", "token"}, {"address", "user", "password"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Located(NamedTuple):
    """The address of a dataset."""

    address: str
    authorization: str = ""
    """The header of requests to a web server; empty: none is sent."""
    id: str = ""
    """The identity that the dataset must have; empty: it was not named by it."""


def locate_repository(text: str, environment: Mapping[str, str] = os.environ) -> Located:
    """`repository/name`, `repository/account/name` or `repository/did:odf:…` of a named repository; other texts as they are.

    A path that begins with `.` or `/` is never a name. InputError where a repository is not described as it has to be.
    """
    if text.startswith((".", "/", "~")) or "://" in text:
        return Located(text)
    file = Path(environment.get(VARIABLE) or DEFAULT).expanduser()
    known, first = _read_repositories(file), text.partition("/")[0].lower()
    if first not in known:
        # a folder; InputError for an identity, of which a repository has to be named
        if "did:odf:" in text and not Path(text).exists():
            names = join_words(sorted(known)) or "none"
            raise InputError(f"{quote(text)} names no repository of {file} (there: {names}): REPOSITORY/did:odf:…")
        return Located(text)
    found = remote_reference(text)
    address = known[first]["address"].rstrip("/")
    if urlsplit(address).scheme not in {"http", "https", "s3", ""}:
        raise InputError(f"the address of the repository {first} is neither a folder, s3://…, nor of a web server")
    place = address
    authorization = _authorization(first, known[first], place, environment)
    match found:
        case RemoteId(_, identity):
            return Located(f"{place}/{identity}", authorization, str(identity))
        case RemoteAlias(_, account, name):
            return Located("/".join(filter(None, (place, account, name))), authorization)
    raise InputError(f"{quote(text)} names no dataset of the repository {first}: {first}/NAME or {first}/did:odf:…")


def _read_repositories(file: Path) -> dict[str, Any]:
    """The repositories of a file by their names in lower case; none where there is no file. InputError."""
    try:
        with file.open("rb") as opened:
            text = opened.read(LONGEST_FILE + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    if len(text) > LONGEST_FILE:
        raise InputError(f"{file} has more than {LONGEST_FILE:,} bytes")
    try:
        found = yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise InputError(f"{file} is not YAML") from None
    wrong = f"{file} has no mapping of names to {{address, token}} or {{address, user, password}}"
    if not isinstance(found or {}, dict):
        raise InputError(wrong)
    for name, value in (found or {}).items():
        is_described = (
            isinstance(value, dict) and set(value) in _KEYS and all(isinstance(one, str) for one in value.values())
        )
        if not isinstance(name, str) or not is_described:
            raise InputError(f"{wrong}: {quote(str(name))}")
    return {name.lower(): entry for name, entry in (found or {}).items()}


def _authorization(name: str, described: Mapping[str, str], address: str, environment: Mapping[str, str]) -> str:
    """The header by the credentials in the environment. They are sent over TLS only, and to this machine."""
    variable = described.get("token") or described.get("password")
    if variable is None:
        return ""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise InputError(f"the repository {name} has credentials, which are sent over https:// only")
    if not _NAME.fullmatch(variable):
        raise InputError(f"a credential of the repository {name} is no name of an environment variable")
    secret = environment.get(variable, "")
    if not secret or not secret.isascii() or not secret.isprintable():
        raise InputError(f"the environment variable {variable} has no credential for the repository {name}")
    if "token" in described:
        return f"Bearer {secret}"
    login = f"{described['user']}:{secret}".encode()
    return f"Basic {base64.b64encode(login).decode()}"
