"""Profiles of files without a contract: format, dialect, types, and hostile content."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.contract_model import Shape
from lakegate.contract.file_formats import Compression, Csv, Format, NullWords, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.data_source import LocalStore
from lakegate.features.draft import data_profile
from lakegate.features.draft.data_profile import profile
from lakegate.features.draft.suggestions import MAX_WORDS, UUID, primary_key
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.avro import container, write_avro
from tests.engine.drafted import drafted, judged, parts_of
from tests.engine.formats import TABLE

ROWS = 60


@pytest.mark.parametrize(
    ("text", "csv", "names"),
    [
        (b"a,b\n1,x\n2,y\n", Csv(), ["a", "b"]),
        (b"a;b\n1,5;x\n2,5;y\n", Csv(";", decimal_separator=","), ["a", "b"]),
        (b"a\tb\r\n1\tx\r\n", Csv("\t"), ["a", "b"]),
        (b"a|b\n1|x\n", Csv("|"), ["a", "b"]),
        (b"a\nx\ny\n", Csv(), ["a"]),
        (b"1,x\n2,y\n", Csv(header=False), ["column_1", "column_2"]),
        (b"1.5 2e3\n-2 +7\n", Csv(" ", header=False), ["column_1", "column_2"]),
        (b"1.5 2e3", Csv(" ", header=False), ["column_1", "column_2"]),
        (b"1 2\n3\n", Csv(header=False), ["column_1"]),
        (b"t nh3\n1 2\n3 4\n", Csv(" "), ["t", "nh3"]),
        (b"t nh3 \n1 2 \n3 4 \n", Csv(" "), ["t", "nh3", ""]),
        (b"net amount\n1 234\n5 678\n", Csv(thousands_separator=" "), ["net amount"]),
        (b"first last\nAna Roe\n", Csv(), ["first last"]),
        ("\ufeffa,b\n1,x\n".encode(), Csv(), ["a", "b"]),
        ("a,b\n1,caf\xe9\n".encode("latin-1"), Csv(encoding="windows-1252"), ["a", "b"]),
        ("a,b\n1,caf\u00e9\n2,na\u00efve\n".encode() + b"3,x\xe9\n", Csv(), ["a", "b"]),
        ("a,b\n1,\u20ac\n".encode("windows-1252"), Csv(encoding="windows-1252"), ["a", "b"]),
        (b'a,b\n1,"x, y"\n2,"""z"""\n', Csv(), ["a", "b"]),
        (b"a,b\n'1','x,y'\n'2','z'\n", Csv(quote="'"), ["a", "b"]),
        (b'a,b\n1,"x\ny"\n2,z\n', Csv(multi_line=True), ["a", "b"]),
        (b"a,b\n1,x\nN/A,y\n2,z\n", Csv(null_values=("N/A",)), ["a", "b"]),
        (b"a,b\n" + b"1,x\n" * 70_000 + b"2,\xe9\n", Csv(encoding="windows-1252"), ["a", "b"]),
        (b"a,b\n" + b"1,x\n" * 70_000 + b'2,"\n"\n', Csv(multi_line=True), ["a", "b"]),
        (b"a,b\n1\n2,x\n3,y\n4,z\n5,x\n6,y\n7,z\n8,x\n9,y\n10,z\n", Csv(), ["a", "b"]),
    ],
)
def test_a_dialect_is_recognised(text: bytes, csv: Csv, names: list[str], tmp_path: Path) -> None:
    """Delimiter, quote, header, encoding, null words and line breaks are those of the file."""
    path = tmp_path / "data"
    path.write_bytes(text)
    found = profile(parts_of(path), LocalStore(), tmp_path)

    assert (found.csv, [each.name for each in found.columns]) == (csv, names)


def test_records_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    """No dialect makes them right: the draft says nothing of them, and judging the file does."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 50 + b'2,x"y\n' + b"3\n")
    found = drafted(path)

    assert found.profile.malformed == 2
    assert judged(found.plan, path).verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", "+3"], "integer"),
        (["1", "2.5", "1e3"], "number"),
        (["true", "FALSE"], "boolean"),
        (["2026-01-31", "2024-02-29"], "date"),
        (["2026-01-31T10:00:00Z", "2026-01-31 10:00"], "timestamp"),
        (["10:00", "10:00:30"], "time"),
        (["2026-02-30"], "string"),
        (["007", "012"], "string"),
        (["9223372036854775808"], "number"),
        (["x", "1"], "string"),
        (["", ""], "string"),
    ],
)
def test_types_are_those_of_the_written_grammar(values: list[str], kind: str, tmp_path: Path) -> None:
    """All texts are values of the type, and it is the narrowest."""
    path = tmp_path / "data.csv"
    path.write_text("id,value\n" + "".join(f"k{at},{value}\n" for at, value in enumerate(values)))
    found = drafted(path)

    assert found.profile.columns[1].type is LogicalType(kind)
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_texts_that_are_almost_numbers_stay_texts(tmp_path: Path) -> None:
    """The evidence names the share, a rule allows for the others, and a delivery of other texts is rejected."""
    path, other = tmp_path / "data.csv", tmp_path / "other.csv"
    path.write_text("id,value\n" + "".join(f"k{at:03},{at or 'unknown'}\n" for at in range(100)))
    other.write_text("id,value\n" + "".join(f"k{at:03},x{at}\n" for at in range(100)))
    found = drafted(path)

    assert found.profile.columns[1].values.almost == (LogicalType.INTEGER, 99)
    assert "# suggested: only 99 % of 100 are of the type integer" in found.draft.text
    assert [judged(found.plan, each).verdict for each in (path, other)] == [Verdict.ACCEPTED, Verdict.REJECTED]


