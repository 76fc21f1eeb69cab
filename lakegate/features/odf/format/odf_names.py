"""Identities, aliases and references of ODF datasets; names of the common columns."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import count
from typing import Final

from lakegate.base.errors import InputError
from lakegate.features.odf.format.multihash import base16, decode_text, varint

COMMON: Final = ("offset", "op", "system_time", "event_time")
"""The columns that every slice has before its own, by the names of ODF's default vocabulary."""


# ---- Identities, aliases and references ----
# Names have no case: compare and look them up by `key`. `str` of what was read is the text itself, but for identities, which
# are written in base16.


DID: Final = "did:odf:"
ED25519 = varint(0xED)
"""The multicodec of a public key of Ed25519."""
KEY_SIZE = 32
_SUBDOMAIN = r"[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*"
_HOSTNAME = rf"{_SUBDOMAIN}(?:\.{_SUBDOMAIN})*"
_ALIAS = re.compile(rf"(?:({_HOSTNAME})/)?({_HOSTNAME})")
_REMOTE_ALIAS = re.compile(rf"({_HOSTNAME})/(?:({_HOSTNAME})/)?({_HOSTNAME})")
_REMOTE_ID = re.compile(rf"(?:({_HOSTNAME})/)?({DID}.*)", re.DOTALL)
_URL = re.compile(r"[a-zA-Z0-9]+(?:\+[a-zA-Z0-9]+)*://[^\n]+")


@dataclass(frozen=True, slots=True)
class DatasetId:
    """A dataset by its public key (Ed25519, 32 bytes)."""

    public_key: bytes

    @property
    def data(self) -> bytes:
        """As blocks contain it."""
        return ED25519 + self.public_key

    def __str__(self) -> str:
        return DID + base16(self.data)

    @property
    def key(self) -> str:
        """The key that is compared."""
        return str(self)


@dataclass(frozen=True, slots=True)
class DatasetAlias:
    """A dataset of this repository by its name, and by its account where there are several."""

    account: str | None
    name: str

    def __str__(self) -> str:
        return _join_parts(self.account, self.name)

    @property
    def key(self) -> str:
        """The key that is compared."""
        return str(self).lower()


@dataclass(frozen=True, slots=True)
class RemoteAlias:
    """A dataset of another repository by its name."""

    repository: str
    account: str | None
    name: str

    def __str__(self) -> str:
        return _join_parts(self.repository, self.account, self.name)

    @property
    def key(self) -> str:
        """The key that is compared."""
        return str(self).lower()


@dataclass(frozen=True, slots=True)
class RemoteId:
    """A dataset by its identity, in a named repository or in any."""

    repository: str | None
    id: DatasetId

    def __str__(self) -> str:
        return _join_parts(self.repository, str(self.id))

    @property
    def key(self) -> str:
        """The key that is compared."""
        return str(self).lower()


@dataclass(frozen=True, slots=True)
class DatasetUrl:
    """A dataset by the address of its repository; hostile text, only its scheme is checked."""

    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def key(self) -> str:
        """The key that is compared: paths have a case."""
        return self.url


def dataset_id(text: str) -> DatasetId:
    """`DatasetId`: `did:odf:` and a key in any encoding of multibase."""
    if not text.startswith(DID):
        raise InputError(f"the identity of a dataset begins with {DID}")
    return dataset_id_of(decode_text(text.removeprefix(DID)))


def dataset_id_of(data: bytes) -> DatasetId:
    """The identity in a block."""
    if not data.startswith(ED25519) or len(data) != len(ED25519) + KEY_SIZE:
        raise InputError("the identity of a dataset is a public key of Ed25519, 32 bytes")
    return DatasetId(data.removeprefix(ED25519))


def dataset_alias(text: str) -> DatasetAlias:
    """`DatasetAlias`: `name` or `account/name`."""
    match = _ALIAS.fullmatch(text)
    if match is None:
        raise InputError("an alias is a name or account/name, of letters, digits, dots and hyphens between them")
    return DatasetAlias(*match.groups())


def local_reference(text: str) -> DatasetId | DatasetAlias:
    """`DatasetRef`: an identity or an alias of this repository."""
    return dataset_id(text) if text.startswith(DID) else dataset_alias(text)


def remote_reference(text: str) -> RemoteId | RemoteAlias | DatasetUrl:
    """`DatasetRefRemote`: an identity, `repository/name`, `repository/account/name`, or an address."""
    by_id = _REMOTE_ID.fullmatch(text)
    if by_id is not None:
        return RemoteId(by_id[1], dataset_id(by_id[2]))
    by_name = _REMOTE_ALIAS.fullmatch(text)
    if by_name is not None:
        return RemoteAlias(*by_name.groups())
    if _URL.fullmatch(text) is None:
        raise InputError(
            "a remote reference is an identity, repository/name, repository/account/name or an address (https://…)"
        )
    return DatasetUrl(text)


def reference(text: str) -> RemoteId | RemoteAlias | DatasetUrl | DatasetAlias:
    """`DatasetRefAny`: what reads as a remote reference is one, so `a/b` is the dataset `b` of the repository `a`."""
    return dataset_alias(text) if _ALIAS.fullmatch(text) and "/" not in text else remote_reference(text)


def _join_parts(*parts: str | None) -> str:
    return "/".join(part for part in parts if part is not None)


# ---- Identities without a private key (RFC 8032, section 5.1.3) ----


_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P


def point_of(text: bytes) -> DatasetId:
    """The first point among the hashes of a text and a number: about every second hash is one."""
    digests = (hashlib.sha3_256(text + b"\n%d" % number).digest() for number in count())
    return DatasetId(next(filter(is_point, digests)))


def is_point(key: bytes) -> bool:
    """Whether 32 bytes are a public key: x² = (y² - 1) / (d y² + 1) has to have a root."""
    y = int.from_bytes(key, "little") % 2**255
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    return y < _P and pow(square, (_P - 1) // 2, _P) == 1
