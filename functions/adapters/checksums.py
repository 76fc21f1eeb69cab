"""The checksums of S3: what it answers of an object, and which algorithm a copy gets.

S3 knows CRCs of a whole object that came in parts, but SHA-256 and SHA-1 only of each part ("Checking object integrity
in Amazon S3"). 32 bits do not identify content: of 10,000 objects of one size, two share a CRC-32 with a probability of 1 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.functions.ports.objects import ObjectVersion

OF_COPIES: Final = "CRC64NVME"
"""Where the source's own algorithm is not kept. S3 computes it itself; 64 bits identify content."""
KEPT: Final = (OF_COPIES, "SHA256", "SHA1")
"""By a copy in one piece, so that both checksums can be compared. A copy in parts can only keep the first one."""
KNOWN: Final = (*KEPT, "CRC32", "CRC32C")


def checksum_of(answer: Mapping[str, Any]) -> str:
    """`<algorithm>:<value>` of the whole object that S3 describes; empty where it only knows checksums of parts."""
    if answer.get("ChecksumType") == "COMPOSITE":
        return ""
    return next((f"{name.lower()}:{value}" for name, value in _checksums(answer).items()), "")


def part_of(answer: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A part that S3 describes, in the form in which CompleteMultipartUpload lists it."""
    checksums = {f"Checksum{name}": value for name, value in _checksums(answer).items()}
    return {"PartNumber": number, "ETag": answer["ETag"]} | checksums


def arrived_parts(client: Any, at: Mapping[str, Any]) -> Iterator[Any]:  # noqa: ANN401 - a client of boto3
    """The parts that an upload has, as S3 describes them."""
    for page in client.get_paginator("list_parts").paginate(**at):
        yield from page.get("Parts", ())


def kept_algorithm(original: ObjectVersion) -> Any:  # noqa: ANN401 - the stubs ask for a literal type of their own
    """The algorithm of a copy in one piece."""
    name = original.checksum.partition(":")[0].upper()
    return name if name in KEPT else OF_COPIES


def _checksums(answer: Mapping[str, Any]) -> dict[str, str]:
    found = {name: answer.get(f"Checksum{name}", "") for name in KNOWN}
    return {name: value for name, value in found.items() if value and "-" not in value}
