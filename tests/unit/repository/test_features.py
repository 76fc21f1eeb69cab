"""The core goes on without a feature whose folder is absent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache

import pytest

from lakegate.base.extension_points import ROOT
from lakegate.features.feature_table import TABLE
from lakegate.gate.effects import Effect
from tests.unit.repository import remaining
from tests.unit.repository.layers import feature_of, layer_of, layers, product

FEATURES = sorted({feature_of(file) for file in product()} - {""})
ALL = "all"
CORE = [
    ".".join(file.with_suffix("").parts)
    for file in product()
    if layer_of(file).rank < layers()["features"].rank and layer_of(file).name != "spark" and file.stem != "__init__"
]
"""The modules that need no Spark: pyspark alone takes as long as all of them."""
WITHOUT = """
import json, os, sys, traceback
from importlib import import_module
from inspect import signature
import boto3, click, duckdb, jinja2, jsonschema, numpy, pyarrow, rich, sqlglot, yaml

def checks(absent):
    sys.modules.update(dict.fromkeys(f"lakegate.features.{each}" for each in absent))
    for each in core:
        import_module(each)
    options = {*signature(import_module("lakegate.cli.datasets.verify_command").verify).parameters}
    added = {"derivation", "integrity", "replay", "anchors", "keep_anchor"}
    assert {"objects", "data"} < options and not added & options, options
    outbox, subscriptions = import_module("lakegate.gate.event_bodies"), import_module("lakegate.gate.datasets.subscriptions")
    kinds = {name for point, name, _ in import_module("lakegate.features.feature_table").TABLE if point == "dataset events"}
    assert kinds and not kinds & {*outbox.DATASET_KINDS, *subscriptions.ON_REQUEST}, kinds
    sys.argv = ["lakegate", *command]
    try:
        import_module("lakegate.cli.main").main()
    except SystemExit as ended:
        assert ended.code == 1, ended.code
    sys.argv = ["lakegate", "--help"]
    try:
        import_module("lakegate.cli.main").main()
    except SystemExit as ended:
        assert ended.code == 0, ended.code

def delivers(absent):
    places = tuple(f"lakegate.features.{each}." for each in absent)
    sys.modules.update({each: None for each in sys.modules if f"{each}.".startswith(places)})
    import_module("lakegate.base.extension_points")._is_there.cache_clear()
    machine = import_module("tests.simulation.exhaustive")
    machine.play(machine.SCENARIOS[0])

def keeps(absent):
    delivers(absent)
    rows, table = import_module("lakegate.gate.delivery.delivery_row"), import_module("lakegate.aws.dynamodb_table")
    written = table.item_of(rows.workload_row(rows.workload_of(table.row_of("workloads", stored))))
    item = {**written, "row": {"S": ""}}
    assert item == {**stored, "row": {"S": ""}}, item
    kept = json.loads(written["row"]["S"])
    assert {**kept, **row, "decision": kept["decision"]} == kept, kept
    assert {**kept["decision"], **row["decision"]} == kept["decision"], kept

def play(works, cases):
    for name, absent in cases.items():
        child = os.fork()
        if not child:
            sys.stdout = open(os.devnull, "w")
            try:
                works(absent)
                os._exit(0)
            except BaseException:
                print(name, traceback.format_exc(), file=sys.stderr, flush=True)
                os._exit(1)
        print(works.__name__, name, os.waitpid(child, 0)[1], flush=True)

core, cases, command, row = json.load(sys.stdin)
stored = {
    "id": {"S": "workload#w1"},
    "state": {"S": "DECIDED"},
    "attempt": {"N": "1"},
    "result": {"S": ""},
    "row": {"S": json.dumps(row)},
}
play(checks, {"all": cases["all"]})
import tests.simulation.exhaustive  # its doubles need the features; the core looks for them again
play(delivers, cases)
play(keeps, {"all": cases["all"]})
"""
"""Each case in a process of its own, forked where the libraries are loaded.

