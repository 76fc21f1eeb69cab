"""Libraries that the plain package does not install, and the extra that has each of them (pyproject.toml)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRAS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aws_lambda_powertools": "aws",
        "boto3": "aws",
        "botocore": "aws",
        "cryptography": "aws",
        "py4j": "spark",
        "pydeequ": "spark",
        "pyspark": "spark",
    }
)


def advice(error: ModuleNotFoundError) -> str | None:
    """What to install where a command lacks a library; None where no extra has it."""
    library = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(library)
    if extra is None:
        return None
    return (
        f"this command needs {library}: pip install 'WHEEL[{extra}]', where WHEEL is the wheel or the clone of Lakegate"
    )
