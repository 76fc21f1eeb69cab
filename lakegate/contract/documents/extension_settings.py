"""`lakegate` extension: each setting with form and default."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import Any, Final, get_args

from lakegate.base.json_codec import Bounds, DocumentField, limits, members_of
from lakegate.base.text import did_you_mean, join_words, quote
from lakegate.contract.contract_model import NOTICE_DAYS, ParentReference, Rule, Severity
from lakegate.contract.delivery_policy import (
    ADDED,
    MAX_FULL_NAME,
    MAX_INPUT_COLUMNS,
    MAX_INPUTS,
    MAX_QUERY,
    QUARANTINE_DAYS,
    WORKFLOW,
    Derivation,
    DerivationInput,
    InputColumn,
    Policy,
    Pull,
    Replaces,
)
from lakegate.contract.documents.document_tree import Notes, Place
from lakegate.contract.file_formats import (
    DECIMAL_SEPARATORS,
    ENCODINGS,
    LONGEST_PATH,
    MOST_SKIPPED,
    THOUSANDS_SEPARATORS,
    Csv,
    Format,
    NullWords,
    Storage,
)
from lakegate.contract.logical_types import LogicalType, decimal_scale
from lakegate.contract.name_times import WRITTEN, pattern_of

# ---- Values of the extension ----


REQUIREMENTS = ("owner", "classified-personal-data")
"""Requirements of a contract for itself and for those that inherit from it (`lakegate.lints.metadata_lints`)."""
_ADDRESS = (
    r"https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/[!$-~]{0,2000}|"
    r"sftp://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/[!$->@-~]{1,1024}|"
    r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[!-~]{1,1024}|"
    r"iceberg://[a-z0-9_-]{1,255}/[a-z0-9_-]{1,255}\?(branch=(?!main$)[A-Za-z0-9_.-]{1,128}|wap=[*])"
)

PULL = {
    "source": (
        _ADDRESS,
        (
            "`https://HOST/PATH` or `sftp://HOST/PATH` without user and password, `s3://BUCKET/KEY`, or of a table of Iceberg a "
            "branch beside main, `iceberg://DATABASE/TABLE?branch=NAME`, or what is staged for main, `?wap=*`, in ASCII "
            "(`http://HOST/PATH` and `ftp://HOST/PATH` with `unencrypted: true`; a table of Delta has no branches)"
        ),
    ),
    "schedule": (r"(rate|cron)\([ -~]{1,200}\)", "`rate(1 hour)` or `cron(0 6 * * ? *)`"),
    "secret": (
        r"[A-Za-z0-9_-]{1,64}",
        "the name of a secret behind the stack's prefix: 1 to 64 letters, digits, `-` and `_`",
    ),
    "unencrypted": ("true", "`true`: anybody on the way can read and change what is fetched"),
    "member": ("[ -~]{1,200}", "the name of a file in an archive, in ASCII, or its pattern, such as `data/*.csv`"),
    "rows": (f"all|{ADDED}", "`all` or `added`, of a table: the rows that are judged"),
}
"""The keys of `pull`, each with its pattern and its description."""
UNENCRYPTED = {
    "source": (
        "|".join(_ADDRESS.replace("https:", "http:").replace("sftp:", "ftp:").split("|")[:2]),
        "`http://HOST/PATH` or `ftp://HOST/PATH` with `unencrypted`",
    ),
}
"""Those that have another pattern with `unencrypted`."""


class InvalidValueError(Exception):
    """The key does not accept the value; the message names the values it accepts."""

    def __init__(self, expected: str, at: Place | None = None) -> None:
        super().__init__(expected)
        self.at = at
        """The place of the value, if it is a part of the key's."""


Parser = Callable[["Place"], Any]


def one_of(enum: type[Enum], *hidden: Enum) -> Parser:
    """A value of an enumeration, but the hidden ones."""

    def parse(place: Place) -> Enum:
        known = [str(entry.value) for entry in enum if entry not in hidden]
        if place.text not in known:
            raise InvalidValueError(f"one of {join_words(known)}")
        return enum(place.text)

    return parse


def flag(place: Place) -> bool:
    """`true` or `false`."""
    if place.flag is None:
        raise InvalidValueError("`true` or `false`")
    return place.flag


