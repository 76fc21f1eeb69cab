"""Tables of other libraries as the file that a contract describes."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfileobj
from typing import Any, Final

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan

WHOLE_TYPES: Final = frozenset({LogicalType.INTEGER, LogicalType.DECIMAL})
"""Types whose values pandas makes floats of where some are missing."""
EXACT: Final = 2**53
"""Up to here a float is the integer that it was made of."""
INDEX: Final = "__index_level_{}__"
"""The column that pandas and Arrow write of an index without a name."""


def is_table(data: object) -> bool:
    """Whether this is a table: a frame of pandas or Spark, or what exports an Arrow stream."""
    return any(hasattr(data, name) for name in ("to_csv", "__arrow_c_stream__", "toPandas"))


def write_table(table: Any, plan: Plan, folder: Path) -> tuple[Path, tuple[str, ...]]:  # noqa: ANN401 - of a library that is not required
    """Write the file that the library of a table writes of it, in the format of the plan; and what was compared by value.

    InputError where it cannot be one.
    """
    import pyarrow as pa  # noqa: PLC0415 - only a table needs it here

    from lakegate.engine.read.compressed_streams import ARROW_CODECS  # noqa: PLC0415 - likewise

    plain, path = folder / "plain", folder / f"table{plan.storage.suffix}"
    notes: tuple[str, ...] = ()
    try:
        if hasattr(table, "toPandas"):
            table = table.toArrow() if hasattr(table, "toArrow") else table.toPandas()
        if is_frame := hasattr(table, "to_csv"):
            table, notes = _as_stored(table, plan)
        if is_frame and plan.storage.format.is_text:
            _write_frame(table, plan, plain)
        else:
            _write_arrow(
                pa.Table.from_pandas(table, preserve_index=False) if is_frame else pa.table(table), plan, plain
            )
        with (
            plain.open("rb") as source,
            pa.output_stream(str(path), ARROW_CODECS.get(plan.storage.compression)) as sink,
        ):
            members = plan.storage.path
            if plan.storage.format is Format.CSV:
                sink.write(b"\n" * plan.csv.skip_rows)  # a table has no titles
            sink.write("".join(f"{{{json.dumps(name)}:" for name in members).encode())
            copyfileobj(source, sink)
            sink.write(b"}" * len(members))
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError) as error:
        form = plan.storage.title
        raise InputError(f"the table cannot be written as {form}, the format of the contract: {error}") from error
    return path, notes


# ---- Frames of pandas: what a file had before pandas read it ----


def _as_stored(frame: Any, plan: Plan) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 - as above
    """A frame with the integers and the index that its file has, and a note on each.

    pandas makes floats of integers where some are missing, and an index of a column. A column of floats without a gap was one
    before, and stays what it is.
    """
    if not frame.columns.is_unique:
        return frame, ()
    notes: list[str] = []
    stored = {field.column: field for field in plan.columns}
    for name in frame.columns:
        of_whole = name in stored and stored[name].type in WHOLE_TYPES
        if of_whole and frame[name].dtype.kind == "f" and _are_whole(frame[name]):
            frame = frame.assign(**{name: frame[name].astype("Int64")})
            notes.append(
                f"{quote(name)} is measured as integers: pandas makes floats of integers where some are missing"
            )
    levels = [name or INDEX.format(level) for level, name in enumerate(frame.index.names)]
    for level, name in enumerate(levels):
        if name in stored and name not in frame.columns:
            values = frame.index.get_level_values(level)
            frame = frame.copy(deep=False)
            frame.insert(min(list(stored).index(name), len(frame.columns)), name, values)
            notes.append(f"{quote(name)} is measured: it is the index of the frame")
    return frame, tuple(notes)


def _are_whole(values: Any) -> bool:  # noqa: ANN401 - as above
    """Whether floats can be integers of which some are missing."""
    known = values.dropna()
    return len(known) < len(values) and bool(((known % 1 == 0) & (known.abs() <= EXACT)).all())


# ---- Files ----


def _write_frame(frame: Any, plan: Plan, path: Path) -> None:  # noqa: ANN401 - as above
    """A frame as pandas writes it as text, without its index."""
    form, csv = plan.storage.format, plan.csv
    if form is Format.CSV:
        frame.to_csv(
            path,
            index=False,
            sep=csv.delimiter,
            quotechar=csv.quote or '"',
            header=csv.header,
            encoding=csv.encoding,
            decimal=csv.decimal_separator,
        )
    else:
        frame.to_json(path, orient="records", lines=form is not Format.JSON, date_format="iso")


def _write_arrow(table: Any, plan: Plan, path: Path) -> None:  # noqa: ANN401 - as above
    """A table as Arrow writes it; JSON by DuckDB, because Arrow only reads it."""
    form, csv = plan.storage.format, plan.csv
    if form is Format.CSV:
        from pyarrow.csv import WriteOptions, write_csv  # noqa: PLC0415 - likewise

        if csv.decimal_separator != "." or csv.quote not in {"", '"'}:
            raise NotImplementedError(
                "Arrow writes points in numbers and double quotes: write the file, and check that"
            )
        write_csv(table, path, WriteOptions(include_header=csv.header, delimiter=csv.delimiter))
        path.write_bytes(path.read_text("utf-8").encode(csv.encoding))
    elif form.is_json:
        import duckdb  # noqa: PLC0415 - likewise

        literal = "'{}'".format(str(path).replace("'", "''"))
        with duckdb.connect() as connection:
            connection.register("rows", table)
            connection.execute(f"COPY rows TO {literal} (FORMAT json, ARRAY {form is Format.JSON})")
    elif form is Format.PARQUET:
        from pyarrow.parquet import write_table  # noqa: PLC0415 - likewise

        write_table(table, path)
    elif form is Format.ORC:
        from pyarrow.orc import write_table as write_orc  # noqa: PLC0415 - likewise

        write_orc(table, path)
    else:
        raise NotImplementedError("write the file, and check that")
