"""`pliant cite`: what CITATION.cff says, in the forms that papers take."""

from __future__ import annotations

import json
from pathlib import Path

from pliant import __version__
from pliant.cli import cite, run

FILE = Path(__file__).parents[2] / "CITATION.cff"


def test_bibtex_and_apa_say_what_the_file_says(capsys):
    title = (
        next(x for x in FILE.read_text().splitlines() if x.startswith("title:")).partition(":")[2].strip().strip('"')
    )
    assert run(["cite"]) == 0
    written = capsys.readouterr().out
    assert written.startswith("@software{pliant,\n")
    assert f"title = {{{{{title}}}}}" in written
    assert "author = {{The Pliant developers}}" in written
    assert f"version = {{{__version__}}}" in written
    assert written.count("{") == written.count("}")
    assert run(["cite", "--apa"]) == 0
    line = capsys.readouterr().out.strip()
    assert line == f"The Pliant developers. (n.d.). {title} (Version {__version__}) [Computer software]."
    assert run(["cite", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["apa"] == line
    assert found["bibtex"] == written.strip()
    assert found["authors"] == ["The Pliant developers"]


def test_people_dates_and_identifiers():
    known = {"title": "T", "authors": ["Doe, Jane", "Roe, R."], "version": "1", "year": "2030", "doi": "10.1/x"}
    assert "author = {Doe, Jane and Roe, R.}" in cite.bibtex(known)
    assert (
        cite.apa_line(known) == "Doe, Jane, & Roe, R. (2030). T (Version 1) [Computer software]. https://doi.org/10.1/x"
    )


def test_a_missing_file_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("pliant.cli.cite.NAME", "NOTHING.cff")
    assert run(["cite"]) == 2
    assert "NOTHING.cff is missing in this installation (install Pliant again)" in capsys.readouterr().err


def test_the_file_has_the_version_of_the_package():
    assert f"version: {__version__}" in FILE.read_text()
