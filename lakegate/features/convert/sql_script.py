"""A script of SQL as statements: what the parser does not know costs itself alone, and is listed with its line.

The text is hostile: its size, its tokens, its nesting and the number of repairs are bounded, and nothing of it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.documents.imported_schema import WIDE_INTEGERS
from lakegate.sql.sql_parser import READ_BY, silence_sqlglot

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

MAX_CHARACTERS: Final = 1 << 20
MAX_TOKENS: Final = 100_000
FREE_REPAIRS, REPAIRS = 200_000, 2
"""Characters of parts that are read again because a statement cannot be read as a whole: so many, and a multiple of the text."""
SHOWN: Final = 80
"""The characters of a statement that are kept for messages."""
MAX_CUTS: Final = 8
"""Attempts to find the line on which a quote is opened that is not closed."""
MAX_PART_TOKENS: Final = 500
"""Tokens of a part that is repaired; longer ones are left out whole."""
_BATCH = re.compile(r"^[ \t]*(?:GO(?:[ \t]+[0-9]+)?|/)[ \t]*;?[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
"""The end of a batch in scripts for SQL Server, of a statement in those for Oracle."""
_COPIED = re.compile(r"(?<=FROM stdin;\n).*?^\\\.[ \t]*$", re.IGNORECASE | re.MULTILINE | re.DOTALL)
"""The data behind COPY in dumps of PostgreSQL, up to its last line."""
OPEN: Final = "cannot be read, nor what follows: a quote or comment is not closed"
_BRACKETS = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
    TokenType.GT: TokenType.LT,
}
"""Closing brackets; `<` and `>` are brackets of types, and signs in conditions."""
_CLAUSES = frozenset(
    (
        *("AS", "AUTOINCREMENT", "AUTO_INCREMENT", "CHECK", "COLLATE", "COMMENT", "CONSTRAINT", "DEFAULT", "GENERATED"),
        *("IDENTITY", "NOT", "NULL", "OPTIONS", "PRIMARY", "REFERENCES", "UNIQUE"),
    )
)
"""The words that begin a clause of a column."""
_CONSTRAINTS = frozenset(("CHECK", "CONSTRAINT", "FOREIGN", "PRIMARY", "UNIQUE"))
"""The words that begin a constraint of a table."""
_NOT_COLUMNS = _CONSTRAINTS | frozenset(("EXCLUDE", "FULLTEXT", "INDEX", "KEY", "LIKE", "PERIOD", "SPATIAL"))
"""The words that begin a part of a table which is no column, unless a known type follows."""
Type = exp.DataType.Type
_INTEGERS = frozenset((Type.INT, Type.SMALLINT, Type.TINYINT, Type.MEDIUMINT))
_LENGTH_OF_TEXT = "65535"
"""The length of a text of Redshift that has no other: it is no bound of the values."""
_WITHOUT_OFFSET = frozenset(("athena", "bigquery", "oracle", "postgres", "redshift", "trino"))
"""Dialects in which what sqlglot reads as TIMESTAMP has no offset from UTC: of BigQuery it is the type DATETIME."""


@dataclass(frozen=True, slots=True)
class LostClause:
    """A part of a statement that the parser does not know."""

    owner: str
    """The column that it is about; empty for the table."""
    words: str
    line: int
    is_owner: bool
    """Whether the column itself is left out."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a script."""

    line: int
    words: str
    """Its first words."""
    tree: exp.Expr | None
    """None where it cannot be read."""
    fault: str = "cannot be read"
    lost: tuple[LostClause, ...] = ()


def statements(text: bytes, dialect: str) -> list[Statement]:
    """The statements of a script; of one with a quote that is not closed, those before it, and the rest as one that is lost.

    InputError where it is not UTF-8, or exceeds a bound.
    """
    silence_sqlglot()
    try:
        decoded = _COPIED.sub(lambda data: "\n" * data[0].count("\n"), _BATCH.sub(";", text.decode()))
    except UnicodeDecodeError:
        raise InputError("the text is not UTF-8") from None
    decoded, tokens, rest = _cut_open_quote(decoded, dialect)
    reader = _Script(decoded, dialect)
    return [*(reader.statement(entry) for entry in _separate_statements(tokens)), *rest]


