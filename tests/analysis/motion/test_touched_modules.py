"""A call of `simulate` executes code of few modules, and none of remarks."""

import sys

import pytest

import pliant


def touched_modules(call):
    """Files of the package whose code a call executes."""
    files = set()

    def note(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and "/pliant/" in file:
            files.add(file.rpartition("/pliant/")[2])

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


@pytest.mark.parametrize(
    ("robot", "most"), [("pendulum", 25), ("three_section_arm", 27), ("cart_pole", 28), ("four_bar", 30)]
)
def test_a_second_call_touches_few_modules(robot, most):
    eqs = pliant.derive(robot)

    def call():
        return pliant.simulate(eqs, 0.1, save_every=0.05)

    call()
    files = touched_modules(call)
    assert "analysis/simulate.py" in files
    assert len(files) <= most, sorted(files)
    assert not [file for file in files if "remark" in file or "step_resolution" in file]


def test_remarks_are_made_when_they_are_shown():
    run = pliant.simulate(pliant.derive("four_bar"), 0.1)
    assert "analysis/motion/remarks.py" in touched_modules(lambda: run.remarks)
