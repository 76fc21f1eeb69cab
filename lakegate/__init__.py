"""Data contracts: lint documents and check data against them, in this process; deliver to a stack and read from it.

::

    lakegate.lint(contract)         errors and warnings of a contract document
    lakegate.check(contract, data)  the verdict on files, a DataFrame or an Arrow table, with every check

With the extra `aws`, of a stack::

    lakegate.contracts()            what is published
    lakegate.deliver(data, to)      a file or a table into the landing bucket, up to its verdict
    lakegate.wait(delivery)         the delivery when it is finished
    lakegate.reasons(delivery)      why it was judged as it was
    lakegate.read(dataset)          accepted rows, for Arrow, pandas, polars, DuckDB or Spark

The import of this package loads nothing else: names are imported with their first use. docs/python.md shows examples.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "CheckResult",
    "ContractList",
    "DatasetTable",
    "DeliveryResult",
    "LakegateError",
    "LintResult",
    "Verdict",
    "check",
    "contracts",
    "deliver",
    "lint",
    "read",
    "reasons",
    "wait",
]
_OF_STACKS = ("ContractList", "DatasetTable", "DeliveryResult", "contracts", "deliver", "read", "reasons", "wait")
_MODULES = {
    "LakegateError": "lakegate.base.errors",
    "Verdict": "lakegate.verdict.verdict",
    **dict.fromkeys(_OF_STACKS, "lakegate.library.stack_api"),
}


def __dir__() -> list[str]:
    """The public names, for completion: those that were not used yet, too."""
    return __all__


if TYPE_CHECKING:
    from lakegate.base.errors import LakegateError
    from lakegate.library.api import CheckResult, LintResult, check, lint
    from lakegate.library.stack_api import (
        ContractList,
        DatasetTable,
        DeliveryResult,
        contracts,
        deliver,
        read,
        reasons,
        wait,
    )
    from lakegate.verdict.verdict import Verdict
else:

    def __getattr__(name: str) -> object:
        """A public name, imported with its first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES.get(name, "lakegate.library.api")), name)
