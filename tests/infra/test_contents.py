"""A bundle has the modules that its entry modules reach, and nothing else of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.packaging.bundles import FUNCTIONS, JOB, JUDGE, PULL, Bundle, own_files
from lakegate.base.extension_points import ROOT

ENTRY = """
from __future__ import annotations
import json
import lakegate.one
from lakegate.folder import two
from lakegate.folder.three import name

if TYPE_CHECKING:
    from lakegate.types_only import Type


def late() -> None:
    from lakegate.late import late
"""
FILES = (
    "functions/__init__.py",
    "lakegate/__init__.py",
    "lakegate/one.py",
    "lakegate/folder/__init__.py",
    "lakegate/folder/two.py",
    "lakegate/folder/three.py",
    "lakegate/folder/page.html",
    "lakegate/schemas/one.json",
    "lakegate/late.py",
)
OTHERS = (
    "functions/other.py",
    "lakegate/types_only.py",
    "lakegate/folder/four.py",
    "lakegate/folder/notes.txt",
    "lakegate/five/__init__.py",
    "lakegate/five/five.json",
)


def names(files: set[Path], root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in files}


def test_imports_are_followed_wherever_they_stand_but_for_types(tmp_path: Path) -> None:
    """Modules, the packages around them and the data beside them; not what nobody imports."""
    for name in (*FILES, *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "functions/entry.py").write_text(ENTRY)

    assert names(own_files(("functions.entry",), tmp_path), tmp_path) == {*FILES, "functions/entry.py"}


def test_a_module_that_asks_an_extension_point_reaches_what_is_registered_there() -> None:
    """The text of a row of the feature table is no import: the bundle has its module all the same, and the table."""
    found = names(own_files(("lakegate.rules.rule_kinds",), ROOT), ROOT)

    assert {"lakegate/features/feature_table.py", "lakegate/features/soda/soda_checks.py"} <= found
    assert "lakegate/features/drift/schema_drift.py" not in found


def test_the_functions_have_what_publishing_over_http_leaves_to_a_second_person() -> None:
    """The commands of the same feature stay outside: they register at another point."""
    found = names(own_files(FUNCTIONS.entries, ROOT), ROOT)

    assert "lakegate/features/proposals/proposal.py" in found
    assert "lakegate/features/proposals/proposals_command.py" not in found


@pytest.mark.parametrize("bundle", [FUNCTIONS, JUDGE, PULL, JOB], ids=lambda each: each.name)
def test_no_bundle_has_commands(bundle: Bundle) -> None:
    """What runs at AWS prints nothing on a terminal, and its bundle has not the libraries for it."""
    found = names(own_files(bundle.entries, ROOT), ROOT)

    assert found > {f"{entry.replace('.', '/')}.py" for entry in bundle.entries}
    assert [
        name for name in sorted(found) if name.startswith(("lakegate/cli/", "infra/")) or name.endswith("_command.py")
    ] == []
