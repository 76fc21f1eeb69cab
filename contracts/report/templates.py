"""The templates of reports: what they print of others is escaped, and characters that are not printed are shown as escapes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from lakegate.contracts.words import printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template

NAMES: Final = ("base.html", "page.html", "line.html")


def template(name: str) -> Template:
    """A template by its name."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined  # noqa: PLC0415 - a library that only reports need

    folder = files(__package__)
    return Environment(
        loader=DictLoader({name: (folder / name).read_text(encoding="utf-8") for name in NAMES}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
