"""Causes that `lakegate doctor` recognises, as `lakegate explain` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from lakegate.cli.contracts.explain_command import OutcomeExplanation


def explanations() -> Iterator[OutcomeExplanation]:
    """Each cause with its remedy; what a probe finds out is a word in capitals."""
    import yaml  # noqa: PLC0415 - for this command alone

    causes = yaml.safe_load((files(__package__) / "causes.yaml").read_text(encoding="utf-8"))
    for name, cause in causes.items():
        text, remedy = (re.sub(r"{(\w+)}", lambda found: found[1].upper(), cause[key]) for key in ("text", "remedy"))
        yield OutcomeExplanation(name, f"{text[:1].upper()}{text[1:]}. What to do: {remedy}", "docs/doctor.md")
