"""Extension points: what features register, by point and name, loaded at first use; which extra or clone is missing.

A feature registers by rows of `lakegate.features.feature_table`. The module that asks a point declares the type of what it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lakegate.base.errors import SetUpError

TABLE: Final = "lakegate.features.feature_table"


def names(point: str) -> tuple[str, ...]:
    """The names that features register at a point, in the order of the table; of a feature whose folder is absent, none."""
    return tuple(name for name, place in _rows(point).items() if _is_there(place))


def load_extension(point: str, name: str) -> Any:  # noqa: ANN401 - its type is declared by the module that asks the point
    """The registration at a point under a name. SetUpError where its feature is not installed."""
    return attribute_at(place_of(point, name))


def place_of(point: str, name: str) -> str:
    """The module and the attribute that are registered at a point under a name, `MODULE:ATTRIBUTE`. Raises as `loaded`."""
    place = _rows(point).get(name, "")
    if not place or not _is_there(place):
        feature = place.split(".")[2] if place else f"that registers {name} as one of {point}"
        raise SetUpError(f"the feature {feature} is not installed")
    return place


def load_extensions(point: str) -> Iterator[Any]:
    """Everything that is registered at a point, in the order of the table."""
    return (attribute_at(place) for place in _rows(point).values() if _is_there(place))


def attribute_at(place: str) -> Any:  # noqa: ANN401 - as `loaded`
    """The attribute of a module, `MODULE:ATTRIBUTE`."""
    module, _, attribute = place.partition(":")
    return getattr(sys.modules.get(module) or import_module(module), attribute)


@cache
def _rows(point: str) -> Mapping[str, str]:
    """The places by the names."""
    try:
        table: tuple[tuple[str, str, str], ...] = import_module(TABLE).TABLE
    except ModuleNotFoundError as error:
        if error.name not in {TABLE, TABLE.rpartition(".")[0]}:
            raise
        return {}  # the core alone
    return {name: place for of, name, place in table if of == point}


@cache
def _is_there(place: str) -> bool:
    folder = ".".join(place.split(".")[:3])
    return find_spec(folder) is not None


# ---- Optional libraries, with the extra that has each ----


EXTRAS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "adbc_driver_manager": "postgres",
        "adbc_driver_postgresql": "postgres",
        "aws_lambda_powertools": "aws",
        "boto3": "aws",
        "botocore": "aws",
        "cryptography": "aws",
        "deltalake": "delta",
        "py4j": "spark",
        "pydeequ": "spark",
        "pyiceberg": "iceberg",
        "pyspark": "spark",
    }
)


def advice(error: ModuleNotFoundError) -> str | None:
    """The extra to install where a command lacks a library; None where no extra has it."""
    library = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(library)
    if extra is None:
        return None
    return (
        f"this command needs {library}: pip install 'WHEEL[{extra}]', where WHEEL is the wheel or the clone of Lakegate"
    )


# ---- Folders of the clone ----


ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools"
