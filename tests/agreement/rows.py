"""Generated rows: for each field a text, null, or the parts of a nested value; mostly valid, with damages among them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.agreement.fields import NUMERIC, VALID, WRONG, Field, pool

Value = str | list["Value"] | dict[str, "Value"] | None
"""A text, a list, an object or a map by its keys, or null."""
Row = dict[str, Value]
MAX_ROWS = 30


def rows_of(draw: random.Random, fields: Sequence[Field]) -> list[Row]:
    """Rows of the fields: values out of small pools, so that keys repeat, with the damages of the draw."""
    damaged = draw.choice([0, 0.02, 0.1, 0.4])
    nulls = {each.name: draw.choice([0, 0, 0.1, 0.5, 1]) for each in fields}
    pools = {kind: pool(draw, kind) for kind in VALID}
    count = draw.choice([0, 1, 2, draw.randint(3, MAX_ROWS), draw.randint(3, MAX_ROWS), draw.randint(3, MAX_ROWS)])

    def text(kind: str) -> str:
        if draw.random() < damaged:
            every = [*WRONG[kind], *draw.choice(list(WRONG.values()))] if kind in NUMERIC else WRONG[kind]
            return draw.choice(every)
        return draw.choice(pools[kind])

    def value(field: Field, share: float) -> Value:
        if draw.random() < share:
            return None
        match field.kind:
            case "object":
                return {each.name: value(each, 0.1) for each in field.parts if draw.random() < 0.9}
            case "array":
                return [value(field.parts[0], 0.1) for _ in range(draw.randint(0, 3))]
            case "map":
                return {key: value(field.parts[0], 0.1) for key in draw.sample(VALID["string"][:6], draw.randint(0, 3))}
            case _:
                return text(field.kind)

    rows = [{each.name: value(each, nulls[each.name]) for each in fields} for _ in range(count)]
    for at, row in enumerate(rows):
        if row.get("id") is not None and draw.random() < 0.8:
            row["id"] = f"o{at:03d}"
    return rows
