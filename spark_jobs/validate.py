"""The job: `validate.py --request URI`. One attempt, one answer.

1. Read the request and the plan it names; the plan's digest must be the one requested.
2. Open the delivery: what is no file of the promised shape is answered at once (`unreadable`), without a scan.
3. Fill the narrow frame and count it (census), measure every check, find samples of the failed ones.
4. Ask the contract's own queries, each by itself: last, so that none of them keeps anything else waiting.
5. Write `result.json`, last of all and only once.

The exit code is 0 if and only if `result.json` was written; 2 where the request, the bytes or the machine cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyspark

from contracts.errors import InputError, LakegateError
from contracts.kinds import UnreadableError
from contracts.model import OnReject
from contracts.outcome import Status
from contracts.plan import Plan
from contracts.request import Request
from contracts.result import Result
from contracts.verdict import judge, row_rules
from spark_jobs.checks import measure
from spark_jobs.extra import with_extra
from spark_jobs.frame import census, narrow
from spark_jobs.levels import by_level
from spark_jobs.meter import Meter
from spark_jobs.quantities import event_time
from spark_jobs.queries import Tables, ask, fields_read
from spark_jobs.query_rows import with_rows
from spark_jobs.read import open_delivery
from spark_jobs.references import Accepted
from spark_jobs.rows import count_rejected, split
from spark_jobs.samples import SAMPLES, Evidence, Source, with_evidence, with_first_records
from spark_jobs.session import start
from spark_jobs.store import store_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from contracts.check import Check
    from contracts.result import Measurement
    from spark_jobs.delivery import Delivery

    Parted = Mapping[tuple[str, ...], tuple[Delivery, tuple[Check, ...]]]
    """The delivery at each level, with the checks that are measured there; that of the records has none."""

UNUSABLE = 2


@dataclass(slots=True)
class Stopwatch:
    """Seconds spent in each step, and the word to whoever watches."""

    watch: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        self.watch(name)
        began = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - began, 3)


def validate(
    request: Request, plan: Plan, watch: Callable[[str], None] = lambda _: None, samples: int = SAMPLES
) -> Result:
    """Measure the delivery of a request against its plan; `samples`: failing rows of each check that are shown at most."""
    stopwatch, before = Stopwatch(watch), Meter.read()
    with stopwatch.step("start"):
        spark = start()
    answer = Result(
        request.workload, request.attempt, plan.digest, request.source_version, rows=0, engines=_engines(spark)
    )
    try:
        found = _measured(spark, plan, request, answer, stopwatch, samples)
    except UnreadableError as error:
        found = replace(answer, unreadable=error.finding)
    return replace(found, timings=dict(stopwatch.seconds), vcpu_seconds=Meter.read().since(before))


def run(request_uri: str) -> Result:
    """Answer the request at an address; the result is written beside it, once."""
    request = Request.from_json(_document(request_uri))
    plan = Plan.from_json(_document(request.plan_uri))
    if plan.digest != request.plan_digest:
        raise InputError("the plan is not the one the request names: its digest differs")
    result = validate(request, plan)
    content = json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False).encode()
    store_for(request.output_uri).write_new(f"{request.output_uri}/result.json", content)
    return result


def main(arguments: list[str] | None = None) -> int:
    """The entry point of the job."""
    parser = argparse.ArgumentParser(prog="validate.py", description="Measure one delivery against its plan.")
    parser.add_argument("--request", required=True, metavar="URI", help="address of request.json (file: or s3:)")
    try:
        run(parser.parse_args(arguments).request)
    except LakegateError as error:
        print(f"validate: {error}", file=sys.stderr)  # noqa: T201 - the driver's log is standard error
        return UNUSABLE
    return 0


def _measured(  # noqa: PLR0913, PLR0917 - what is measured, and how it is told
    spark: SparkSession, plan: Plan, request: Request, answer: Result, stopwatch: Stopwatch, samples: int
) -> Result:
    with stopwatch.step("open"):
        delivery = open_delivery(spark, plan, request)
        absent = set(delivery.columns.absent)
        checks = tuple(check for check in plan.checks if check.needs_rows and not absent & check.reads)
        shared = tuple(check for check in checks if not check.metric.asked)
        asked = tuple(check for check in checks if check.metric.asked)
        parted = {
            level: (delivery.at(level) if level else delivery, own) for level, own in by_level(plan, shared).items()
        }
        narrows = {
            level: narrow(spark, plan, of, own, () if level else fields_read(asked))
            for level, (of, own) in parted.items()
        }
    with stopwatch.step("read"):
        counts = {level: census(narrows[level], of) for level, (of, _) in parted.items()}
        counted, columns = counts[()], with_extra(delivery, narrows[()])
    with stopwatch.step("measure"):
        answers = tuple(
            each
            for level, (_, own) in parted.items()
            for each in measure(plan, narrows[level], own, counts[level], request.judged_at)
        )
        moments = event_time(plan, narrows[()], parted[()][1]) if counted.judged else None
    answer = replace(
        answer,
        rows=counted.rows,
        columns=columns,
        malformed=counted.malformed,
        measurements=answers,
        event_time=moments,
    )
    with stopwatch.step("explain"):
        blamed = row_rules(plan, answer)
        rejected = count_rejected(plan, narrows, blamed) if counted.judged else 0
        answer = replace(answer, rejected_rows=counted.rows - counted.judged + rejected)
        sources = [Source(plan, of, narrows[level], counted, own) for level, (of, own) in parted.items()]
        answer = replace(answer, malformed=with_first_records(sources[0]))
        explained = _explained(answer, sources, samples)
    if plan.policy.on_reject is OnReject.ROWS and answer.rejected_rows:
        with stopwatch.step("split"):
            answer = replace(answer, shares=split(plan, delivery, narrows, blamed, request.output_uri))
    if asked:
        with stopwatch.step("ask"):
            tables = Tables(plan, request.judged_at, narrows[()].judged, Accepted(spark, request))
            explained += with_rows(ask(spark, asked, tables), replace(sources[0], checks=asked), tables, samples)
    for narrowed in narrows.values():
        narrowed.packed.unpersist()
    by_check = {each.check: each for each in explained}
    return replace(answer, measurements=tuple(by_check[check.id] for check in checks))


def _explained(answer: Result, sources: list[Source], most: int) -> tuple[Measurement, ...]:
    """The measurements, those of bad checks with samples of their failing rows."""
    plan, found = sources[0].plan, dict[str, Evidence]()
    bad = {each.id for each in judge(plan, answer).outcomes if each.status in {Status.FAIL, Status.WARN}}
    for source in sources if plan.policy.samples else ():
        found |= source.samples_of(bad, most)
    return with_evidence(answer.measurements, found)


def _document(uri: str) -> object:
    try:
        return json.loads(store_for(uri).read(uri))
    except OSError as error:
        raise InputError(f"the document at {uri!r} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise InputError(f"the document at {uri!r} is not JSON") from error


def _engines(spark: SparkSession) -> dict[str, str]:
    return {"spark": spark.version, "pyspark": pyspark.__version__}


if __name__ == "__main__":
    sys.exit(main())
