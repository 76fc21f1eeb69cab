"""Cases by the native engine and by Spark in one session: each case whose answers differ, and a smaller one that differs too."""

from __future__ import annotations

import copy
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lakegate.base.errors import ContractError
from lakegate.lints.linter import read
from lakegate.rules.compile_plan import compile_plan
from tests.agreement.cases import Case, as_yaml
from tests.agreement.engines import differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.agreement.engines import Engine

MAX_ATTEMPTS = 60
"""Parts of a contract that are left out, one after the other, to find a smaller case."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A case to which the engines answer differently."""

    case: Case
    lines: tuple[str, ...]
    """Where the answers differ."""

    def __str__(self) -> str:
        return "\n  ".join((f"python -m tests.agreement --seed {self.case.seed}", *self.lines[:10]))


def disagreements(cases: Iterable[Case], engine: Engine, spark: SparkSession) -> Iterator[Disagreement]:
    """The cases on which the native engine and another one disagree."""
    for case in cases:
        lines = compared(case, engine)
        spark.catalog.clearCache()
        if lines:
            yield Disagreement(case, lines)


def compared(case: Case, engine: Engine) -> tuple[str, ...]:
    """Where the answers to a case differ; an engine that ends with an exception of no kind of ours differs."""
    folder = Path(tempfile.mkdtemp(prefix="lakegate-agreement-"))
    try:
        return tuple(differences(case, engine, folder))
    except Exception as error:  # noqa: BLE001 - such an exception is what is looked for
        return (f"{type(error).__name__}: {error}",)
    finally:
        shutil.rmtree(folder)


def smaller(found: Disagreement, engine: Engine) -> Disagreement:
    """The same delivery with a contract that lacks what the disagreement does not need."""
    document, draw = yaml.safe_load(found.case.text), random.Random(0)
    paths = list(_removable(document, ()))
    draw.shuffle(paths)
    for path in sorted(paths[:MAX_ATTEMPTS], key=len):
        tried = copy.deepcopy(document)
        case = _without(tried, path, found.case)
        if case is not None and (lines := compared(case, engine)):
            document, found = tried, Disagreement(case, lines)
    return found


def _removable(place: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Paths of the rules, options and fields of a document; the last item of a list first."""
    steps = (
        list(place.items()) if isinstance(place, dict) else list(enumerate(place)) if isinstance(place, list) else []
    )
    for key, value in reversed(steps):
        if len(path) > 1:
            yield (*path, key)
        yield from _removable(value, (*path, key))


def _without(document: Any, path: tuple[Any, ...], case: Case) -> Case | None:
    """The case with a document that lacks a part; None where it is not a contract any more."""
    place = document
    try:
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
    except (LookupError, TypeError):
        return None
    text = as_yaml(document)
    try:
        contract = read(text)
        plan = compile_plan(contract, contract.datasets[0])
    except ContractError:
        return None
    return replace(case, text=text, contract=contract, plan=plan) if plan.fields else None
