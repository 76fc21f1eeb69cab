"""Every error that Lakegate raises on purpose, drawn as one tree.

::

    LakegateError
    ├── ContractError        the document cannot be used; carries all its problems at once
    ├── InputError           a request, an address or a file cannot be used
    ├── UnreadableError      the bytes are no file of the promised kind (contracts/kinds.py); carries what to do
    └── SetUpError           Java, a jar or a service is missing

An error carries fields, never a value of the data: producer text must not reach a log line by way of an exception.
"""

from __future__ import annotations

from dataclasses import dataclass


class LakegateError(Exception):
    """The root: whatever is not below it is a defect of ours."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a contract document: a stable code, where it stands, and how to mend it."""

    code: str
    """Stable and public, e.g. `unknown-column`."""
    path: str
    """Address inside the document, e.g. `$.quality[3].columns[0]`."""
    line: int | None
    """Line in the document, from 1; None where the document has no lines (JSON built in memory)."""
    message: str
    """One sentence: what is wrong and how to mend it."""
    column: int | None = None
    """Place in the line, in characters from 1, where it is known."""


class ContractError(LakegateError):
    """A contract document that cannot be used."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{p.message} @ {p.path}" for p in problems))
        self.problems = problems


class InputError(LakegateError):
    """A request, address or file that cannot be used, in one sentence that says how to mend it."""


class SetUpError(LakegateError):
    """Something this machine or account lacks, in one sentence that says how to supply it."""