def _cut_open_quote(text: str, dialect: str) -> tuple[str, list[Token], list[Statement]]:
    """The text before a quote that is not closed, its tokens, and the rest; the parser may name a line behind the quote."""
    lines = text.splitlines(keepends=True)
    last = len(lines)
    for _ in range(MAX_CUTS):
        kept = "".join(lines[:last])
        try:
            tokens = bounded_tokens(kept, dialect)
        except OpenQuoteError as error:
            last = min(error.line or last, last) - 1
            continue
        words = " …".join(
            line.strip()[:SHOWN] if number == 0 else "" for number, line in enumerate(lines[last : last + 2])
        )
        return kept, tokens, [Statement(last + 1, words, None, OPEN)] if words else []
    raise OpenQuoteError(last + 1)


class OpenQuoteError(InputError):
    """A quote or a comment of a text is not closed."""

    def __init__(self, line: int | None) -> None:
        where = "" if line is None else f" that begins on line {line}"
        super().__init__(
            f"the text is not SQL of this dialect: a quote or comment{where} is not closed; close it, or name another dialect"
            " with --dialect"
        )
        self.line = line


def bounded_tokens(text: str, dialect: str) -> list[Token]:
    """The tokens of a text; InputError where it has too many, or a quote or comment that is not closed."""
    try:
        tokens = sqlglot.tokenize(text, read=reader_of(dialect)) if len(text) <= MAX_CHARACTERS else None
    except Exception as error:  # noqa: BLE001 - a foreign parser before a hostile text may raise anything
        place = re.search(r"from ([0-9]+):[0-9]+", str(error.__cause__ or error))
        raise OpenQuoteError(int(place[1]) if place else None) from None
    if tokens is None or len(tokens) > MAX_TOKENS:
        raise InputError(f"the text has more than {MAX_CHARACTERS:,} characters or {MAX_TOKENS:,} tokens")
    return tokens


def reader_of(dialect: str) -> str | type[Dialect] | None:
    """The parser of a dialect as sqlglot names it; None for what most dialects have in common."""
    return READ_BY.get(dialect, dialect) or None


def words_of(tree: exp.Expr) -> str:
    """A tree in words; the name of its kind where the parser cannot write what it has read."""
    try:
        return str(tree.sql())
    except Exception:  # noqa: BLE001 - a foreign writer of a hostile text may raise anything
        return type(tree).__name__.removesuffix("Property").upper()


def with_types_of(tree: exp.Expr, dialect: str) -> exp.Expr:
    """A tree whose types mean what they mean in the dialect: a DATE of Oracle has a time of day, a LONG is a text."""
    for kind in tree.find_all(exp.DataType):
        if dialect == "oracle" and kind.this is Type.DATE:
            kind.set("this", Type.DATETIME)
        elif dialect == "oracle" and kind.this is Type.BIGINT:
            kind.set("this", Type.TEXT)
        elif dialect in _WITHOUT_OFFSET and kind.this is Type.TIMESTAMP:
            kind.set("this", Type.TIMESTAMPNTZ)
        elif dialect in WIDE_INTEGERS and kind.this in _INTEGERS:
            kind.set("this", Type.BIGINT)
        elif dialect == "redshift" and [expression.name for expression in kind.expressions] == [_LENGTH_OF_TEXT]:
            kind.set("expressions", [])
    return tree


