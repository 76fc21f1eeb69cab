"""Builds a parent and its child from the parts that a case writes, and reads the child with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from lakegate.inheritance.inherited_documents import Resolved, identity_of, parents_by_name, resolve
from tests.unit.diff.builder import document

CASES: Final[list[dict[str, Any]]] = yaml.load(Path(__file__).with_name("cases.yaml").read_text(), yaml.CSafeLoader)


def parent_of(parts: dict[str, Any], name: str = "acme", version: str = "1.0.0") -> bytes:
    """A parent; `common` are the keys of its dataset `*`."""
    root = {"id": name, **parts.get("root", {})}
    objects = [{"properties": [], "name": "*", **parts["common"]}] if "common" in parts else None
    return document({**parts, "root": root, **({"objects": objects} if objects else {})}, version)


def child_of(parts: dict[str, Any], inherits: str = "acme@1", **root: object) -> bytes:
    """A contract that inherits."""
    extension = {"inherits": inherits, **parts.get("extension", {})}
    return document({**parts, "extension": extension, "root": {**parts.get("root", {}), **root}})


def resolved(child: bytes, *parents: bytes) -> Resolved:
    """The child with its parents, each with the name under which it is pinned."""
    names = {"@".join(identity_of(text)): text for text in parents}
    return resolve(child, parents_by_name(names))
