"""The schedule that compares every line with its accepted data; `test_drift_command.py` has what drift is."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions import drift_handler
from lakegate.aws import lambda_runtime
from lakegate.aws.lambda_runtime import HandlerError
from lakegate.contract.semantic_versions import major
from lakegate.features.drift import schema_drift
from lakegate.features.drift.schema_drift import DriftCheck, check_datasets
from lakegate.gate.datasets.dataset_names import published_datasets
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ports import Address, ObjectReader, ObjectVersion
from lakegate.gate.registry.registry_rows import Publication
from tests.deliveries.delivery import plan_of
from tests.simulation.environment import LAKE, Environment
from tests.unit.functions.test_handlers import Context

PLAN = plan_of({"id": "integer", "name": "string"})
SECRET = "Erika.Mustermann@example.com"


def full_dataset_name(env: Environment, contract: str, body: bytes, version: str = "1.0.0") -> str:
    """A published line with one accepted object."""
    objects = env.memory.objects
    plans = (("rows", PLAN.digest),)
    objects.put(Address(LAKE, f"plans/{PLAN.digest}.json"), PLAN.to_bytes())
    env.memory.registry.publish(Publication(contract, version, "active", "contracts/x", (), plans=plans))
    line = f"{contract}/rows_v{major(version)}"
    key = f"accepted/{line}/ingest_date=2026-01-01/workload={'0' * 64}/part-00000.csv"
    data = objects.put(Address(LAKE, key), body)
    delivery: dict[str, Any] = {
        "height": 0,
        "workload": "0" * 64,
        "contract_version": version,
        "verdict": "accepted",
        "published_at": "2026-01-01T00:00:00.000000Z",
        "event_time": None,
        "rows": 1,
        "published_rows": 1,
        "rejected_rows": 0,
        "format": "csv",
        "compression": "none",
        "csv": None,
        "report": "runs/r/report.html",
        "objects": [{"key": key, "version": data.version, "size": data.size, "checksum": ""}],
        "plan": "0" * 64,
    }
    head = {
        "format": "lakegate-manifest/3",
        "line": line,
        "height": 0,
        "segments": {"count": 0, "heights": 100},
        "deliveries": [delivery],
        "lifecycle": None,
        "gapless": True,
    }
    objects.put(Address(LAKE, manifest_key(line)), json.dumps(head).encode())
    return line


@pytest.fixture
def env() -> Environment:
    """Three lines: `a` is as promised, `b` and `c` are not."""
    made = Environment()
    full_dataset_name(made, "a", b"id,name\n1,x\n")
    full_dataset_name(made, "b", b"id\n1\n")
    full_dataset_name(made, "c", f"id,{SECRET}\n1,2\n".encode())
    return made


def lines(env: Environment) -> tuple[str, ...]:
    """The three, and those that every environment has."""
    return published_datasets(env.dependencies)


def checked(env: Environment, *, seconds: list[float] | None = None) -> DriftCheck:
    left = iter(seconds or [])
    dependencies = replace(env.dependencies, remaining=lambda: next(left, 900.0))
    return run(check_datasets(dependencies), dependencies.clock)


def test_every_line_is_compared_and_drift_is_reported(env: Environment) -> None:
    """Each line with drift has one message, which names fields of the contract and no text of a producer."""
    first, second = checked(env), checked(env)
    messages = {each.dataset: json.loads(each.body) for each in env.memory.messages.values()}

    assert (first.compared, first.drifted, first.failures) == (len(lines(env)), ["b/rows_v1", "c/rows_v1"], [])
    assert second.drifted == first.drifted
    assert set(messages) == {"b/rows_v1", "c/rows_v1"}
    assert messages["c/rows_v1"]["fields"] == [{"difference": "absent", "field": "name", "objects": 1}]
    assert SECRET not in str(messages)


def test_a_run_without_time_is_continued_by_the_next(env: Environment) -> None:
    """No line is left out for ever; after the last one the next run begins again."""
    first = checked(env, seconds=[900.0, 29.0])
    second, third = checked(env), checked(env)

    assert [each.compared for each in (first, second, third)] == [1, len(lines(env)) - 1, len(lines(env))]
    assert (first.drifted, second.drifted) == ([], ["b/rows_v1", "c/rows_v1"])


def test_a_line_that_fails_keeps_no_other_from_being_compared(env: Environment) -> None:
    """A manifest that is none is an error of its line."""
    env.memory.objects.put(Address(LAKE, manifest_key("a/rows_v1")), b"{")
    found = checked(env)

    assert [str(each) for each in found.failures] == ["the manifest of a/rows_v1 is not JSON"]
    assert found.drifted == ["b/rows_v1", "c/rows_v1"]


def test_a_line_that_ends_the_function_is_passed_over_by_the_next_run(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P7: the place is kept before the line is read."""
    compare = schema_drift.compare_object

    def killed(objects: ObjectReader, plan: bytes, accepted_by: bytes, data: ObjectVersion) -> Any:
        if data.key.startswith("accepted/b/"):
            raise MemoryError
        return compare(objects, plan, accepted_by, data)

    monkeypatch.setattr(schema_drift, "compare_object", killed)
    with pytest.raises(MemoryError):
        checked(env)

    assert checked(env).drifted == ["c/rows_v1"]


@pytest.fixture
def written(env: Environment, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """The log of the handler over the doubles."""
    log = io.StringIO()
    monkeypatch.setattr(drift_handler, "dependencies", lambda: env.dependencies)
    monkeypatch.setattr(drift_handler.LOG._logger.handlers[0], "stream", log)  # noqa: SLF001 - Powertools shows its stream nowhere else
    yield log
    lambda_runtime.INVOCATION.set(None)


def test_the_function_counts_drift(env: Environment, written: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    """Its answer and its metrics are the numbers of lines."""
    answer = drift_handler.handler({}, Context())  # type: ignore[arg-type]  # what it uses of a context
    metrics = json.loads(capsys.readouterr().out)

    number = len(lines(env))
    assert answer == {"compared": number, "drifted": 2, "failures": 0}
    assert (metrics["ComparedLines"], metrics["DriftedLines"], metrics["service"]) == ([number], [2.0], "drift")
    assert written.getvalue() == ""


def test_an_error_leaves_the_function_by_its_name_alone(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch, env: Environment
) -> None:
    """P15: what an error repeats of the data is neither logged nor raised."""

    def broken(*_: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(env.memory.objects, "head", broken)
    with pytest.raises(HandlerError, match="ValueError") as caught:
        drift_handler.handler({}, Context())  # type: ignore[arg-type]  # likewise

    assert SECRET not in written.getvalue() + str(caught.value)
