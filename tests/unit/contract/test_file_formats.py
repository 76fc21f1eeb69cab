"""The file format, from the extension and the servers of a document."""

from __future__ import annotations

import pytest

from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from tests.reference.cases import only_plan

ODCS = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
schema: [{{name: d, properties: [{{name: n, logicalType: number}}]}}]
{more}
"""
DCS = """
dataContractSpecification: 1.2.1
id: x
info: {{title: t, version: 1.0.0}}
models: {{m: {{fields: {{n: {{type: long}}}}}}}}
{more}
"""
PARQUET = "{server: a, type: local, path: x, format: parquet}"
DELTA = "{server: a, type: local, path: x, format: delta}"
CSV = "customProperties: [{property: lakegate, value: {csv: {delimiter: ';'}}}]"
ARRAY = "{type: s3, location: s3://b/p, format: JSON, delimiter: array}"
EXTENDED = "customProperties: [{property: lakegate, value: {format: jsonl, compression: gzip}}]"


def storage_of(text: str, more: str) -> Storage:
    contract = examine(text.format(more=more).encode()).contract
    assert contract is not None
    return contract.datasets[0].storage


@pytest.mark.parametrize(
    ("text", "more", "storage"),
    [
        (ODCS, "", Storage()),
        (ODCS, EXTENDED, Storage(Format.JSONL, Compression.GZIP)),
        (ODCS, f"servers: [{PARQUET}]", Storage(Format.PARQUET)),
        (ODCS, f"servers: [{PARQUET}, {{server: b, type: local, path: y, format: avro}}]", Storage(Format.UNKNOWN)),
        (ODCS, f"servers: [{PARQUET}, {{server: b, type: local, path: y}}]", Storage(Format.PARQUET)),
        (ODCS, f"servers: [{PARQUET}]\n{EXTENDED}", Storage(Format.JSONL, Compression.GZIP)),
        (DCS, f"servers: {{a: {ARRAY}}}", Storage(Format.JSON)),
        (ODCS, "servers: [{server: a, type: local, path: x, format: json}]", Storage(Format.ANY_JSON)),
        (DCS, "servers: {a: {type: s3, location: s3://b/p, format: json}}", Storage(Format.ANY_JSON)),
        (DCS, "servers: {a: {type: s3, location: s3://b/p, format: ndjson}}", Storage(Format.JSONL)),
        (DCS, "servers: {a: {type: s3, location: s3://b/p, format: delta}}", Storage(Format.UNKNOWN)),
        (ODCS, f"servers: [{DELTA}]\n{EXTENDED}", Storage(Format.JSONL, Compression.GZIP)),
        (ODCS, f"servers: [{DELTA}]\n{CSV}", Storage()),
    ],
)
def test_the_extension_wins_over_servers_that_agree(text: str, more: str, storage: Storage) -> None:
    """What servers agree on is a default, never replaced by another format; the extension's own word wins."""
    assert storage == storage_of(text, more)


def test_a_plan_contains_the_file_format() -> None:
    """The form of files reaches the job, and a plan from before there were several reads CSV."""
    contract = examine(ODCS.format(more=EXTENDED).encode()).contract
    assert contract is not None
    plan = only_plan(contract)
    document = plan.to_json()
    older = {key: value for key, value in document.items() if key != "storage"}

    assert Plan.from_json(document) == plan
    assert Plan.from_json(older).storage == Storage()


@pytest.mark.parametrize(
    ("storage", "suffix"),
    [
        (Storage(), ".csv"),
        (Storage(Format.JSONL, Compression.GZIP), ".jsonl.gz"),
        (Storage(Format.JSON, Compression.ZSTD), ".json.zst"),
        (Storage(Format.PARQUET), ".parquet"),
        (Storage(Format.ANY_JSON), ".json"),
        (Storage(Format.UNKNOWN), ""),
    ],
)
def test_keys_of_ours_end_in_what_a_file_is(storage: Storage, suffix: str) -> None:
    """Consumers see from a key what they read."""
    assert suffix == storage.suffix
