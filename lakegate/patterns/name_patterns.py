r"""Patterns of file names (DCM `accessConfiguration.pattern`): `(.*)southeast_\d{4}.csv`, or `*.csv` as a shell has it.

A name has to match as a whole. Appendix A of DCM prints a backslash twice in single quotes: two are read as one, because no
pattern of names is about backslashes.
"""

from __future__ import annotations

import re
from typing import Final

from lakegate.contract.delivery_policy import FileNames
from lakegate.patterns.ecma_patterns import PatternError, translate
from lakegate.patterns.matching_cost import UnsearchableError, parts_of

_OF_SHELL: Final = re.compile(r"(?!.*\.\*)[\w.*? /-]+", re.ASCII)
"""A pattern of a shell, or a plain name: nothing in it is special but `*` and `?`. With `.*` it is a regular expression."""
_TO_ECMA: Final = str.maketrans({".": r"\.", "*": ".*", "?": "."})


def file_names(written: str) -> FileNames:
    """The pattern for the whole name. Raises PatternError where the time of a match has no bound, or it cannot be translated."""
    is_of_shell = _OF_SHELL.fullmatch(written) is not None
    ecma = written.translate(_TO_ECMA) if is_of_shell else written.replace(r"\\", "\\")
    pattern = rf"\A(?:{translate(ecma, is_strict=False)})\z"
    try:
        is_bounded = all(part.is_bounded for part in parts_of(pattern))
    except UnsearchableError as error:  # it has a bound within a text, and none for a whole one
        raise PatternError(f"the pattern cannot be used: {error}") from None
    if not is_bounded:
        raise PatternError("the pattern cannot be used: a match could take very long, repeat less in it")
    return FileNames(written, pattern)
