"""Drafts of contracts from files, and the verdicts of the native engine by them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lakegate.engine import native_backend
from lakegate.engine.read.data_source import LocalStore
from lakegate.features.draft.data_profile import profile
from lakegate.features.draft.draft_contract import Draft, draft
from lakegate.features.draft.found_fields import Profile
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.verdict import Judgement, judge

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft that has no error and no warning, and its plan."""

    profile: Profile
    draft: Draft
    plan: Plan


def parts_of(*paths: Path) -> tuple[StagedPart, ...]:
    """Files as parts of a delivery."""
    return tuple(StagedPart(path.as_uri(), path.stat().st_size, path.name) for path in paths)


def drafted(*paths: Path) -> Drafted:
    """The draft of files; it lints clean."""
    found = profile(parts_of(*paths), LocalStore(), paths[0].parent)
    document = draft(found, "data", None, NOW)
    examined = examine(document.text.encode())

    assert (examined.errors, examined.warnings) == ((), ())
    assert examined.contract is not None
    return Drafted(found, document, compile_plan(examined.contract, examined.contract.datasets[0]))


def judged(plan: Plan, *paths: Path) -> Judgement:
    """The judgement of files by a plan."""
    request = Request("w", 1, "", plan.digest, "v", parts_of(*paths), NOW.isoformat(), "")
    return judge(plan, native_backend.measure(request, plan, LocalStore(), paths[0].parent))