def share(place: Place) -> Decimal:
    """From 0 to 1."""
    if place.number is None or not 0 <= place.number <= 1:
        raise InvalidValueError("a number from 0 to 1")
    return place.number


def count(place: Place) -> int:
    """A whole number from 1."""
    if place.number is None or place.number < 1 or place.number % 1:
        raise InvalidValueError("a whole number from 1")
    return int(place.number)


def count_to(most: int, unit: str = "", least: int = 1) -> Parser:
    """A whole number from a least one to a largest one."""

    def parse(place: Place) -> int:
        if place.number is None or not least <= place.number <= most or place.number % 1:
            raise InvalidValueError(f"a whole number{unit} from {least} to {most:,}")
        return int(place.number)

    return parse


def days(place: Place) -> int:
    """Days of quarantine."""
    if place.number not in QUARANTINE_DAYS:
        raise InvalidValueError(f"one of {join_words(map(str, QUARANTINE_DAYS))}, in days")
    return int(place.number)


def character(place: Place) -> str:
    """One character."""
    if place.text is None or len(place.text) != 1 or place.text in "\r\n\0":
        raise InvalidValueError("one character, in quotes")
    return place.text


def encoding(place: Place) -> str:
    """The encoding of text files."""
    known = ENCODINGS.get((place.text or "").lower().replace("_", "-"))
    if known is None:
        raise InvalidValueError(f"one of {join_words(ENCODINGS)}")
    return known


def texts(place: Place) -> tuple[str, ...]:
    """A list of texts."""
    items = tuple(item.text for item in place.items if item.text is not None)
    if not items or len(items) < len(place.items):
        raise InvalidValueError("a list of texts, each in quotes")
    return items


def texts_by_column(place: Place) -> tuple[NullWords, ...]:
    """A list of texts for each of some columns; an empty one for no text."""
    null_words = []
    for name, entry in place.entries.items():
        items = tuple(item.text for item in entry.items if item.text is not None)
        if not entry.is_list or len(items) < len(entry.items):
            raise InvalidValueError("a list of texts for each column, each in quotes", entry)
        null_words.append(NullWords(name, items))
    if not null_words:
        raise InvalidValueError('a list of texts for each column: `{COLUMN: ["NA"]}`')
    return tuple(sorted(null_words, key=lambda item: item.column))


def one_character_of(*known: str) -> Parser:
    """One of some characters."""

    def parse(place: Place) -> str:
        if place.text not in known:
            raise InvalidValueError(f"one of {join_words(known)}, in quotes")
        return str(place.text)

    return parse


def time_in_name(place: Place) -> str:
    """The place of the time in the name of an object."""
    if place.text is None or pattern_of(place.text) is None:
        raise InvalidValueError(WRITTEN)
    return place.text


def parent(place: Place) -> ParentReference:
    """A contract with its major number."""
    contract, _, major = (place.text or "").rpartition("@")
    if not contract or not re.fullmatch(r"0|[1-9][0-9]{0,8}", major):
        raise InvalidValueError("the id of a contract and a major number: `acme-policies@1`")
    return ParentReference(contract, int(major), place.origin)


def path_of_members(place: Place) -> str:
    """Names of members of an object, of which each is one of the member before it."""
    if len(place.text or "") > LONGEST_PATH or not re.fullmatch(r"[^.\x00-\x1f]+(\.[^.\x00-\x1f]+)*", place.text or ""):
        raise InvalidValueError(
            "the name of a member, or names with points between them, such as `data` or `result.items`"
        )
    return str(place.text)


def column(place: Place) -> str:
    """The name of a column."""
    if not place.text:
        raise InvalidValueError("the name of a column")
    return str(place.text)


def workflow(place: Place) -> str:
    """The name of a workflow."""
    if not re.fullmatch(WORKFLOW, place.text or ""):
        raise InvalidValueError("`push`, or the name and the major number of a published workflow: `strict@1`")
    return str(place.text)


def requirements(place: Place) -> tuple[str, ...]:
    """Requirements of a contract for those that inherit from it."""
    names = texts(place)
    if not set(names) <= set(REQUIREMENTS):
        raise InvalidValueError(f"a list of {join_words(REQUIREMENTS)}")
    return names


