"""The Lambda that keeps tables: by the datasets that events name, and all of them by schedule."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from functions import table_handler
from lakegate.aws import lambda_runtime
from lakegate.aws.lambda_events import RefusalReason, Unintelligible
from lakegate.aws.lambda_runtime import HandlerError
from lakegate.base.errors import Unanswered
from lakegate.base.extension_points import ROOT
from lakegate.features.tables import compact_table
from lakegate.features.tables.keep_table import KeptTable, TableKind
from lakegate.features.tables.table_hints import dataset_in
from lakegate.gate.effects import ConcurrentUpdate, Steps
from lakegate.gate.registry.registry_rows import Publication
from tests.fakes.gated_tables import MemoryGatedTable
from tests.fakes.tables import MemoryTables
from tests.simulation.environment import LAKE, LINE
from tests.simulation.gated import GatedWorld, MemorySnapshots
from tests.simulation.test_tables import Tabled
from tests.unit.aws.test_delivery_over_aws import settings
from tests.unit.functions.test_handlers import Context

LABELS = (("table", "lines"), ("rejected-table", "lines"))
PUBLISHED = {"source": "lakegate", "detail-type": "workload published", "detail": {"body": {"line": LINE}}}
RECALLED = {"source": "lakegate", "detail-type": "line recalled", "detail": {"line": LINE}}


def record(event: object, message: str = "m") -> dict[str, Any]:
    return {"messageId": message, "body": event if isinstance(event, str) else json.dumps(event)}


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> Tabled:
    """A stack whose dataset is published as a table."""
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    made = Tabled()
    own = Publication("orders", "1.1.0", "active", "c", (), plans=(("lines", "a" * 64),), labels=(("table", "lines"),))
    made.env.memory.registry.publish(own)
    monkeypatch.setattr(table_handler, "dependencies", lambda: made.env.dependencies)
    monkeypatch.setattr(table_handler, "catalog", lambda: (made.tables,))
    return made


def handle(event: dict[str, Any]) -> dict[str, Any]:
    try:
        return table_handler.handler(event, Context())
    finally:
        lambda_runtime.INVOCATION.set(None)


@pytest.mark.parametrize("event", [PUBLISHED, RECALLED, RECALLED | {"detail-type": "line restored"}])
def test_an_event_names_the_dataset_whose_table_is_kept(town: Tabled, event: dict[str, Any]) -> None:
    assert handle({"Records": [record(event)]}) == {"batchItemFailures": []}
    assert town.shown_heights() == [0, 1, 2]


@pytest.mark.parametrize(
    ("event", "reason", "path"),
    [
        ("{", RefusalReason.NOT_JSON, "$"),
        (PUBLISHED | {"source": "other"}, RefusalReason.FOREIGN_SOURCE, "$.source"),
        (PUBLISHED | {"detail-type": "workload failed"}, RefusalReason.UNKNOWN_KIND, "$.detail-type"),
        (PUBLISHED | {"detail": {"body": {}}}, RefusalReason.MISSING_FIELD, "$.detail.body.line"),
        (RECALLED | {"detail": {"line": 1}}, RefusalReason.WRONG_TYPE, "$.detail.line"),
    ],
)
def test_an_event_that_names_no_dataset_is_delivered_again(
    town: Tabled, event: object, reason: RefusalReason, path: str
) -> None:
    assert dataset_in(record(event)) == Unintelligible(reason, path)
    assert handle({"Records": [record(event, "a"), record(PUBLISHED, "b")]}) == {
        "batchItemFailures": [{"itemIdentifier": "a"}]
    }
    assert town.shown_heights() == [0, 1, 2]


def test_a_dataset_that_is_no_table_is_passed_over(town: Tabled) -> None:
    other = PUBLISHED | {"detail": {"body": {"line": "orders/others_v1"}}}

    assert handle({"Records": [record(other)]}) == {"batchItemFailures": []}
    assert town.tables.tables == {}


@pytest.mark.parametrize(
    ("seconds", "failures", "heights"), [(900, [], [0, 1, 2]), (9, [{"itemIdentifier": "m"}], [0, 1])]
)
def test_a_table_that_lacks_many_snapshots_is_gone_on_with(
    town: Tabled, monkeypatch: pytest.MonkeyPatch, seconds: float, failures: list[object], heights: list[int]
) -> None:
    """In the same invocation while there is time; else the message is delivered again, which counts as no error."""
    gate = replace(town.env.dependencies, remaining=lambda: seconds)
    monkeypatch.setattr(table_handler, "dependencies", lambda: gate)
    monkeypatch.setattr(table_handler, "keep_table", lambda *_: town.keeps(2))

    assert handle({"Records": [record(PUBLISHED)]}) == {"batchItemFailures": failures}
    assert town.shown_heights() == heights


@pytest.mark.parametrize(("races", "failures"), [(2, []), (99, [{"itemIdentifier": "m"}])])
def test_who_loses_a_race_looks_again(
    town: Tabled, monkeypatch: pytest.MonkeyPatch, races: int, failures: list[object]
) -> None:
    """Who won may have read the ledger before the block of this message."""
    lost = iter(range(races))

    def keeps(*_: object) -> Steps[KeptTable]:
        if next(lost, None) is not None:
            raise ConcurrentUpdate(LINE)
        return town.keeps()

    monkeypatch.setattr(table_handler, "keep_table", keeps)

    assert handle({"Records": [record(PUBLISHED)]}) == {"batchItemFailures": failures}


def test_the_schedule_keeps_all_tables_and_ends_with_an_error_if_one_fails(
    town: Tabled, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that the alarm of the function rings."""
    assert handle({}) == {"tables": 1}
    town.tables.write_foreign(LINE, ("foreign",), replaces=False)
    with pytest.raises(HandlerError, match="StepFailures"):
        handle({})

    assert '"StepFailures":[1.0]' in capsys.readouterr().out


