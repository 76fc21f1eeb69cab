"""The built template, as tests/sam has it."""

from tests.sam.conftest import built, stack

__all__ = ["built", "stack"]