def _separate_statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The statements: after a semicolon, or where a line begins with that of a table, since SQL Server needs no semicolon."""
    found: list[Token] = []
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        is_first = at == 0 or token.line > tokens[at - 1].line
        if found and (
            token.token_type is TokenType.SEMICOLON or (is_first and depth == 0 and _begins(tokens[at : at + 6]))
        ):
            yield found
            found, depth = [], 0
        if token.token_type is not TokenType.SEMICOLON:
            found.append(token)
    if found:
        yield found


def _begins(tokens: Sequence[Token]) -> bool:
    """Whether tokens begin a statement about a table."""
    words = [_word(token) for token in tokens]
    return words[0] in {"CREATE", "ALTER"} and "TABLE" in words


def _word(token: Token) -> str:
    """A word in capitals; empty for a quoted name or a text."""
    is_quoted = token.token_type in {TokenType.IDENTIFIER, TokenType.STRING}
    return "" if is_quoted else token.text.upper()


@dataclass(slots=True)
class _Script:
    """Parses the statements of one script."""

    text: str
    dialect: str
    repairs: int = field(default=0)

    def statement(self, tokens: list[Token]) -> Statement:
        """A statement, without the parts of a table that cannot be read."""
        words = self._words(tokens)
        tree = self._parse_statement(words)
        first, lost = tokens[0], tuple[LostClause, ...]()
        if (tree is None or isinstance(tree, exp.Command)) and _begins(tokens) and _word(first) == "CREATE":
            tree, lost = self._repair_table(tokens) or (None, ())
        return Statement(first.line, words[:SHOWN], None if isinstance(tree, exp.Command) else tree, lost=lost)

    def _words(self, tokens: Sequence[Token]) -> str:
        return self.text[tokens[0].start : tokens[-1].end + 1] if tokens else ""

    def _parse_statement(self, sql: str) -> exp.Expr | None:
        """The tree of one statement; None where it cannot be read."""
        try:
            expressions = [entry for entry in sqlglot.parse(sql, read=reader_of(self.dialect)) if entry is not None]
        except Exception:  # noqa: BLE001 - a foreign parser before a hostile text may raise anything
            return None
        return with_types_of(expressions[0], self.dialect) if len(expressions) == 1 else None

    def _table(self, sql: str) -> list[exp.Expr] | None:
        """The parts of a table; None for a text that is none, or after too many repairs (InputError)."""
        self.repairs += len(sql)
        if self.repairs > FREE_REPAIRS + REPAIRS * len(self.text):
            raise InputError(
                "too much of the text cannot be read: name its dialect with --dialect, or remove what is not about tables"
            )
        tree = self._parse_statement(sql)
        is_table = isinstance(tree, exp.Create) and isinstance(tree.this, exp.Schema)
        return list(tree.this.expressions) if is_table and tree is not None else None

    def _repair_table(self, tokens: list[Token]) -> tuple[exp.Expr, tuple[LostClause, ...]] | None:
        """A table without what cannot be read; None where nothing is left of it."""
        opened = next((at for at, token in enumerate(tokens) if token.token_type is TokenType.L_PAREN), len(tokens))
        head, parts, tail = self._words(tokens[: opened + 1]), *_parts(tokens[opened + 1 :])
        kept, lost = list[str](), list[LostClause]()
        for part in parts:
            good, bad = self._part(head, part)
            kept += [good] if good else []
            lost += bad
        body = f"{head}{', '.join(kept)})"
        end = self._words(tail)
        if tail and self._table(body + end) is None:
            comment = self._comment(tail)
            end = comment if self._table(body + comment) is not None else ""
            lost.append(LostClause("", self._words(tail), tail[0].line, is_owner=False))
        tree = self._parse_statement(body + end) if kept else None
        return None if tree is None or not isinstance(tree, exp.Create) else (tree, tuple(lost))

    def _comment(self, tail: Sequence[Token]) -> str:
        """The comment among the options of a table."""
        for at, token in enumerate(tail):
            text = next((one for one in tail[at + 1 : at + 3] if one.token_type is TokenType.STRING), None)
            if _word(token) == "COMMENT" and text is not None:
                return f" COMMENT={self._words([text])}"
        return ""

    def _part(self, head: str, tokens: list[Token]) -> tuple[str, list[LostClause]]:
        """A column or a constraint as far as it can be read, and what of it cannot."""
        whole, line = self._words(tokens), tokens[0].line
        if self._table(f"{head}{whole})") is not None:
            return whole, []
        name, is_column = tokens[0].text, _word(tokens[0]) not in _NOT_COLUMNS
        units = _units(tokens) if len(tokens) <= MAX_PART_TOKENS else []
        clauses = list(_clauses(units)) if units else []
        kept, lost = self._column(head, clauses, named_as_constraint=not is_column)
        if not kept and not is_column:
            kept, lost = self._constraint(head, units)
            name = ""
        if not kept:
            return "", [LostClause(name if is_column else "", whole, line, is_owner=is_column)]
        found = [LostClause(name, self._words(entry), entry[0].line, is_owner=False) for entry in lost]
        return " ".join(map(self._words, kept)), found

    def _column(
        self, head: str, clauses: list[list[list[Token]]], *, named_as_constraint: bool
    ) -> tuple[list[list[Token]], list[list[Token]]]:
        """The units of a column that can be read, of each clause its longest beginning; and the others."""
        kept, lost = list[list[Token]](), list[list[Token]]()
        for number, clause in enumerate(clauses):
            least = 2 if number == 0 else 0
            for size in range(len(clause), least - 1, -1):
                read = [*kept, *clause[:size]]
                expressions = self._table(f"{head}{' '.join(map(self._words, read))})") if size else []
                column = expressions[0] if expressions and len(expressions) == 1 else None
                kind = column.args.get("kind") if isinstance(column, exp.ColumnDef) else None
                if not size or (kind and not (named_as_constraint and kind.this is Type.USERDEFINED)):
                    kept = read
                    lost += [[one for unit in clause[size:] for one in unit]] if clause[size:] else []
                    break
            else:
                return [], []
        return kept, lost

    def _constraint(self, head: str, units: list[list[Token]]) -> tuple[list[list[Token]], list[list[Token]]]:
        """The longest beginning of a constraint that can be read. One with a condition is left out: it is not of all rows."""
        if not units or _word(units[0][0]) not in _CONSTRAINTS:
            return [], []
        for size in range(len(units) - 1, 0, -1):
            rest = [one for unit in units[size:] for one in unit]
            expressions = self._table(f"{head}{' '.join(map(self._words, units[:size]))})")
            if expressions and not isinstance(expressions[0], exp.ColumnDef):
                return ([], []) if any(_word(one) == "WHERE" for one in rest) else (units[:size], [rest])
        return [], []


def _with_depths(tokens: Sequence[Token]) -> Iterator[tuple[Token, int, int]]:
    """Tokens with the number of open brackets before and after each; -1 for one that closes none of them."""
    opened: list[TokenType] = []
    for token in tokens:
        before, wanted = len(opened), _BRACKETS.get(token.token_type)
        if token.token_type in _BRACKETS.values():
            opened.append(token.token_type)
        elif wanted is not None and wanted in opened:
            is_sign = wanted is TokenType.LT and opened[-1] is not TokenType.LT
            del opened[len(opened) if is_sign else len(opened) - 1 - opened[::-1].index(wanted) :]
        elif wanted is TokenType.L_PAREN:
            yield token, before, -1
            continue
        yield token, before, len(opened)


def _parts(tokens: Sequence[Token]) -> tuple[list[list[Token]], list[Token]]:
    """The parts of a table between commas, and the tokens behind its bracket."""
    parts: list[list[Token]] = [[]]
    for at, (entry, _, after) in enumerate(_with_depths(tokens)):
        if after < 0:
            return [part for part in parts if part], list(tokens[at + 1 :])
        if after == 0 and entry.token_type is TokenType.COMMA:
            parts.append([])
        else:
            parts[-1].append(entry)
    return [part for part in parts if part], []


def _units(tokens: Sequence[Token]) -> list[list[Token]]:
    """Words, each with the bracket behind it."""
    units: list[list[Token]] = []
    for entry, before, after in _with_depths(tokens):
        if units and max(before, after) > 0:
            units[-1].append(entry)
        else:
            units.append([entry])
    return units


def _clauses(units: list[list[Token]]) -> Iterator[list[list[Token]]]:
    """Name and type of a column, then each of its clauses."""
    first = [units[0], *takewhile(lambda entry: _word(entry[0]) not in _CLAUSES, units[1:])]
    yield first
    clause: list[list[Token]] = []
    for unit in units[len(first) :]:
        is_not_null = clause and [_word(one[0]) for one in clause] == ["NOT"]
        if clause and _word(unit[0]) in _CLAUSES and not is_not_null:
            yield clause
            clause = []
        clause.append(unit)
    if clause:
        yield clause


def in_words(lost: LostClause) -> tuple[str, str]:
    """The place and the words of a part that is lost."""
    place = lost.owner or "table"
    if lost.is_owner:
        return place, f"left out: {quote(lost.words)} (line {lost.line}) cannot be read"
    return place, f"{quote(lost.words)} (line {lost.line}) has no equivalent"
