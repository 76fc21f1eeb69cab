"""Refusals of the HTTP API, as `lakegate explain` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.cli.contracts.explain_command import OutcomeExplanation

WORDS: Final[Mapping[str, str]] = {
    "invalid-contract": "The document has errors; `errors` has each with its line.",
    "invalid-body": "The body of the request cannot be read; `errors` has what is wrong.",
    "invalid-parameter": "A parameter of the request cannot be read, or is unknown.",
    "refused": "It cannot be done, such as another content of a published version.",
    "unauthenticated": "API Gateway names no caller.",
    "another-contract": "The claim of the token does not name the contract of the document.",
    "not-found": "There is no such contract, version, workload or endpoint, or none that the token may use.",
    "confirmation-needed": "The request has effects that `confirm=true` confirms; `effects` names them.",
    "incompatible-version": "The number of the version is too low for its changes; `comparison` has them.",
    "invalid-rules": "Rules of a validation cannot be measured; `errors` has each.",
    "other-validation": "The caller has used the `workloadId` for other rules or other data.",
    "illegal-transition": "The workload has no such transition now; `transitions` has those that it has.",
    "summary-refused": "The announced data would be rejected; `errors` has each reason.",
    "key-reused": "The `Idempotency-Key` belongs to another request.",
    "too-large": "The body of a request has more than 2 MiB.",
    "unsupported-media-type": "The body is neither JSON nor YAML.",
    "internal": "A defect, or a right that the function lacks. The log has it under the id of the request.",
    "unavailable": "A service does not answer, or too much is asked at once. Send the request again.",
}


def explanations() -> Iterator[OutcomeExplanation]:
    """Each with its meaning, and what to do."""
    return (OutcomeExplanation(name, words, "docs/api.md") for name, words in WORDS.items())
