"""What a log line may contain of a producer's text, and of an error.

Keys are the producer's text: they can hold line breaks, escape sequences, and names of people. A log line carries their
shape and a fingerprint, by which an operator who knows a key finds its lines. Of an error it carries the words only if
they are ours; of any other its type and place, because its message may repeat what the producer wrote.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aws_lambda_powertools import Logger

from lakegate.contracts.errors import LakegateError

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 120
"""Characters of a shape; an object key has up to 1,024 bytes."""
FINGERPRINT: Final = 16
KEPT: Final = frozenset("/.-_=")


def shape(text: str) -> str:
    """Letters become `a` or `A`, digits `9`, a few signs stay, all else is `?`: one line of ASCII, of bounded length."""
    masked = "".join(map(_masked, text[:LONGEST]))
    return masked if len(text) <= LONGEST else masked + "+"


def fingerprint(text: str) -> str:
    """The first digits of the SHA-256 of the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT]


def of_key(key: str) -> Mapping[str, str]:
    """The fields of a log line for an object key."""
    return {"key_shape": shape(key), "key_fingerprint": fingerprint(key)}


def of_error(error: BaseException) -> Mapping[str, str]:
    """The fields of a log line for an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    place = [f"{Path(each.filename).name}:{each.lineno}" for each in frame]
    text = str(error) if isinstance(error, LakegateError) else ""
    return {"error": type(error).__name__, "place": "".join(place), "detail": text}


def logger(function: str) -> Logger:
    """The logger of one function: one JSON object a line, in ASCII."""
    return Logger(service=function, json_serializer=json.dumps, use_rfc3339=True, utc=True)


def _masked(character: str) -> str:
    if character in KEPT:
        return character
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "9" if character.isdecimal() else "?"
