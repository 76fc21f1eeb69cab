"""Puts the official JSON Schemas of contract formats into every build: the repository does not hold them.

All else about the package stands in pyproject.toml.
"""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent))

from infra.setup.schemas import OFFICIAL, install_schemas, pinned_schemas


class WithSchemas(build_py):
    """The usual step, over a folder that set-up has filled, or that is filled now."""

    def run(self) -> None:
        """An editable install is one of a checkout: there `make setup` fetches them."""
        if not self.editable_mode:
            install_schemas(OFFICIAL, pinned_schemas())
        super().run()


setup(cmdclass={"build_py": WithSchemas})
