"""Compares what describes a contract without being measured: names, descriptions, servers, and the remainder of the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakegate.contracts.compare.change import Change
from lakegate.contracts.compare.remainder import ALIASES
from lakegate.contracts.compare.texts import meaning, text_of
from lakegate.contracts.documents.about import DEPRECATION_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.compare.version import ContractVersion
    from lakegate.contracts.model.contract import About, Contract, Server

KINDS_OF_KEYS = {"physicalType": "physical-type", "description": "description", "deprecated": "deprecation"}
ABOUT = {
    "description": "description",
    "owner": "owner",
    "purpose": "description",
    "usage": "description",
    "limitations": "description",
}


class Metadata:
    """Compares the keys of two documents that the model leaves out."""

    def __init__(self, old: ContractVersion, new: ContractVersion) -> None:
        self._old, self._new = old, new
        self._is_one_format = old.family == new.family

    def of_contract(self) -> Iterator[Change]:
        """The changes of the root."""
        old, new = self._old.contract, self._new.contract
        yield from _unless_same("id", "contract-id", old.id, new.id)
        yield from _unless_same("name", "metadata", old.name, new.name)
        yield from _unless_same("status", "status", old.status, new.status)
        for key, kind in ABOUT.items():
            yield from _unless_same(key, kind, getattr(old.about, key), getattr(new.about, key))
        yield from _unless_same("lakegate.inherits", "metadata", _parent(old), _parent(new))
        yield from _unless_same("lakegate.require", "metadata", list(old.require), list(new.require))
        yield from _unless_same("lakegate.sharedWith", "metadata", list(old.shared_with), list(new.shared_with))
        yield from _deprecation(old.about, new.about)
        yield from _servers(old, new)
        yield from self.of_element("root", "", "$", "$")

    def of_element(self, element: str, path: str, old: str, new: str) -> Iterator[Change]:
        """The changes of the remaining keys of an element, at its addresses in both documents."""
        before, after = self._old.rest(element, old), self._new.rest(element, new)
        if not self._is_one_format:
            before, after = ({ALIASES.get(key, key): each for key, each in side.items()} for side in (before, after))
        keys = before.keys() | after.keys() if self._is_one_format else before.keys() & after.keys()
        for key in sorted(keys):
            kind = KINDS_OF_KEYS.get(key, "metadata")
            yield from _unless_same(f"{path}.{key}".removeprefix("."), kind, before.get(key), after.get(key))


def _unless_same(path: str, kind: str, before: object, after: object) -> Iterator[Change]:
    if meaning(before) != meaning(after):
        yield Change(path, kind, text_of(before), text_of(after))


def _parent(contract: Contract) -> str | None:
    return None if contract.inherits is None else contract.inherits.name


def _deprecation(old: About, new: About) -> Iterator[Change]:
    for key in DEPRECATION_KEYS:
        before, after = (getattr(each.deprecation, key, None) for each in (old, new))
        yield from _unless_same(f"deprecation.{key}", "deprecation", before, after)


def _servers(old: Contract, new: Contract) -> Iterator[Change]:
    before, after = ({each.name: _settings(each) for each in side.about.servers} for side in (old, new))
    for name in sorted(before.keys() | after.keys()):
        yield from _unless_same(f"servers.{name}", "server", before.get(name), after.get(name))


def _settings(server: Server) -> Mapping[str, object]:
    return {"type": server.type, **server.settings}
