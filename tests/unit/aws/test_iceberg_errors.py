"""What pyiceberg raises is an error of a port, by its meaning; nothing else is taken for one."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import CommitFailedException, RESTError, ValidationError

from lakegate.aws.iceberg_errors import catalog_errors
from lakegate.base.errors import ConditionFailed, InputError, PortError, Unanswered

REFUSED = (ValueError, ValidationError)


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (CommitFailedException("another commit"), ConditionFailed, ""),
        (RESTError("500 of s3://sales/secret"), Unanswered, "RESTError"),
        (FileNotFoundError("s3://sales/secret"), Unanswered, "FileNotFoundError"),
        (OSError("s3://sales/secret"), Unanswered, "OSError"),
        (ValidationError("of a producer"), PortError, "table-refused"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "of a producer"), PortError, "table-refused"),
        (InputError("ours"), InputError, "ours"),
        (KeyError("a bug"), KeyError, "'a bug'"),
    ],
)
def test_an_error_is_one_of_a_port_without_texts_of_a_table(
    raised: Exception, kind: type[Exception], words: str
) -> None:
    """Whether another attempt is right, is said by its kind."""
    with pytest.raises(kind) as found, catalog_errors(REFUSED):
        raise raised

    assert (type(found.value), str(found.value)) == (kind, words)


def test_what_is_not_refused_stays_what_it_is() -> None:
    with pytest.raises(ValueError, match="a bug"), catalog_errors():
        raise ValueError("a bug")
