"""Text tables as programs and instruments write them: encodings, separators of columns, decimal commas.

Whatever the text leaves open is not guessed: it raises FileProblem, with what to change.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pliant.language.source import FileProblem

SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
"""Separators of columns, in the order in which they are tried: a comma may also be a decimal comma."""

MISSING = frozenset(("", "nan", "na", "n/a", "null", "none", "-"))
"""Entries without a number, in lower case."""

_COMPARED = 50
"""Number of lines whose number of entries is compared with that of the names."""
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
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FileProblem(f"{shown} is a workbook of a spreadsheet program, not a CSV file", "export it as CSV")
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
            rows = [row for _, row in zip(range(_COMPARED), reader, strict=False) if any(map(str.strip, row))]
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
