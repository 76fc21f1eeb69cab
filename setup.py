"""What pyproject.toml cannot express: the folders of the packages, and the official JSON Schemas, which are fetched."""

import sys
from pathlib import Path
from types import ModuleType

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
FOLDERS = ("contracts", "engine", "functions", "spark_jobs", "cli", "infra")
"""Each is imported as `lakegate.<folder>` (decision 40)."""

source = ModuleType("lakegate")  # nothing is installed yet
source.__path__ = [str(ROOT)]
sys.modules["lakegate"] = source

from lakegate.infra.setup.schemas import OFFICIAL, install_schemas, pinned_schemas  # noqa: E402


class WithSchemas(build_py):
    """The usual step, over a folder that set-up has filled, or that is filled now."""

    def run(self) -> None:
        """An editable install is one of a checkout: there `make setup` fetches them."""
        if not self.editable_mode:
            install_schemas(OFFICIAL, pinned_schemas())
        super().run()


inside = find_namespace_packages(
    str(ROOT), exclude=["*.__pycache__"], include=[*FOLDERS, *(f"{each}.*" for each in FOLDERS)]
)

setup(
    cmdclass={"build_py": WithSchemas},
    package_dir={"lakegate": "lakegate", **{f"lakegate.{each}": each for each in FOLDERS}},
    packages=["lakegate", *(f"lakegate.{each}" for each in inside)],
)
