"""The command `cite`: how to cite Pliant, from CITATION.cff."""

from pathlib import Path
from typing import Annotated, Any

import typer

import pliant
from pliant._version import __version__
from pliant.cli.common import CommandError, Json, print_json
from pliant.language.tree import parse_yaml

NAME = "CITATION.cff"


def cite(
    apa: Annotated[bool, typer.Option("--apa", help="APA style instead of BibTeX.")] = False, json: Json = False
) -> int:
    """Print how to cite Pliant, as BibTeX or in APA style."""
    known = _citation()
    if json:
        print_json({"status": "ok", **known, "bibtex": bibtex(known), "apa": apa_line(known)})
    else:
        print(apa_line(known) if apa else bibtex(known))
    return 0


def _citation() -> dict[str, Any]:
    """Title, authors, installed version and so on. The file is inside the package in wheels, and in the top folder of
    source trees."""
    package = Path(pliant.__file__).parent
    file = next((x for x in (package / NAME, package.parents[1] / NAME) if x.is_file()), None)
    if file is None:
        raise CommandError(f"{NAME} is missing in this installation", "install Pliant again")
    found = parse_yaml(file.read_text(encoding="utf-8"), NAME).plain()
    authors = [_author(one) for one in found["authors"]]
    given = {name: str(found[name]) for name in ("title", "license", "doi", "url") if name in found}
    date = str(found.get("date-released", ""))
    return {**given, "authors": authors, "version": __version__, **({"year": date[:4]} if date else {})}


def _author(one: dict[str, Any]) -> str:
    """A group as its name, a person as `Family, Given`."""
    if "name" in one:
        return str(one["name"])
    return ", ".join(str(one[key]) for key in ("family-names", "given-names") if key in one)


def bibtex(known: dict[str, Any]) -> str:
    """A BibTeX entry; group names and the title keep their capitalization."""
    names = " and ".join(x if "," in x else f"{{{x}}}" for x in known["authors"])
    fields = {"title": f"{{{known['title']}}}", "author": names, "version": known["version"]}
    fields |= {key: known[key] for key in ("year", "doi", "url") if key in known}
    if "license" in known:
        fields["note"] = f"License: {known['license']}"
    lines = (f"  {key} = {{{value}}}" for key, value in fields.items())
    return "@software{pliant,\n" + ",\n".join(lines) + "\n}"


def apa_line(known: dict[str, Any]) -> str:
    """Authors (year). Title (Version) [Computer software]."""
    *others, last = known["authors"]
    names = f"{', '.join(others)}, & {last}" if others else last
    where = f" https://doi.org/{known['doi']}" if "doi" in known else f" {known['url']}" if "url" in known else ""
    title = f"{known['title']} (Version {known['version']}) [Computer software]."
    return f"{names.rstrip('.')}. ({known.get('year', 'n.d.')}). {title}{where}"