def shared_with(place: Place) -> tuple[str, ...]:
    """Contracts of other owners, by patterns of their ids."""
    names = texts(place)
    if not all(re.fullmatch(r"[^*/\r\n]+\*?|\*", name) for name in names):
        raise InvalidValueError(
            'a list of ids of contracts, or of the beginning of ids and a star: `["sales.*", "hr.people"]`'
        )
    return names


def only(value: str) -> Parser:
    """Accepts only one value."""

    def parse(place: Place) -> None:
        if place.text != value:
            raise InvalidValueError(f"{quote(value)} (this version supports no other)")

    return parse


def _is_null(place: Place) -> bool:
    """Whether a dataset says that it has none of what its contract has for all."""
    return not place.entries and (place.node is None or place.node.content is None)


def pull(place: Place) -> Pull | None:
    """Source and schedule of a pull."""
    if _is_null(place):
        return None
    if not place.entries:
        raise InvalidValueError("a mapping with `source`")
    parts: dict[str, str] = {}
    is_plain = place["unencrypted"].flag is True
    patterns = PULL | (UNENCRYPTED if is_plain else {})
    for key, value in place.entries.items():
        if key not in PULL:
            raise InvalidValueError(
                f"no key {quote(key)}, only {join_words(PULL)}.{did_you_mean(key, PULL)}".rstrip("."), value
            )
        pattern, expected = patterns[key]
        parts[key] = "true" if value.flag is True else value.text or ""
        if not re.fullmatch(pattern, parts[key]):
            raise InvalidValueError(f"as `{key}` {expected}", value)
    if "source" not in parts:
        raise InvalidValueError("a mapping with `source`")
    return _pull_of_parts(place, parts)


def _pull_of_parts(place: Place, parts: dict[str, str]) -> Pull:
    """A pull whose values fit their patterns. Raises InvalidValueError where they do not fit each other."""
    if parts["source"].startswith("sftp:") and "secret" not in parts:
        raise InvalidValueError("with a source over SFTP a `secret`: user, password or key, and the server's key")
    is_plain = parts.pop("unencrypted", None) is not None
    if is_plain and "secret" in parts:
        raise InvalidValueError("no `secret` with `unencrypted`: it could be read on the way", place["secret"])
    if parts.get("rows") == "all":
        del parts["rows"]
    return Pull(**parts, unencrypted=is_plain)


DERIVATION = {
    "inputs": "the datasets that the query reads, by their names in it",
    "query": "one SELECT",
    "dialect": "the dialect of the query, such as `duckdb` or `spark`",
    "schedule": PULL["schedule"][1],
}
"""The keys of `derive`, each with its description."""
INPUT = {
    "dataset": "`CONTRACT/DATASET_vN`",
    "columns": "the type of each column that the query reads: `{amount: decimal, placed: timestamp}`",
    "key": "a list of columns that no two rows have alike",
}
"""The keys of an input, likewise."""
MAX_WORD: Final = 206
"""Characters of a schedule."""
LONGEST_NAME: Final = 1_024
DERIVED_TYPES = tuple(kind for kind in LogicalType if kind not in {LogicalType.TIME, LogicalType.BINARY})
"""Types of columns that queries compute with."""
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}), ?([0-9]{1,2})\)")


def derive(place: Place) -> Derivation | None:
    """Inputs, query and schedule of a derived dataset."""
    if _is_null(place):
        return None
    _expect_keys(place, DERIVATION, "query")
    named = {name: _input(name, entry) for name, entry in place["inputs"].entries.items()}
    _expect_names(place["inputs"])
    if not named:
        raise InvalidValueError(f"as `inputs` {DERIVATION['inputs']}: `{{orders: {{dataset: shop/orders_v1, …}}}}`")
    if len(named) > MAX_INPUTS:
        raise InvalidValueError(f"at most {MAX_INPUTS} inputs", place["inputs"])
    parts = {key: place[key].text or "" for key in ("query", "dialect", "schedule") if place[key].present}
    for key, text in parts.items():
        most = MAX_QUERY if key == "query" else MAX_WORD
        is_schedule = key != "schedule" or re.fullmatch(PULL["schedule"][0], text)
        if not text.strip() or len(text) > most or not is_schedule:
            raise InvalidValueError(f"as `{key}` {DERIVATION[key]}", place[key])
    return Derivation(tuple(named.values()), **parts)


