"""The contract version that a person names: by the contract, by a beginning that only one has, or by DCM's id of a version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.base.errors import InputError
from lakegate.base.text import did_you_mean
from lakegate.contract.contract_model import is_usable, split_release
from lakegate.gate.registry.registry_rows import WITHDRAWN, Publication, RegistrySnapshot

if TYPE_CHECKING:
    from lakegate.gate.registry.registry_store import Registry


LATEST: Final = "latest"
"""In the place of a version: the one with the highest number, whether it is in force or not."""


def snapshot_of(registry: Registry, contract: str) -> RegistrySnapshot:
    """The contract with this id; else the whole registry, because the text may be the beginning of an id."""
    found = registry.contract(contract)
    return found if found.versions else registry.snapshot()


def numbered_version(registry: Registry, name: str) -> Publication | None:
    """The version whose document has this id, which ends in its number; None where there is none."""
    found = split_release(name)
    versions = registry.contract(found[0]).versions if found and is_usable(found[0]) else ()
    return next((version for version in versions if version.document_id == name), None)


def chosen(snapshot: RegistrySnapshot, contract: str, version: str | None = None) -> Publication:
    """The version a person means: of a whole id or a beginning that only one has. InputError where there is none.

    By the id of a version's document it is that version, and no other may be given.
    """
    whole = next((each for each in snapshot.versions if contract and each.document_id == contract), None)
    if whole is not None and version in {None, whole.version}:
        return whole
    ids = sorted({each.contract for each in snapshot.versions})
    found = (
        [contract] if contract in ids else [identity for identity in ids if contract and identity.startswith(contract)]
    )
    if len(found) != 1:
        many = (
            f"{len(found)} contracts begin so"
            if found
            else f"no such contract is published.{did_you_mean(contract, ids)}"
        )
        raise InputError(f"{contract}: {many}")
    of_it = [each for each in snapshot.versions if each.contract == found[0] and version in {None, each.version}]
    if not of_it:
        raise InputError(f"{found[0]} has no version {version}: `lakegate contracts` lists those that are published")
    return max(of_it, key=lambda each: (each.status != WITHDRAWN, each.precedence))