def test_unique_numbers_that_rise_have_no_maximum(tmp_path: Path) -> None:
    """The next delivery goes on with them, whether they are the key or beside it."""
    path = tmp_path / "data.csv"
    path.write_text("id,line\n" + "".join(f"{at},{7 * at + 50}\n" for at in range(40)))
    text = drafted(path).draft.text

    assert ["maximum" in each for each in text.split("name: line")] == [False, True]
    path.write_text("id,line\n" + "".join(f"{at},{2 * at + 50}\n" for at in range(40)))
    beside = drafted(path).draft.text.partition("name: line")[2]
    assert ("unique: true" in beside, "maximum" in beside) == (True, False)


def test_what_is_drafted_as_text_is_said(tmp_path: Path) -> None:
    """Numbers in a spelling that no contract declares, and those of which some are none."""
    path = tmp_path / "data.csv"
    rows = [f'k{at},"{at},5{"-" * (at % 2)}",{at or "none yet"},x{at}' for at in range(60)]
    path.write_text("\n".join(["id,amount,pieces,name", *rows, ""]))

    assert drafted(path).draft.as_text == (
        (
            "amount: 100 % of 60; as number they are written with the sign behind the number, as SAP prints it: "
            "write -1234.5, not 1234.5-"
        ),
        "pieces: only 98.3 % of 60 are of the type integer",
    )


def test_numbers_with_decimal_commas_and_a_word_are_said_to_be_text(tmp_path: Path) -> None:
    """As those with decimal points are: one word makes a text of the column, and the draft says of how many."""
    path = tmp_path / "data.csv"
    rows = [f"k{at};{at},5;{at}.5" if at != 150 else "k150;see note;see note" for at in range(300)]
    path.write_text("\n".join(["id;amount;price", *rows, ""]))

    assert drafted(path).draft.as_text == (
        (
            "amount: only 99.6 % of 300 are of the type number; they are written with a decimal comma: write 1234.5,"
            " not 1234,5 or 1.234,5"
        ),
        "price: only 99.6 % of 300 are of the type number",
    )


def test_a_pair_of_columns_is_a_key(tmp_path: Path) -> None:
    """Where no column is unique, the pair that is named best is; its repetition is rejected."""
    path, again = tmp_path / "data.csv", tmp_path / "again.csv"
    lines = [f"s{station},2026-01-{day:02},{station + day}" for station in range(5) for day in range(1, 21)]
    path.write_text("\n".join(["station_code,day,value", *lines, ""]))
    again.write_text("\n".join(["station_code,day,value", *lines, lines[3], ""]))
    found = drafted(path)

    assert found.profile.pairs[0] == ("station_code", "day")
    assert [judged(found.plan, each).verdict for each in (path, again)] == [Verdict.ACCEPTED, Verdict.REJECTED]


