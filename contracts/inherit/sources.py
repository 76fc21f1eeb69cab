"""The origin of inherited elements: the contract version that declares them, and the address in its document.

The address of an inherited element is the address of `inherits`, followed by that version and that address. So a problem of it is
located at `inherits`, and the address alone shows where a value comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.documents.nodes import address, steps_of
from lakegate.contracts.model.contract import Origin

if TYPE_CHECKING:
    from lakegate.contracts.model.contract import Contract


@dataclass(frozen=True, slots=True)
class DeclaringVersion:
    """Where an inherited element is declared."""

    version: str
    """e.g. `acme-policies@1.2.0`"""
    path: str
    """In the document of that version."""


def source_of(contract: Contract, origin: Origin) -> DeclaringVersion | None:
    """The source of an element of a contract; None if the contract declares it itself."""
    if contract.inherits is None:
        return None
    own, steps = steps_of(contract.inherits.origin.path), steps_of(origin.path)
    if steps[: len(own)] != own or len(steps) != len(own) + 2:
        return None
    return DeclaringVersion(str(steps[-2]), str(steps[-1]))


def inherited_origin(parent: Contract, origin: Origin, child: Contract) -> Origin:
    """The origin of an element of the parent in a child."""
    assert child.inherits is not None
    source = source_of(parent, origin) or DeclaringVersion(f"{parent.id}@{parent.version}", origin.path)
    at = child.inherits.origin
    return Origin(address((*steps_of(at.path), source.version, source.path)), at.line)
