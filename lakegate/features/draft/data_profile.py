"""Delivery without contract scanned: types, extremes, shapes, keys of columns."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lakegate.admission.file_signatures import BOM, UnreadableError
from lakegate.admission.header import INDEX, cells, first_line, named_twice
from lakegate.contract.contract_model import Shape
from lakegate.contract.file_formats import Csv, Format, NullWords, Storage
from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.engine.evaluate.pattern_search import sql as pattern_sql
from lakegate.engine.evaluate.typed_values import plain_number, text_literal, typed_value
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.data_source import Chunk, Level, Malformed, Source, Store, of_object
from lakegate.engine.read.json import JsonSource, open_json
from lakegate.engine.read.open_delivery import READERS, account_for, open_source
from lakegate.engine.read.read_bounds import refuse_columns
from lakegate.features.draft.detect_format import (
    GUESSED,
    UNKNOWN_ENCODING,
    dialect_below_titles,
    first_names,
    recognise_format,
)
from lakegate.features.draft.found_fields import (
    FoundField,
    Profile,
    ProfiledColumn,
    Spelling,
    Values,
    of_json,
    of_physical,
    planned,
    step_of,
)
from lakegate.features.draft.other_spellings import spelling_of, whole_pattern, with_format, with_separators
from lakegate.features.draft.rows_without_record import remove_rows_without_record
from lakegate.features.draft.suggestions import CODES, FORMS, MAX_WORDS, may_be_key, sounds_like_key
from lakegate.patterns.date_formats import compile_java_format
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import StagedPart
from lakegate.verdict.value_mistakes import NULL_WORDS

if TYPE_CHECKING:
    import duckdb

Key = TypeVar("Key", bound=Hashable)


# ---- Columns of tables of texts ----
# SQL is made of generated names, patterns of our own and literals in hexadecimal alone.


SAMPLE = 500
"""Rows that decide which types are measured over all rows."""
LIKELY = 0.5
ALMOST = 0.95
"""The share of texts that are values of a type, from which on the others seem to be mistakes."""
MAX_SHAPES = 100
LONGEST_WITH_SHAPE = 64
CANDIDATES = (
    LogicalType.BOOLEAN,
    LogicalType.INTEGER,
    LogicalType.NUMBER,
    LogicalType.DATE,
    LogicalType.TIMESTAMP,
    LogicalType.TIME,
)
"""Types of texts, the narrowest first."""
OF_JSON_TEXTS = (LogicalType.DATE, LogicalType.TIMESTAMP, LogicalType.TIME)
ORDERED = frozenset(CANDIDATES) - {LogicalType.BOOLEAN} | {LogicalType.DECIMAL}
LENGTH_OF_COMPACT_DATE = len("20260131")
_NULLS = "|".join(map(re.escape, sorted(NULL_WORDS)))
_LEADING_ZEROS = "-?0[0-9].*"
_FINITE = "CASE WHEN isfinite(try_cast(text AS DOUBLE)) THEN try_cast(text AS DOUBLE) END"
_SHAPE = "regexp_replace(regexp_replace(regexp_replace({0}, '[0-9]', '9', 'g'), '[A-Z]', 'A', 'g'), '[a-z]', 'a', 'g')"


@dataclass(frozen=True, slots=True)
class MeasuredField:
    """A field of one table after measuring."""

    field: PlanField
    type: LogicalType
    present: int
    values: Values
    table: str
    text: str
    """Its text, in SQL over the table."""

    @property
    def meaning(self) -> LogicalType:
        """The type of its values, in whichever spelling."""
        return self.values.meaning(self.type)


def each_text(texts: Sequence[str], table: str) -> str:
    """The values of several columns of texts of a table as rows of a `text` and the `place` of its column, as a query.

    One query of all columns takes as long to plan as one of a single column, and planning takes longer than reading few rows.
    """
    return f"SELECT unnest([{', '.join(texts)}]) AS text, unnest(range({len(texts)})) AS place FROM {table}"  # noqa: S608 - generated names


@dataclass(slots=True)
class LevelTable:
    """One table of texts."""

    connection: duckdb.DuckDBPyConnection
    name: str
    fields: Mapping[PlanField, FoundField]
    format: Format
    csv: Csv = dataclasses.field(default_factory=Csv)
    """The words for null and the separators of numbers, as they are known so far."""
    numbers: frozenset[PlanField] = frozenset()
    """The fields of numbers with the separators of `csv`."""
    words: dict[PlanField, list[str]] = dataclasses.field(default_factory=dict)
    """Words for null that occur, by field."""
    present: dict[PlanField, int] = dataclasses.field(default_factory=dict)
    """Texts, words for null among them, by field."""

    def rows(self) -> int:
        """Records, or elements."""
        return int(self._all(f"SELECT count(*) FROM {self.name}")[0][0])  # noqa: S608 - generated names

    def find_null_words(self) -> set[str]:
        """Words for null in columns whose other texts are all values of one type; only CSV can declare them."""
        if self.format is not Format.CSV:
            return set()
        words = f"list(DISTINCT text) FILTER (WHERE regexp_full_match(text, '{_NULLS}'))"
        seen = self._of_each(self.fields, ["count(text)", words])
        self.present = {key: int(present) for key, (present, _) in seen.items()}
        self.words = {key: found for key, (_, found) in seen.items() if found}
        others = f"text IS NOT NULL AND NOT regexp_full_match(text, '{_NULLS}')"
        counts = ["count(*)", *(f"count({_value(entry)})" for entry in CANDIDATES)]
        found = self._of_each(self.words, [f"{count} FILTER (WHERE {others})" for count in counts])
        valid = {key for key, (present, *values) in found.items() if present and present in values}
        return {word for key in valid for word in self.words[key]}

    def measured(self) -> Iterator[MeasuredField]:
        """Each field: its type, how many values it has, and of values what is known of them."""
        likely = self._likely()
        first: dict[PlanField, MeasuredField] = {}
        for kinds, fields in _group_fields(self.fields, lambda field: likely[field]):
            columns = [
                "count(text)",
                "approx_count_distinct(text)",
                "coalesce(min(length(text)), 0)",
                "coalesce(max(length(text)), 0)",
                f"count(*) FILTER (WHERE regexp_full_match(text, '{_LEADING_ZEROS}'))",
                *(f"count({_value(kind)})" for kind in kinds),
            ]
            for entry, (present, distinct, shortest, longest, zeros, *counts) in self._of_each(fields, columns).items():
                has_zeros = zeros > 0 and self.format is Format.CSV
                kind, almost = _type(
                    self.fields[entry], dict(zip(kinds, counts, strict=True)), present, has_zeros=has_zeros
                )
                values = Values(min(distinct, present), shortest=shortest, longest=longest, almost=almost)
                first[entry] = MeasuredField(entry, kind, present, values, self.name, self.text(entry))
        for key, (spelling, count) in self._find_spellings(first).items():
            is_whole = count == first[key].present
            values = replace(
                first[key].values, **({"spelling": spelling} if is_whole else {"almost_spelled": (spelling, count)})
            )
            first[key] = replace(first[key], type=LogicalType.STRING, values=values)
        yield from self._with_words(self._with_extremes(first)).values()

    def values_like(self, words: Collection[str]) -> Iterator[NullWords]:
        """The columns of texts in which words for null have the form of all other texts, with the words that stay null there."""
        is_other = f"text IS NOT NULL AND text NOT IN ({', '.join(map(text_literal, words))})"
        columns = []
        for word in words:
            shape = re.sub(r"[a-z]", "[a-z]", re.sub(r"(?<!\\)[A-Z]", "[A-Z]", re.escape(word)))
            is_alike = f"regexp_full_match(text, {text_literal(shape)})"
            columns.append(f"coalesce(bool_and({is_alike}) FILTER (WHERE {is_other}), false)")
        for field, alike in self._of_each(self.words, columns).items():
            kept = {word for word, is_alike in zip(words, alike, strict=True) if is_alike and word in self.words[field]}
            if kept:
                yield NullWords(field.column, tuple(text for text in words if text not in kept))

    def text(self, field: PlanField) -> str:
        """The text of a field in SQL; null words are null, and numbers have the separators of the written grammar."""
        words, alias = self.csv.null_words(field.column), field.alias
        if words:
            alias = f"CASE WHEN {alias} NOT IN ({', '.join(map(text_literal, words))}) THEN {alias} END"
        return plain_number(alias, self.csv) if field in self.numbers else alias

    def _likely(self) -> dict[PlanField, tuple[LogicalType, ...]]:
        """The types whose patterns at least half of the first texts match."""
        likely: dict[PlanField, tuple[LogicalType, ...]] = {}
        for kinds, fields in _group_fields(self.fields, self._candidates):
            matches = [f"regexp_full_match(text, '{GRAMMARS[kind].pattern}')" for kind in kinds]
            columns = ["count(text)", *(f"count(*) FILTER (WHERE {entry})" for entry in matches)]
            for key, (present, *counts) in self._of_each(fields, columns, self._first()).items():
                found = zip(kinds, counts, strict=True)
                likely[key] = tuple(kind for kind, count in found if count >= LIKELY * present)
        return likely

    def _first(self) -> str:
        """The first rows, as a query."""
        return f"(SELECT * FROM {self.name} LIMIT {SAMPLE})"  # noqa: S608 - generated names

    def _candidates(self, field: PlanField) -> tuple[LogicalType, ...]:
        found = self.fields[field]
        if found.is_certain or found.shape is not Shape.VALUE or found.type is not LogicalType.STRING:
            return ()
        return CANDIDATES if self.format is Format.CSV else OF_JSON_TEXTS

    def _find_spellings(self, first: Mapping[PlanField, MeasuredField]) -> dict[PlanField, tuple[Spelling, int]]:
        """The fields of which all texts have another spelling, or most, if it has no format; and how many have."""
        seen = self._seen(first)
        spellings: dict[PlanField, tuple[Spelling, int]] = {}
        for (spelling, formats), fields in _group_fields(seen, seen.__getitem__):
            if not formats:
                has_pattern = f"regexp_full_match(text, {text_literal(whole_pattern(spelling))})"
                for key, (count,) in self._of_each(fields, [f"count(*) FILTER (WHERE {has_pattern})"]).items():
                    if count >= ALMOST * first[key].present:
                        spellings[key] = spelling, count
            fitting: dict[PlanField, list[str]] = {}
            for form in formats:
                has_format = pattern_sql(compile_java_format(form), "text")
                for field in self._all_have(self._all_have(fields, has_format, self._first()), has_format):
                    fitting.setdefault(field, []).append(form)
            spellings |= {key: (with_format(spelling, forms), first[key].present) for key, forms in fitting.items()}
        return spellings

    def _seen(self, first: Mapping[PlanField, MeasuredField]) -> dict[PlanField, tuple[Spelling, tuple[str, ...]]]:
        """The spellings of the first texts of fields that are texts, or compact dates, with formats that may fit."""
        kinds = {LogicalType.STRING, LogicalType.INTEGER}
        may = [
            key
            for key, one in first.items()
            if self._candidates(key)
            and one.type in kinds
            and one.values.almost is None
            and (one.type is LogicalType.STRING or one.values.longest == LENGTH_OF_COMPACT_DATE)
        ]
        if not may:
            return {}
        rows = self._all(f"SELECT {', '.join(map(self.text, may))} FROM {self._first()}")  # noqa: S608 - generated names
        found = {}
        for entry, texts in zip(may, zip(*rows, strict=True), strict=False):
            seen = spelling_of([text for text in texts if text is not None])
            if seen is not None and (first[entry].type is LogicalType.STRING or seen[0].code == "compact-date"):
                found[entry] = seen
        return found

    def _all_have(self, fields: Collection[PlanField], condition: str, rows: str = "") -> list[PlanField]:
        """The fields of which all texts meet a condition."""
        found = self._of_each(fields, [f"coalesce(bool_and({condition}), false)"], rows)
        return [key for key, (is_met,) in found.items() if is_met]

    def _with_extremes(self, first: Mapping[PlanField, MeasuredField]) -> dict[PlanField, MeasuredField]:
        """The measured fields with extremes, and of texts with forms."""
        profiles = dict(first)
        with_order = [entry for entry, one in first.items() if self._is_value(entry) and one.type in ORDERED]
        for (kind, is_float), fields in _group_fields(with_order, lambda entry: self._order(entry, first[entry].type)):
            value = _FINITE if is_float else _value(kind)
            extremes = [f"CAST({extreme}({value}) AS VARCHAR)" for extreme in ("min", "max")]
            for item, (low, high) in self._of_each(fields, extremes).items():
                profiles[item] = replace(first[item], values=replace(first[item].values, low=low, high=high))
        patterns = [f"count(*) FILTER (WHERE regexp_full_match(text, '{form}'))" for form in (*FORMS.values(), *CODES)]
        texts = [entry for entry, one in first.items() if self._is_text(one)]
        for key, (low, high, *counts) in self._of_each(texts, ["min(text)", "max(text)", *patterns]).items():
            forms = tuple(zip(FORMS, counts, strict=False))
            codes = tuple(zip(CODES, counts[len(FORMS) :], strict=True))
            values = replace(first[key].values, low=low, high=high, forms=forms, codes=codes)
            profiles[key] = replace(first[key], values=values)
        return profiles

    def _with_words(self, measured: Mapping[PlanField, MeasuredField]) -> dict[PlanField, MeasuredField]:
        """The measured fields with shapes and words, where these are few."""
        profiles = dict(measured)
        texts = [item for item, one in measured.items() if self._is_text(one) and one.present]
        short = [text for text in texts if measured[text].values.longest <= LONGEST_WITH_SHAPE]
        for key, shapes in self._count_texts(short, _SHAPE.format("text"), MAX_SHAPES).items():
            profiles[key] = replace(profiles[key], values=replace(profiles[key].values, shapes=shapes))
        few = [text for text in texts if measured[text].values.distinct <= 2 * MAX_WORDS]
        for entry, words in self._count_texts(few, "text", MAX_WORDS).items():
            profiles[entry] = replace(
                profiles[entry], values=replace(profiles[entry].values, words=words, distinct=len(words))
            )
        return profiles

    def _count_texts(
        self, fields: Collection[PlanField], expression: str, most: int
    ) -> dict[PlanField, tuple[tuple[str, int], ...]]:
        """Texts with their numbers, the most frequent first, of the fields that have at most so many."""
        if not fields:
            return {}
        places, source = list(fields), each_text([*map(self.text, fields)], self.name)
        texts = f"SELECT place, {expression} AS found FROM ({source}) WHERE text IS NOT NULL"  # noqa: S608 - generated names
        few = (
            f"SELECT place, found, count(*) AS n FROM ({texts}) GROUP BY place, found "  # noqa: S608 - likewise
            f"QUALIFY count(*) OVER (PARTITION BY place) <= {most}"
        )
        found: dict[PlanField, list[tuple[str, int]]] = {}
        for place, text, count in self._all(f"SELECT * FROM ({few}) ORDER BY place, n DESC, found"):  # noqa: S608 - likewise
            found.setdefault(places[place], []).append((text, int(count)))
        return {key: tuple(texts) for key, texts in found.items()}

    def _of_each(
        self, fields: Collection[PlanField], columns: Sequence[str], rows: str = ""
    ) -> dict[PlanField, tuple[Any, ...]]:
        """Aggregates of the `text` of each of some fields, over the rows of the table or of a query of it."""
        if not fields:
            return {}
        source, wanted = each_text([*map(self.text, fields)], rows or self.name), ", ".join(columns)
        found = self._all(f"SELECT place, {wanted} FROM ({source}) GROUP BY place")  # noqa: S608 - generated names, patterns of our own
        if not found:
            (of_none,) = self._all(f"SELECT {wanted} FROM (SELECT CAST(NULL AS VARCHAR) AS text WHERE false)")  # noqa: S608 - likewise
            return dict.fromkeys(fields, of_none)
        by_place = {place: values for place, *values in found}
        return {field: tuple(by_place[at]) for at, field in enumerate(fields)}

    def _order(self, field: PlanField, kind: LogicalType) -> tuple[LogicalType, bool]:
        """The type of values, and whether they are floats of the file, of which texts are no numbers of the written grammar."""
        return kind, kind is LogicalType.NUMBER and self.fields[field].is_certain

    def _is_value(self, field: PlanField) -> bool:
        return self.fields[field].shape is Shape.VALUE

    def _is_text(self, field: MeasuredField) -> bool:
        return field.type is LogicalType.STRING and self._is_value(field.field)

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


def _group_fields(fields: Iterable[PlanField], key: Callable[[PlanField], Key]) -> list[tuple[Key, list[PlanField]]]:
    """Fields with the same key."""
    found: dict[Key, list[PlanField]] = {}
    for field in fields:
        found.setdefault(key(field), []).append(field)
    return list(found.items())


def _value(kind: LogicalType) -> str:
    """The value of a `text`, in SQL."""
    return typed_value(PlanField("", "text", kind, None), "text")


def _type(
    field: FoundField, counts: Mapping[LogicalType, int], present: int, *, has_zeros: bool
) -> tuple[LogicalType, tuple[LogicalType, int] | None]:
    """The narrowest type that all texts are values of; of texts also the one that most are values of.

    Numbers with leading zeros are texts: a cast would lose the zeros.
    """
    known = {kind: count for kind, count in counts.items() if not (has_zeros and kind.numeric)}
    whole = next((kind for kind, count in known.items() if present and count == present), None)
    if whole is not None or not known:
        return whole or field.type, None
    best = max(known, key=lambda kind: known[kind])
    return field.type, ((best, known[best]) if known[best] >= ALMOST * present > 0 else None)


# ---- One read of the delivery ----


INCOMING = "incoming"
TOGETHER = 200
"""Columns of one table."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Some fields of one level: a column of texts for each alias. Tables of a level have their rows in one order."""

    name: str
    level: Level
    fields: tuple[PlanField, ...]


