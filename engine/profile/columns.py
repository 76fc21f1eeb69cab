"""Measures columns of tables of texts: types by the written grammar, extremes, shapes, few words, forms of personal data.

SQL is made of generated names, patterns of our own and literals in hexadecimal alone.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakegate.contracts.compile.rules.javadates import compile_java_format
from lakegate.contracts.draft.personal import FORMS
from lakegate.contracts.draft.profile import Spelling, Values
from lakegate.contracts.draft.shapes import CODES
from lakegate.contracts.draft.suggestions import MAX_WORDS
from lakegate.contracts.judge.value_mistakes import NULL_WORDS
from lakegate.contracts.model.storage import Csv, Format, NullWords
from lakegate.contracts.model.types import GRAMMARS, LogicalType
from lakegate.contracts.plan.plan import PlanField, Shape
from lakegate.engine.evaluate.patterns import sql as pattern_sql
from lakegate.engine.profile.spellings import spelling_of, whole_pattern, with_format
from lakegate.engine.type.values import plain_number, text_literal, typed_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import duckdb

    from lakegate.engine.profile.fields import FoundField

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
_PATTERNS = {each: re.compile(GRAMMARS[each].pattern or "") for each in CANDIDATES}
_NULLS = "|".join(map(re.escape, sorted(NULL_WORDS)))
_LEADING_ZEROS = "-?0[0-9].*"
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
        return self.type if self.values.spelling is None else self.values.spelling.type


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
    spellings: dict[PlanField, tuple[Spelling, tuple[str, ...]]] = dataclasses.field(default_factory=dict)
    """What the first texts of fields seem to be, with formats that may fit."""

    def rows(self) -> int:
        """Records, or elements."""
        return int(self._one(f"SELECT count(*) FROM {self.name}")[0])  # noqa: S608 - generated names

    def find_null_words(self) -> set[str]:
        """Words for null in columns whose other texts are all values of one type; only CSV can declare them."""
        if self.format is not Format.CSV:
            return set()
        fields, found = list(self.fields), set()
        columns = (
            f"list(DISTINCT {each.alias}) FILTER (WHERE regexp_full_match({each.alias}, '{_NULLS}'))" for each in fields
        )
        for field, words in zip(fields, self._one(f"SELECT {', '.join(columns)} FROM {self.name}"), strict=True):  # noqa: S608 - generated names
            if words:
                others = f"{field.alias} IS NOT NULL AND NOT regexp_full_match({field.alias}, '{_NULLS}')"
                counts = ", ".join(f"count({_value(field, each, field.alias)})" for each in CANDIDATES)
                present, *valid = self._one(f"SELECT count(*), {counts} FROM {self.name} WHERE {others}")  # noqa: S608 - generated names
                if present and present in valid:
                    found |= set(words)
        return found

    def measured(self) -> Iterator[MeasuredField]:
        """Each field: its type, how many values it has, and of values what is known of them."""
        fields = list(self.fields)
        likely = self._likely(fields)
        columns = [
            part
            for each in fields
            for part in (
                f"count({self.text(each)})",
                f"approx_count_distinct({self.text(each)})",
                f"coalesce(min(length({self.text(each)})), 0)",
                f"coalesce(max(length({self.text(each)})), 0)",
                f"count(*) FILTER (WHERE regexp_full_match({self.text(each)}, '{_LEADING_ZEROS}'))",
                *(f"count({_value(each, kind, self.text(each))})" for kind in likely[each]),
            )
        ]
        row = iter(self._one(f"SELECT {', '.join(columns)} FROM {self.name}"))  # noqa: S608 - generated names
        first = []
        for each in fields:
            present, distinct, shortest, longest, zeros = (int(next(row)) for _ in range(5))
            counts = {kind: int(next(row)) for kind in likely[each]}
            kind, almost = _type(self.fields[each], counts, present, has_zeros=zeros > 0 and self.format is Format.CSV)
            spelling = self._spelling(each) if almost is None and kind in self._respelt(each) else None
            kind = kind if spelling is None else LogicalType.STRING
            values = Values(
                min(distinct, present), shortest=shortest, longest=longest, almost=almost, spelling=spelling
            )
            first.append(MeasuredField(each, kind, present, values, self.name, self.text(each)))
        yield from self._extremes(first)

    def values_like(self, words: Collection[str]) -> Iterator[NullWords]:
        """The columns of texts in which words for null have the form of all other texts, with the words that stay null there."""
        for field in self.fields:
            kept = set[str]()
            for word in words:
                shape = re.sub(r"[a-z]", "[a-z]", re.sub(r"(?<!\\)[A-Z]", "[A-Z]", re.escape(word)))
                others = f"{field.alias} IS NOT NULL AND {field.alias} NOT IN ({', '.join(map(text_literal, words))})"
                alike = f"regexp_full_match({field.alias}, {text_literal(shape)})"
                found, is_like = self._one(
                    f"SELECT count(*) FILTER (WHERE {field.alias} = {text_literal(word)}), "  # noqa: S608 - generated names, literals
                    f"coalesce(bool_and({alike}) FILTER (WHERE {others}), false) FROM {self.name}"
                )
                if found and is_like:
                    kept.add(word)
            if kept:
                yield NullWords(field.name, tuple(each for each in words if each not in kept))

    def text(self, field: PlanField) -> str:
        """The text of a field in SQL; null words are null, and numbers have the separators of the written grammar."""
        words, found = self.csv.null_words(field.name), field.alias
        if words:
            found = f"CASE WHEN {found} NOT IN ({', '.join(map(text_literal, words))}) THEN {found} END"
        return plain_number(found, self.csv) if field in self.numbers else found

    def _likely(self, fields: Sequence[PlanField]) -> dict[PlanField, list[LogicalType]]:
        """The types whose patterns at least half of the first texts match."""
        texts = ", ".join(map(self.text, fields))
        first = self._all(f"SELECT {texts} FROM {self.name} LIMIT {SAMPLE}")  # noqa: S608 - generated names
        likely = {}
        for at, each in enumerate(fields):
            present = [row[at] for row in first if row[at] is not None]
            kinds = self._candidates(each)
            likely[each] = [kind for kind in kinds if _matching(kind, present) >= LIKELY * len(present)]
            if kinds and (seen := spelling_of(present)) is not None:
                self.spellings[each] = seen
        return likely

    def _respelt(self, each: PlanField) -> tuple[LogicalType, ...]:
        """The types of a field whose texts may be those of another type in another spelling."""
        if each not in self.spellings:
            return ()
        is_compact = self.spellings[each][0].code == "compact-date"
        return (LogicalType.STRING, LogicalType.INTEGER) if is_compact else (LogicalType.STRING,)

    def _candidates(self, field: PlanField) -> tuple[LogicalType, ...]:
        found = self.fields[field]
        if found.is_certain or found.shape is not Shape.VALUE or found.type is not LogicalType.STRING:
            return ()
        return CANDIDATES if self.format is Format.CSV else OF_JSON_TEXTS

    def _extremes(self, first: Sequence[MeasuredField]) -> Iterator[MeasuredField]:
        """The measured fields with extremes, shapes and words."""
        columns = []
        for each in first:
            is_text, text = self._is_text(each), self.text(each.field)
            is_ordered = each.type in ORDERED and self._is_value(each)
            value = _value(each.field, each.type, text) if is_ordered else text if is_text else "NULL"
            columns += [f"CAST({extreme}({value}) AS VARCHAR)" for extreme in ("min", "max")]
            if is_text:
                patterns = (*FORMS.values(), *CODES)
                columns += [f"count(*) FILTER (WHERE regexp_full_match({text}, '{form}'))" for form in patterns]
        row = iter(self._one(f"SELECT {', '.join(columns)} FROM {self.name}"))  # noqa: S608 - generated names
        for each in first:
            low, high = next(row), next(row)
            values = replace(each.values, low=low, high=high)
            if self._is_text(each):
                forms, codes = (tuple((name, int(next(row))) for name in names) for names in (FORMS, CODES))
                values = replace(values, forms=forms, codes=codes)
            if self._is_text(each) and each.present:
                values = self._with_words(each, values)
            yield replace(each, values=values)

    def _with_words(self, each: MeasuredField, values: Values) -> Values:
        text = self.text(each.field)
        if values.longest <= LONGEST_WITH_SHAPE:
            values = replace(values, shapes=self._counted(_SHAPE.format(text), MAX_SHAPES))
        if values.distinct <= 2 * MAX_WORDS:
            words = self._counted(text, MAX_WORDS)
            values = replace(values, words=words, distinct=len(words) or values.distinct)
        return values

    def _spelling(self, each: PlanField) -> Spelling | None:
        """What all texts of a field are in another spelling."""
        spelling, formats = self.spellings[each]
        text = self.text(each)

        def has(form: str, rows: str) -> bool:
            found = pattern_sql(compile_java_format(form), text)
            return bool(self._one(f"SELECT bool_and({found}) FROM {rows}")[0])  # noqa: S608 - generated names, patterns of our own

        if not formats:
            pattern = text_literal(whole_pattern(spelling))
            ((is_whole,),) = self._all(f"SELECT bool_and(regexp_full_match({text}, {pattern})) FROM {self.name}")  # noqa: S608 - likewise
            return spelling if is_whole else None
        some = f"(SELECT * FROM {self.name} LIMIT {SAMPLE})"  # noqa: S608 - likewise
        fitting = [each for each in formats if has(each, some) and has(each, self.name)]
        return with_format(spelling, fitting) if fitting else None

    def _counted(self, expression: str, most: int) -> tuple[tuple[str, int], ...]:
        """TextTables with their numbers, the most frequent first; none if there are more than `most`."""
        counted = f"SELECT {expression} AS text, count(*) AS n FROM {self.name} GROUP BY 1 HAVING text IS NOT NULL"  # noqa: S608 - generated names
        found = self._all(f"{counted} ORDER BY n DESC, text LIMIT {most + 1}")
        return tuple((text, int(count)) for text, count in found) if len(found) <= most else ()

    def _is_value(self, each: MeasuredField) -> bool:
        return self.fields[each.field].shape is Shape.VALUE

    def _is_text(self, each: MeasuredField) -> bool:
        return each.type is LogicalType.STRING and self._is_value(each)

    def _one(self, query: str) -> tuple[Any, ...]:
        return self.connection.execute(query).fetchall()[0]

    def _all(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()


def _matching(kind: LogicalType, texts: Sequence[str]) -> int:
    return sum(_PATTERNS[kind].fullmatch(text) is not None for text in texts)


def _value(field: PlanField, kind: LogicalType, text: str) -> str:
    return typed_value(replace(field, type=kind), text)


def _type(
    found: FoundField, counts: Mapping[LogicalType, int], present: int, *, has_zeros: bool
) -> tuple[LogicalType, tuple[LogicalType, int] | None]:
    """The narrowest type that all texts are values of; of texts also the one that most are values of.

    Numbers with leading zeros are texts: a cast would lose the zeros.
    """
    known = {kind: count for kind, count in counts.items() if not (has_zeros and kind.numeric)}
    whole = next((kind for kind, count in known.items() if present and count == present), None)
    if whole is not None or not known:
        return whole or found.type, None
    best = max(known, key=lambda kind: known[kind])
    return found.type, ((best, known[best]) if known[best] >= ALMOST * present > 0 else None)
