"""References of ODCS from one field to another: those by ids (`schema/orders_id/properties/customer_id`) as names with dots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakegate.contracts.documents.nodes import Place

ANCHOR = "#"


def qualified(top: Place, text: str) -> str:
    """The target of a reference as `dataset.field`; empty if a step has no target."""
    names: list[str] = []
    place, steps = top, text.lstrip(ANCHOR).strip("/").split("/")
    for key, wanted in zip(steps[::2], steps[1::2], strict=False):
        found = next((each for each in place[key].items if wanted in {each["id"].text, each["name"].text}), None)
        if found is None:
            return ""
        place = found
        names.append(found["name"].text or "")
    return ".".join(names)


def by_names(top: Place, to: str) -> str:
    """The targets of a reference, each by names; unresolved or external targets stay as written."""
    return ",".join(_by_names(top, each) for each in to.split(","))


def _by_names(top: Place, to: str) -> str:
    return (qualified(top, to) or to) if "/" in to and "://" not in to else to
