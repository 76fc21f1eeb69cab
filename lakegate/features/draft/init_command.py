"""lakegate init, new."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeAlias

from lakegate.base.errors import ContractError, InputError, SetUpError
from lakegate.base.text import plural
from lakegate.base.text import printable as escaped
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command, interruptible_folder
from lakegate.cli.options import DATA, AsJson
from lakegate.library.contract_files import STANDARD_OUTPUT, SUFFIX, writable, write_draft

if TYPE_CHECKING:
    from lakegate.features.draft.draft_contract import Draft
    from lakegate.features.draft.found_fields import Profile
    from lakegate.local_check.data_files import DataFile
    from lakegate.report.delivery_report import Report

# ---- `lakegate init` ----


NAME = "The name of the contract and its dataset; by default that of the first file, or of the table."
TABLE = (
    "A table of Iceberg or Delta, where no file is named: its folder, also as s3://BUCKET/FOLDER, a file *.metadata.json, or"
    " CATALOG.NAMESPACE.TABLE; glue.DATABASE.TABLE needs no configuration of pyiceberg."
)
SNAPSHOT = (
    "Of --table, another state than the current one: the id of a snapshot, a branch or a tag; of Delta a version."
)
OWNER = Option(help="The team that answers for the data.")
OUTPUT = "The file to write, by default NAME.odcs.yaml in this folder; - for standard output. No file is overwritten."
Output: TypeAlias = Annotated[str | None, Option("--output", "-o", help=OUTPUT)]
MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft, what it was made from, and what it says about that."""

    draft: Draft
    profile: Profile
    report: Report
    warnings: tuple[str, ...]
    """Of lint."""
    table: str | None
    """None: files."""
    snapshot: str | None


@dataclass(frozen=True, slots=True)
class ExampleContract:
    """A contract that was written."""

    file: str | None
    """None: it is printed."""
    text: str | None


@dataclass(frozen=True, slots=True)
class DraftedContract(ExampleContract):
    """A contract that was drafted, and the data that it was drafted from."""

    dataset: str
    format: str
    rows: int
    columns: int
    suggestions: int
    faults: tuple[str, ...]
    """What of the data is not repeated by the draft."""
    left_out: tuple[str, ...]
    as_text: tuple[str, ...]
    """Columns of texts of which all or most values are of another type."""
    warnings: tuple[str, ...]
    """Of lint."""
    verdict: str
    """On the data."""
    reasons: tuple[str, ...]


@command
def init(  # noqa: PLR0913, PLR0917 - every option of the command is one
    data: Annotated[list[str] | None, Argument(help=f"{DATA} None with --table.")] = None,
    table: Annotated[str | None, Option(help=TABLE)] = None,
    snapshot: Annotated[str | None, Option(help=SNAPSHOT)] = None,
    name: Annotated[str | None, Option(help=NAME)] = None,
    owner: Annotated[str | None, OWNER] = None,
    output: Output = None,
    as_json: AsJson = False,
) -> CommandResult[DraftedContract]:
    """Draft a contract (ODCS 3.1) from data: format, types, keys, ranges, lists, patterns, personal data.

    Of a table, types, required columns and descriptions are those that it declares.
    What is certain has no comment; what the data suggests has its evidence (`# suggested: 99.8 % of 40,000`).

    Example: lakegate init samples/orders-clean.csv --name orders --owner shop
    """
    from lakegate.base.text import dataset_name  # noqa: PLC0415 - yaml and more, for this command alone
    from lakegate.local_check.data_files import DataFile  # noqa: PLC0415 - likewise
    from lakegate.local_check.table_data import table_name  # noqa: PLC0415 - likewise

    if bool(data) is (table is not None):
        raise InputError("name files, or a table with --table")
    if table is None and snapshot is not None:
        raise InputError("--snapshot is that of a table: name it with --table")
    if name is None:
        name = table_name(table) if table is not None else Path(DataFile((data or [])[0]).shown).name.partition(".")[0]
    target = output if output is not None else f"{dataset_name(name)}{SUFFIX}"
    writable(target)
    drafted = _draft_contract(data or [], table, snapshot, name, owner)
    write_draft(target, drafted.draft.text, as_json=as_json)
    if target == STANDARD_OUTPUT and not as_json:
        for line in (*_found(drafted.draft), *_verdict(drafted)):
            sys.stderr.write(f"{escaped(line)}\n")
    words = [] if target == STANDARD_OUTPUT else _words(target, drafted)
    return CommandResult(_result(target, drafted), words)


def _draft_contract(data: list[str], table: str | None, snapshot: str | None, name: str, owner: str | None) -> Drafted:
    from lakegate.features.draft.declared_columns import as_declared  # noqa: PLC0415 - likewise
    from lakegate.features.draft.draft_contract import draft  # noqa: PLC0415 - likewise
    from lakegate.features.draft.suggestions import has_date  # noqa: PLC0415 - likewise
    from lakegate.library.contract_files import plan_of  # noqa: PLC0415 - likewise
    from lakegate.lints.linter import examine  # noqa: PLC0415 - likewise
    from lakegate.local_check.check_data import (  # noqa: PLC0415 - likewise
        EngineName,
        LocalDelivery,
        judge_delivery,
    )
    from lakegate.local_check.data_files import files_of  # noqa: PLC0415 - likewise
    from lakegate.local_check.table_data import write_table  # noqa: PLC0415 - likewise
    from lakegate.verdict.file_checks import RECORDS  # noqa: PLC0415 - likewise
    from lakegate.verdict.verdict import Verdict  # noqa: PLC0415 - likewise

    with interruptible_folder() as folder:
        if table is not None:
            rows = write_table(table, snapshot, folder / "table.parquet")
            files, dated = [rows.file], False
            profile = as_declared(_profile(files, folder), rows.written)
        else:
            files = files_of(data)
            dated = all(has_date(Path(file.shown).name) for file in files)
            profile = replace(_profile(files, folder), has_dated_names=dated)
        now = datetime.now(UTC)
        found = draft(profile, name, owner, now)
        if not found.columns:
            raise InputError(
                f"{_show_files(files)}: no column can be named by a contract ({'; '.join(found.left_out)})"
            )
        examined = examine(found.text.encode())
        if examined.contract is None or examined.errors:
            raise ContractError(examined.errors)
        plan, here = plan_of(examined.contract, None), Path(name)
        delivery = LocalDelivery(here, None, files, [], [], None, show_values=False, engine=EngineName.NATIVE)
        report = judge_delivery(delivery, examined.contract, plan, folder, terminal.bytes_arriving)[0]
        if profile.malformed > profile.rows:
            reasons = report.judgement.reasons
            reason = next((entry for entry in reasons if entry.id == RECORDS), reasons[0]).message
            raise InputError(f"{_show_files(files)}: most records cannot be read, so nothing can be drafted: {reason}")
        if report.judgement.verdict is Verdict.REJECTED:
            found = draft(profile, name, owner, now, [entry.message for entry in report.judgement.reasons])
        warnings = tuple(f"{warning.code}: {warning.message}" for warning in examined.warnings)
    return Drafted(found, profile, report, warnings, table, snapshot)


def _profile(files: list[DataFile], folder: Path) -> Profile:
    import duckdb  # noqa: PLC0415 - likewise

    from lakegate.admission.file_signatures import UnreadableError  # noqa: PLC0415 - likewise
    from lakegate.features.draft.data_profile import profile  # noqa: PLC0415 - likewise
    from lakegate.job.job_storage import Addresses  # noqa: PLC0415 - likewise
    from lakegate.local_check.check_data import part_of  # noqa: PLC0415 - likewise

    pins = {file.name: file.pin for file in files if file.pin is not None}
    parts = tuple(part_of(file, folder / "profiled", number) for number, file in enumerate(files))
    try:
        with terminal.bytes_arriving("reading every record", sum(part.size for part in parts)) as read:
            return profile(parts, Addresses(pins), folder, read)
    except UnreadableError as error:
        at = error.finding.part
        where = _show_files(files) if at is None else files[at].shown
        raise InputError(f"{where}: {error.finding.message}") from None
    except (duckdb.Error, MemoryError) as error:
        raise SetUpError(f"the engine could not finish ({type(error).__name__}): free memory and disk space") from None


def _show_files(files: list[DataFile]) -> str:
    """The file, or the number of files where a fault is that of no single one."""
    return files[0].shown if len(files) == 1 else plural(len(files), "file")


def _result(target: str, drafted: Drafted) -> DraftedContract:
    draft, judgement = drafted.draft, drafted.report.judgement
    file, text = (None, draft.text) if target == STANDARD_OUTPUT else (target, None)
    return DraftedContract(
        file,
        text,
        draft.dataset,
        drafted.profile.storage.format.value,
        drafted.profile.rows,
        draft.columns,
        draft.suggestions,
        draft.faults,
        draft.left_out,
        draft.as_text,
        tuple(drafted.warnings),
        judgement.verdict.value,
        tuple(reason.message for reason in judgement.reasons),
    )


def _found(draft: Draft) -> list[str]:
    """What of the data the draft does not repeat, or not as what it is."""
    return [
        *(f"found: {entry}" for entry in draft.faults[:MAX_SHOWN]),
        *(f"left out: {entry}" for entry in draft.left_out[:MAX_SHOWN]),
        *(f"drafted as text: {entry}" for entry in draft.as_text[:MAX_SHOWN]),
    ]


def _verdict(drafted: Drafted) -> list[str]:
    """The verdict of the draft on its own data, with its reasons."""
    judgement, checks = drafted.report.judgement, len(drafted.report.plan.checks)
    reasons = [reason.message for reason in judgement.reasons]
    more = [f"{len(reasons) - MAX_SHOWN:,} more: lakegate check names them"] if len(reasons) > MAX_SHOWN else []
    return [
        f"The data is {judgement.verdict.value.replace('_', ' ')} by it ({plural(checks, 'check')}).",
        *(f"    {entry}" for entry in [*reasons[:MAX_SHOWN], *more]),
    ]


def _words(target: str, drafted: Drafted) -> list[str]:
    draft, profile, data = drafted.draft, drafted.profile, list(drafted.report.files)
    source = profile.storage.title if drafted.table is None else data[0]
    if drafted.table is not None:
        data = ["--table", drafted.table, *([] if drafted.snapshot is None else ["--snapshot", drafted.snapshot])]
    return [
        *_found(draft),
        (
            f"{target}: drafted from {plural(profile.rows, 'row')} of {source}: "
            f"{plural(draft.columns, 'column')}, {plural(draft.suggestions, 'suggestion')}"
        ),
        *_verdict(drafted),
        *(f"lint: {warning}" for warning in drafted.warnings[:MAX_SHOWN]),
        "Next: correct every line with `suggested`, then",
        f"    lakegate lint {quote(target)}",
        f"    lakegate check --contract {quote(target)} {' '.join(map(quote, data))}",
    ]


# ---- `lakegate new` ----


NEW_NAME = "The name of the contract and its dataset."


@command
def new(
    name: Annotated[str, Argument(help=NEW_NAME)] = "payments",
    owner: Annotated[str, OWNER] = "my-team",
    output: Output = None,
    as_json: AsJson = False,
) -> CommandResult[ExampleContract]:
    """Write an example of a contract (ODCS 3.1) with every kind of promise, and comments.

    Example: lakegate new payments --owner finance
    """
    from lakegate.base.text import dataset_name  # noqa: PLC0415 - yaml and more, for this command alone

    target = output if output is not None else f"{dataset_name(name)}{SUFFIX}"
    writable(target)
    text = example(name, owner)
    write_draft(target, text, as_json=as_json)
    lines = (
        f"{target}: written",
        "Next: replace the example by your promises, then",
        f"    lakegate lint {quote(target)}",
    )
    is_printed = target == STANDARD_OUTPUT
    result = ExampleContract(None, text) if is_printed else ExampleContract(target, None)
    return CommandResult(result, () if is_printed else lines)


def example(name: str, owner: str) -> str:
    """The example with a name and an owner, both escaped."""
    from lakegate.base.text import dataset_name  # noqa: PLC0415 - likewise
    from lakegate.contract.documents.yaml_writer import comment, for_editors, scalar  # noqa: PLC0415 - likewise
    from lakegate.features.draft.draft_contract import VERSION  # noqa: PLC0415 - likewise

    text = (files("lakegate.features.draft") / "contract.odcs.yaml").read_text(encoding="utf-8")
    dataset = dataset_name(name)
    values = {
        "# @SCHEMA@": "\n".join(comment(editor.text) for editor in for_editors(VERSION)),
        "@ID@": scalar(dataset.replace("_", "-")),
        "@DATASET@": dataset,
        "@OWNER@": scalar(owner),
        "@NAME@": scalar(name),
    }
    return re.sub("|".join(values), lambda match: values[match[0]], text)
