"""What the tests of a folder need, and which are slow, as markers (`make quick` omits both), and which share a process."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.changes import is_changed
from tests.reference.sampling import FULL

settings.register_profile(
    "patient", max_examples=500 if FULL else 50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "mutation",
    settings.get_profile("patient"),
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    database=None,
)  # `make mutation`: the first failing example decides, and it is the same each time
settings.load_profile("patient")  # how long an example takes depends more on the machine than on the code

os.environ["XDG_CONFIG_HOME"] = os.devnull  # no test asks the stack that a person has remembered (`lakegate use`)
HERE = Path(__file__).parent
SLOW = (
    *(HERE / name for name in ("agreement", "engine", "golden", "mutation", "security")),
    *(HERE / "infra" / f"test_{name}.py" for name in ("environments", "groups")),
    *(HERE / "unit" / name for name in ("lints", "sql")),
    *(
        HERE / f"unit/{name}.py"
        for name in (
            *("cli/contracts/test_lint_command_formats", "cli/test_completion"),
            *("contract/documents/test_read_document", "contract/documents/test_same_constraints"),
            *("diff/test_change_kinds", "diff/test_ci_commands", "diff/test_diff_contracts"),
            *("engine/test_duckdb_queries", "engine/evaluate/test_pattern_search"),
            *("engine/read/test_json", "engine/read/test_open_delivery_refused"),
            *("features/anchors/test_anchors", "features/announcements/test_data_summary"),
            *("features/convert/test_odcs_export", "gate/ledger/test_signatures"),
            *("job/test_job_storage", "repository/test_imports"),
        )
    ),
    *(
        HERE / f"unit/features/odf/exchange/test_{name}.py"
        for name in (
            *("exchange_commands", "export_and_import", "export_concurrency"),
            *("import_changed_files", "import_random_changes", "import_rewritten_blocks"),
        )
    ),
)
"""Folders and files of corpora, of properties with many examples, and of tests that start processes."""
NEEDS = {
    HERE / "e2e": pytest.mark.e2e,
    HERE / "infra/packaging": pytest.mark.tools,
    HERE / "integrations/local_emr": pytest.mark.service,
    HERE / "sam": pytest.mark.tools,
    HERE / "simulation": pytest.mark.simulation,
    **dict.fromkeys(SLOW, pytest.mark.slow),
}
ON_AWS = {"cloud", "lakegate"}
"""Fixtures whose AWS is moto's: their tests are slow, too."""
SHARED = {
    HERE / "infra/packaging": "template",
    HERE / "sam": "template",
}
"""Files and folders whose tests share what is expensive to start or to build: one process runs them."""
SELF_CONTAINED = {
    HERE / "integrations/local_emr": ("integrations/local_emr", "infra/setup", "tests/integrations/local_emr"),
}
"""Folders that test a package which uses little else, and the paths of both: `make test` runs them if a path was changed."""
OF_FILES = {
    HERE / "e2e/test_stack_life.py": (
        *("template.yaml", "tenant.yaml", "samconfig.toml", "infra/local", "infra/packaging", "infra/setup"),
        *(
            "lakegate/aws/stack_operations.py",
            "lakegate/cli/stack/stack_command.py",
            "lakegate/features/deployment",
            "tests/e2e/test_stack_life.py",
            "tests/e2e/deployed.py",
            "tests/sam/other_values.py",
        ),
    ),
    HERE / "infra/packaging/test_linters.py": (
        *("template.yaml", "tenant.yaml", "samconfig.toml", ".cfnlintrc", ".checkov.yaml", "infra/setup"),
        *("tests/infra/packaging/test_linters.py", "tests/infra/packaging/conftest.py", "tests/sam/built.py"),
    ),
    HERE / "infra/packaging/test_release.py": (
        *("infra/packaging", "infra/setup", "pyproject.toml", "setup.py"),
        *("tests/infra/packaging/test_release.py", "tests/infra/packaging/conftest.py"),
    ),
    HERE / "mutation/test_runs.py": ("tests/mutation", "tests/mutation/test_runs.py", "infra/setup"),
}
"""Tests of files by programs of others (SAM, CloudFormation, checkov), and of a tool; what they depend on: likewise.

Of the release it is not the code of `lakegate`, whose files tests/infra/packaging/test_wheel.py finds in the wheel.
"""
ONE_BY_ONE = HERE / "simulation"
"""Tests that share nothing: any process runs any of them."""


@cache
def tested_nightly(path: Path) -> bool:
    """Whether nothing that the tests of a file depend on was changed, which only some files can say."""
    watched = SELF_CONTAINED | OF_FILES
    return any(not is_changed(HERE.parent, *watched[place]) for place in (path, *path.parents) if place in watched)


@cache
def marks_of(path: Path) -> tuple[pytest.MarkDecorator, ...]:
    """The markers of all tests of a file."""
    night = (pytest.mark.full,) if tested_nightly(path) else ()
    return (*night, *(NEEDS[place] for place in (path, *path.parents) if place in NEEDS))


def is_on_aws(item: pytest.Item) -> bool:
    """Whether a test has an AWS in this process, of its own or as one of the cases of `ports`."""
    case = getattr(getattr(item, "callspec", None), "params", {}).get("ports")
    return case == "moto" or not ON_AWS.isdisjoint(getattr(item, "fixturenames", ()))


def group_of(test: str) -> str:
    """The tests that one process runs, with `--dist loadgroup`: those of an entry of SHARED, else those of a file."""
    path = HERE.parent / test.partition("::")[0]
    if ONE_BY_ONE in path.parents:
        return test
    return next((SHARED[place] for place in (path, *path.parents) if place in SHARED), str(path.relative_to(HERE)))


def pytest_collection_finish() -> None:
    """The collector looks at what tests make, seldom: at its defaults it takes a fifth of their processor time."""
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_unconfigure() -> None:
    """What libraries do at the end finds everything again."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the file and the folders that contain it."""
    for item in items:
        marks = marks_of(item.path)
        for mark in (*marks, pytest.mark.slow) if is_on_aws(item) else marks:
            item.add_marker(mark)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Schedule by `group_of`. The marker `xdist_group` of xdist 3.8 has no effect with pytest 9.2, whose node ids are fixed."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - not where tests run without xdist

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return GroupScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None
