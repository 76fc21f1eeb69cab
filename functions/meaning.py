"""What contracts/ says, in the words of the use cases.

A plan was judged by its schema when it was published, and its bytes are its address: what intake needs of it is read
from the JSON as it is. The verdict needs the schema of the result, and is loaded when the first result is there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from contracts.workflow import PUSH, read
from functions.usecases.gate import Meaning, Terms

SUFFIX: Final = ".csv"
"""A plan of version 1 reads CSV, whatever the producer called the object."""
MAGIC: Final = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PAR1": "parquet",
    b"ORC": "orc",
    b"Obj\x01": "avro",
    b"%PDF": "pdf",
    b"\xd0\xcf\x11\xe0": "office",
}
MAX_REASONS: Final = 50
MAX_REASON: Final = 500
"""Characters: a row of DynamoDB holds 400 KB."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgement: the verdict and its reasons, worst first."""

    verdict: str
    reasons: tuple[str, ...]


def terms(plan: bytes) -> Terms:
    """What the control plane needs to know of a plan."""
    document = json.loads(plan)
    workflow = read(document["workflow"]) if "workflow" in document else PUSH
    return Terms(suffix=SUFFIX, duplicates=document["policy"]["duplicates"] == "accept", workflow=workflow)


def door(plan: bytes, size: int, first: bytes) -> tuple[str, ...]:
    """Why an object is refused before any job: it is empty, or begins like a format that no plan of this version reads."""
    if size == 0:
        return () if json.loads(plan)["policy"]["allow_empty"] else ("file/rows: the object is empty",)
    return tuple(
        f"file/readable: the object is {name}, the contract says CSV"
        for magic, name in MAGIC.items()
        if first.startswith(magic)
    )


def judge(plan: bytes, result: bytes) -> Judged:
    """The verdict of contracts/verdict. Raises InputError where a document breaks its schema."""
    from contracts.errors import InputError  # noqa: PLC0415 - beside what is loaded late for the same reason
    from contracts.plan import Plan  # noqa: PLC0415 - intake starts in half the time without schemas
    from contracts.result import Result  # noqa: PLC0415 - likewise
    from contracts.verdict import judge as verdict  # noqa: PLC0415 - likewise

    try:
        judgement = verdict(Plan.from_json(json.loads(plan)), Result.from_json(json.loads(result)))
    except (ValueError, RecursionError):
        raise InputError("plan or result is not JSON") from None
    reasons = (f"{each.id}: {each.message}"[:MAX_REASON] for each in judgement.reasons[:MAX_REASONS])
    return Judged(judgement.verdict.value, tuple(reasons))


MEANING: Final = Meaning(terms, door, judge)
