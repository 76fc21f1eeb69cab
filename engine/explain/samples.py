"""Samples: the records in which a failed check fails, without their values.

The first failing records of each predicate, and some that pass, are noted while shares are evaluated; of keys, the records that
share the smallest ones are selected from the table of keys. The shares that contain them are read again, each up to the last
wanted record. A raw value is shown only for a field that the contract classifies `public`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.faults import SEEN_OF_A_LINE, WRAPPED, readable_in, record_of, values_in
from lakegate.contracts.judge.masks import cut, hexadecimal, mask
from lakegate.contracts.judge.outcomes import OF_TYPES
from lakegate.contracts.judge.value_mistakes import allowed_words, form_of, lost_word
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.population import keys_of
from lakegate.contracts.plan.result import Sample
from lakegate.engine.explain.records import Place, RecordReader, Texts
from lakegate.engine.measure.tables import POSITION_BITS
from lakegate.engine.read.chunk import AT
from lakegate.engine.read.json_text import fault_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import duckdb

    from lakegate.contracts.judge.answers import Answer
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.contracts.plan.result import MalformedRecords, Measurement
    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.measure.partial import Bit, Partial
    from lakegate.engine.measure.tables import Sharing
    from lakegate.engine.read.chunk import Level, Source

GOOD_VALUES = 40
"""Values that pass whose shapes are counted."""
GOOD_SHAPES = 3
_WRAPPED = re.compile(rb'\s*\{\s*"[^"\\]{1,100}"\s*:\s*\[\s*\{')
"""The beginning of an object with a list of objects in its first key."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a delivery."""

    plan: Plan
    programs: Mapping[Level, Program]
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
            own = next(each for each in self.programs.values() if check in each.checks)
            levels[check.id] = own.level
            bad[check.id], good[check.id] = self._bad(check, own), self._good(check, own)
        texts = {
            level: self._records.texts(
                level, {place for name in bad if levels[name] == level for place in bad[name] + good[name]}
            )
            for level in set(levels.values())
        }
        lines = self._records.lines({place[:2] for found in bad.values() for place in found})
        by_id = {check.id: check for check in failed}
        for each in measurements:
            if each.check in bad:
                found = texts[levels[each.check]]
                rows = [(place, found[place]) for place in bad[each.check]]
                passing = [found[place] for place in good[each.check]]
                yield self._with_evidence(each, by_id[each.check], rows, passing, lines)
            else:
                yield each

    def with_rows(self, checks: tuple[Check, ...], answers: Iterable[Answer]) -> Iterator[Measurement]:
        """The answers of queries as measurements, with samples of the rows that break a check."""
        for check, answer in zip(checks, answers, strict=True):
            places = [_place(each) for each in answer.rows]
            texts, lines = self._records.texts((), set(places)), self._records.lines({place[:2] for place in places})
            rows = [(place, texts[place]) for place in places]
            yield self._with_evidence(answer.measurement, check, rows, [], lines) if rows else answer.measurement

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
        return replace(measurement, good=tuple(shape for shape, _ in shapes.most_common(GOOD_SHAPES)), form=form)

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
            (each.number, *place)
            for each in self.partials
            for place in (each.passing if passing else each.failing).get(bit, ())
        )
        return [place for place, _ in zip(found, range(limit), strict=False)]

    def _sample(
        self, place: Place, texts: Texts, fields: list[PlanField], lines: Mapping[tuple[int, int], bytes]
    ) -> Sample:
        number, line, at = place
        shown = [self._shown(each, texts[each.alias]) for each in fields]
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
        return cut(hexadecimal(text) if self._is_bytes(field) else text), True

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