def _input(name: str, place: Place) -> DerivationInput:
    _expect_keys(place, INPUT, "dataset")
    dataset = place["dataset"].text or ""
    if len(dataset) > MAX_FULL_NAME or not re.fullmatch(r"[^/\s]+/\S+_v(0|[1-9][0-9]{0,8})", dataset):
        raise InvalidValueError(f"as `dataset` {INPUT['dataset']}", place["dataset"])
    columns = tuple(_input_column(column, each) for column, each in place["columns"].entries.items())
    _expect_names(place["columns"])
    if not columns or len(columns) > MAX_INPUT_COLUMNS:
        raise InvalidValueError(f"as `columns` {INPUT['columns']}", place["columns"])
    key = texts(place["key"]) if place["key"].present else ()
    if unknown := sorted(set(key) - {each.name for each in columns}):
        raise InvalidValueError(f"as `key` columns that the input lists, and not {quote(unknown[0])}", place["key"])
    return DerivationInput(name, dataset, columns, key)


def _expect_names(place: Place) -> None:
    for name, entry in place.entries.items():
        if not 1 <= len(name) <= LONGEST_NAME:
            raise InvalidValueError(f"names of 1 to {LONGEST_NAME:,} characters", entry)


def _input_column(name: str, place: Place) -> InputColumn:
    """A column with its type, of decimals also with digits: `decimal(30,2)`."""
    digits = _DECIMAL.fullmatch(place.text or "")
    if digits is not None:
        return InputColumn(name, LogicalType.DECIMAL, decimal_scale(int(digits[1]), int(digits[2])))
    kind = next((each for each in DERIVED_TYPES if each.value == place.text), None)
    if kind is None:
        raise InvalidValueError(
            f"as type of a column one of {join_words([each.value for each in DERIVED_TYPES])}", place
        )
    return InputColumn(name, kind)


def _expect_keys(place: Place, known: Mapping[str, str], needed: str) -> None:
    for key, value in place.entries.items():
        if key not in known:
            raise InvalidValueError(
                f"no key {quote(key)}, only {join_words(known)}.{did_you_mean(key, known)}".rstrip("."), value
            )
    if needed not in place.entries:
        raise InvalidValueError(f"a mapping with `{needed}`")


# ---- The extension ----
# Each key is one row of a table. An unknown key or an unsupported value is an error: no setting is ignored silently.


EXTENSION = "lakegate"
"""The key of the extension in documents."""


def _keys_of(record: type, *unwritten: str, **parsers: Parser) -> dict[str, tuple[str, Parser]]:
    """The keys that set the fields of a record, but the unwritten ones, with the name of the field and the parser of its type."""
    return {
        re.sub("_(.)", lambda letter: letter[1].upper(), member.name): (
            member.name,
            parsers.get(member.name) or _parser(member),
        )
        for member in members_of(record)
        if member.name not in unwritten
    }


def _parser(member: DocumentField) -> Parser:
    if member.hint is bool:
        return flag
    if isinstance(member.hint, type):
        return one_of(member.hint)
    bounds = (limits(member.hint)[1] or limits(get_args(member.hint)[0])[1])[Bounds]
    return count_to(bounds.most, " of minutes" if member.name.endswith("minutes") else "", bounds.least)


def replacement(place: Place) -> Enum:
    """What a later delivery replaces; rows of the same key are merged instead."""
    try:
        replaces: Enum = one_of(Replaces)(place)
    except InvalidValueError as wrong:
        if place.text != "key":
            raise
        remedy = "for rows with the same key, declare `publishAs: parquet` and `mergeStrategy: upsert` instead"
        raise InvalidValueError(f"{wrong}; {remedy}") from None
    return replaces


