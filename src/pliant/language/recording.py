"""Recordings: columns of numbers over time with units, measured or computed, in memory and in files (CSV, Parquet, MATLAB)."""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy

from pliant.language.arguments import ArgumentError, file_name
from pliant.language.dimension import NUMBER, RATE, TIME, Dimension
from pliant.language.faults import ExpressionError
from pliant.language.files import write_whole
from pliant.language.limits import limits, most
from pliant.language.message_text import suggestion
from pliant.language.source import FileProblem, check_file
from pliant.language.units import Unit, parse_unit

if TYPE_CHECKING:
    import pandas


# A unit is in brackets at the end. Without a space before them, brackets may belong to the name (`arm.twist[1]`).
_IN_BRACKETS = re.compile(r"^(?P<name>.*\S)(?P<space>\s*)(?:\[(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\))$")
_SPELLED = {"-": "1", "%": "percent"}


def heading(name: str, unit: str) -> str:
    """A name with its SI unit; without one, the name alone."""
    return f"{name} [{unit}]" if unit else name


def split_heading(words: str) -> tuple[str, str]:
    """Name and unit of a heading; the unit is empty if the heading has no known unit."""
    words = words.strip()
    found = _IN_BRACKETS.match(words)
    if found:
        text = (found["square"] or found["round"]).strip()
        is_unit = found["space"] or re.search("[A-Za-zµ°%]", text)
        if is_unit and read_unit(text) is not None:
            return found["name"], text
    name, underscore, text = words.rpartition("_")
    # a number after an underscore belongs to the name (`p_1`)
    is_unit = underscore and name and text and not text.isdecimal() and read_unit(text) is not None
    return (name, text) if is_unit else (words, "")


def read_unit(text: str) -> Unit | None:
    """A unit as written in tables (`-` for pure numbers, with or without brackets); None if the text is not a unit."""
    text = text.strip().strip("[]()").strip() if text.strip()[:1] in "[(" else text.strip()
    try:
        return parse_unit(_SPELLED.get(text, text))
    except ExpressionError:
        return None


def si_unit(text: str) -> str:
    """The SI unit for a unit as text: itself if it is one; angles keep their name."""
    unit = read_unit(text)
    if unit is None or (unit.factor == 1.0 and text != "1"):
        return text
    if unit.turns == Fraction(1) and unit.dimension in (NUMBER, RATE):
        return "rad" if unit.dimension == NUMBER else "rad/s"
    return "-" if unit.dimension == NUMBER else unit.dimension.unit


def dimension_of(unit: str) -> Dimension | None:
    """The quantity that an SI unit measures; None if it is unknown."""
    found = read_unit(unit) if unit else None
    return None if found is None else found.dimension


SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
"""Separators of columns, in the order in which they are tried: a comma may also be a decimal comma."""

MISSING = frozenset(("", "nan", "na", "n/a", "null", "none", "-"))
"""Entries without a number, in lower case."""


@dataclass(frozen=True)
class TableLimits:
    """How much of a file is read to recognize its format."""

    compared: int = 50
    """Number of lines whose number of entries is compared with that of the names."""
    head: int = 100
    """Number of lines from which the headings, units and separator of a long table are read."""
    mat_header: int = 128
    compressed: int = 15
    piece: int = 2**24
    """Bytes of the header of a MAT file of version 5, type of its compressed elements, and bytes that are unpacked at a time."""


TABLES = TableLimits()


_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_NUMERIC = re.compile(r"[-+\d.,eE]*\d[-+\d.,eE]*")


@dataclass(frozen=True)
class CsvText:
    """The entries of a text table.

    Attributes:
        header: names of the columns.
        rows: line number and entries of each row that is not empty.
        separator: the character between the entries.
    """

    header: list[str]
    rows: list[tuple[int, list[str]]]
    separator: str