@dataclass(frozen=True, slots=True)
class TextTables:
    """A delivery as tables of texts."""

    plan: Plan
    fields: tuple[FoundField, ...]
    tables: tuple[TextTable, ...]
    malformed: int


def read(
    connection: duckdb.DuckDBPyConnection, parts: tuple[StagedPart, ...], store: Store, taken: Callable[[int], None]
) -> TextTables:
    """The delivery as tables; UnreadableError where no contract could accept it.

    A CSV file with bytes of another encoding, or with open quotes, is read again in the dialect that has them.
    """
    storage, heads = recognise_format(parts, store)
    plan, fields = _plan(storage, parts, store, heads)
    best, reasons = _load_tables(connection, plan, fields, parts, store, taken)
    if "encoding" in reasons and plan.csv.encoding == GUESSED:
        raise UnreadableError("encoding", UNKNOWN_ENCODING.format("a line"))
    last = best
    for cause, other in _other_dialects(plan, reasons, heads):
        last, remaining = _load_tables(connection, other, fields, parts, store, lambda _: None)
        if last.malformed < best.malformed and cause not in remaining:
            best = last
    return best if best is last else _load_tables(connection, best.plan, fields, parts, store, lambda _: None)[0]


def _plan(
    storage: Storage, parts: tuple[StagedPart, ...], store: Store, heads: list[bytes]
) -> tuple[Plan, tuple[FoundField, ...]]:
    plan = Plan("draft", "0.0.0", "data", (), (), storage=storage)
    filled = next(number for number, part in enumerate(parts) if part.size)
    if storage.format is Format.CSV:
        csv = dialect_below_titles(heads, filled)
        with of_object(filled):
            line = first_line(heads[filled], csv)
            names = cells(line, csv.delimiter, csv.quote) if csv.header else first_names(line, csv)
            refuse_columns(len(names))
        fields = tuple(FoundField(name, LogicalType.STRING) for name in names)
        plan = replace(plan, csv=csv)
    elif storage.format in READERS:
        with of_object(filled):
            schema = READERS[storage.format](store).described(parts[filled].uri).schema
        fields = tuple(of_physical(*part) for part in schema.parts)
    else:
        try:
            fields = of_json(_json_texts(open_json(plan, parts, store, heads)))
        except UnreadableError:
            if not storage.records:
                raise
            # the first line of JSON lines, longer than the beginning that was looked at, is such an object, too
            plan = replace(plan, storage=Storage(Format.JSONL, storage.compression))
            fields = of_json(_json_texts(open_json(plan, parts, store, heads)))
    return replace(plan, fields=tuple(planned(fields).values())), fields