def test_the_schedule_puts_small_files_together(
    town: Tabled, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An event does not: it is about rows."""
    monkeypatch.setattr(compact_table, "LEAST_FILES", 6)
    handle({"Records": [record(PUBLISHED)]})
    before = len(town.tables.rows(LINE))
    handle({})
    town.holds()

    assert (before, len(town.tables.rows(LINE))) == (6, 1)
    assert '"MergedFiles":[6.0]' in capsys.readouterr().out


def test_one_table_that_fails_does_not_stop_the_other(town: Tabled, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of rejected rows is kept, and the message is delivered again."""
    own = Publication("orders", "1.2.0", "active", "d", (), plans=(("lines", "b" * 64),), labels=LABELS)
    town.env.memory.registry.publish(own)
    rejected = MemoryTables(town.env.memory.objects, LAKE, TableKind.REJECTED)
    monkeypatch.setattr(table_handler, "catalog", lambda: (town.tables, rejected))
    town.kept()
    town.tables.write_foreign(LINE, ("foreign",), replaces=False)

    assert handle({"Records": [record(PUBLISHED)]}) == {"batchItemFailures": [{"itemIdentifier": "m"}]}
    assert rejected.tables == {LINE: []}


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> GatedWorld:
    """A stack with a gated table, whose branch has a good snapshot."""
    for name, value in settings("00app").items():
        monkeypatch.setenv(name, value)
    made = GatedWorld()
    made.table.commit("good:1")
    source = MemorySnapshots(made.table, frozenset())
    monkeypatch.setattr(table_handler, "dependencies", lambda: made.env.dependencies)
    monkeypatch.setattr(table_handler, "gate_of_tables", lambda: (made.table, source, made.landing))
    return made


@pytest.mark.parametrize("by", ["event", "schedule"])
def test_an_accepted_snapshot_becomes_main(gated: GatedWorld, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Delivered by the schedule, and published by the event, or by the next turn where none came."""
    for _ in range(3):
        handle({"gated": True})
        gated.env.memory.clock.sleep(360)
    gated.gate()
    answer = handle({"Records": [record(PUBLISHED)]} if by == "event" else {"gated": True})

    assert answer == ({"batchItemFailures": []} if by == "event" else {"ends": 1})
    assert gated.table.written == [(None, 1)]
    assert '"PullsPublished":[1.0]' in capsys.readouterr().out


def test_a_table_that_is_not_reached_ends_with_an_error(gated: GatedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the alarm of the function rings, and the next turn goes on."""
    for _ in range(3):
        handle({"gated": True})
        gated.env.memory.clock.sleep(360)
    gated.gate()
    with monkeypatch.context() as patch:
        patch.setattr(MemoryGatedTable, "files", lambda *_: _refused())
        with pytest.raises(HandlerError, match="StepFailures"):
            handle({"gated": True})
        assert handle({"Records": [record(PUBLISHED)]}) == {"batchItemFailures": [{"itemIdentifier": "m"}]}
    handle({"gated": True})

    assert gated.table.written == [(None, 1)]


def _refused() -> None:
    raise Unanswered("ReadTimeoutError")


def test_the_function_needs_nothing_of_the_engine_but_arrow() -> None:
    """Its package has no numpy and no DuckDB: an import of either ends the function before it begins."""
    script = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('numpy', 'duckdb', 'pandas')))\n"
        "import functions.table_handler\n"
        "import lakegate.features.tables.iceberg_tables\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - ours

    assert ended.returncode == 0, ended.stderr[-2000:]
