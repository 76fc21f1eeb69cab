"""All exceptions, those of ports and of unreadable data included."""

from __future__ import annotations

from dataclasses import dataclass

# ---- The exceptions of Lakegate ----
#     LakegateError
#     ├── ContractError        the document cannot be used; carries all its problems at once
#     ├── InputError           a request, an address or a file cannot be used
#     ├── UnreadableError      the bytes are not a file of the declared format (lakegate/admission/file_signatures.py);
#     contains the remedy └── SetUpError           Java, a jar or a service is missing
#
# An exception never contains a value of the data: producer text must not reach a log line through it.


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


# ---- Errors of ports ----
#     LakegateError
#     └── PortError               AWS refused or did not answer
#         ├── NotFound            the object version, row or job run is not there
#         ├── ConditionFailed     a condition of ours did not hold; nothing was written
#         ├── AccessDenied        the caller may not use the object or the key that encrypts it
#         │   └── SigningDenied   the caller may not sign
#         ├── Archived            the object is in an archive class and has to be restored first
#         ├── IdempotencyMismatch a token was used before with another content
#         ├── UnreadableItem      an item or object is there, and this release cannot read it
#         ├── Unfinished          a copy in several parts ran out of time; calling again goes on with it
#         ├── Throttled           refused for now, nothing was done        ┐ calling again
#         ├── TransactionConflict another transaction was on these rows    ┘ is right
#         └── Unanswered          the effect may or may not have happened


class PortError(LakegateError):
    """AWS refused or did not answer."""

    explanation: str = ""
    """The message of AWS, which may have any text: for the terminal of the person who asked, and never for a log."""


class NotFound(PortError):  # noqa: N818 - the name is what AWS answered
    """The object version, row or job run is not there."""


class ConditionFailed(PortError):  # noqa: N818 - likewise
    """A condition did not hold and nothing was written; `reasons` are the names of those that did not, each once."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = tuple(dict.fromkeys(reasons))
        super().__init__(", ".join(self.reasons))


class AccessDenied(PortError):  # noqa: N818 - likewise
    """The caller may not use the object, or the KMS key that encrypts it, or the key is disabled."""


class SigningDenied(AccessDenied):
    """The caller may not sign by the key of the ledger, or it is disabled; nothing was written."""


class Archived(PortError):  # noqa: N818 - likewise
    """The object is in an archive storage class or tier: it can be read once it is restored."""


class IdempotencyMismatch(PortError):  # noqa: N818 - likewise
    """A token was used before with another content; nothing was written."""


class UnreadableItem(PortError):  # noqa: N818 - likewise
    """An item or object is there, and this release cannot read what it contains: it is damaged, or of a newer release."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} cannot be read by this release: {why}")
        self.name, self.why = name, why
        """The key of the item, or of the object; never what it contains."""


class DeletionDenied(PortError):  # noqa: N818 - likewise
    """The store refuses to delete objects that were judged: by a lock, by MFA delete, or by a policy. They stay."""

    def __init__(self, bucket: str) -> None:
        super().__init__(
            f"judged objects stay in {bucket}: deleting them is denied by an object lock, MFA delete or a policy"
        )
        self.name = bucket


class Unfinished(PortError):  # noqa: N818 - likewise
    """Work in several parts ran out of time; what is done of it stays, and another call continues."""


class Throttled(PortError):  # noqa: N818 - likewise
    """Refused for now; nothing was done."""


class TransactionConflict(PortError):  # noqa: N818 - likewise
    """Another request was on the same rows or key; nothing was written."""


class Unanswered(PortError):  # noqa: N818 - likewise
    """No answer came: the effect may or may not have happened."""
