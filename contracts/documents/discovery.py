"""Finds contracts by file name (ADR-0029): `datacontract.yaml` beside a product, else the product's ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTRACT = re.compile(r"(?:.*[-.])?datacontract\.ya?ml|datacontract-.*\.ya?ml")
CONTRACT_FOLDERS = ("datacontract", "datacontracts")
PRODUCT = re.compile(r"floe\.ya?ml")


class ContractOrigin(Enum):
    """The origin of a contract."""

    DOCUMENT = "document"
    PORTS = "ports"
    """A product declares ports and has no contract: one is generated."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """A file that contains a contract, or ports to generate one from."""

    name: str
    source: ContractOrigin


def discover(names: Iterable[str]) -> tuple[Discovered, ...]:
    """The contracts among file names (with `/` between folders), sorted.

    A document has a name that the specifications recommend, or is in a folder `datacontracts`. The ports of a product are used
    only if its folder has no contract document.
    """
    paths = sorted({PurePosixPath(name) for name in names})
    documents = [path for path in paths if _is_document(path)]
    with_document = {path.parent for path in documents}
    products = [path for path in paths if PRODUCT.fullmatch(path.name) and path.parent not in with_document]
    found = [Discovered(str(path), ContractOrigin.DOCUMENT) for path in documents]
    return (*found, *(Discovered(str(path), ContractOrigin.PORTS) for path in products))


def _is_document(path: PurePosixPath) -> bool:
    in_folder = path.parent.name in CONTRACT_FOLDERS and path.suffix in {".yaml", ".yml"}
    return in_folder or CONTRACT.fullmatch(path.name) is not None
