"""A version of a contract as it is compared: the model, and the document that it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.compare.remainder import remainder
from lakegate.contracts.errors import ContractError
from lakegate.contracts.lake.versions import precedence
from lakegate.contracts.lint.examine import examine, without_parents

if TYPE_CHECKING:
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Plain
    from lakegate.contracts.lint.examine import Complete
    from lakegate.contracts.model.contract import Contract


@dataclass(frozen=True, slots=True)
class ContractVersion:
    """A contract with its document."""

    contract: Contract
    document: Document

    @property
    def family(self) -> str:
        """The format without its version: `ODCS`, `DCS` or `DCM`."""
        return self.contract.format.partition(" ")[0]

    def rest(self, element: str, path: str) -> dict[str, Plain]:
        """The keys at an address that no comparison of the model reads."""
        node = self.document.at(path).node
        return {} if node is None else remainder(self.family, element, node.plain())


def read_version(text: bytes, *, published: bool = False, complete: Complete = without_parents) -> ContractVersion:
    """The version in a document; ContractError with every error at once, InputError if its number is not semantic.

    A published document is read as far as possible: it may have been valid under the checks of an older Lakegate.
    `complete` adds what the contract inherits.
    """
    examined = examine(text, complete=complete)
    if examined.contract is None or (examined.errors and not published):
        raise ContractError(examined.errors)
    precedence(examined.contract.version)
    assert examined.document is not None
    return ContractVersion(examined.contract.with_own_common, examined.document)