def read_csv_text(data: bytes, shown: str) -> CsvText:
    """The entries of a file. shown: the file in messages. Comments, which begin with `#`, may precede the names."""
    text = decode(data, shown)
    stated = _SEPARATOR_LINE.match(text)  # a line that Excel writes and reads
    skipped, text = _without_comments(text[stated.end() :] if stated else text)
    skipped += 1 if stated else 0
    mark = stated[1] if stated else _separator(text)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        header = [name.strip() for name in next(reader, [])]
        rows = [(skipped + reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as reason:
        raise FileProblem(f"{shown} is not a CSV file ({reason})", "save it as comma-separated UTF-8 text") from None
    if header:
        header[0] = header[0].lstrip("# ")  # as NumPy writes it
    while len(header) > 1 and not header[-1] and not any("".join(row[len(header) - 1 :]).strip() for _, row in rows):
        header.pop()  # lines that end in a separator
    if (
        len(header) == 1
        and rows
        and len(words := rows[0][1][0].split()) > 1
        and not any(map(math.isnan, map(number, words)))
    ):
        raise FileProblem(
            f"the columns of {shown} are separated by spaces", "separate them by commas, semicolons or tabs"
        )
    kept = []
    for line, row in rows:
        if len(row) != len(header) and (len(row) < len(header) or any(map(str.strip, row[len(header) :]))):
            raise FileProblem(
                f"line {line} of {shown} has {_count(len(row), 'entry', 'entries')} for "
                f"{_count(len(header), 'column', 'columns')} separated by {SEPARATORS.get(mark, repr(mark))}",
                _mismatch(header, row, mark),
            )
        kept.append((line, row[: len(header)]))
    return CsvText(header, kept, mark)


def decode(data: bytes, shown: str) -> str:
    """The text of a file: UTF-8, UTF-16 with a byte order mark, or Windows-1252 (which includes Latin-1)."""
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    try:
        if encoding:
            return data.decode(encoding)
        if b"\0" in data:
            raise FileProblem(f"{shown} is not a CSV file: it has zero bytes", "save it as comma-separated UTF-8 text")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise FileProblem(
            f"{shown} is not a CSV file: its text is neither UTF-8, UTF-16 nor Windows-1252 (byte {error.start})",
            "save it as comma-separated UTF-8 text",
        ) from None


def _without_comments(text: str) -> tuple[int, str]:
    """The number of empty lines and comments before the names of the columns, and the text without them. The last comment
    contains the names if the next line has only numbers, as NumPy writes them."""
    lines = text.splitlines(keepends=True)
    count = next((k for k, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), len(lines))
    if 0 < count < len(lines) and lines[count - 1].strip():
        cells = [cell.strip() for cell in re.split(r"[,;\t]", lines[count].strip())]
        if all(cell.lower() in MISSING or not math.isnan(number(cell)) for cell in cells):
            count -= 1
    return count, "".join(lines[count:])


def _separator(text: str) -> str:
    """The separator that divides the first lines into as many entries as there are names; otherwise the most frequent one in
    the line of names."""
    sizes: dict[str, int] = {}
    for mark in SEPARATORS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
            names = len(next(reader, []))
            sizes[mark] = names
            rows = [row for _, row in zip(range(TABLES.compared), reader, strict=False) if any(map(str.strip, row))]
        except csv.Error:
            continue
        if names > 1 and all(len(row) == names for row in rows):
            return mark
    return max(sizes, key=lambda mark: (sizes[mark], mark == ","), default=",")


def _mismatch(header: Sequence[str], row: Sequence[str], mark: str) -> str:
    """What to change if a line has another number of entries than there are names."""
    if mark == "," and len(row) > len(header) > 1:
        return "if commas are also decimal commas, write decimal points, or separate columns by semicolons or tabs"
    if len(header) == 1:
        return "the first line must contain the names of all columns; begin other lines before it with #"
    return "give every line one entry per column"


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def with_decimal_points(rows: Sequence[tuple[int, list[str]]], shown: str) -> list[list[str]]:
    """The entries of all rows, with decimal points in place of decimal commas.

    Numbers with both, and numbers whose commas may as well separate thousands (`1,250`), raise FileProblem.
    """
    comma, point, grouped = None, None, None
    for line, row in rows:
        for cell in map(str.strip, row):
            if "," in cell and _DECIMAL_COMMA.fullmatch(cell):
                if not _GROUPED.fullmatch(cell):
                    comma = comma or (line, cell)
                else:
                    grouped = grouped or (line, cell)
            elif ("." in cell or "," in cell) and _NUMERIC.fullmatch(cell):
                point = point or (line, cell)
    if comma is None and grouped is None:
        return [row for _, row in rows]
    if point is not None:
        line, cell = comma or grouped or point
        raise FileProblem(
            f"{shown} has numbers with decimal commas ('{cell}' in line {line}) and others ('{point[1]}' in line {point[0]})",
            "write all numbers with decimal points, and without separators of thousands",
        )
    if comma is None and grouped is not None:
        raise FileProblem(
            f"the comma of '{grouped[1]}' in line {grouped[0]} of {shown} may be a decimal comma or separate thousands",
            "write numbers with decimal points, and without separators of thousands",
        )
    return [[c.replace(",", ".") if _DECIMAL_COMMA.fullmatch(c.strip()) else c for c in row] for _, row in rows]


def number(cell: str) -> float:
    """The number of an entry; NaN if it is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


INSTALL = "pip install 'pliant[tables]'"


@dataclass(frozen=True)
class Column:
    """A column of a file in SI units.

    Attributes:
        name: name without unit.
        heading: heading in the file.
        values: numbers, NaN where the file has none.
        unit: unit in the file; None if it states none, and numbers are assumed to be SI.
        si: SI unit of the values as text; empty if the file states no unit.
        flaw: location and content of the first entry that is not a number; empty if all are numbers.
        gaps: whether all entries that are not numbers are missing ones: empty, NaN or NA.
    """

    name: str
    heading: str
    values: np.ndarray
    unit: Unit | None
    si: str
    flaw: str = ""
    gaps: bool = False


@dataclass(frozen=True)
class _Raw:
    """Content of a file: headings, units if separate, columns of numbers, flaws by column, and columns with only gaps as flaws."""

    headings: list[str]
    units: list[str]
    columns: list[np.ndarray]
    flaws: dict[int, str]
    gaps: frozenset[int]


def read_columns(path: Path, shown: str, *, limit: str) -> list[Column]:
    """All columns of a table. shown: the file in messages. limit: name of the limit on its size. Raises FileProblem."""
    ending = path.suffix.lower()
    if ending in WORKBOOKS:
        raise FileProblem(
            f"{shown} is a workbook of a spreadsheet program", "export it as CSV, with units in the headings"
        )
    if ending not in READERS:
        raise FileProblem(f"cannot determine the format of {shown}", f"end it in {endings()}")
    try:
        check_file(path, shown, limit)
        if ending == ".mat":
            _check_unpacked(path, shown, limit)
        raw = READERS[ending](path, shown)
    except OSError as error:
        raise FileProblem(f"cannot read {shown}: {error.strerror or error}") from None
    if not raw.columns or not len(raw.columns[0]):
        raise FileProblem(f"{shown} has no rows")
    return [_column(raw, k) for k in range(len(raw.headings))]


def _column(raw: _Raw, k: int) -> Column:
    name, stated = split_heading(raw.headings[k])
    stated = stated or (raw.units[k].strip().strip("[]()") if raw.units else "")
    unit = read_unit(stated) if stated else None
    with np.errstate(over="ignore"):
        values = raw.columns[k] * (1.0 if unit is None else unit.factor)
    flaw, gaps = raw.flaws.get(k, ""), k in raw.gaps
    if np.any(np.isinf(values)) or (not flaw and not np.all(np.isfinite(values))):
        flaw, gaps = f"the column '{raw.headings[k]}' has a number that is too large", False
    return Column(name, raw.headings[k], values, unit, "" if unit is None else si_unit(stated), flaw, gaps)


def write_columns(path: Path, columns: Mapping[str, tuple[str, np.ndarray]]) -> None:
    """Write columns (SI unit and values by name) atomically. Raises FileProblem."""
    if path.suffix not in FORMATS:
        raise FileProblem(f"cannot determine the format of '{path.name}'", f"end it in {endings()}")
    content = FORMATS[path.suffix][1](columns)
    try:
        write_whole(path, content)
    except OSError as reason:
        raise FileProblem(f"cannot write {path}: {reason.strerror or reason}") from None


# -- comma-separated text ----------------------------------------------------------------------------------------------


def _read_csv(path: Path, shown: str) -> _Raw:
    """Read a text table. The first line contains the names of the columns; the second may contain units."""
    data = path.read_bytes()
    many = _read_many_numbers(data, shown)
    if many is not None:
        return many
    text = read_csv_text(data, shown)
    lines = text.rows
    units = lines.pop(0)[1] if lines and _is_units(lines[0][1]) else []
    columns, flaws, gaps = _cells(text.header, lines, shown)
    return _Raw(text.header, units, columns, flaws, gaps)


def _read_many_numbers(data: bytes, shown: str) -> _Raw | None:
    """Read a long table of which all entries but the headings are finite numbers, without a list of entries for each line, which
    takes some hundred bytes; None for any other table."""
    _check_cells(max(data.count(b"\n"), data.count(b"\r")), shown)
    begin = 0
    for _ in range(TABLES.head):
        begin = data.find(b"\n", begin) + 1
        if begin == 0:
            return None
    text = decode(data, shown)
    if '"' in text or not (head := re.match(rf"(?:[^\n]*\n){{{TABLES.head}}}", text)):
        return None
    try:
        first = read_csv_text(head[0].encode(), shown)
    except FileProblem:
        return None
    _check_cells(text.count(first.separator) + text.count("\n"), shown)
    rows = first.rows
    units = rows.pop(0)[1] if rows and _is_units(rows[0][1]) else []
    if not rows or not re.fullmatch(rf"[0-9eE.+\- \r\n{first.separator}]*", rest := text[head.end() :]):
        return None
    try:
        top = np.array([row for _, row in rows], dtype=float)
        below = np.loadtxt(io.StringIO(rest), delimiter=first.separator, comments=None, ndmin=2)
        table = np.concatenate([top, below]) if below.size else top
    except ValueError:  # gaps, decimal commas, or lines of other lengths
        return None
    if table.shape[1] != len(first.header) or not np.isfinite(table).all():
        return None
    return _Raw(first.header, units, list(table.T), {}, frozenset())


def _check_cells(count: int, shown: str) -> None:
    """Raise FileProblem if a table has more numbers than the limit."""
    if count > limits().cells:
        raise FileProblem(f"{shown} has some {count:.2g} numbers", most("cells"))


def _is_units(row: Sequence[str]) -> bool:
    """Whether a row contains units: no numbers except `1`, and at least one unit."""
    cells = [cell.strip() for cell in row if cell.strip()]
    return any(cell != "1" for cell in cells) and all(
        read_unit(cell) is not None and math.isnan(number(cell) if cell != "1" else math.nan) for cell in cells
    )


def _cells(
    header: list[str], lines: list[tuple[int, list[str]]], shown: str
) -> tuple[list[np.ndarray], dict[int, str], frozenset[int]]:
    """Numbers by column, the flaw of each column with entries that are not numbers, and columns with only gaps as flaws."""
    texts = [row for _, row in lines]
    try:
        table = np.array(texts, dtype=float).reshape(len(texts), len(header))
    except ValueError:
        texts = with_decimal_points(lines, shown)
        table = np.array([[number(cell) for cell in row] for row in texts])
    flaws, gaps = {}, set()
    for k, values in enumerate(table.T):
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            line, row = lines[bad[0]]
            if all(lines[i][1][k].strip().lower() in MISSING for i in bad):
                gaps.add(k)
            what = f"'{row[k].strip()[:20]}'" if row[k].strip() else "nothing"
            flaws[k] = _flaw(f"line {line} of {shown} has {what} in the column '{header[k]}'", len(bad))
    return list(np.where(np.isfinite(table), table, np.nan).T), flaws, frozenset(gaps)


def _flaw(words: str, count: int) -> str:
    more = f", and {count - 1} more lines have none" if count > 1 else ""
    return f"{words} where a number is needed{more}"


def _write_csv(columns: Mapping[str, tuple[str, np.ndarray]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(heading(name, unit) for name, (unit, _) in columns.items())
    writer.writerows(zip(*(values.tolist() for _, values in columns.values()), strict=True))
    return text.getvalue().encode()


# -- Parquet, through pandas ---------------------------------------------------------------------------------------------


def _read_parquet(path: Path, shown: str) -> _Raw:
    import pandas

    try:
        _check_parquet(path, shown)
        frame = pandas.read_parquet(path)
    except ImportError:
        raise FileProblem(
            f"reading {shown} needs a package for Parquet files, which is not installed", INSTALL
        ) from None
    except (OSError, FileProblem):
        raise
    except Exception:  # any error of the package for a damaged file
        raise FileProblem(f"{shown} is not a Parquet file") from None
    if frame.index.name is not None:  # a table that was saved with its times as index
        frame = frame.reset_index()
    return _from_arrays({str(name): frame[name].to_numpy() for name in frame.columns}, {}, shown)


def _check_parquet(path: Path, shown: str) -> None:
    """Raise FileProblem if a file states more numbers than the limit: equal ones take almost no space in it."""
    if find_spec("pyarrow") is not None:  # which pandas prefers
        stated = import_module("pyarrow.parquet").read_metadata(path)
        rows, columns = stated.num_rows, stated.num_columns
    else:
        file = import_module("fastparquet").ParquetFile(str(path))
        rows, columns = file.count(), len(file.columns)
    _check_cells(rows * columns, shown)


def _write_parquet(columns: Mapping[str, tuple[str, np.ndarray]]) -> bytes:
    import pandas

    frame = pandas.DataFrame({heading(name, unit): np.array(values) for name, (unit, values) in columns.items()})
    try:
        return bytes(frame.to_parquet(None, index=False))
    except ImportError:
        raise FileProblem("writing .parquet needs a package for it, which is not installed", INSTALL) from None


# -- MATLAB ----------------------------------------------------------------------------------------------------------------


def _check_unpacked(path: Path, shown: str, limit: str) -> None:
    """Raise FileProblem if the compressed variables of a file exceed the limit: a megabyte may contain gigabytes of zeros."""
    data, left = memoryview(path.read_bytes()), float(getattr(limits(), limit))
    order = ">" if bytes(data[126:128]) == b"MI" else "<"
    at = TABLES.mat_header
    while at + 8 <= len(data):
        kind, size = struct.unpack(f"{order}II", data[at : at + 8])
        if kind == TABLES.compressed:
            reader, part = zlib.decompressobj(), bytes(data[at + 8 : at + 8 + size])
            try:
                while part and not reader.eof:
                    left -= len(reader.decompress(part, TABLES.piece))
                    if left < 0:
                        raise FileProblem(f"{shown} is too large when unpacked", most(limit))
                    part = reader.unconsumed_tail
            except zlib.error:
                return  # a damaged file, which is reported when it is read
        at += 8 + size


def _read_mat(path: Path, shown: str) -> _Raw:
    """Read `data` with a column for each of `names` and `units`, as `_write_mat` writes it; otherwise all vectors by name."""
    try:
        found = scipy.io.loadmat(path, squeeze_me=True)
    except NotImplementedError:
        raise FileProblem(f"{shown} is a MAT file of version 7.3", "save it with -v7") from None
    except OSError:
        raise
    except Exception:
        raise FileProblem(f"{shown} is not a MAT file") from None
    found = {name: np.atleast_1d(value) for name, value in found.items() if not name.startswith("__")}
    if {"data", "names"} <= set(found):
        names = [str(name).strip() for name in found["names"].tolist()]
        units = [str(unit).strip() for unit in found["units"].tolist()] if "units" in found else [""] * len(names)
        data = found["data"].reshape(-1, len(names)) if found["data"].size % max(len(names), 1) == 0 else None
        if data is None or len(units) != len(names):
            raise FileProblem(f"in {shown}, `data` needs a column for each of `names` and `units`")
        return _from_arrays(dict(zip(names, data.T, strict=True)), dict(zip(names, units, strict=True)), shown)
    vectors = {name: x for name, x in found.items() if x.ndim == 1 and x.dtype.kind in "fiub"}
    lengths = {len(x) for x in vectors.values()}
    if len(lengths) > 1:
        listed = ", ".join(f"{name} {len(x)}" for name, x in vectors.items())
        raise FileProblem(f"the vectors of {shown} differ in length ({listed})", "save columns of one length")
    return _from_arrays(vectors, {}, shown)


def _write_mat(columns: Mapping[str, tuple[str, np.ndarray]]) -> bytes:
    content = io.BytesIO()
    names, units = (np.array([*words], dtype=object) for words in (columns, (unit for unit, _ in columns.values())))
    data = np.stack([values for _, values in columns.values()], axis=1)
    scipy.io.savemat(content, {"names": names, "units": units, "data": data})
    return content.getvalue()


def _from_arrays(arrays: Mapping[str, np.ndarray], units: Mapping[str, str], shown: str) -> _Raw:
    """Columns of a format with arrays; entries that are not numbers become NaN."""
    columns, flaws, gaps = [], {}, set()
    for k, (name, values) in enumerate(arrays.items()):
        try:
            numbers = np.array(values, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array([number(str(x)) for x in values])
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            if all(str(values[i]).strip().lower() in MISSING or values[i] is None for i in bad):
                gaps.add(k)
            flaws[k] = _flaw(f"row {bad[0] + 1} of {shown} has no number in the column '{name}'", len(bad))
        columns.append(np.where(np.isfinite(numbers), numbers, np.nan))
    return _Raw(
        list(arrays), [units.get(name, "") for name in arrays] if units else [], columns, flaws, frozenset(gaps)
    )


FORMATS: dict[str, tuple[Callable[[Path, str], _Raw], Callable[[Mapping[str, tuple[str, np.ndarray]]], bytes]]] = {
    ".csv": (_read_csv, _write_csv),
    ".parquet": (_read_parquet, _write_parquet),
    ".mat": (_read_mat, _write_mat),
}
"""Functions that read and write files, by ending."""

READERS = {ending: read for ending, (read, _) in FORMATS.items()} | {".tsv": _read_csv, ".txt": _read_csv}
"""Functions that read files, by ending in lower case."""

WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")
"""Endings of files that must be exported as CSV."""


def endings() -> str:
    """The file endings of tables, as text."""
    *first, last = FORMATS
    return f"{', '.join(first)} or {last}"


GAP = 10.0
"""Ratio of a step between samples to the median step above which it is a gap."""
TIMES = ("t", "time")
"""Names of the column with the times."""
POSES = " (rows that are equilibria need none: poses=True, or --rests of pliant fit)"
FILL = "fill the gap or drop these rows (`interpolate`, `dropna` of pandas)"


@dataclass(frozen=True, repr=False)
class Recording:
    """Columns in SI units over increasing times.

    Attributes:
        file: its origin, for messages.
        time: times of the samples [s].
        columns: values by name, one for each time.
        units: SI units by name; columns without one are taken as SI.
        flaws: description of missing numbers by column; they are NaN, and using such a column is an error.
        assumed: columns for which the file states no unit.
        gaps: columns of `flaws` whose only flaw is missing numbers; as measured outputs they can be used without these rows.
        timed: whether the rows have times; otherwise they are equilibria, and `time` numbers them: 0, 1, 2, ...
    """

    file: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    units: Mapping[str, str] = field(default_factory=dict)
    flaws: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    timed: bool = True
    gaps: tuple[str, ...] = ()

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "no times"
        names = [heading(name, self.units.get(name, "")) for name in self.columns]
        return f"Recording of {self.file}: {len(self.time)} samples, {span}; {', '.join(names)}"

    def column(self, name: str) -> np.ndarray:
        """A column by its name, without the unit (`p1` is the column `p1 [kPa]` of a file) [SI]."""
        if not isinstance(name, str) or name not in self.columns:
            hint = suggestion(name, self.columns, f"it has {', '.join(self.columns)}")
            raise ArgumentError(f"{self.file} has no column '{name}'; {hint}")
        if name in self.flaws:
            raise ArgumentError(f"{self.flaws[name]}; {FILL}")
        return self.columns[name]

    def __getitem__(self, name: str) -> np.ndarray:
        """A column by its name [SI], as `column`; `time` if no column has that name."""
        return self.time if name == "time" and name not in self.columns else self.column(name)

    def measured(self, name: str) -> np.ndarray:
        """A column by its name, with NaN where the file has no number [SI]."""
        return self.columns[name] if name in self.gaps else self.column(name)

    def series(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Times [s] and values [SI] of a column, in the form of `inputs` of analyses."""
        return self.time, self.column(name)

    def dimension(self, name: str) -> Dimension | None:
        """The quantity of a column; None if its unit is unknown."""
        return dimension_of(self.units.get(name, ""))

    def window(self, begin: float, end: float) -> Recording:
        """The part between two times [s]."""
        inside = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        if not inside.any():
            raise ArgumentError(f"{self.file} has nothing between {begin:g} and {end:g} s")
        return replace(self, time=self.time[inside], columns={k: v[inside] for k, v in self.columns.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .csv, .parquet or .mat file atomically; `read_recording` reads it back."""
        time = {"time": ("s", np.asarray(self.time, dtype=float))}
        others = {name: (self.units.get(name, ""), np.asarray(x, dtype=float)) for name, x in self.columns.items()}
        try:
            write_columns(file_name("path", path), time | others)
        except FileProblem as problem:
            raise as_recording_error(problem) from None

    def to_pandas(self) -> pandas.DataFrame:
        """A table of pandas with the times as index [s] and headings as in files (`tip.x [m]`)."""
        import pandas

        named = {heading(name, self.units.get(name, "")): values for name, values in self.columns.items()}
        return pandas.DataFrame(named, index=pandas.Index(self.time, name=heading("time", "s")))


def read_recording(path: str | os.PathLike[str], *, poses: bool = False) -> Recording:
    """Read a .csv, .parquet or .mat file whose columns have names with units: `tip.x [m]`, `x (mm)`, `x_mm`, or a row of units.

    The times are in the column t or time. Columns without a unit are assumed to be in SI units. poses: the rows are equilibria,
    which need no times; without times they are numbered.
    """
    source = file_name("path", path)
    if not source.exists():
        raise ArgumentError(f"there is no file {source}")
    try:
        found = by_name(read_columns(source, str(source), limit="recording"), str(source))
        timed = not poses or any(name.lower() in TIMES for name in found)
        time = times_of(found, str(source)) if timed else None
    except FileProblem as problem:
        raise as_recording_error(problem) from None
    if time is None:
        times = np.arange(float(max((len(column.values) for column in found.values()), default=0)))
    else:
        found, times = {name: column for name, column in found.items() if column is not time}, time.values
        _check_gaps(times, source)
    return Recording(
        str(source), times, {name: column.values for name, column in found.items()},
        {name: column.si for name, column in found.items() if column.unit is not None},
        {name: column.flaw for name, column in found.items() if column.flaw},
        tuple(name for name, column in found.items() if column.unit is None), timed,
        tuple(name for name, column in found.items() if column.flaw and column.gaps),
    )  # fmt: skip


def as_recording_error(problem: FileProblem) -> ArgumentError:
    """The problem as one sentence, with its hint."""
    return ArgumentError("; ".join(filter(None, (str(problem), problem.hint))))


def by_name(columns: Sequence[Column], shown: str) -> dict[str, Column]:
    """Columns by their names; raises FileProblem if two have the same name."""
    found: dict[str, Column] = {}
    for column in columns:
        if column.name in found:
            raise FileProblem(f"{shown} has two columns '{column.name}'", "rename one")
        found[column.name] = column
    return found


def times_of(columns: Mapping[str, Column], shown: str, name: str | None = None) -> Column:
    """The column of times [s]: by name, or the one called t or time; raises FileProblem if these are not increasing times."""
    chosen = find_column(columns, name, shown) if name else _named_time(columns, shown)
    if chosen.unit is not None and chosen.unit.dimension != TIME:
        kind = chosen.unit.dimension
        raise FileProblem(f"the times of {shown} are given in a unit of {kind}", "call the column 't [s]' or t_s")
    if chosen.flaw:
        raise FileProblem(chosen.flaw, "remove the rows without a time")
    back = np.flatnonzero(np.diff(chosen.values) <= 0)
    if len(back):
        before, after = chosen.values[back[0]], chosen.values[back[0] + 1]
        words = f"the times in {shown} must increase, but {after:g} follows {before:g} (row {back[0] + 2})"
        again = f"; {len(back)} rows do not" if len(back) > 1 else ""
        raise FileProblem(words + again, "sort the rows and remove repeated times")
    return chosen


def _named_time(columns: Mapping[str, Column], shown: str) -> Column:
    for name in columns:
        if name.lower() in TIMES:
            return columns[name]
    raise FileProblem(f"{shown} has no time column", f"call it 't [s]', t_s or time_s{POSES}")


def find_column(columns: Mapping[str, Column], name: str, shown: str) -> Column:
    """A column by its name or by its complete heading; raises FileProblem if there is none."""
    if name in columns:
        return columns[name]
    for column in columns.values():
        if column.heading == name:
            return column
    hint = suggestion(name, columns, f"its columns: {', '.join(columns)[:200]}")
    raise FileProblem(f"{shown} has no column '{name}'", hint)


def _check_gaps(time: np.ndarray, source: Path) -> None:
    if len(time) > 2:
        steps = np.diff(time)
        worst = int(np.argmax(steps))
        if steps[worst] > GAP * np.median(steps):
            raise ArgumentError(
                f"{source} has a gap of {steps[worst]:.3g} s at t = {time[worst]:.6g} s, where samples are usually "
                f"{np.median(steps):.3g} s apart; cut the recording there"
            )
