"""Keys that records have and nobody declared, where no header names them: gathered once the records are read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.masks import mask

if TYPE_CHECKING:
    from contracts.result import Columns
    from spark_jobs.delivery import Delivery
    from spark_jobs.frame import Narrow

MOST_NAMED = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}(?:(?:\[\])?\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,8}")


def with_extra(delivery: Delivery, narrowed: Narrow) -> Columns:
    """The columns of a delivery with what its records hold beside them.

    Keys of objects can be data themselves: what does not look like a name is masked, as values are.
    """
    if not delivery.has_extra:
        return delivery.columns
    keys = narrowed.packed.select(F.explode("extra").alias("at")).select(
        F.regexp_replace("at", r"\[[0-9]+\]", "[]").alias("key")
    )
    keys = keys.distinct().orderBy("key").limit(MOST_NAMED)
    found = (row["key"] for row in keys.collect())
    shown = dict.fromkeys(key if _NAME.fullmatch(key) else mask(key) for key in found)
    return replace(delivery.columns, extra=tuple(shown))
