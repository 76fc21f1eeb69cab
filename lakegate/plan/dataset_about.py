"""Descriptions, keywords and licence of a dataset, for those who get its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from lakegate.base.json_codec import Bounds, Name, omit_default

if TYPE_CHECKING:
    from lakegate.contract.contract_model import About

LONGEST_DESCRIPTION: Final = 2_000
LONGEST_NAME: Final = 500
LONGEST_ADDRESS: Final = 2_000
MOST_KEYWORDS: Final = 100


@dataclass(frozen=True, slots=True)
class License:
    """Under which terms data may be used."""

    name: Annotated[str, Bounds(1, LONGEST_DESCRIPTION)]
    short_name: Annotated[str, Bounds(most=LONGEST_NAME)] = ""
    spdx: Annotated[str, Bounds(most=LONGEST_NAME)] = ""
    """Its identifier in the list of SPDX, if the contract states it."""
    url: Annotated[str, Bounds(most=LONGEST_ADDRESS)] = ""


@dataclass(frozen=True, slots=True)
class FieldAbout:
    """The description of a field."""

    name: Name
    """As the plan names it."""
    description: Annotated[str, Bounds(1, LONGEST_DESCRIPTION)]


@dataclass(frozen=True, slots=True)
class DatasetAbout:
    """The descriptions of a contract in a plan of slices, or of a table."""

    description: Annotated[str, Bounds(most=LONGEST_DESCRIPTION)] = ""
    keywords: Annotated[tuple[Annotated[str, Bounds(most=LONGEST_NAME)], ...], Bounds(most=MOST_KEYWORDS)] = ()
    license: License | None = None
    fields: tuple[FieldAbout, ...] = omit_default(())
    """Those of a table that have a description."""


def described(about: About) -> DatasetAbout:
    """The description and the keywords of a contract, as long as a plan takes them."""
    description = (about.description or about.purpose or "")[:LONGEST_DESCRIPTION]
    return DatasetAbout(description, tuple(dict.fromkeys(tag[:LONGEST_NAME] for tag in about.tags))[:MOST_KEYWORDS])
