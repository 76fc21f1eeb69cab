"""Generated rows as files of CSV and JSON, with the damages that text can have."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakegate.contract.file_formats import Csv
from tests.agreement.fields import NUMERIC, Field
from tests.agreement.rows import Row, Value

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
DAMAGED = 0.06
"""The share of records whose text is damaged, in files that have such records."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The CSV dialect of a delivery."""

    draw: random.Random
    csv: Csv
    header: list[str]
    """The names of the first line."""
    columns: list[str]
    """The fields in the order of the file; a name that the rows lack is an extra column."""
    damaged: bool
    end: str

    @staticmethod
    def of(draw: random.Random, csv: Csv, names: list[str]) -> CsvFile:
        """A way to write CSV, now and then with a header that differs from the contract's names."""
        columns = list(names)
        match draw.randint(0, 24):
            case 0:
                draw.shuffle(columns)
            case 1:
                columns.insert(draw.randint(0, len(columns)), "extra")
            case 2 if len(columns) > 1:
                columns.remove(draw.choice(columns))
        header = list(columns)
        at = draw.randrange(len(header))
        match draw.randint(0, 40):
            case 0:
                header[at] = f" {header[at]}"
            case 1:
                header[at] = header[at].upper()
            case 2:
                header[at] = header[0]
            case 3:
                header[at] = ""
        return CsvFile(draw, csv, header, columns, draw.random() < 0.4, draw.choice(["\n", "\n", "\r\n"]))

    def content(self, rows: Sequence[Row]) -> bytes:
        """One object of the delivery."""
        draw, mark = self.draw, b""
        lines = [self._joined(list(self.header))] if self.csv.header else []
        for row in rows:
            lines.append(self._joined([row.get(name) for name in self.columns]))  # type: ignore[misc]  # flat rows
            if self.damaged and draw.random() < DAMAGED:
                lines.append(
                    draw.choice([self._joined(list(self.header)), "", self.csv.delimiter * (len(self.header) - 1)])
                )
        encoded = [line.encode(self.csv.encoding, errors="replace") for line in lines]
        if self.damaged:
            first = int(self.csv.header)
            encoded = encoded[:first] + [self._harmed(line) for line in encoded[first:]]
            mark = b"\xef\xbb\xbf" if draw.random() < 0.02 else b""
        last = b"" if draw.random() < 0.2 else self.end.encode()
        encoded = [*self._titles(), *encoded]
        return mark + self.end.encode().join(encoded) + (last if encoded else b"")

    def _titles(self) -> list[bytes]:
        """The lines above the header, with quotes and bytes that mean nothing there; rarely one too few or too many."""
        draw, skipped = self.draw, self.csv.skip_rows
        count = max(0, skipped + draw.choice([-1, 1])) if skipped and draw.random() < 0.03 else skipped
        words = [b"", b"Report", b'"', b"'Sales", self.csv.delimiter.encode() * 2, b"\xff\x00", b"1\r2", b"_reasons"]
        return [draw.choice(words) + draw.choice(words) for _ in range(count)]

    def _joined(self, cells: list[str | None]) -> str:
        return self.csv.delimiter.join(self._cell(each) for each in cells)

    def _cell(self, text: str | None) -> str:
        csv, draw = self.csv, self.draw
        if text is None:
            return draw.choice(csv.null_values) if csv.null_values and draw.random() < 0.5 else ""
        if not csv.multi_line:
            text = text.replace("\n", " ")
        special = {csv.delimiter, csv.quote, "\n", "\r"}
        if not text or special & set(text) or draw.random() < 0.1:
            return csv.quote + text.replace(csv.quote, csv.quote * 2) + csv.quote
        return text

    def _harmed(self, line: bytes) -> bytes:
        draw, at = self.draw, self.draw.randint(0, len(line))
        if draw.random() >= DAMAGED:
            return line
        part = draw.choice(
            [b"\x00", b"\xff", b"\xc3", self.csv.quote.encode(), self.csv.delimiter.encode(), b"\r", b"\n"]
        )
        return draw.choice([line[:at] + part + line[at:], line[:at], line + self.csv.delimiter.encode()])


