"""Settings of the extension in contracts of several datasets: each is in force for some of them."""

from __future__ import annotations

import pytest

from lakegate.lints.linter import examine

MODEL = "fields: {id: {type: long, primaryKey: true}, day: {type: date}}"
SNAPSHOT = "publishAs: parquet, mergeStrategy: snapshot"


def found(root: str, **models: str) -> list[tuple[str, str]]:
    """Codes and places of the findings about settings, of a DCS document with these extensions."""
    parts = "\n".join(f"  {name}: {{{MODEL}, config: {{lakegate: {{{each}}}}}}}" for name, each in models.items())
    text = f"dataContractSpecification: 1.2.1\nid: x\ninfo: {{title: t, version: 1.0.0}}\nconfig: {{lakegate: {{{root}}}}}\n"
    there = examine(f"{text}models:\n{parts}\n".encode())
    return [(each.code, each.path) for each in (*there.errors, *there.warnings) if "lakegate" in each.path]


@pytest.mark.parametrize(
    ("root", "models", "expected"),
    [
        ("mode: enforce", {"a": SNAPSHOT, "b": "duplicates: refuse"}, []),
        (
            "mode: enforce",
            {"a": f"{SNAPSHOT}, duplicates: refuse", "b": "duplicates: refuse"},
            [("idle-slice-setting", "$.models.a.config.lakegate.duplicates")],
        ),
        ("duplicates: refuse", {"a": SNAPSHOT, "b": "mode: enforce"}, []),
        (
            "duplicates: refuse",
            {"a": SNAPSHOT, "b": "duplicates: refuse"},
            [("idle-slice-setting", "$.config.lakegate.duplicates")],
        ),
        (
            "mode: enforce",
            {"a": "publishAs: parquet, eventTime: day", "b": "eventTime: day"},
            [("no-event-time", "$.models.b.config.lakegate.eventTime")],
        ),
        (
            "mode: enforce",
            {"a": "publishAs: parquet, mergeStrategy: ledger", "b": "mergeStrategy: ledger"},
            [("no-merge-key", "$.models.b.config.lakegate.mergeStrategy")],
        ),
        (
            "mode: enforce",
            {"a": "format: json, onReject: rows", "b": "onReject: rows"},
            [("unsplittable-rows", "$.models.a.config.lakegate.onReject")],
        ),
        (
            "mode: enforce",
            {"a": "delivery: quiet, quietMinutes: 5", "b": "quietMinutes: 5"},
            [("idle-delivery-setting", "$.models.b.config.lakegate.quietMinutes")],
        ),
        (
            "mode: enforce",
            {"a": "onReject: rows, maxRejectedShare: 0.1", "b": "maxRejectedShare: 0.1"},
            [("idle-share", "$.models.b.config.lakegate.maxRejectedShare")],
        ),
        (
            "mode: enforce",
            {"a": "format: parquet, compression: gzip", "b": "compression: gzip"},
            [("compression-inside", "$.models.a.config.lakegate.compression")],
        ),
    ],
)
def test_a_finding_is_at_the_setting_of_the_dataset(
    root: str, models: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    """What one dataset has in its own extension is not said of another; what both have from the contract, only if of both."""
    assert found(root, **models) == expected
