"""Builds ODCS documents from the parts of them that a case writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from lakegate.diff.change_kinds import Change, VersionComparison
from lakegate.diff.compared_versions import ContractVersion, read_version
from lakegate.diff.diff_contracts import compare

CASES: Final[list[dict[str, Any]]] = yaml.load(Path(__file__).with_name("cases.yaml").read_text(), yaml.CSafeLoader)
COLUMN: Final = {"name": "id", "logicalType": "integer"}


def document(parts: dict[str, Any], version: str = "1.0.0") -> bytes:
    """An ODCS document: `root` and `object` add keys, `properties` and `objects` replace the lists, `extension` is Lakegate's."""
    objects = [
        {"name": "orders", "logicalType": "object", "properties": parts.get("properties", [COLUMN]), **each}
        for each in parts.get("objects", [parts.get("object", {})])
    ]
    extension = {"property": "lakegate", "value": parts.get("extension")}
    root = {
        "apiVersion": "v3.2.0",
        "kind": "DataContract",
        "id": "shop",
        "version": version,
        "status": "active",
        "schema": objects,
        **({"customProperties": [extension]} if "extension" in parts else {}),
        **parts.get("root", {}),
    }
    return json.dumps(root).encode()


def compared(old: bytes, new: bytes) -> VersionComparison:
    """The comparison of two documents; one that is compared with itself is read twice."""
    return compare(_read(old), read_version(new) if new == old else _read(new))


@cache
def _read(text: bytes) -> ContractVersion:
    """A document that many cases have is read once."""
    return read_version(text)


def lines(changes: Iterable[Change]) -> list[str]:
    """Each change as cases write it, sorted."""
    return sorted(
        f"{each.bump.value} {each.kind} {each.path}: {_text(each.before)} -> {_text(each.after)}" for each in changes
    )


def _text(value: str | None) -> str:
    return "none" if value is None else value
