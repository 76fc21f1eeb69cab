"""A case: a contract, and a delivery for it, drawn from one seed.

A contract that the compiler refuses loses the parts that it names; one that is refused all the same is drawn again.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import Contract
from lakegate.contract.delivery_policy import PublishAs
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference, Request
from lakegate.rules.compile_plan import compile_plan
from tests.agreement.documents import REFERENCED, document, extension, fields_of
from tests.agreement.fields import Field
from tests.agreement.rows import Row, rows_of
from tests.agreement.tables import table_of
from tests.agreement.texts import CsvFile, json_array, json_lines, json_object, json_records
from tests.deliveries.delivery import request_for
from tests.deliveries.written import packed, written

REPAIRS = 6
"""The most removals of parts that the compiler names, before another contract is drawn."""
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Case:
    """A contract and a delivery."""

    seed: int
    text: bytes
    """The document of the contract."""
    contract: Contract
    plan: Plan
    objects: tuple[bytes, ...]
    accepted: bytes | None
    """The accepted data that a field refers to; None where nothing was accepted."""
    refused: int
    """Documents, and forms of them, that the compiler refused on the way."""

    def request(self, folder: Path) -> Request:
        """A request for the delivery, staged in a folder."""
        request = request_for(self.plan, folder, *self.objects)
        referred = self.referred
        if not referred:
            return request
        height, parts = 0 if self.accepted else -1, self._parts(folder)
        return replace(
            request, references=(Reference(referred.pop(), height, parts, self.is_upserted and bool(parts)),)
        )

    @property
    def referred(self) -> set[str]:
        """The datasets whose accepted data the contract refers to: one, or none."""
        return {
            relation.full_name
            for check in self.plan.checks
            if check.query
            for relation in check.query.relations
            if relation.full_name and not relation.delivered
        }

    @property
    def is_upserted(self) -> bool:
        """Whether the accepted data has former rows, too; of every third case, so that no other draw changes."""
        return self.seed % 3 == 0

    def _parts(self, folder: Path) -> tuple[AcceptedPart, ...]:
        if self.accepted is None:
            return ()
        plan = compile_plan(self.contract, next(it for it in self.contract.datasets if it.name == REFERENCED))
        where, described, content = folder / "accepted", folder / "accepted.json", self.accepted
        if self.is_upserted:
            plan = replace(plan, policy=replace(plan.policy, publish_as=PublishAs.PARQUET))
            content = _as_upserts(content.decode().split()[1:])
        where.write_bytes(content)
        described.write_text(json.dumps(plan.to_json()))
        return (AcceptedPart(where.as_uri(), len(content), described.as_uri(), plan.digest),)


def _as_upserts(keys: Sequence[str]) -> bytes:
    """A slice of upserts whose current rows have these keys; each had the key of the next one before."""
    former = [*keys[1:], *keys[:1]]
    taken_back = [
        (operation, key) for pair in zip(former, keys, strict=True) for operation, key in zip((2, 3), pair, strict=True)
    ]
    events = [*((0, key) for key in former), *taken_back]
    operations, written_keys = zip(*events, strict=True)
    table = pa.table({"op": pa.array(operations, pa.uint8()), "key": pa.array(written_keys, pa.string())})
    return written(table, Storage(Format.PARQUET))


def case_of(seed: int, form: Format | None = None) -> Case:
    """The case of a seed; with `form`, one of that format."""
    draw, refused = random.Random(f"lakegate/{seed}"), 0
    while True:
        settings = extension(draw)
        if form is not None and settings["format"] != form.value:
            continue
        fields = fields_of(draw, settings["format"])
        found, removed = _compiled(document(draw, fields, settings))
        refused += removed
        if found is None:
            continue
        text, contract, plan = found
        known = [each for each in fields if each.name in {own.name for own in contract.datasets[0].fields}]
        objects = _objects(draw, plan, known, rows_of(draw, known))
        accepted = "key\n" + "".join(f"{key}\n" for key in draw.sample(["new", "paid", "17", "abc", "o001", "o003"], 3))
        given = accepted.encode() if draw.random() < 0.8 else None
        return Case(seed, text, contract, plan, objects, given, refused)


def as_yaml(document: Any) -> bytes:
    """A document as YAML."""
    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return text.encode()


def _compiled(drawn: dict[str, Any]) -> tuple[tuple[bytes, Contract, Plan] | None, int]:
    """The text of a document, its contract and its plan, without what the compiler refuses; and how many forms were refused."""
    for refused in range(REPAIRS):
        text = as_yaml(drawn)
        try:
            contract = read(text)
            plan = compile_plan(contract, contract.datasets[0])
        except ContractError as error:
            try:
                for path in sorted({each.path for each in error.problems}, key=_descending, reverse=True):
                    _remove(drawn, path)
            except (LookupError, TypeError, ValueError):
                return None, refused + 1  # it names a place that was removed with another, or no part
        else:
            return (text, contract, plan), refused
    return None, REPAIRS


def _descending(path: str) -> list[tuple[str, int]]:
    return [(key, int(at or 0)) for key, at in _STEP.findall(path)]


def _remove(drawn: dict[str, Any], path: str) -> None:
    """Remove what stands at a path."""
    *steps, last = [int(at) if at else key for key, at in _STEP.findall(path)]
    place: Any = drawn
    for step in steps:
        place = place[step]
    del place[last]


def _objects(draw: random.Random, plan: Plan, fields: Sequence[Field], rows: Sequence[Row]) -> tuple[bytes, ...]:
    """The rows in one or several objects of the promised form; rarely one is cut off."""
    ends = sorted(draw.randint(0, len(rows)) for _ in range(draw.choice([0, 0, 0, 1, 2])))
    shares = [rows[start:end] for start, end in zip([0, *ends], [*ends, len(rows)], strict=True)]
    objects = _written(draw, plan, fields, shares)
    if draw.random() < 0.02:
        objects[-1] = objects[-1][: draw.randint(0, len(objects[-1]))]
    return tuple(objects)


def _written(draw: random.Random, plan: Plan, fields: Sequence[Field], shares: list[Sequence[Row]]) -> list[bytes]:
    form, codec = plan.storage.format, plan.storage.compression
    match form:
        case Format.CSV:
            file = CsvFile.of(draw, plan.csv, [each.name for each in fields])
            found = [file.content(share) for share in shares]
        case Format.JSONL | Format.JSON | Format.ANY_JSON:
            is_array = form is Format.JSON or (form is Format.ANY_JSON and draw.random() < 0.5)
            write = json_array if is_array else json_lines
            found = [write(draw, json_records(draw, fields, share)) for share in shares]
            found = [json_object(draw, plan.storage.path, text) for text in found] if plan.storage.records else found
        case _:
            whole, at, found = table_of(draw, form, fields, [row for share in shares for row in share]), 0, []
            for share in shares:
                found.append(written(whole.slice(at, len(share)), plan.storage))
                at += len(share)
    wrong = draw.choice(list(Compression)) if form.is_text and draw.random() < 0.01 else codec
    return [packed(each, wrong) for each in found] if form.is_text else found
