"""States of pulls, and why one failed, as `lakegate explain` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.cli.contracts.explain_command import OutcomeExplanation

WORDS: Final[Mapping[str, str]] = {
    "Due": "The dataset is pulled at its next time.",
    "Fetching": "The source is being fetched.",
    "Done": "The object that the producer named was pulled.",
    "Unscheduled": "No tick has seen what was published, or the stack does not pull.",
    "FETCHED": "The source was fetched, and is a delivery.",
    "UNCHANGED": "The source is the one that was fetched before.",
    "PUBLISHED": "The snapshot was accepted, and is main of its table, or among those that main is based on.",
    "FAILED": "The source was not fetched, or the snapshot did not become main, for the reason that stands beside it.",
    "host-refused": "The host, or the one that a redirect leads to, is not in `PullHosts`.",
    "address-refused": "The address is not public, or has another scheme.",
    "port-refused": "The address has another port.",
    "unencrypted-refused": "A source over HTTP or FTP needs `unencrypted: true`, and takes no secret.",
    "host-key-refused": "The server has another key than `hostKey` of the secret.",
    "login-refused": "The server refuses the user, the password or the key.",
    "certificate-refused": "The certificate of the host is not one that the system trusts.",
    "too-many-redirects": "There were more than five redirects.",
    "bucket-refused": "The source is in a bucket of the stack itself.",
    "source-refused": "What was named cannot be a source of the dataset, or is a table that another dataset has.",
    "secret-malformed": "The secret is not of the form that docs/pull.md describes.",
    "secret-of-another": "The secret is for another contract or host.",
    "no-route": "No key delivers to the dataset: `lakegate route add PREFIX/ CONTRACT`.",
    "too-large": "The source is larger than a limit of the stack or of the contract.",
    "archive-too-large": "The archive, or its member, is larger than a limit.",
    "too-slow": "The source takes longer than a function may.",
    "member-missing": "No file of the archive has a name that fits `member`.",
    "member-ambiguous": "Several files of the archive have a name that fits `member`.",
    "archive-damaged": "It is no archive of zip or tar, breaks off, or its checksums differ.",
    "archive-refused": "The archive is encrypted, or has a method or form that is not read.",
    "length-differs": "What came is shorter or longer than the source said, three times.",
    "length-missing": "The source says neither its length nor where it ends: a broken connection would look like the end.",
    "encoding-refused": "The source is sent compressed, though that was not asked for.",
    "source-changed": "The source changed while it was fetched, three times.",
    "branch-missing": "The table has no branch of this name: there is nothing to judge.",
    "table-missing": "The catalog has no such table of Iceberg, or it was dropped or renamed.",
    "table-replaced": "Another table has the name: the judged one was dropped. Nothing was changed; write the rows again.",
    "table-refused": (
        "The table cannot be read, as `lakegate check --table` explains, chooses code or places of its own, or has files "
        "outside of its folder, which is the one above its metadata."
    ),
    "table-unreachable": "A file or the catalog of the table did not answer.",
    "too-many-files": "The snapshot has more than 20,000 files: compact the table.",
    "snapshot-expired": "The snapshot, or a file of it, is not there any more: expire none that is on the branch.",
    "main-moved": (
        "Main has snapshots that the judged one is not based on, or went back: they would be lost. "
        "With `rows: added` also: somebody has made it main before it was judged. "
        "Begin the branch anew from main, or stage again, and write the rows again: that snapshot is judged."
    ),
    "files-changed": (
        "A file of the snapshot was written over since it was judged. Write the rows again, in files of their own: "
        "that snapshot is judged."
    ),
    "rows-changed": (
        "By the contract added rows alone are judged (`rows: added`), and the snapshot deletes or rewrites rows of main. "
        "Begin the branch anew from main and append alone, or have all rows judged."
    ),
    "delivery-open": (
        "An earlier snapshot of the table is judged, or accepted and not main yet. The branch is looked at again every five "
        "minutes; a delivery that FAILED or is held keeps it waiting until it is replayed or cancelled."
    ),
    "not-current": "The delivery was recalled, or another one came in its place, before its snapshot became main.",
    "upload-lost": "The upload of what was fetched is not there any more. The next time fetches again.",
}


def explanations() -> Iterator[OutcomeExplanation]:
    """Each with its meaning, and what to do."""
    return (OutcomeExplanation(name, words, "docs/pull.md") for name, words in WORDS.items())
