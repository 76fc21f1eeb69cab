"""docs/openapi.json is what the code answers."""

from __future__ import annotations

from tests.unit.features.http_api.openapi import FILE, written


def test_the_committed_document_is_the_generated_one() -> None:
    """`python -m tests.unit.features.http_api.openapi` writes it."""
    assert FILE.read_text() == written()