def test_a_column_that_is_almost_unique_is_no_part_of_a_key(tmp_path: Path) -> None:
    """Another column would hide its repetitions."""
    path = tmp_path / "data.csv"
    moments = [f"2026-{1 + at // 28 % 12:02}-{1 + at % 28:02}" for at in range(300)]
    path.write_text("\n".join(["day,value", *(f"{day},{at % 30}" for at, day in enumerate([*moments, moments[0]]))]))

    assert profile(parts_of(path), LocalStore(), tmp_path).pairs == ()


def test_a_number_that_is_unique_by_chance_is_no_key(tmp_path: Path) -> None:
    """A measure is none, in whatever spelling; a date, a period and a regular series of moments are; a chance moment is none."""
    path = tmp_path / "data.csv"
    days = [f"20{10 + at}-0{1 + at % 9}-01" for at in range(30)]
    hours = [f"2026-01-{1 + at // 24:02}T{at % 24:02}:00:00Z" for at in range(30)]
    events = [f"2026-01-{1 + at:02}T{at % 24:02}:{at * at % 60:02}:{at * 7 % 60:02}Z" for at in range(30)]
    counts = [7 * at * at + 3 for at in range(30)]
    written = [f'"{each},{each % 10}"' for each in counts]
    columns = {"sold": counts, "price": written, "seen": events}

    def keys(**others: Sequence[object]) -> list[str]:
        table = columns | others
        path.write_text(
            "\n".join([",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))])
        )
        found = drafted(path)
        assert judged(found.plan, path).verdict is Verdict.ACCEPTED
        return list(primary_key(found.profile))

    assert keys() == []
    assert keys(day=days) == ["day"]
    assert keys(year=range(1990, 2020)) == ["year"]
    assert keys(hour_start=hours) == ["hour_start"]
    assert keys(invoice_no=range(100, 130)) == ["invoice_no"]
    assert keys(beleg=[*range(100, 120), *range(125, 135)], text=[f"t{at}" for at in range(30)]) == ["beleg"]
    assert keys(beleg=[*range(115, 130), *range(100, 115)]) == []
    assert keys(X=range(30)) == []
    assert keys(level=["high", *(f"{at}.5" for at in range(29))]) == []
    assert keys(amount=[f'"{at}.000,5{"-" * (at % 3 == 0)}"' for at in range(30)]) == []
    assert keys(country=["DE", "FR"] * 15, fiscalYear=[2000 + at // 2 for at in range(30)]) == ["country", "fiscalYear"]


@pytest.mark.parametrize(
    ("write", "kind", "option"),
    [
        (lambda at: f"{1 + at % 28:02}.{1 + at % 12:02}.2026", "date", "format: dd.MM.yyyy"),
        (lambda at: f"{1 + at % 28}.{1 + at % 12}.2026", "date", "format: d.M.yyyy"),
        (lambda at: f"{1 + at % 12:02}/{1 + at % 28:02}/2026", "date", 'format: "MM/dd/yyyy"'),
        (lambda at: f"{1 + at % 28:02}/{1 + at % 12:02}/2026", "date", 'format: "dd/MM/yyyy"'),
        (lambda at: f"2026/{1 + at % 12:02}/{1 + at % 28:02}", "date", 'format: "yyyy/MM/dd"'),
        (lambda at: f"{1 + at % 28:02}-Mar-2026", "date", "format: dd-MMM-yyyy"),
        (lambda at: f"202602{1 + at % 28:02}", "date", "format: yyyyMMdd"),
        (lambda at: f"{1 + at % 28:02}.01.2026 {at % 24:02}:30", "timestamp", 'format: "dd.MM.yyyy HH:mm"'),
        (lambda at: f"2026-01-{1 + at % 28:02} 10:00:00+0100", "timestamp", 'format: "yyyy-MM-dd HH:mm:ssXX"'),
        (lambda at: f"{1 + at % 9}:{at % 60:02} PM", "time", 'format: "h:mm a"'),
        (lambda at: f"{1 + at % 12:02}/{1 + at % 12:02}/2026", "string", "pattern: "),
        (lambda at: f"2026-01-{1 + at % 28:02} ", "string", "pattern: "),
        (lambda at: f"{at % 3}.{at % 10}.{10 + at % 3}", "string", "pattern: "),
        (lambda at: f'"{at},{at % 10}"' if at % 4 else f"{at}", "number", "maximum: 90"),
        (lambda at: f'"1.0{at:02},50"', "number", "maximum: 1089"),
        (lambda at: f'"{1 + at},000"', "integer", "maximum: 90000"),
        (lambda at: f'"{at},5"' if at < 59 else '"5,5 or so"', "string", "pattern: "),
        (lambda at: f"{at} %", "string", "%)$"),
        (lambda at: f'"{at}.000,50{"-" * (at % 3 == 0)}"', "string", "written with the sign behind the number"),
        (lambda at: f'"{at},50-"', "string", "written with the sign behind the number"),
        (lambda at: f"({at}.50)" if at % 5 == 0 else f"{at}.50", "string", "written in parentheses for less than 0"),
        (lambda at: f"'-{at}.5" if at % 3 == 0 else f"{at}.5", "string", "written with an apostrophe before the value"),
        (lambda at: f"'{at}x" if at % 3 == 0 else f"{at}", "string", "suggested: 100 % of 60\n"),
        (lambda at: f"{at}+" if at % 2 else f"{at}", "string", "suggested: 100 % of 60\n"),
        (lambda at: f"{at}.50 €", "string", "€"),
        (lambda at: f"{1 + at}'000", "integer", "maximum: 90000"),
        (lambda at: f" {at}", "string", "^(?: *[-+]"),
        (lambda at: f"ABC{at}", "string", "^ABC[0-9]{1,2}$"),
        (lambda at: "ja" if at % 3 else "nein", "string", "validValues: [ja, nein]"),
        (lambda at: f"{'zyx'[at % 3]}-word", "string", "validValues: [x-word, y-word, z-word]"),
        (lambda at: f"dev-{1 + at % 12:03}", "string", "^dev-[0-9]{3}$"),
    ],
)
def test_values_in_another_spelling_are_recognised(
    write: Callable[[int], str], kind: str, option: str, tmp_path: Path
) -> None:
    """Dates have their format, numbers the pattern of their spelling, codes that count a pattern, words a sorted list."""
    path = tmp_path / "data.csv"
    path.write_text("id,c\n" + "".join(f"k{at},{write(at)}\n" for at in range(60)))
    found = drafted(path)
    own = found.draft.text.partition("name: c\n")[2].partition("customProperties")[0]

    assert own.split()[:2] == ["logicalType:", kind]
    assert option in own
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_separators_that_would_change_other_numbers_are_not_declared(tmp_path: Path) -> None:
    """Beside numbers with a point, or with two kinds of separators, those with a comma are texts with a pattern."""
    path = tmp_path / "data.csv"
    for other in ("{0}.5", "{0}'000,5"):
        rows = (f'k{at},"{at},5","{other.format(at)}","1.{at:03}"\n' for at in range(60))
        path.write_text("id,a,b,c\n" + "".join(rows))
        found = drafted(path)

        assert (found.profile.csv, found.profile.columns[1].type) == (Csv(), LogicalType.STRING)
        assert 'pattern: "^(?:[-+]?[0-9]+|' in found.draft.text
        assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_a_word_for_null_is_a_value_where_it_has_the_form_of_the_others(tmp_path: Path) -> None:
    """Namibia stays a country; what names no column of the draft is not declared."""
    path = tmp_path / "data.csv"
    countries = ["NA", "NE", "NC"]
    rows = [f"{countries[at % 3]},{'NA' if at == 5 else at},{'NA' if at % 2 else 'yes it is'},NA" for at in range(30)]
    path.write_text("\n".join(["cc,pop,note,c\u200bd", *rows, ""]))
    found = drafted(path)

    assert found.profile.csv.null_values == ("NA",)
    assert found.profile.csv.null_values_by_column == (NullWords("cc", ()),)
    assert "validValues: [NA, NC, NE]" in found.draft.text
    assert [each.present for each in found.profile.columns] == [30, 29, 15, 0]
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED_WITH_WARNINGS


def test_the_first_texts_do_not_decide_alone(tmp_path: Path) -> None:
    """A later text in another form makes the column one of texts."""
    path = tmp_path / "data.csv"
    first = "".join(f"k{at:04},{1 + at % 28:02}.01.2026,{at} %\n" for at in range(600))
    path.write_text(f"id,day,share\n{first}k9999,soon,much\n")
    found = drafted(path)

    assert [each.values.spelling for each in found.profile.columns] == [None, None, None]
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


ROWS_BELOW = "id;name;n\n1;a;2\n2;b;3\n3;c;4\n"


@pytest.mark.parametrize(
    ("content", "skipped", "names"),
    [
        (b"Report;;\n\n" + ROWS_BELOW.encode(), 2, ["id", "name", "n"]),
        (b"Report\nid,n\n1,2\n2,3\n3,4\n", 1, ["id", "n"]),
        (b"\xef\xbb\xbf\r\nid,n\r\n1,2\r\n2,3\r\n", 1, ["id", "n"]),
        ("Umsatz: Mai, Köln\nStand: 1.6.\n\n".encode("windows-1252") + ROWS_BELOW.encode(), 3, ["id", "name", "n"]),
        (b'Report\n"id";"name"\n1;"a\nb"\n2;b\n3;c\n', 1, ["id", "name"]),
    ],
)
def test_titles_above_the_header_are_skipped_by_the_draft(
    content: bytes, skipped: int, names: list[str], tmp_path: Path
) -> None:
    """The draft says how many lines they are, and accepts the file."""
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    found = drafted(path)

    assert [column.name for column in found.profile.columns] == names
    assert found.plan.csv.skip_rows == skipped
    assert f"skipRows: {skipped}  # suggested: the header stands in line {skipped + 1}\n" in found.draft.text
    lines = "1 line" if skipped == 1 else f"{skipped} lines"
    assert found.draft.faults[0] == f"{lines} above the header: the draft skips so many in each file (csv.skipRows)"
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_a_note_to_excel_is_diagnosed(tmp_path: Path) -> None:
    """It is no title: other programs read it as the header."""
    path = tmp_path / "data.csv"
    path.write_text("sep=;\nid;name;n\n1;a;2\n2;b;3\n")

    with pytest.raises(UnreadableError) as refused:
        profile(parts_of(path), LocalStore(), tmp_path)
    assert "a note to Excel" in refused.value.finding.message


@pytest.mark.parametrize("text", [",x\na,b\nc,d\n", "a,b,c\nx\n1,2,3\n4,5,6\n", "1,2\n3\n4,5\n6,7\n"])
def test_a_header_is_no_title(text: str, tmp_path: Path) -> None:
    """An empty name beside another, short records below the header, and files without a header are as they were."""
    path = tmp_path / "data.csv"
    path.write_text(text)

    assert profile(parts_of(path), LocalStore(), tmp_path).columns


def test_codes_of_many_shapes_have_a_pattern(tmp_path: Path) -> None:
    """UUIDs, and codes of capitals and digits of one length."""
    path = tmp_path / "data.csv"
    chance = random.Random(7)
    airports = ["".join(chance.choices("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", k=4)) for _ in range(400)]
    path.write_text("\n".join(["id,code", *(f"{uuid.UUID(int=chance.getrandbits(128))},{each}" for each in airports)]))
    found = drafted(path)

    assert f'pattern: "^{UUID}$"' in found.draft.text
    assert 'pattern: "^[A-Z0-9]{4}$"' in found.draft.text
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


RECORDS = [
    {
        "id": at,
        "when": f"2026-01-{1 + at % 28:02}",
        "share": at / 2,
        "ok": at % 2 == 0,
        "who": {"email": f"a{at}@example.org", "age": 20 + at},
        "items": [{"sku": f"S-{at:03}", "n": each} for each in range(at % 3)],
        "mixed": at if at % 2 else "x",
        "none": None,
        "empty": [],
        "by_day": {f"d{at}_{each}": each for each in range(4)},
    }
    for at in range(ROWS)
]
EXPECTED_JSON = {
    "id": (LogicalType.INTEGER, Shape.VALUE),
    "when": (LogicalType.DATE, Shape.VALUE),
    "share": (LogicalType.NUMBER, Shape.VALUE),
    "ok": (LogicalType.BOOLEAN, Shape.VALUE),
    "who": (LogicalType.STRING, Shape.RECORD),
    "items": (LogicalType.STRING, Shape.LIST),
    "mixed": (LogicalType.STRING, Shape.ANY),
    "none": (LogicalType.STRING, Shape.VALUE),
    "empty": (LogicalType.STRING, Shape.LIST),
    "by_day": (LogicalType.STRING, Shape.MAP),
}


@pytest.mark.parametrize(
    ("content", "storage"),
    [
        ("\n".join(map(json.dumps, RECORDS)).encode(), Storage(Format.JSONL)),
        (json.dumps(RECORDS).encode(), Storage(Format.JSON)),
        (gzip.compress("\n".join(map(json.dumps, RECORDS)).encode(), mtime=0), Storage(Format.JSONL, Compression.GZIP)),
        (bz2.compress(json.dumps(RECORDS, indent=1).encode()), Storage(Format.JSON, Compression.BZIP2)),
        (pa.Codec("zstd").compress(json.dumps(RECORDS).encode()).to_pybytes(), Storage(Format.JSON, Compression.ZSTD)),
    ],
)
def test_json_is_described_with_its_parts(content: bytes, storage: Storage, tmp_path: Path) -> None:
    """Tokens decide about types; records, lists and maps have parts; the draft accepts the file."""
    path = tmp_path / "data"
    path.write_bytes(content)
    found = drafted(path)

    assert found.profile.storage == storage
    assert {each.name: (each.type, each.shape) for each in found.profile.columns} == EXPECTED_JSON
    assert {each.classification for each in found.plan.fields if each.name == "who.email"} == {"confidential"}
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED_WITH_WARNINGS


def _written(path: Path, form: Format) -> None:
    table = pa.table(
        {**dict(zip(TABLE.column_names, TABLE.columns, strict=True)), "tags": [["a"], [], None, ["b", "c"]]}
    )
    if form is Format.PARQUET:
        pyarrow.parquet.write_table(table.append_column("nothing", pa.nulls(4)), path)
    elif form is Format.ORC:
        pyarrow.orc.write_table(table.set_column(5, "day", pa.nulls(4, pa.date32())).drop_columns(["seen"]), path)
    else:
        path.write_bytes(write_avro(table.select(["id", "name", "tags"])))


@pytest.mark.parametrize("form", [Format.PARQUET, Format.ORC, Format.AVRO])
def test_tables_declare_their_own_types(form: Format, tmp_path: Path) -> None:
    """What a file declares is certain, and has no evidence; the draft accepts the file."""
    path = tmp_path / "data"
    _written(path, form)
    found = drafted(path)

    assert found.profile.storage == Storage(form)
    assert all(each.is_certain for each in found.profile.columns if each.name != "nothing")
    assert found.profile.columns[0].type is LogicalType.INTEGER
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_several_files_are_one_delivery(tmp_path: Path) -> None:
    """Rows of all files count; files of different formats are refused."""
    one, other, third = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    one.write_text("a,b\n1,x\n")
    other.write_text("a,b\n2,y\n")
    third.write_text('{"a": 1}\n')

    assert (drafted(one, other).profile.rows, drafted(one, other).profile.files) == (2, 2)
    with pytest.raises(UnreadableError, match="forms"):
        drafted(one, third)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty"),
        (b"PK\x03\x04...", "zip"),
        ("a,b\n".encode("utf-16"), "encoding"),
        (b"a,a\n1,2\n", "header"),
        (b"[]", "header"),
        (b"{}\n{]\n", "header"),
        (json.dumps({f"k{at}": 1 for at in range(10_001)}).encode(), "too-wide"),
        (b",".join(b"%d" % at for at in range(10_001)), "too-wide"),
    ],
)
def test_what_no_contract_could_accept_is_refused(content: bytes, code: str, tmp_path: Path) -> None:
    """The reason is the one that the gate would give."""
    path = tmp_path / "data"
    path.write_bytes(content)

    with pytest.raises(UnreadableError, match=code):
        profile(parts_of(path), LocalStore(), tmp_path)


def test_hostile_names_and_values_never_break_the_draft(tmp_path: Path) -> None:
    """Names with line breaks, syntax of YAML, quotes, control characters and SQL; values likewise, in lists of words."""
    names = [
        "a: b",
        "- x",
        "#c",
        '"q"',
        "'s'",
        "x\ny",
        "\x1b[31m",
        "{f}",
        "*z",
        "&y",
        "!t",
        "%d",
        "a'; DROP TABLE x",
        "null",
        " pad",
        "",
        "naïve",
        "a.b",
        "x[]",
        "\u202e",
    ]
    records = [{name: f"{name}{at % 2}" for name in names} for at in range(40)]
    path = tmp_path / "data"
    path.write_text("\n".join(map(json.dumps, records)))
    found = drafted(path)

    assert set(names) - {each.column for each in found.plan.columns} == {"x\ny", "\x1b[31m", " pad", "", "\u202e"}
    judgement = judged(found.plan, path)
    failing = {each.id for each in judgement.outcomes if each.status is Status.FAIL}
    assert (judgement.verdict, failing) == (
        Verdict.REJECTED,
        {"pad:required:1/pad"},
    )  # it is declared without its blank


@pytest.mark.full  # tests/unit/features/draft/test_draft_contract.py shows the same with lower limits
def test_thousands_of_columns_are_drafted(tmp_path: Path) -> None:
    """A wide file has a contract within the limits of a document, which accepts it but for the columns that it leaves out."""
    path = tmp_path / "wide.csv"
    line = ",".join(str(at % 7) for at in range(10_000))
    path.write_text(",".join(f"c{at}" for at in range(10_000)) + f"\n{line}\n{line}\n")
    found = drafted(path)

    assert len(found.profile.columns) == 10_000
    assert 8_000 < found.draft.columns < 10_000
    assert found.draft.left_out
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED_WITH_WARNINGS


@pytest.mark.parametrize("count", [MAX_WORDS, MAX_WORDS + 1])
def test_the_words_of_a_column_are_kept_where_they_are_few(tmp_path: Path, count: int) -> None:
    """All distinct values of a column are counted, or none where there are more than a list of allowed values may have."""
    words = [f"w{number:03}" for number in range(count)]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["a", *words, *words]) + "\n")

    (column,) = profile(parts_of(path), LocalStore(), tmp_path).columns

    assert column.values.words == (tuple((word, 2) for word in words) if count == MAX_WORDS else ())