def _json_texts(source: JsonSource) -> Iterator[list[bytes]]:
    for share in source.shares:
        with of_object(share.part):
            for texts, _ in source.texts(share):
                yield texts


def _load_tables(  # noqa: PLR0913, PLR0917 - a delivery, and how and where it is read
    connection: duckdb.DuckDBPyConnection,
    plan: Plan,
    fields: tuple[FoundField, ...],
    parts: tuple[StagedPart, ...],
    store: Store,
    taken: Callable[[int], None],
) -> tuple[TextTables, frozenset[str]]:
    """The tables of a delivery, and the reasons of its malformed records."""
    found = [field.name for field in fields]
    if len(set(found)) < len(found):
        raise UnreadableError("header", named_twice(found))
    source = open_source(plan, parts, store)
    # tables of few columns: a query of a few columns of a wide table would take as long as one of all of them
    levels = dict.fromkeys(field.level for field in plan.fields)
    tables = tuple(
        TextTable(f"level{number}_{at}", level, of_level[at : at + TOGETHER])
        for number, level in enumerate(levels)
        for of_level in [tuple(field for field in plan.fields if field.level == level)]
        for at in range(0, len(of_level), TOGETHER)
    )
    for table in tables:
        names = ", ".join(f"{field.alias} VARCHAR" for field in table.fields)
        connection.execute(f"CREATE OR REPLACE TABLE {table.name} ({names})")
    bad: list[Malformed] = []
    for chunk in _chunks(source, parts, taken):
        for entry in tables:
            _insert(connection, source, entry, chunk)
        bad += chunk.malformed
    malformed = sum(item.rows for item in bad)
    return TextTables(plan, fields, tables, malformed), frozenset(item.reason for item in bad)


