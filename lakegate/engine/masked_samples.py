"""Failing and malformed rows read again, their values masked."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.file_signatures import UnreadableError, readable_in
from lakegate.admission.header import LONGEST_COMPARED, NO_NAMES, match_physical, plain, why_no_keys
from lakegate.admission.value_masks import cut_text, hexadecimal, mask
from lakegate.contract.field_paths import column_name, steps_of
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.predicate_sql import FIELDS_OF_QUERY, SOURCE, Program, Programs
from lakegate.engine.measure.duckdb_tables import POSITION_BITS
from lakegate.engine.measure.partial_results import Bit, Partial
from lakegate.engine.read.data_source import AT, LINE, ROW, Level, Source, of_object
from lakegate.engine.read.json_rows import OBJECT
from lakegate.engine.read.json_rows import Place as json_Place
from lakegate.engine.read.json_texts import fault_at
from lakegate.plan.check import Check, keys_of
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.result import Columns, MalformedRecords, Measurement, Sample
from lakegate.verdict.check_status import OF_TYPES
from lakegate.verdict.measured_values import QueryResult
from lakegate.verdict.value_mistakes import (
    SEEN_OF_A_LINE,
    WRAPPED,
    allowed_words,
    form_of,
    lost_word,
    masked_mistake,
    record_of,
    values_in,
)

if TYPE_CHECKING:
    import duckdb

    from lakegate.engine.measure.duckdb_tables import Sharing

# ---- Absent and undeclared keys of formats without a header ----


MAX_NAMED = 20
MOST_STEPS = 9
_NAME = re.compile(r"\[\]|\.[A-Za-z_][A-Za-z0-9_]{0,39}(?:\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,8}")
_LOOKED_AT = 20
"""Records whose form is looked at, where they have none of the declared keys."""


def columns_of_records(plan: Plan, source: Source, partials: Sequence[Partial]) -> Columns:
    """The keys of all records as the columns of a delivery: a field is absent if no record has its key.

    UnreadableError where no record of an object has a declared key: that is another dataset.
    """
    declared = {field.place for field in plan.columns}
    physical = {field.column: field.physical for field in plan.columns if field.physical}
    for part in dict.fromkeys(share.part for share in source.shares):
        own = [partial for partial in partials if source.shares[partial.number].part == part]
        keys = {key for each in own for key in each.keys}
        if (OBJECT,) in keys and declared and not keys & declared:
            with of_object(part):
                raise UnreadableError(
                    "header",
                    why_no_keys(
                        _first_records(source, own),
                        tuple(column.column for column in plan.columns),
                        physical,
                        of_lines=plan.storage.format is Format.JSONL,
                    ),
                )
    seen = {key for partial in partials for key in partial.keys}
    absent = tuple(field.name for field in plan.fields if _is_absent(field, seen))
    there = [field.name for field in plan.fields if field.name not in absent]
    extra = name_undeclared({key for partial in partials for key in partial.extra}, absent, plan.physical_names, there)
    columns = {field.name for field in plan.columns}
    found = (
        *(each for each in there if each in columns),
        *(each for each in extra if not (steps_of(each) or ())[1:]),
    )
    return Columns(found, absent, extra)


def name_undeclared(
    keys: Iterable[str],
    absent: Iterable[str] = (),
    physical: Mapping[str, str] = NO_NAMES,
    there: Iterable[str] = (),
) -> tuple[str, ...]:
    """Undeclared keys of records, by their paths: declared ones in another spelling, and the first others, sorted.

    Keys of objects can be data themselves: what neither looks like a name nor is spelled like a declared one is masked. Of the
    declared ones, which are `absent` or `there`, the latter differ in capitals only.
    """
    folded = {each.lower() for each in there}
    every = sorted(set(keys), key=lambda key: (key.lower() not in folded, key))
    pairs = match_physical(every, absent, physical)
    first = islice((key for key in every if key not in pairs.values()), MAX_NAMED)
    known = {plain(name) for name in (*pairs, *folded)}
    found = sorted({*pairs.values(), *first})
    return tuple(dict.fromkeys(key if _is_name(key, known) else mask(column_name(key)) for key in found))


def _is_name(key: str, declared: set[str]) -> bool:
    steps = steps_of(key) or ("",)
    is_plain = len(steps) <= MOST_STEPS and all(map(_NAME.fullmatch, steps))
    return is_plain or (len(key) <= LONGEST_COMPARED and plain(key) in declared)


def _is_absent(field: PlanField, seen: set[json_Place]) -> bool:
    """Whether an object is there that should have the key, or that of a parent, and none has it."""
    places = [field.place[: at + 1] for at, step in enumerate(field.place) if step.startswith(".")]
    return any(place not in seen and (*place[:-1], OBJECT) in seen for place in places)


def _first_records(source: Source, partials: Iterable[Partial]) -> list[dict[str, object]]:
    """The first objects of those partial results that have some."""
    share = next(source.shares[partial.number] for partial in partials if (OBJECT,) in partial.keys)
    found: list[dict[str, object]] = []
    for table in source.originals(share):
        for line in table.column(LINE).to_pylist():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            found += [value] if isinstance(value, dict) else []
            if len(found) == _LOOKED_AT:
                return found
    return found


# ---- Malformed records ----


def lines_before(source: Source, partials: list[Partial]) -> list[int]:
    """Lines of the same object before each share."""
    before, lines = [], dict.fromkeys((share.part for share in source.shares), 0)
    for share, partial in zip(source.shares, partials, strict=True):
        before.append(lines[share.part])
        lines[share.part] += partial.lines
    return before


def malformed_records(
    source: Source, partials: list[Partial], samples: int
) -> tuple[tuple[MalformedRecords, int, int], ...]:
    """By reason, with line (from 1) and object of the first ones; each comes with share of the first one and its line there."""
    counts: dict[str, int] = {}
    places: dict[str, list[tuple[int, int]]] = {}
    for partial in partials:
        for each in partial.malformed.values():
            counts[each.reason] = counts.get(each.reason, 0) + each.rows
            own = places.setdefault(each.reason, [])
            own += [(partial.number, line) for line in each.lines[: max(1, samples) - len(own)]]
    before, last = lines_before(source, partials), dict[int, int]()
    for share, partial, lines in zip(source.shares, partials, before, strict=True):
        if partial.lines:
            last[share.part] = lines + partial.lines - partial.tail + 1
    found = []
    for reason in sorted(places):
        rows = [Sample(before[number] + line + 1, (), source.shares[number].part) for number, line in places[reason]]
        first, is_last = rows[0], rows[0].row == last[rows[0].part]
        records = MalformedRecords(
            reason, counts[reason], first.row, first.part, is_last=is_last, samples=tuple(rows[:samples])
        )
        found.append((records, *places[reason][0]))
    return tuple(found)


# ---- Records that are read again ----


Place = tuple[int, int, str]
"""A record or an element: the number of its share, its line there, and its place in the record."""
Texts = dict[str, str | None]
"""The texts of a record's fields, by alias."""