@pytest.mark.parametrize("texts", [("0", "1,234,567"), ("1,5", "1.234,5"), ("12 %", "3 %")])
def test_numbers_in_texts_of_json_have_their_own_spelling(texts: tuple[str, str], tmp_path: Path) -> None:
    """Separators are declared of CSV alone: a pattern of other texts would reject the file."""
    path = tmp_path / "data.jsonl"
    path.write_text("".join(f'{{"id": "K{at}", "n": "{texts[at % 2]}"}}\n' for at in range(60)))
    found = drafted(path)

    assert found.profile.csv == Csv()
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_columns_without_any_value_are_drafted_alone(tmp_path: Path) -> None:
    """Of Avro's type null, which stores nothing."""
    path = tmp_path / "data.avro"
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "null"}]}
    path.write_bytes(container(schema, [b"", b""]))
    found = drafted(path)

    assert [(each.name, each.rows, each.present) for each in found.profile.columns] == [("n", 2, 0)]
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_the_number_of_queries_does_not_follow_the_number_of_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of columns of the same kinds: numbers, dates in another spelling, words, keys."""

    def queries(width: int) -> int:
        asked = []

        class Counted:
            """A connection that counts its queries."""

            def __init__(self, connection: Any) -> None:
                self._connection = connection

            def __getattr__(self, name: str) -> Any:
                asked.append(name) if name == "execute" else None
                return getattr(self._connection, name)

            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None:
                self._connection.close()

        monkeypatch.setattr(data_profile, "database", lambda folder: Counted(database(folder)))
        path = tmp_path / f"{width}.csv"
        names = [f"{kind}{at}" for at in range(width) for kind in ("n", "d", "w", "k")]
        rows = [
            [
                text
                for _ in range(width)
                for text in (f"{row / 4}", f"{row % 28 + 1:02}.01.2026", "ab"[row % 2], f"K{row}")
            ]
            for row in range(30)
        ]
        path.write_text("\n".join(",".join(each) for each in [names, *rows]) + "\n")
        found = profile(parts_of(path), LocalStore(), tmp_path)

        assert len(found.columns) == 4 * width
        return len(asked)

    assert queries(50) == queries(2)
