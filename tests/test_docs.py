"""README and docs are correct: their Python runs, their models load, their commands print what they show."""

import math
import os
import re
import shlex
from pathlib import Path

import pytest

import pliant
from pliant import cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.name not in ("language.md", "architecture.md")]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)


def blocks(page, language):
    return [body for name, body in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "out").mkdir()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("in_folder")
def test_python_on_the_page_runs(page):
    names: dict = {"__name__": "docs"}
    for number, code in enumerate(blocks(page, "python"), start=1):
        exec(compile(code, f"{page.name}, snippet {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_models_on_the_page_load(page):
    for text in blocks(page, "yaml"):
        _ = pliant.derive(pliant.load_text(text)).binding


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("in_folder")
def test_commands_on_the_page_print_what_it_shows(page, capsys):
    for text in blocks(page, "console"):
        for command, expected in commands(text):
            cli.run(shlex.split(command)[1:])
            printed = capsys.readouterr()
            found = tokens(printed.out + printed.err)
            assert matches(tokens(expected), found), f"$ {command}\n{printed.out}{printed.err}"


FAULTY = """\
pliant: 1
bodies:
  rod: {mass: 200 mm, shape: {type: slender_rod, length: 50 cm}}
joints:
  hinge: {type: revolut, child: rod, axis: y}
"""


@pytest.mark.usefixtures("in_folder")
def test_faults_are_reported_as_the_readme_shows(capsys):
    Path("arm.yaml").write_text(FAULTY)
    (text,) = blocks(ROOT / "README.md", "text")
    ((command, expected),) = commands(text)
    assert cli.run(shlex.split(command)[1:]) == 2
    assert matches(tokens(expected), tokens(capsys.readouterr().err))


def commands(text):
    """Commands of pliant and the output shown below each; other programs are left alone."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if command.startswith("pliant "):
            yield command, expected


def tokens(text):
    return re.sub(r"([\[\](),;])", r" \1 ", text).split()


def matches(expected, found):
    """Whether tokens agree: numbers to four digits, and `...` matches anything."""
    reached = {0}  # how many of the found tokens may be used up by the expected ones so far
    for token in expected:
        if token == "...":
            reached = set(range(min(reached), len(found) + 1)) if reached else set()
        else:
            reached = {k + 1 for k in reached if k < len(found) and same(token, found[k])}
    return len(found) in reached


def same(a, b):
    if NUMBER.match(a) and NUMBER.match(b):
        # round-off is not the same on every machine
        return math.isclose(float(a), float(b), rel_tol=1e-4, abs_tol=1e-9)
    return a == b


def test_the_comparison_can_fail():
    assert matches(tokens("a 1.00001 ... z"), tokens("a 1.0 b c z"))
    assert not matches(tokens("a 1.01"), tokens("a 1.0"))
    assert not matches(tokens("a ... z"), tokens("a b"))


def test_every_command_and_option_is_documented():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `pliant (\w+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    sections["equilibria"] += sections["equilibrium"]  # "the other options are those of `pliant equilibrium`"
    sections["export"] += (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    assert set(sections) == set(cli.COMMANDS)
    common = {"--set", "--rod", "--variant", "--folder", "--json", "--timeout", "--help"}
    for name in cli.COMMANDS:
        command = cli.command(name)
        options = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
        shown = set(re.findall(r"`(--[a-z-]+)", sections[name]))
        assert options - common <= shown, name
        secondary = {option for parameter in command.params for option in parameter.secondary_opts}
        assert shown <= options | secondary | common, name


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)|src=\"([^\"]+)\"", page.read_text(encoding="utf-8")):
            path = target[0] or target[1]
            if not path.startswith("http"):
                assert os.path.exists(page.parent / path), f"{page.name}: {path}"


def test_every_bundled_robot_has_a_picture():
    for robot in pliant.bundled_robots():
        assert (ROOT / "docs" / "pictures" / f"{robot.name}.png").exists(), "run docs/make_pictures.py"


@pytest.mark.parametrize(("page", "least"), [("docs/architecture.md", 60), ("CONTRIBUTING.md", 15)])
def test_files_that_a_page_on_the_code_names_exist(page: str, least: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]+/[\w.]+\.(?:py|pyi|c|h|yaml|toml|md))`", text))
    assert len(named) > least
    places = [ROOT, ROOT / "tests", ROOT / "src", ROOT / "src" / "pliant", ROOT / "src" / "pliant" / "engine"]
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []
