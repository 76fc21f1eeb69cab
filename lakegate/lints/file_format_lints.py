"""Contradictory settings of file format, CSV and delivery."""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.base.text import closest, join_words, quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.delivery_policy import DeliveryUnit, OnReject
from lakegate.contract.documents.document_root import served_format
from lakegate.contract.documents.document_tree import Document
from lakegate.contract.documents.extension_settings import EXTENSION
from lakegate.contract.file_formats import Compression, Format
from lakegate.lints.findings import Finding, extensions_of, settings_of


def csv_conflict(_contract: Contract, document: Document) -> Iterator[Finding]:
    """The delimiter is not the quote, and the thousands separator is no other separator."""
    for place in extensions_of(document):
        csv = place["csv"]
        delimiter, quote_sign = csv["delimiter"].text or ",", csv["quote"].text or '"'
        if csv.present and delimiter == quote_sign:
            message = f"{quote(delimiter)} cannot part values and enclose them: choose another for one of the two."
            yield csv.path, message
        decimal, thousands = csv["decimalSeparator"].text or ".", csv["thousandsSeparator"].text
        if thousands == decimal:
            other = "," if decimal == "." else "."
            words = f"{quote(decimal)} cannot part thousands and the fraction of a number"
            yield csv.path, f"{words}: declare `decimalSeparator: {other!r}`, or another `thousandsSeparator`."
        if quote_sign in {decimal, thousands}:
            message = (
                f"{quote(quote_sign)} cannot stand in numbers and enclose values: choose another for one of the two."
            )
            yield csv.path, message


ALIKE = 0.85
"""The least similarity of a name to that of the extension: other tools have names of their own."""
OWNERS = ("customProperties", "config", "specific")
"""The keys below which formats have what they do not define."""


def unread_extension(_contract: Contract, document: Document) -> Iterator[Finding]:
    """The extension is read at the contract and at its datasets, under its own name: elsewhere no setting has an effect."""
    read = {place.path for place in extensions_of(document)}
    for owner in document.named(*OWNERS):
        custom = ((item["property"].text or "", item["value"]) for item in owner.items)
        for name, place in (*custom, *owner.entries.items()):
            first = "".join(filter(str.isalpha, name.partition(".")[0].casefold()))
            if place.path in read or closest(first, [EXTENSION], ALIKE) is None:
                continue
            if name == EXTENSION:
                words = "is read at the contract and at its datasets, not here: move it there"
            else:
                words = f"is named {quote(EXTENSION)}, with a mapping of its keys: {quote(name)} is not read"
            yield place.path, f"The extension of this tool {words}."


def idle_share(contract: Contract, document: Document) -> Iterator[Finding]:
    """A largest share of refused rows matters only where rows are refused one by one."""
    for place, datasets in settings_of(contract, document, "maxRejectedShare"):
        if all(dataset.policy.on_reject.value != "rows" for dataset in datasets):
            yield place.path, "Whole files are refused, so no share counts: add `onReject: rows`."


DELIVERY_TIMES = {
    "quietMinutes": frozenset({DeliveryUnit.QUIET}),
    "partsWithinMinutes": frozenset({DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST}),
}
"""The settings of the extension that are used only with some ways of delivering."""


def csv_beside_format(contract: Contract, document: Document) -> Iterator[Finding]:
    """CSV settings are used only for CSV files."""
    none_is_csv = all(dataset.storage.format is not Format.CSV for dataset in contract.datasets)
    for place in extensions_of(document):
        is_other = place["format"].text not in {None, Format.CSV.value}
        if place["csv"].entries and (is_other or none_is_csv):
            yield place["csv"].path, "No file of this contract is CSV: remove `csv`, or say `format: csv`."


def null_column(contract: Contract, document: Document) -> Iterator[Finding]:
    """`nullValuesByColumn` names columns."""
    columns = {field.own_name for dataset in contract.datasets for field in dataset.fields}
    for place in extensions_of(document):
        for name, words in place["csv"]["nullValuesByColumn"].entries.items():
            if name not in columns:
                yield words.path, f"{quote(name)} is no column: name one of the dataset, as the file has it."


def compressed_inside(contract: Contract, document: Document) -> Iterator[Finding]:
    """Files with internal compression (Parquet, ORC, Avro) are not compressed again."""
    for place, datasets in settings_of(contract, document, "compression"):
        if any(
            not dataset.storage.format.is_text and dataset.storage.compression is not Compression.NONE
            for dataset in datasets
        ):
            yield place.path, "Parquet, ORC and Avro have internal compression: remove `compression`."


def records_beside_format(contract: Contract, document: Document) -> Iterator[Finding]:
    """`records` is used only for files that are one JSON object each (`format: json`)."""
    for place, datasets in settings_of(contract, document, "records"):
        if any(dataset.storage.format is not Format.JSON for dataset in datasets):
            yield (
                place.path,
                "Records stand in a member of one JSON object only: say `format: json`, or remove `records`.",
            )


def unsplittable_rows(contract: Contract, document: Document) -> Iterator[Finding]:
    """Single rows are rejected only in formats whose rows can be written to separate files."""
    for place, datasets in settings_of(contract, document, "onReject"):
        if any(dataset.policy.on_reject is OnReject.ROWS and not dataset.storage.splits_rows for dataset in datasets):
            words = "Rows of a JSON array or object, or of a file packed with zstd, cannot be split"
            yield place.path, f"{words}: deliver `jsonl`, pack with `gzip`, or refuse whole files."


def idle_delivery_setting(contract: Contract, document: Document) -> Iterator[Finding]:
    """Times of deliveries of parts are used only with the `delivery` that they belong to."""
    for key, used in DELIVERY_TIMES.items():
        for place, datasets in settings_of(contract, document, key):
            if not used & {dataset.policy.delivery for dataset in datasets}:
                wanted = join_words(f"`delivery: {entry.value}`" for entry in sorted(used, key=lambda item: item.value))
                yield place.path, f"`{key}` has an effect only with {wanted}: remove it, or set `delivery`."


def format_left_open(_contract: Contract, document: Document) -> Iterator[Finding]:
    """Formats that servers name agree on one that is read, or the extension names it."""
    servers = document.top["servers"]
    named = [entry for entry in (*servers.items, *servers.entries.values()) if entry["format"].present]
    extensions = [place for place in extensions_of(document) if place["format"].present or place["csv"].entries]
    if served_format(servers) is not Format.UNKNOWN or extensions:
        return
    formats = list(dict.fromkeys(quote(entry["format"].text) for entry in named))
    problem = "is not read" if len(formats) == 1 else "differ or are not read"
    words = f"{' and '.join(formats)} {problem} here, so that every delivery is refused"
    yield f"{named[0].path}.format", f"{words}: say `format` in the `lakegate` extension."


def parts_in_csv(contract: Contract, _document: Document) -> Iterator[Finding]:
    """CSV has no nested fields: their rules are skipped."""
    for dataset in contract.datasets:
        for rule in dataset.rules if dataset.storage.format is Format.CSV else ():
            if rule.kind == "nested" and "option" not in rule.arguments:
                words = f"CSV has no parts of values, so that those of {quote(rule.fields[0])} are only named"
                yield rule.origin.path, f"{words}: say which `format` is delivered in the `lakegate` extension."
