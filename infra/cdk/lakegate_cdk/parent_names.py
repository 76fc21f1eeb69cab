"""Names of the stacks that Lakegate is nested in."""

from __future__ import annotations

LONGEST_PARENT = 10
"""Characters: CloudFormation names the nested stack `PARENT-lakegate-` with twelve more, and the template takes 32 together."""


def refuse_long_name(parent: str) -> None:
    """Raise ValueError for a stack in which names of roles and functions would be cut."""
    if len(parent) > LONGEST_PARENT:
        raise ValueError(
            f"the stack {parent} has more than {LONGEST_PARENT} characters, and names of roles and functions would be cut: "
            'give Lakegate a stack of its own with a short name, such as Stack(app, "data")'
        )
