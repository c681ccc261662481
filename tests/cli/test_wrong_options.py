"""Every option of every command with values that make no sense: a message of one kind, never a traceback."""

import json

import pytest

from pliant.cli import COMMANDS as NAMES
from pliant.cli import command as parsed
from pliant.cli import run

COMMANDS = {name: parsed(name) for name in NAMES}
MODEL = {
    "compare": ["cantilever", "--rods", "rod=pcs:1,pcs:2"],
    "fit": ["cantilever", "--parameters", "x", "--against", "nowhere.csv"],
    "path": ["leaf_spring", "--parameter", "end_distance", "--to", "0.499"],
    "mesh": ["nowhere.stl"],
    "picture": ["pendulum", "--out", "x.png"],
    "film": ["nowhere.nc", "nowhere.gif"],
}
"""What each command is called with; a pendulum is enough for the others."""

WRONG = {int: ("abc", "1.5", "-99"), float: ("abc", "nan")}
NAMED = {
    "--set": ("???", "a=b"),
    "--rod": ("???", "a=b", "rod=pcs:0"),
    "--variant": ("???",),
    "--folder": ("no/such/folder",),
    "--at": ("moon",),
    "--save-at": ("soon",),
    "--method": ("euler",),
    "--formulation": ("loose",),
    "--report": ("page.txt",),
    "--plot": ("plot.txt",),
    "--mesh": ("mesh.txt",),
    "--to": ("3 kg", "???"),
    "--parameter": ("nothing",),
    "--imperfection": ("???", "a=b"),
    "--stop": ("???", "a=b"),
    "--start": ("nowhere", "a=b"),
    "--hold-out": ("some",),
    "--rest-at": ("soon",),
    "--rods": ("???", "rod=ebx,pcs"),
    "--against": ("nowhere.csv",),
    "--gltf": ("x.txt",),
}
FINE = {("equilibrium", "--seed"), ("view", "--port")}
"""Options that any number is right for, or that would wait for a visitor."""


def kind_of(option):
    """The type of an option's value, in any version of typer."""
    if hasattr(option, "type_descriptor"):
        return option.type_descriptor.annotation
    return {"integer": int, "integer range": int, "float": float, "float range": float}.get(option.type.name, str)


def cases():
    for name, command in COMMANDS.items():
        for option in command.params:
            if option.param_type_name == "argument" or option.is_flag or "--help" in option.opts:
                continue
            flag, kind = option.opts[0], kind_of(option)
            if (name, flag) in FINE:
                continue
            for value in (*WRONG.get(kind, ()), *NAMED.get(flag, ())):
                yield pytest.param(name, flag, value, id=f"{name} {flag} {value}")


def test_every_command_has_options_to_try():
    tried = {case.values[0] for case in cases()}
    assert {"check", "simulate", "path", "sweep", "fit", "view"} <= tried


@pytest.mark.parametrize(("name", "flag", "value"), list(cases()))
def test_a_wrong_value_gets_one_message(name, flag, value, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = COMMANDS[name]
    given = MODEL.get(name, ["pendulum"]) if any(p.param_type_name == "argument" for p in command.params) else []
    has_json = any("--json" in p.opts for p in command.params)
    code = run([name, *given, flag, value, *(["--json"] if has_json else [])])
    captured = capsys.readouterr()
    assert code == 2, captured
    assert "Traceback" not in captured.err
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1 or "fault" in lines[0], captured.err
    assert "Input should" not in captured.err
    if has_json:
        answer = json.loads(captured.out)
        assert answer["status"] in ("error", "faults")
        assert answer["message"]
    else:
        assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "pendulum", "--until", "abc"], "--until abc: 'abc' is not a number (see pliant simulate --help)"),
        (["modes", "pendulum", "--count=0"], "--count must be at least 1, not 0"),
        (["path", "leaf_spring", "--parameter", "end_distance", "--to", "3 kg"], "--to: expected a length, got a mass: '3 kg'"),
        (["show", "cantilever", "--rod", "rod=pcs:0"], "--rod rod=pcs:0: rod model 'pcs:0': elements: expected at least 1"),
        (["show", "pendulum", "--set", "length=3 kg"], "expected a length, got a mass: '3 kg'"),
        (["show", "pendulum", "--out="], "--out is empty"),
        (["show", ""], "an argument is empty"),
    ],
)  # fmt: skip
def test_messages_name_the_option_and_what_was_given(arguments, message, capsys):
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert ".yaml" not in error  # the file is not to blame


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(""), "there is not enough memory"),
        (MemoryError("no room for 9 GB"), "no room for 9 GB"),
        (OSError(12, "Cannot allocate memory", "scipy/_lib"), "there is not enough memory"),
        (ImportError("mtrand.so: failed to map segment from shared object"), "there is not enough memory"),
    ],
)
def test_too_little_memory_is_said(error, message, capsys, monkeypatch):
    def lack(*given, **options):
        raise error

    monkeypatch.setattr("pliant.analysis.derivation.check.check", lack)
    assert run(["check", "pendulum"]) == 2
    assert capsys.readouterr().err == f"pliant: {message} (use a smaller model; close other programs)\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["modes", "pendulum", "--out", "--json"], "--out needs a value; '--json' is an option"),
        (["simulate", "pendulum", "--until", "--out", "run.nc"], "--until needs a value; '--out' is an option"),
        (["modes", "pendulum", "--set", "-h"], "--set needs a value; '-h' is an option"),
        (["picture", "pendulum", "--out", "--no-labels"], "--out needs a value; '--no-labels' is an option"),
    ],
)
def test_an_option_is_not_the_value_of_another(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    caught = capsys.readouterr()
    assert said in (json.loads(caught.out)["message"] if "--json" in words else caught.err)
    assert not list(tmp_path.iterdir())


def test_values_may_begin_with_a_dash(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["equilibrium", "cart_pole", "--input", "force=-1", "--time", "-1"]) in (0, 2)
    assert "is an option" not in capsys.readouterr().err
    assert run(["simulate", "pendulum", "--begin", "-1", "--until", "-0.99"]) == 0
