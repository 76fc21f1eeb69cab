"""Drafts of contracts from files, and the verdicts of the native engine by them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.draft.document import draft
from lakegate.contracts.judge.judgement import judge
from lakegate.contracts.lint.examine import examine
from lakegate.contracts.plan.request import Request, StagedPart
from lakegate.engine import native
from lakegate.engine.profile.profile import profile
from lakegate.engine.read.local import LocalStore

if TYPE_CHECKING:
    from pathlib import Path

    from lakegate.contracts.draft.document import Draft
    from lakegate.contracts.draft.profile import Profile
    from lakegate.contracts.judge.judgement import Judgement
    from lakegate.contracts.plan.plan import Plan

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
    return judge(plan, native.measure(request, plan, LocalStore(), paths[0].parent))
