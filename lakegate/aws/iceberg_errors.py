"""Errors of catalogs of Iceberg, and of the stores of their files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.exceptions import CommitFailedException, RESTError

from lakegate.aws.clients import port_errors
from lakegate.base.errors import ConditionFailed, PortError, Unanswered


@contextmanager
def catalog_errors(refused: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn what pyiceberg raises inside into the errors of ports. `refused`: what it raises for metadata that is of no use."""
    try:
        with port_errors():
            yield
    except CommitFailedException:
        raise ConditionFailed from None
    except (OSError, RESTError) as error:
        raise Unanswered(type(error).__name__) from None
    except refused:
        raise PortError("table-refused") from None
