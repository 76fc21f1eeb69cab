"""The contract version that a person names for a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.routes import candidates, covering, line_of, parts_of
from lakegate.contracts.lake.versions import ChosenVersion, major
from lakegate.contracts.words import listed, shown

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


def chosen_version(dependencies: Dependencies, workload: Workload, written: str) -> ChosenVersion:
    """The version `contract@version`, for the dataset that the delivery belongs to.

    Raises InputError if it is not published, is of another contract than the delivery, or has no such dataset.
    """
    contract, _, version = written.rpartition("@")
    versions = {each.version: each for each in dependencies.registry.contract(contract).standing} if contract else {}
    if version not in versions:
        there = f"; published: {listed(sorted(versions))}" if versions else ""
        raise InputError(f"{shown(written)} is no published version: write CONTRACT@VERSION{there}")
    plans = dict(versions[version].plans)
    dataset = _dataset(dependencies, workload, contract)
    if dataset is None and len(plans) == 1:
        (dataset,) = plans
    if dataset is None or dataset not in plans:
        raise InputError(f"{shown(written)} has no dataset {shown(dataset or '')}: it has {listed(sorted(plans))}")
    return ChosenVersion(line_of(contract, dataset, major(version)), version, plans[dataset])


def _dataset(dependencies: Dependencies, workload: Workload, contract: str) -> str | None:
    """The dataset by what was pinned, else by the route; None if no contract covers the delivery."""
    landed, pin = workload.landed or workload.source, workload.pin
    route = covering(landed.key, dependencies.registry.routes(landed.bucket, candidates(landed.key)))
    lines = [*([pin.chain] if pin and pin.plan else []), *([route.line] if route else [])]
    if not lines:
        return None
    owner, dataset, _ = parts_of(lines[0])
    if all(parts_of(each)[0] != contract for each in lines):
        raise InputError(f"the delivery belongs to {shown(owner)}, not to {shown(contract)}")
    return dataset
