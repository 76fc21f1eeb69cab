"""What pyproject.toml cannot express: the official JSON Schemas, which are fetched, and the programs that only a clone has."""

import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))  # nothing is installed yet

from infra.setup.schemas import OFFICIAL, install_schemas, pinned_schemas  # noqa: E402

CLONE = ("functions", "functions.*", "infra", "infra.*", "spark_jobs", "spark_jobs.*")
"""Packages of a clone: its editable install has them, the wheel does not."""


class WithSchemas(build_py):
    """The usual step, over a folder that set-up has filled, or that is filled now."""

    def run(self) -> None:
        """An editable install is one of a checkout: there `make setup` fetches them."""
        if not self.editable_mode:
            install_schemas(OFFICIAL, pinned_schemas())
        super().run()


setup(
    cmdclass={"build_py": WithSchemas},
    packages=find_packages(
        str(ROOT), include=["lakegate", "lakegate.*", *(CLONE if "editable_wheel" in sys.argv else ())]
    ),
)
