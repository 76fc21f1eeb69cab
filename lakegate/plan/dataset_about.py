"""What a contract states of a dataset for those who get its data: description, keywords and licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LONGEST_DESCRIPTION: Final = 2_000
LONGEST_NAME: Final = 500
LONGEST_ADDRESS: Final = 2_000
MOST_KEYWORDS: Final = 100


@dataclass(frozen=True, slots=True)
class License:
    """Under which terms data may be used."""

    name: str
    short_name: str = ""
    spdx: str = ""
    """Its identifier in the list of SPDX, if the contract states it."""
    url: str = ""


@dataclass(frozen=True, slots=True)
class DatasetAbout:
    """What a plan of slices has of its contract's root."""

    description: str = ""
    keywords: tuple[str, ...] = ()
    license: License | None = None