def json_records(draw: random.Random, fields: Sequence[Field], rows: Sequence[Row]) -> list[str]:
    """Each row as the text of one object; absent keys, other tokens, and keys that the contract lacks among them."""
    extra, swapped = draw.choice([0, 0, 0.2]), draw.choice([0, 0, 0.05])

    def token(field: Field, value: Value) -> str:
        if value is None:
            return "null"
        if swapped and draw.random() < swapped:
            return draw.choice(
                ["true", "0", '"x"', "[]", "{}", "-0", "1.0", "1e400", '"\\ud800"', '""', "12345678901234567890"]
            )
        if isinstance(value, list):
            return f"[{', '.join(token(field.parts[0], each) for each in value)}]"
        if isinstance(value, dict):
            return _object(
                [
                    (name, token(next((it for it in field.parts if it.name == name), field.parts[0]), each))
                    for name, each in value.items()
                ]
            )
        return _scalar(draw, field.kind, value)

    def record(row: Row) -> str:
        pairs = [(each.name, token(each, row[each.name])) for each in fields]
        pairs = [(name, it) for name, it in pairs if it != "null" or draw.random() < 0.5]
        if draw.random() < extra:
            pairs.append((draw.choice(["extra", "ana@example.org", "Id"]), "1"))
        return _object(pairs)

    return [record(row) for row in rows]


def _scalar(draw: random.Random, kind: str, text: str) -> str:
    if kind in NUMERIC and JSON_NUMBER.fullmatch(text):
        return text
    if kind == "boolean" and text in {"true", "false"}:
        return text
    return json.dumps(text, ensure_ascii=draw.random() < 0.3)


def _object(pairs: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in pairs) + "}"


def json_lines(draw: random.Random, records: Sequence[str]) -> bytes:
    """One object a line, with damaged lines among them."""
    damaged, end = draw.random() < 0.4, draw.choice(["\n", "\n", "\r\n"]).encode()
    lines = [each.encode() for each in records]
    if damaged:
        lines = [_harmed(draw, line) if draw.random() < DAMAGED else line for line in lines]
        if draw.random() < 0.02:
            lines = [b"\xef\xbb\xbf" + (lines[0] if lines else b""), *lines[1:]]
    return end.join(lines) + (end if lines and draw.random() < 0.8 else b"")


def json_array(draw: random.Random, records: Sequence[str]) -> bytes:
    """All objects in one array; now and then an item that is none."""
    items = list(records)
    if draw.random() < 0.1:
        items.insert(draw.randint(0, len(items)), draw.choice(["1", "null", "[]", '"x"']))
    return ("[" + draw.choice([",", ",\n", " ,\n  "]).join(items) + "]").encode()


def json_object(draw: random.Random, path: Sequence[str], array: bytes) -> bytes:
    """An array below members of an object, beside others; now and then under another name, or twice."""
    content, space = array, draw.choice([b"", b" ", b"\n  "])
    for name in reversed(path):
        others = [
            b'"meta": {"rows": [{"id": 7}]}',
            b'"%s ": [1]' % name.encode(),
            b'"n": -1.5e3',
            b'"data": []',
            b'"x": "]}"',
        ]
        beside = [
            member
            for member in draw.sample(others, draw.randint(0, 3))
            if not member.startswith(b'"%s":' % name.encode())
        ]
        shown = b"rows" if draw.random() < 0.02 else name.encode()
        members = [*beside, *[b'"%s":%s%s' % (shown, space, content)] * (2 if draw.random() < 0.02 else 1)]
        draw.shuffle(members)
        content = b"{%s%s}" % (space, (b"," + space).join(members))
    return content


def _harmed(draw: random.Random, line: bytes) -> bytes:
    at = draw.randint(0, len(line))
    part: Any = draw.choice([b"\x00", b"\xff", b"\xc3", b'"', b"\n", b"}"])
    return draw.choice(
        [line[:at] + part + line[at:], line[:at], b"[" + line + b"]", b"", line[:-1] + b', "id": 1, "id": 2}']
    )
