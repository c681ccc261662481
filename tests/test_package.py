"""The public names: listed once, imported on first use."""

import subprocess
import sys
from importlib import import_module

import pytest

import pliant
from pliant.language import provided


@pytest.mark.parametrize("name", pliant.__all__)
def test_every_public_name_leads_somewhere(name):
    assert getattr(pliant, name) is not None
    assert name in dir(pliant)


@pytest.mark.slow
def test_folders_are_attributes_and_functions_are_not_hidden_by_folders():
    code = (
        "import pliant; print(pliant.control.lqr.__name__, pliant.plot.energy.__name__, pliant.load('pendulum').name)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["lqr", "energy", "pendulum"]


@pytest.mark.parametrize("target", provided._functions.values())
def test_every_provided_function_exists(target):
    module, _, function = target.partition(":")
    assert callable(getattr(import_module(module), function))
