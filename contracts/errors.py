"""The exceptions of Lakegate.

::

    LakegateError
    ├── ContractError        the document cannot be used; carries all its problems at once
    ├── InputError           a request, an address or a file cannot be used
    ├── UnreadableError      the bytes are not a file of the declared format (contracts/door/file_signatures.py);
    contains the remedy └── SetUpError           Java, a jar or a service is missing

An exception never contains a value of the data: producer text must not reach a log line through it.
"""

from __future__ import annotations

from dataclasses import dataclass


class LakegateError(Exception):
    """The base class: any other exception is a defect of Lakegate."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a contract document: a stable code, its position, and how to fix it."""

    code: str
    """Stable and public, e.g. `unknown-column`."""
    path: str
    """Address inside the document, e.g. `$.quality[3].columns[0]`."""
    line: int | None
    """Line in the document, from 1; None if the document has no lines (JSON built in memory)."""
    message: str
    """One sentence: the problem and how to fix it."""
    column: int | None = None
    """Column in the line, in characters from 1, if it is known."""


class ContractError(LakegateError):
    """A contract document that cannot be used."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{p.message} @ {p.path}" for p in problems))
        self.problems = problems


class InputError(LakegateError):
    """A request, address or file cannot be used; the message describes how to fix it."""


class SetUpError(LakegateError):
    """Something is missing on this machine or in this account; the message describes how to supply it."""