Without its features all modules of the core are imported, `verify` has its own options, and a file is checked; and the gate
plays a delivery, and writes a row with their data as it was.
"""


ROW = {
    "id": "w1",
    "source": {"bucket": "landing", "key": "orders/day.csv", "version": "v1", "etag": "", "size": 0, "checksum": ""},
    "state": "DECIDED",
    "attempt": 1,
    "decision": {
        "verdict": "accepted",
        "reasons": [],
        "offsets": [0, 6],
        "watermarks": ["", "2026-01-05T00:00:00.000000Z"],
        "runs": [{"uri": "accepted/orders/lines_v1/state.bin", "rows": 6}],
        "of a feature to come": {"member": [1]},
    },
    "of another feature to come": True,
}
"""What is stored of a delivery with slices, and of features that no release has."""


@cache
def without_each() -> tuple[dict[str, str], str]:
    """The exit status for each feature that is absent, and for all at once; and what went wrong."""
    data = ROOT / "tests/unit/repository/test_features.py"  # any text is a file that is rejected
    command = ["check", "--contract", str(ROOT / "contracts/examples/orders.odcs.yaml"), str(data)]
    cases = {**{each: [each] for each in FEATURES}, ALL: FEATURES}
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", WITHOUT],
        input=json.dumps([CORE, cases, command, ROW]),
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return dict(line.rsplit(" ", 1) for line in ended.stdout.splitlines()), ended.stderr


@pytest.mark.parametrize("case", [f"checks {ALL}", f"keeps {ALL}", *(f"delivers {each}" for each in [*FEATURES, ALL])])
def test_the_core_goes_on_without_a_feature(case: str) -> None:
    """A file is checked without all features, a delivery is published where the folder of one is not there, and data is kept."""
    codes, errors = without_each()

    assert (codes[case] == "0") is (case not in remaining.FEATURES), errors


def test_no_effect_of_the_core_names_a_feature_that_adds_events_or_tasks() -> None:
    """A feature whose rows are due by schedule, or that reports on a dataset, needs no effect of its own."""
    stems = {name for point, name, _ in TABLE if point in {"dataset events", "scheduled tasks"}}
    words = {word for each in Effect for word in re.findall(r"[a-z]+", f"{each.name} {each}".lower())}

    assert {"drift", "pull", "revalidation"} <= stems
    assert {word for word in words if word.startswith(tuple(stems))} == set()


def test_the_architecture_lists_every_extension_point() -> None:
    """Whoever adds a feature finds each point, who asks it and what it takes."""
    page = (
        (ROOT / "docs/architecture.md").read_text().partition("### Extension points")[2].partition("What comes next")[0]
    )
    rows = re.findall(r"^\| `([^`]+)` \| (`[^`]+`(?:, `[^`]+`)*) \|", page, re.MULTILINE)
    asking = [file for _, files in rows for file in re.findall(r"`([^`]+)`", files)]

    assert [point for point, _ in rows] == sorted({point for point, _, _ in TABLE})
    assert [file for file in asking if not (ROOT / file).is_file()] == []


STILL_NEEDED = {
    "tests/unit/aws/test_settings.py": "metrics of the guide",
    "tests/unit/cli/conftest.py": "commands are compared over both ways",
    "tests/unit/cli/stack/test_unreadable_items.py": "doctor tells of each item",
    "tests/unit/gate/datasets/test_accepted_deliveries.py": "rows that a measurement reads",
    "tests/unit/gate/registry/test_parent_contracts.py": "the notice of a parent",
}
"""Tests of the core that need a feature, and why."""


def test_tests_of_the_core_need_no_feature() -> None:
    """They are collected where the folder of a feature and its tests are removed."""
    needing = re.compile(
        r"^(?:from|import) (?:lakegate\.features|tests\.unit\.features)\.(?!feature_table)", re.MULTILINE
    )
    files = (ROOT / "tests/unit").rglob("*.py")
    found = {str(each.relative_to(ROOT)) for each in files if needing.search(each.read_text())}

    assert {each for each in found if not each.startswith("tests/unit/features/")} == STILL_NEEDED.keys()
