"""What is mutated, and the fast tests of each package: those that show its promises without a JVM or a network."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

UNIT: Final = "tests/unit"
PACKAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "lakegate/verdict": (
            f"{UNIT}/test_answers.py",
            f"{UNIT}/test_causes.py",
            f"{UNIT}/test_counts.py",
            f"{UNIT}/test_header.py",
            f"{UNIT}/test_verdict.py",
            f"{UNIT}/test_verdict_columns.py",
            f"{UNIT}/test_verdict_rows.py",
            f"{UNIT}/test_verdict_wording.py",
            f"{UNIT}/test_value_mistakes.py",
            f"{UNIT}/usecases/test_deliveries.py",
            f"{UNIT}/rules",
        ),
        "lakegate/plan": (
            f"{UNIT}/test_answers.py",
            f"{UNIT}/test_check.py",
            f"{UNIT}/test_compile.py",
            f"{UNIT}/test_compile_wording.py",
            f"{UNIT}/test_billing.py",
            f"{UNIT}/test_counts.py",
            f"{UNIT}/test_nested_fields.py",
            f"{UNIT}/test_population.py",
            f"{UNIT}/test_predicate.py",
            f"{UNIT}/test_query.py",
            f"{UNIT}/test_serialization.py",
            f"{UNIT}/test_verdict.py",
            f"{UNIT}/test_verdict_columns.py",
            f"{UNIT}/test_verdict_rows.py",
            f"{UNIT}/test_verdict_wording.py",
            f"{UNIT}/rules",
            f"{UNIT}/sql/test_rows.py",
            f"{UNIT}/usecases",
        ),
        "lakegate/gate": (f"{UNIT}/usecases", f"{UNIT}/test_handlers.py", f"{UNIT}/test_door.py"),
        "lakegate/engine/evaluate": (
            f"{UNIT}/engine/evaluate",
            "tests/engine/test_cases.py",
            "tests/engine/test_vacuous.py",
        ),
    }
)
"""By the folder of the package."""
