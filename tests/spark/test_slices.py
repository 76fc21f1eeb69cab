"""The job and the judge function write the slices that the native engine writes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.model.policy import OnReject, Policy
from lakegate.engine.read import csv as csv_source
from lakegate.engine.slices import delivery
from tests.deliveries.delivery import measure_by_function, plan_of, rule
from tests.deliveries.sliced import slices

if TYPE_CHECKING:
    from pathlib import Path

    from lakegate.contracts.plan.slices import WrittenSlice

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
CONTENT = b"id,at\n" + b"".join(b"%d,2020-01-02T03:04:%02dZ\n" % (each, each % 60) for each in range(3000))


def contents(found: tuple[WrittenSlice, ...]) -> list[dict[str, object]]:
    """All but where the slices are."""
    return [asdict(replace(each, uri="")) for each in found]


def test_every_engine_writes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several slices of several shares each; the hashes of rows and of bytes are equal."""
    from lakegate.spark_jobs.validate import validate  # noqa: PLC0415 - Spark's settings must be made first

    monkeypatch.setattr(csv_source, "SHARE_BYTES", 10_000)
    monkeypatch.setattr(delivery, "SLICE_SHARES", 3)
    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("required", "id"))
    native = contents(slices(plan, tmp_path / "native", CONTENT))

    assert len(native) > 2
    assert contents(slices(plan, tmp_path / "function", CONTENT, engine=measure_by_function)) == native
    assert contents(slices(plan, tmp_path / "spark", CONTENT, engine=validate)) == native


def test_rejected_rows_are_in_no_slice_of_the_job(tmp_path: Path) -> None:
    """Beside the shares of accepted and rejected rows as they arrived; and without rows there is no slice."""
    from lakegate.spark_jobs.validate import validate  # noqa: PLC0415 - Spark's settings must be made first

    plan = plan_of({"id": "integer", "at": "timestamp"}, rule("minimum", "id", value=10))
    plan = replace(plan, policy=Policy(on_reject=OnReject.ROWS, allow_empty=True))
    native = contents(slices(plan, tmp_path / "native", CONTENT))

    assert [each["rows"] for each in native] == [2990]
    assert contents(slices(plan, tmp_path / "spark", CONTENT, engine=validate)) == native
    assert slices(plan, tmp_path / "empty", b"id,at\n", engine=validate) == ()
