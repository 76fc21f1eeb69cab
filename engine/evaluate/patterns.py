"""Placeholder until the branch of patterns is merged."""
from contracts.matching.engine import parts_of
from engine.type.values import text_literal


def search(pattern: str, text: str) -> str:
    found = [(f"regexp_matches({text}, {text_literal(part.pattern)})", part.wanted) for part in parts_of(pattern)]
    return " AND ".join(sql if wanted else f"NOT {sql}" for sql, wanted in found)
