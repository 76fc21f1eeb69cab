"""Data contracts: lint documents and check data against them, in this process, without Java and without AWS.

::

    lakegate.lint(contract)         errors and warnings of a contract document
    lakegate.check(contract, data)  the verdict on files, a DataFrame or an Arrow table, with every check

The import of this package loads nothing else: names are imported with their first use. docs/python.md shows examples.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["CheckResult", "LakegateError", "LintResult", "Verdict", "check", "lint"]
_MODULES = {"LakegateError": "lakegate.base.errors", "Verdict": "lakegate.verdict.verdict"}


def __dir__() -> list[str]:
    """The public names, for completion: those that were not used yet, too."""
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name, imported with its first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_MODULES.get(name, "lakegate.library.api")), name)
