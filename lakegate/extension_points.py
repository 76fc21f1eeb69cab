"""Extension points by name, lazy loader; what extra or clone is missing."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# ---- Libraries that the plain package does not install, and the extra that has each of them (pyproject.toml) -------


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


# ---- `ROOT`, the folder of this clone, and `TOOLS`, the one folder below it where set-up puts what is not Python ----


ROOT = Path(__file__).parents[1]


TOOLS = ROOT / ".tools"