@dataclass(frozen=True, slots=True)
class RecordReader:
    """The shares that contain some records are read again, each up to the last wanted record."""

    plan: Plan
    source: Source
    connection: duckdb.DuckDBPyConnection

    @property
    def is_csv(self) -> bool:
        """Whether the delivery is CSV."""
        return self.plan.storage.format is Format.CSV

    def texts(self, level: Level, wanted: Mapping[str, Collection[Place]]) -> dict[Place, Texts]:
        """The texts of fields (by alias) in the records in which each is wanted, from the shares that contain them."""
        found: dict[Place, Texts] = defaultdict(dict)
        by_share: dict[int, dict[str, set[Place]]] = defaultdict(lambda: defaultdict(set))
        for alias, places in wanted.items():
            for place in places:
                by_share[place[0]][alias].add(place)
        for number, fields in by_share.items():
            last, before = max(line for places in fields.values() for _, line, _ in places), 0
            for chunk in self.source.chunks(self.source.shares[number]):
                table, aliases = chunk.levels[level] if level else chunk.records, list(fields)
                for start in range(0, len(aliases), FIELDS_OF_QUERY):
                    self._read(
                        number,
                        level,
                        table,
                        {alias: fields[alias] for alias in aliases[start : start + FIELDS_OF_QUERY]},
                        found,
                    )
                before += chunk.lines
                if before > last:
                    break
        return found

    def _read(
        self, number: int, level: Level, table: pa.Table, wanted: dict[str, set[Place]], found: dict[Place, Texts]
    ) -> None:
        """The texts of a few fields in a chunk."""
        lines = pa.array(sorted({line for places in wanted.values() for _, line, _ in places}))
        own = table.filter(pc.is_in(table.column(ROW), lines))
        if not len(own):
            return
        columns = ", ".join(f"{self.source.expressions[alias].text} AS {alias}" for alias in wanted)
        place = f'"{AT}"' if level else "''"
        self.connection.register(SOURCE, own)
        for line, at, *texts in self.connection.execute(f"SELECT {ROW}, {place}, {columns} FROM {SOURCE}").fetchall():  # noqa: S608 - generated names
            for (alias, places), text in zip(wanted.items(), texts, strict=True):
                if (number, line, at) in places:
                    found[number, line, at][alias] = text

    def lines(self, places: set[tuple[int, int]], *, every: bool = False) -> dict[tuple[int, int], bytes]:
        """The beginning of lines of CSV (with `every`, of any text), by share and line."""
        found: dict[tuple[int, int], bytes] = {}
        if not (every or self.is_csv):
            return found
        for number in {share for share, _ in places}:
            lines = pa.array(sorted(line for share, line in places if share == number))
            for table in self.source.originals(self.source.shares[number]):
                own = table.filter(pc.is_in(table.column(ROW), lines))
                for line, content in zip(own.column(ROW).to_pylist(), own.column(LINE).to_pylist(), strict=True):
                    found[number, line] = content[: 4 * SEEN_OF_A_LINE]
                if len(table) and table.column(ROW)[-1].as_py() >= lines[-1].as_py():
                    break
        return found