POLICY = _keys_of(
    Policy,
    *("merge_key", "file_names"),
    max_rejected_share=share,
    max_bytes=count,
    quarantine_days=days,
    event_time=column,
    replaces=replacement,
    period=column,
    snapshot_time=time_in_name,
    workflow=workflow,
    pull=pull,
    derive=derive,
)
STORAGE = _keys_of(Storage, format=one_of(Format, Format.UNKNOWN), records=path_of_members)
OTHER: dict[str, tuple[str, Parser]] = {
    "critical": ("critical", flag),
    "noticePeriod": ("notice_days", count),
}
OF_CONTRACTS: dict[str, tuple[str, Parser]] = {
    "inherits": ("inherits", parent),
    "require": ("require", requirements),
    "sharedWith": ("shared_with", shared_with),
}
"""The keys of a whole contract."""
OF_DATASETS = ("schema", "models")
"""The keys of the root below which the extension belongs to one dataset."""
CSV: dict[str, tuple[str, Parser]] = {
    "delimiter": ("delimiter", character),
    "quote": ("quote", character),
    "escape": ("", only('"')),
    "header": ("header", flag),
    "encoding": ("encoding", encoding),
    "nullValues": ("null_values", texts),
    "nullValuesByColumn": ("null_values_by_column", texts_by_column),
    "multiLine": ("multi_line", flag),
    "decimalSeparator": ("decimal_separator", one_character_of(*DECIMAL_SEPARATORS)),
    "thousandsSeparator": ("thousands_separator", one_character_of(*THOUSANDS_SEPARATORS)),
    "skipRows": ("skip_rows", count_to(MOST_SKIPPED, least=0)),
}


class Extension:
    """The extension of a dataset: later places override earlier ones (the dataset's override the contract's).

    `served` and `delimiter` are those of the document's servers; the extension overrides them.
    """

    def __init__(
        self, places: list[Place], notes: Notes, served: Format | None = None, delimiter: str | None = None
    ) -> None:
        settings: dict[str, Any] = {}
        csv: dict[str, Any] = {} if delimiter is None else {"delimiter": delimiter}
        for place in places:
            settings |= _read(
                place,
                POLICY | STORAGE | OTHER,
                notes,
                other_keys=("csv", *(() if place.steps[0] in OF_DATASETS else OF_CONTRACTS)),
            )
            csv |= _read(place["csv"], CSV, notes)
        self.declared = frozenset(settings) | frozenset(csv)
        """The settings that the document sets."""
        storage = {name: settings.pop(name) for name in tuple(STORAGE) if name in settings}
        self.critical = bool(settings.pop("critical", True))
        """Whether a broken rule may reject a delivery."""
        self.notice_days = settings.pop("notice_days", NOTICE_DAYS)
        """The days that subscribers have before a new major version takes effect."""
        self.policy = Policy(**settings)
        self.csv = Csv(**csv)
        is_csv = served is None or (served is Format.UNKNOWN and bool(csv))
        undeclared = Format.PARQUET if self.policy.derive else Format.CSV if is_csv else served
        self.storage = Storage(**({"format": undeclared} | storage))

    def graded(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """The rules of the dataset; all are warnings if the dataset is not critical."""
        return tuple(rules if self.critical else (replace(rule, severity=Severity.WARN) for rule in rules))


def inheritance(places: Iterable[Place], notes: Notes) -> dict[str, Any]:
    """The fields `inherits`, `require` and `shared_with` of `Contract`, from the extension of the whole contract."""
    found: dict[str, Any] = {}
    for place in places:
        found |= _read(place, OF_CONTRACTS, notes, other_keys=(*POLICY, *STORAGE, *OTHER, "csv"))
    return found


def _read(
    place: Place, table: dict[str, tuple[str, Parser]], notes: Notes, other_keys: Collection[str] = ()
) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if place.node is not None and place.node.content is not None and not isinstance(place.node.content, Mapping):
        notes.error("extension-value", place, "Write a mapping of keys here.")
    for key, value in place.entries.items():
        if key in table:
            name, parse = table[key]
            try:
                settings[name] = parse(value)
            except InvalidValueError as wrong:
                notes.error("extension-value", wrong.at or value, f"`{key}` takes {wrong}.")
        elif key not in other_keys:
            known = [*table, *other_keys]
            hint = f" Did you mean `csv.{key}`?" if "csv" in known and key in CSV else did_you_mean(key, known)
            hint = hint or f" Known are {join_words(known)}."
            notes.error("extension-key", value, f"The key {quote(key)} is unknown in the extension.{hint}")
    settings.pop("", None)
    return settings
