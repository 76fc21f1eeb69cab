"""Checks events of OpenLineage by the official JSON Schemas, each facet by the schema that its `_schemaURL` names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

OFFICIAL = Path(__file__).parent / "official"
OWN = Path(__file__).parents[4] / "lakegate/schemas/openlineage-contract.json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SPEC = "https://openlineage.io/spec"


def restated(facet: str, key: str, base: str, **required: Any) -> dict[str, Any]:
    """What an official schema requires that is not among the files: in our words, over the official kind of facet."""
    name = facet.partition("/")[2]
    return {
        "$schema": DRAFT,
        "$id": f"{SPEC}/facets/{facet}.json",
        "$defs": {name: {"$ref": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/{base}", **required}},
        "properties": {key: {"$ref": f"#/$defs/{name}"}},
    }


TEXT = {"type": "string"}
TAG = {
    "type": "object",
    "required": ["key", "value"],
    "properties": dict.fromkeys(("key", "value", "source", "field"), TEXT),
}
TAGS = {"properties": {"tags": {"type": "array", "items": TAG}}}
RESTATED = [
    restated(
        "1-1-1/ProcessingEngineRunFacet",
        "processing_engine",
        "RunFacet",
        properties=dict.fromkeys(("version", "name", "openlineageAdapterVersion"), TEXT),
        required=["version"],
    ),
    restated("2-0-3/TagsDatasetFacet", "tags", "DatasetFacet", **TAGS),
    restated("2-0-3/TagsRunFacet", "tags", "RunFacet", **TAGS),
]
RESOURCES: list[Resource[Any]] = [
    Resource.from_contents(each)
    for each in (*RESTATED, *(json.loads(path.read_text()) for path in (OWN, *OFFICIAL.rglob("*.json"))))
]
REGISTRY: Registry[Any] = Registry().with_resources((each.id() or "", each) for each in RESOURCES)
FORMATS = FormatChecker(["uuid"])
FORMATS.checks("uri")(lambda text: re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+", str(text)) is not None)
FORMATS.checks("date-time", ValueError)(lambda text: datetime.fromisoformat(str(text)).tzinfo is not None)


def facets(document: Any) -> Iterator[tuple[str, Any]]:
    """Every facet of an event, with its key."""
    for key, each in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(each, dict) and "_schemaURL" in each:
            yield str(key), each
        elif isinstance(each, dict | list):
            yield from facets(each)


def mistakes(event: Any) -> list[str]:
    """What the official schemas reject, in the event and in each of its facets; a key that is not that of the facet's schema."""
    found = list(_mistakes(event["schemaURL"], event))
    for key, facet in facets(event):
        url = facet["_schemaURL"]
        found += _mistakes(url, facet)
        document = REGISTRY.contents(url.partition("#")[0])
        if "#" in url and list(document["properties"]) != [key]:
            found.append(f"{key} is not the key of {url}")
    return found


def _mistakes(url: str, document: Any) -> Iterator[str]:
    yield from (f"{each.json_path}: {each.message}" for each in _validator(url).iter_errors(document))


@cache
def _validator(url: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": url}, registry=REGISTRY, format_checker=FORMATS)
