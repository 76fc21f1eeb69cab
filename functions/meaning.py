"""Plans and contracts of contracts/, as the types of the use cases.

A plan was judged by its schema when it was published, and its bytes are its address: what intake needs of it is read
from the JSON as it is. The verdict needs the schema of the result, and is loaded when the first result is there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.lake.states import PUSH, read
from lakegate.functions.usecases.dependencies import Meaning, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakegate.contracts.judge.counts import Counts
    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.model.storage import Storage
    from lakegate.contracts.plan.result import Columns

MAX_REASONS: Final = 50
MAX_REASON: Final = 500
"""Characters: a row of DynamoDB holds 400 KB."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgement: the verdict and its reasons, worst first."""

    verdict: str
    reasons: tuple[str, ...]
    counts: Counts | None = None


def terms(plan: bytes) -> Terms:
    """What the control plane needs to know of a plan."""
    document = json.loads(plan)
    workflow = read(document["workflow"]) if "workflow" in document else PUSH
    policy = document["policy"]
    return Terms(
        suffix=_storage(document).suffix,
        duplicates=policy["duplicates"] == "accept",
        by_rows=policy["on_reject"] == "rows",
        references=_lines(document),
        workflow=workflow,
        dialect=_dialect(document),
    )


def _dialect(plan: Mapping[str, Any]) -> dict[str, object]:
    """Format, compression and, of CSV, how it is written: what a reader of the published file must know."""
    from lakegate.contracts.model.storage import Format  # noqa: PLC0415 - intake starts in half the time without schemas

    storage = _storage(plan)
    csv = plan["csv"] if storage.format is Format.CSV else None
    return {"format": storage.format.value, "compression": storage.compression.value, "csv": csv}


def _lines(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines that the queries of a plan read beside the delivery, in the order of their names."""
    queries = (check.get("query") for check in plan.get("checks", ()))
    return tuple(sorted({each["line"] for query in queries if query for each in query["relations"] if each["line"]}))


def door(plan: bytes, size: int, first: bytes) -> tuple[str, ...]:
    """Why an object is refused before any job: too large, empty, of another format, or with a header that
    rejects it whatever rows follow.

    `first`: its first bytes. A header that does not end within them is left to the job.
    """
    from lakegate.contracts.door.file_signatures import UnreadableError  # noqa: PLC0415 - intake starts in half the time without schemas

    document = json.loads(plan)
    most = document["policy"]["max_bytes"]
    if most is not None and size > most:
        return (f"file/size: the object has {size:,} bytes, the contract allows {most:,}",)
    if size == 0:
        return () if document["policy"]["allow_empty"] else ("file/rows: the object is empty",)
    try:
        columns = _columns(document, size, first)
    except UnreadableError as error:
        return (f"file/readable: {error.finding.message}",)
    return _early_rejections(document, columns) if columns is not None and (columns.absent or columns.extra) else ()


def judge(plan: bytes, result: bytes) -> Judged:
    """The verdict of contracts/verdict. Raises InputError where a document breaks its schema."""
    from lakegate.contracts.errors import InputError  # noqa: PLC0415 - beside what is loaded late for the same reason
    from lakegate.contracts.judge.judgement import counts_of  # noqa: PLC0415 - likewise
    from lakegate.contracts.judge.judgement import judge as verdict  # noqa: PLC0415 - likewise
    from lakegate.contracts.plan.plan import Plan  # noqa: PLC0415 - intake starts in half the time without schemas
    from lakegate.contracts.plan.result import Result  # noqa: PLC0415 - likewise

    try:
        compiled = Plan.from_json(json.loads(plan))
        judgement = verdict(compiled, Result.from_json(json.loads(result)))
    except (ValueError, RecursionError):
        raise InputError("plan or result is not JSON") from None
    return Judged(judgement.verdict.value, _reason_texts(judgement.reasons), counts_of(compiled, judgement))


def _columns(plan: Mapping[str, Any], size: int, first: bytes) -> Columns | None:
    """The header's columns; None where there is no header, or not all of it was read."""
    from lakegate.contracts.door.header import columns_of, first_line, text_of  # noqa: PLC0415 - likewise
    from lakegate.contracts.model.storage import Csv, Format  # noqa: PLC0415 - likewise
    from lakegate.contracts.plan.serialization import decode  # noqa: PLC0415 - with the door's other late imports

    csv, storage = decode(Csv, plan["csv"]), _storage(plan)
    text = text_of(first, storage, csv)
    if text is None or storage.format is not Format.CSV or (b"\n" not in text and len(first) < size):
        return None
    line = first_line(text, csv)
    declared = tuple(field["name"] for field in plan["fields"])
    return columns_of(line, csv, declared, text) if csv.header else None


def _storage(plan: Mapping[str, Any]) -> Storage:
    """What the object is, whatever its producer called it; a plan that does not say it reads plain CSV."""
    from lakegate.contracts.model.storage import Compression, Format, Storage  # noqa: PLC0415 - with the other late imports

    storage = plan.get("storage", {})
    return Storage(Format(storage.get("format", "csv")), Compression(storage.get("compression", "none")))


def _early_rejections(plan: object, columns: Columns) -> tuple[str, ...]:
    from lakegate.contracts.judge.judgement import early_rejections  # noqa: PLC0415 - likewise
    from lakegate.contracts.plan.plan import Plan  # noqa: PLC0415 - only a header that differs from the plan's needs it

    return _reason_texts(early_rejections(Plan.from_json(plan), columns))


def _reason_texts(outcomes: Sequence[CheckOutcome]) -> tuple[str, ...]:
    return tuple(f"{each.id}: {each.message}"[:MAX_REASON] for each in outcomes[:MAX_REASONS])


MEANING: Final = Meaning(terms, door, judge)