def _chunks(source: Source, parts: tuple[StagedPart, ...], taken: Callable[[int], None]) -> Iterator[Chunk]:
    """All chunks; `taken` is called with bytes (of tables, in proportion to their rows)."""
    units, size = max(1, sum(source.sizes)), sum(part.size for part in parts)
    done, read = 0, [0] * len(parts)
    for share in source.shares:
        with of_object(share.part):
            for chunk in source.chunks(share):
                yield chunk
                read[share.part] += chunk.size
                before, done = size * done // units, done + chunk.size
                taken(size * done // units - before)
    account_for(source, read)


def _insert(connection: duckdb.DuckDBPyConnection, source: Source, table: TextTable, chunk: Chunk) -> None:
    incoming = chunk.levels[table.level] if table.level else chunk.records
    if incoming.num_rows == 0:
        return
    texts = ", ".join(source.expressions[field.alias].text for field in table.fields)
    named = frozenset(re.findall(r"\w+", texts))
    # Of a wide file, the time to register all columns is that of all others; where each value is null, none is named.
    read = [name for name in incoming.column_names if name in named] or incoming.column_names[:1]
    connection.register(INCOMING, incoming.select(read))
    connection.execute(f"INSERT INTO {table.name} SELECT {texts} FROM {INCOMING}")  # noqa: S608 - generated names
    connection.unregister(INCOMING)


def _other_dialects(plan: Plan, reasons: frozenset[str], heads: Sequence[bytes]) -> Iterator[tuple[str, Plan]]:
    """The plan with another encoding, or with line breaks in values, where records are malformed for want of it: the reason.

    A file that begins with characters of UTF-8 beyond ASCII has no other encoding.
    """
    csv = plan.csv
    if "encoding" in reasons and all(head.removeprefix(BOM).isascii() for head in heads):
        yield "encoding", replace(plan, csv=replace(csv, encoding=GUESSED))
    if "quotes" in reasons and not csv.multi_line:
        yield "quotes", replace(plan, csv=replace(csv, multi_line=True))


# ---- Unique columns and pairs ----


NEAR = 0.9
"""Estimated numbers of distinct values are exact to a few percent: only columns near the number of rows are counted."""
MAX_COLUMNS, MAX_PAIRS = 16, 30
UNIQUE_SAMPLE = 20_000
DENSE = 5
"""The distance of the numbers of rows, on average, from which on they do not count them."""
MAX_GAPS = 5
"""Different distances between the moments of a regular series: of months 28 to 31 days, and an hour of summer time."""


def unique_columns(
    connection: duckdb.DuckDBPyConnection, measured: Sequence[MeasuredField], rows: int
) -> tuple[str, ...]:
    """The columns that have a value in each of the rows, and none twice; moments only of a regular series, not by chance."""
    near = [field for field in measured if rows > 1 and field.present == rows and field.values.distinct >= NEAR * rows]
    members = set()
    for table in dict.fromkeys(field.table for field in near):
        of_table = [field for field in near if field.table == table]
        source = each_text([field.text for field in of_table], table)
        query = (
            f"SELECT place FROM (SELECT DISTINCT place, text FROM ({source})) GROUP BY place HAVING count(*) = {rows}"  # noqa: S608 - generated names
        )
        members |= {of_table[place] for (place,) in connection.execute(query).fetchall()}
    return tuple(
        field.field.column
        for field in near
        if field in members and (field.meaning is not LogicalType.TIMESTAMP or _is_regular(connection, field))
    )


def rising_columns(
    connection: duckdb.DuckDBPyConnection, measured: Sequence[MeasuredField], unique: Collection[str]
) -> Iterator[str]:
    """The unique columns of whole numbers that count the rows: each first one is larger than the one before, by little."""
    numbers = [
        field
        for field in measured
        if field.field.column in unique
        and field.type is LogicalType.INTEGER
        and int(field.values.high or 0) - int(field.values.low or 0) < DENSE * field.present
        and not INDEX.fullmatch(field.field.column)
    ][:MAX_COLUMNS]
    for table in dict.fromkeys(field.table for field in numbers):
        own = [field for field in numbers if field.table == table]
        values = [f"try_cast({field.text} AS BIGINT)" for field in own]
        steps = ", ".join(f"{value} > lag({value}) OVER (ORDER BY rowid) AS s{at}" for at, value in enumerate(values))
        first = f"SELECT {steps} FROM (SELECT rowid, * FROM {table} LIMIT {UNIQUE_SAMPLE})"  # noqa: S608 - generated names
        rises = ", ".join(f"bool_and(s{at})" for at in range(len(own)))
        ((*found,),) = connection.execute(f"SELECT {rises} FROM ({first})").fetchall()  # noqa: S608 - likewise
        yield from (field.field.column for field, is_rising in zip(own, found, strict=True) if is_rising)


def unique_pairs(
    connection: duckdb.DuckDBPyConnection, measured: Sequence[MeasuredField], rows: int
) -> tuple[tuple[str, str], ...]:
    """The pairs of columns without nulls that are unique together: names of keys first, then few combinations."""
    # a column that is nearly unique by itself is no part of a key: it has mistakes, which another column hides
    full = [
        field
        for field in measured
        if rows > 1
        and field.present == rows
        and (field.meaning is LogicalType.TIME or may_be_key(field.field.column, field.meaning))
        and (field.values.distinct > 1 and (field.values.distinct < NEAR * rows or sounds_like_key(field.field.column)))
    ]
    chosen = sorted(full, key=lambda field: not sounds_like_key(field.field.column))[:MAX_COLUMNS]
    pairs = [combination for combination in combinations(chosen, 2) if _combinations(combination) >= NEAR * rows]
    pairs.sort(key=lambda pair: (sum(not sounds_like_key(entry.field.column) for entry in pair), _combinations(pair)))
    likely = [pair for pair in pairs if _is_unique(connection, pair, min(rows, UNIQUE_SAMPLE), UNIQUE_SAMPLE)][
        :MAX_PAIRS
    ]
    order = {field.field.column: at for at, field in enumerate(measured)}
    columns = [tuple(entry.field.column for entry in pair) for pair in likely if _is_unique(connection, pair, rows)]
    return tuple((one, other) if order[one] < order[other] else (other, one) for one, other in columns)


def _combinations(pair: tuple[MeasuredField, ...]) -> int:
    return pair[0].values.distinct * pair[1].values.distinct


def _is_unique(
    connection: duckdb.DuckDBPyConnection, columns: tuple[MeasuredField, ...], rows: int, sample: int | None = None
) -> bool:
    texts = ", ".join(f"{column.text} AS k{at}" for at, column in enumerate(columns))
    tables = " POSITIONAL JOIN ".join(dict.fromkeys(column.table for column in columns))
    limit = "" if sample is None else f"LIMIT {sample}"
    keys = ", ".join(f"k{at}" for at in range(len(columns)))
    query = f"SELECT count(*) FROM (SELECT 1 FROM (SELECT {texts} FROM {tables} {limit}) GROUP BY {keys})"  # noqa: S608 - generated names
    ((groups,),) = connection.execute(query).fetchall()
    return bool(groups == rows)


def _is_regular(connection: duckdb.DuckDBPyConnection, field: MeasuredField) -> bool:
    if field.type is not field.meaning:
        return False
    moments = f"SELECT {_value(field.type)} AS moment FROM (SELECT {field.text} AS text FROM {field.table})"  # noqa: S608 - generated names
    gaps = f"SELECT moment - lag(moment) OVER (ORDER BY moment) AS gap FROM ({moments})"  # noqa: S608 - likewise

    ((found,),) = connection.execute(f"SELECT count(DISTINCT gap) FROM ({gaps})").fetchall()  # noqa: S608 - likewise
    return bool(found <= MAX_GAPS)


# ---- The profile ----


def profile(
    parts: tuple[StagedPart, ...], store: Store, folder: Path, taken: Callable[[int], None] = lambda _: None
) -> Profile:
    """The profile of files, which are one delivery; what does not fit into memory is spilled below `folder`.

    `taken` is called with numbers of bytes while they are read. UnreadableError where no contract could accept the files,
    duckdb.Error where memory or disk do not suffice.
    """
    with database(folder) as connection:
        texts = read(connection, parts, store, taken)
        fields = dict(
            zip(
                texts.plan.fields,
                [*texts.fields, *(part for field in texts.fields for part in _inner(field))],
                strict=True,
            )
        )
        tables = [
            LevelTable(
                connection, table.name, {field: fields[field] for field in table.fields}, texts.plan.storage.format
            )
            for table in texts.tables
        ]
        words = tuple(sorted({word for table in tables for word in table.find_null_words()}))
        records = {table.name: table.present for table, of in zip(tables, texts.tables, strict=True) if not of.level}
        without_record = remove_rows_without_record(connection, records, tables[0].rows(), texts.plan.csv)
        own = [null_words for table in tables for null_words in table.values_like(words)] if words else []
        csv = replace(
            texts.plan.csv, null_values=words, null_values_by_column=tuple(sorted(own, key=lambda entry: entry.column))
        )
        rows = {entry.level: table.rows() for entry, table in zip(texts.tables, tables, strict=True)}
        by_place = _measure_tables(tables, csv, frozenset())
        spelled = [value for value in by_place.values() if value.values.spelling and value.values.spelling.separators]
        plain = any(value.type is LogicalType.NUMBER for value in by_place.values())
        other = with_separators(csv, [value.values.spelling for value in spelled if value.values.spelling])
        can_declare = texts.plan.storage.format is Format.CSV
        if other is not None and can_declare and (other.decimal_separator == "." or not plain):
            again = _measure_tables(tables, other, frozenset(value.field for value in spelled))
            if all(again[value.field.place].present == value.present for value in spelled):
                csv, by_place = other, again
        values = [by_place[(f".{field.name}",)] for field in texts.fields if field.shape is Shape.VALUE]
        unique = unique_columns(connection, values, rows[()])
        rising = tuple(rising_columns(connection, values, unique))
        kinds = {value.field.column: value.meaning for value in values}
        has_key = bool(rising) or any(may_be_key(name, kinds[name]) for name in unique)
        pairs = () if has_key else unique_pairs(connection, values, rows[()])
    return Profile(
        texts.plan.storage,
        csv,
        rows[()],
        len(parts),
        tuple(_column(field, (f".{field.name}",), rows[()], by_place, rows) for field in texts.fields),
        unique,
        rising,
        pairs,
        texts.malformed,
        without_record,
    )


def _measure_tables(tables: Sequence[LevelTable], csv: Csv, numbers: frozenset[PlanField]) -> ByPlace:
    """The fields of all tables by their places, read with a dialect."""
    profiles: ByPlace = {}
    for table in tables:
        table.csv, table.numbers = csv, numbers
        profiles |= {one.field.place: one for one in table.measured()}
    return profiles


def _inner(field: FoundField) -> list[FoundField]:
    return [one for part in field.parts for one in (part, *_inner(part))]


def _column(
    field: FoundField, place: tuple[str, ...], around: int, by_place: ByPlace, rows: dict[Level, int]
) -> ProfiledColumn:
    """A field with its parts; `around` is the number of its rows."""
    own = by_place[place]
    inner = [(part, (*place, step_of(part, field))) for part in field.parts]
    parts = tuple(
        _column(
            part, at, own.present if field.shape is Shape.RECORD else rows[by_place[at].field.level], by_place, rows
        )
        for part, at in inner
    )
    return ProfiledColumn(
        field.name,
        own.type,
        field.shape,
        field.is_certain,
        field.physical,
        around,
        own.present,
        own.values,
        parts,
        field.others,
        field.strays,
    )


if TYPE_CHECKING:
    ByPlace = dict[tuple[str, ...], MeasuredField]
