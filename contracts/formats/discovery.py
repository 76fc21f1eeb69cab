"""Finds the contracts of a folder by their names (ADR-0029): `datacontract.yaml` beside a product, else its own ports."""

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


class Source(Enum):
    """Where a contract comes from."""

    DOCUMENT = "document"
    PORTS = "ports"
    """A product declares ports and no contract stands beside it: one is generated."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """A file that gives a contract."""

    name: str
    source: Source


def discover(names: Iterable[str]) -> tuple[Discovered, ...]:
    """The contracts among files, by their names alone (with `/` between folders), sorted.

    A document is named as the specifications recommend, or lies in a folder `datacontracts`. A product gives a contract only
    where its folder holds no document.
    """
    paths = sorted({PurePosixPath(name) for name in names})
    documents = [path for path in paths if _is_document(path)]
    told = {path.parent for path in documents}
    products = [path for path in paths if PRODUCT.fullmatch(path.name) and path.parent not in told]
    found = [Discovered(str(path), Source.DOCUMENT) for path in documents]
    return (*found, *(Discovered(str(path), Source.PORTS) for path in products))


def _is_document(path: PurePosixPath) -> bool:
    in_folder = path.parent.name in CONTRACT_FOLDERS and path.suffix in {".yaml", ".yml"}
    return in_folder or CONTRACT.fullmatch(path.name) is not None