# ---- Samples ----
# The first failing records of each predicate, and some that pass, are noted while shares are evaluated; of keys, the records
# that share the smallest ones are selected from the table of keys. The shares that contain them are read again, each up to the
# last wanted record. A raw value is shown only for a field that the contract classifies `public`.


GOOD_VALUES = 40
"""Values that pass whose shapes are counted."""
GOOD_SHAPES = 3
_WRAPPED = re.compile(rb'\s*\{\s*"[^"\\]{1,100}"\s*:\s*\[\s*\{')
"""The beginning of an object with a list of objects in its first key."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a delivery."""

    plan: Plan
    programs: Programs
    partials: list[Partial]
    source: Source
    connection: duckdb.DuckDBPyConnection
    sharing: Sharing
    limit: int
    """Failing records of each check that are shown at the most."""
    lines_before: list[int]
    """Lines of the same object before each share."""

    def with_evidence(self, measurements: Iterable[Measurement], failed: tuple[Check, ...]) -> Iterator[Measurement]:
        """The measurements, those of failed checks with samples, shapes of values that pass, and how failing ones are written."""
        bad: dict[str, list[Place]] = {}
        good: dict[str, list[Place]] = {}
        levels: dict[str, Level] = {}
        for check in failed:
            own = next(program for program in self.programs.values() if check in program.checks)
            levels[check.id] = own.level
            bad[check.id], good[check.id] = self._bad(check, own), self._good(check, own)
        texts = {
            level: self._records.texts(
                level, self._wanted({each: bad[each.id] + good[each.id] for each in failed if levels[each.id] == level})
            )
            for level in set(levels.values())
        }
        lines = self._records.lines({place[:2] for found in bad.values() for place in found})
        by_id = {check.id: check for check in failed}
        for measurement in measurements:
            if measurement.check in bad:
                found = texts[levels[measurement.check]]
                rows = [(place, found[place]) for place in bad[measurement.check]]
                passing = [found[place] for place in good[measurement.check]]
                yield self._with_evidence(measurement, by_id[measurement.check], rows, passing, lines)
            else:
                yield measurement

    def with_rows(self, checks: tuple[Check, ...], results: Iterable[QueryResult]) -> Iterator[Measurement]:
        """The results of queries as measurements, with samples of the rows that break a check."""
        for check, queried in zip(checks, results, strict=True):
            places = [_place(row) for row in queried.rows]
            texts = self._records.texts((), self._wanted({check: places}))
            lines = self._records.lines({place[:2] for place in places})
            rows = [(place, texts[place]) for place in places]
            yield self._with_evidence(queried.measurement, check, rows, [], lines) if rows else queried.measurement

    def with_first_records(
        self, malformed: tuple[tuple[MalformedRecords, int, int], ...]
    ) -> tuple[MalformedRecords, ...]:
        """Malformed records by reason, each with evidence of its first one, whose share and line are given."""
        if not self.plan.storage.format.is_text:
            return tuple(each for each, _, _ in malformed)
        lines = self._records.lines({(share, line) for _, share, line in malformed}, every=True)
        return tuple(self._first_record(each, lines.get((share, line), b"")) for each, share, line in malformed)

    def _first_record(self, found: MalformedRecords, line: bytes) -> MalformedRecords:
        csv = self.plan.csv
        if self.plan.storage.format.is_json:
            is_wrapped = found.reason == "too_long" and _WRAPPED.match(line)
            at = fault_at(line) if found.reason == "json" and len(line) < 4 * SEEN_OF_A_LINE else None
            return replace(found, at=at, record=WRAPPED if is_wrapped else None)
        if found.reason == "encoding" and self._records.is_csv:
            return replace(found, encoding=readable_in(line, csv.encoding))
        if found.reason == "fields" and self._records.is_csv:
            text = line.decode(csv.encoding, errors="replace")
            record = record_of(text, self.source.header, csv)
            return replace(found, values=values_in(text, csv), wanted=len(self.source.columns.found), record=record)
        return found

    def _with_evidence(
        self,
        measurement: Measurement,
        check: Check,
        bad: list[tuple[Place, Texts]],
        good: list[Texts],
        lines: Mapping[tuple[int, int], bytes],
    ) -> Measurement:
        fields = [self.plan.field(name) for name in check.fields]
        measurement = replace(measurement, samples=tuple(self._sample(*each, fields, lines) for each in bad))
        if len(fields) != 1:
            return measurement
        field = fields[0]
        texts = [text for _, row in bad if (text := row[field.alias]) is not None]
        allowed = allowed_words(self.plan, field)
        if not texts:
            return replace(measurement, form=lost_word(allowed, len(bad)))
        is_typed = check.kind in OF_TYPES
        form = None
        if is_typed or field.type is LogicalType.STRING:
            form = form_of(
                field.type,
                texts,
                is_json=self.plan.storage.format.is_json,
                of_type=is_typed,
                csv=self.plan.csv,
                allowed=allowed,
                good=[text for row in good if (text := row[field.alias]) is not None],
            )
        shapes = Counter(self._masked(field, row[field.alias]) for row in good if row[field.alias] is not None)
        found = tuple(
            replace(sample, mistake=masked_mistake(field.type, text, allowed))
            if (text := row[field.alias]) is not None and not field.public and sample.shapes[0].strip() in shapes
            else sample
            for sample, (_, row) in zip(measurement.samples, bad, strict=True)
        )
        shown = tuple(shape for shape, _ in shapes.most_common(GOOD_SHAPES))
        return replace(measurement, samples=found, good=shown, form=form)

    def _wanted(self, places: Mapping[Check, list[Place]]) -> dict[str, set[Place]]:
        """By alias, where the values of some checks' fields are shown."""
        found: dict[str, set[Place]] = defaultdict(set)
        for check, own in places.items():
            for name in check.fields:
                found[self.plan.field(name).alias].update(own)
        return found

    def _bad(self, check: Check, own: Program) -> list[Place]:
        if check.metric is Metric.FAILING_ROWS:
            assert check.accept.predicate is not None
            return self._noted((own.level, own.predicates[check.accept.predicate]), self.limit)
        if check.metric is not Metric.DUPLICATE_ROWS:
            return []
        keys = keys_of(check)
        assert keys is not None
        found = self.sharing(own, keys, self.limit)
        places = found.column(AT).to_pylist() if own.has_places else [""] * len(found)
        return [_place(each, at) for each, at in zip(found.column("id").to_pylist(), places, strict=True)]

    def _good(self, check: Check, own: Program) -> list[Place]:
        if check.metric is not Metric.FAILING_ROWS or len(check.fields) != 1:
            return []
        assert check.accept.predicate is not None
        return self._noted((own.level, own.predicates[check.accept.predicate]), GOOD_VALUES, passing=True)

    def _noted(self, bit: Bit, limit: int, *, passing: bool = False) -> list[Place]:
        found = (
            (partial.number, *place)
            for partial in self.partials
            for place in (partial.passing if passing else partial.failing).get(bit, ())
        )
        return [place for place, _ in zip(found, range(limit), strict=False)]

    def _sample(
        self, place: Place, texts: Texts, fields: list[PlanField], lines: Mapping[tuple[int, int], bytes]
    ) -> Sample:
        number, line, at = place
        shown = [self._shown(field, texts[field.alias]) for field in fields]
        record = None
        if self._records.is_csv:
            text = lines[number, line].decode(self.plan.csv.encoding, errors="replace")
            record = record_of(text, self.source.header, self.plan.csv)
        return Sample(
            self.lines_before[number] + line + 1,
            tuple(shape for shape, _ in shown),
            self.source.shares[number].part,
            at,
            tuple(raw for _, raw in shown),
            record,
        )

    def _shown(self, field: PlanField, text: str | None) -> tuple[str, bool]:
        """The sample of a value, and whether it is the value itself."""
        if text is None or not field.public:
            return self._masked(field, text), False
        return cut_text(hexadecimal(text) if self._is_bytes(field) else text), True

    def _masked(self, field: PlanField, text: str | None) -> str:
        """The shape of a value; of bytes only their number is shown."""
        return mask("9" * (2 * len(text)) if text and self._is_bytes(field) else text)

    @property
    def _records(self) -> RecordReader:
        return RecordReader(self.plan, self.source, self.connection)

    def _is_bytes(self, field: PlanField) -> bool:
        return field.type is LogicalType.BINARY and not self.plan.storage.format.is_text


def _place(identity: int, at: str = "") -> Place:
    return identity >> POSITION_BITS, identity & ((1 << POSITION_BITS) - 1), at
