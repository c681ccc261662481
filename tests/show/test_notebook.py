"""Notebooks: robots and results show themselves, and nothing of a model gets out of its frame."""

import json
import os
import re
import subprocess
import sys
from html import unescape

import pytest

import pliant
from pliant.show.notebook import NotebookLimits

HOSTILE = "</iframe><script>window.hacked=1</script>\"' onload=x"


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive("pendulum")


def frame_of(html):
    """The page inside the frame of an output."""
    (found,) = re.findall(r'srcdoc="([^"]*)"', html)
    return unescape(found)


def test_everything_shows_itself_in_three_dimensions(eqs):
    rest = pliant.equilibrium(eqs)
    shown = {
        "hinge": rest,
        "mode 1": pliant.modes(eqs, at=rest.state),
        "completed": pliant.simulate(eqs, 0.2),
        "Equations of pendulum": eqs,
        "<summary>bodies</summary>": eqs.model.spec,
    }
    for words, thing in shown.items():
        html = thing._repr_html_()
        assert words in html or words in frame_of(html)
        assert 'sandbox="allow-scripts"' in html
        assert 'class="player"' in frame_of(html)


def test_a_model_cannot_leave_its_frame():
    model = "bodies: {b: {mass: 1 kg, shape: {type: sphere, radius: 1 m}}}\njoints: {j: {type: revolute, axis: y, child: b}}"
    spec = pliant.load_text(f"pliant: 1\nname: {json.dumps(HOSTILE)}\n{model}")
    for thing in (spec, pliant.derive(spec)):
        html = thing._repr_html_()
        assert html.count("<script") == 0
        assert html.count("</iframe>") == 1
        assert HOSTILE not in html
        assert frame_of(html).count("<script>") == 1


def test_what_is_too_large_to_look_at_is_said(eqs, monkeypatch):
    monkeypatch.setattr("pliant.show.notebook.LIMITS", NotebookLimits(most_parts=0))
    html = eqs._repr_html_()
    assert "no three-dimensional view: more than 0 coordinates" in html
    assert "iframe" not in html


NOTEBOOK = """
import matplotlib
import pliant
from pliant import plot

eqs = pliant.derive("pendulum")
run = pliant.simulate(eqs, 0.1, save_every=0.01)
axes = [pliant.sketch(eqs), plot.energy(run), plot.modes(pliant.modes(eqs)), plot.trajectory(run)]
import matplotlib.pyplot as plt
print(matplotlib.get_backend(), len(plt.get_fignums()), all(ax.figure.number in plt.get_fignums() for ax in axes))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["svg", "pdf", ""])
def test_plots_are_figures_of_the_backend_that_the_notebook_has(backend):
    """A notebook shows the open figures of pyplot at the end of a cell, unless another backend has been set."""
    given = (
        {**os.environ, "MPLBACKEND": backend} if backend else {k: v for k, v in os.environ.items() if k != "MPLBACKEND"}
    )
    given = {k: v for k, v in given.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    found = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, env=given, check=True)
    assert found.stdout.split() == [backend or "agg", "4", "True"]


BACKEND = """
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas

rcParams["interactive"] = True  # as that of notebooks does when the first figure loads it
rcParams["legend.fontsize"] = 5.0
"""

USE = """
import matplotlib
import pliant
from pliant import plot

eqs = pliant.derive("pendulum")
run = pliant.simulate(eqs, 0.1, save_every=0.01)
before = dict(matplotlib.rcParams)
{call}
after = dict(matplotlib.rcParams)
print(sorted(name for name in before if name != "backend" and before[name] != after[name]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", ["plot.trajectory(run)", "pliant.sketch(eqs)", "plot.save(plot.energy(run), 'e.svg')"])
def test_plots_leave_settings_of_matplotlib_alone(call, tmp_path):
    """The first figure loads the backend: what that sets stays, without which a notebook would show no further figure."""
    (tmp_path / "inline.py").write_text(BACKEND)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    given = {**os.environ, "MPLBACKEND": "module://inline", "PYTHONPATH": path}
    command = [sys.executable, "-c", USE.format(call=call)]
    found = subprocess.run(command, capture_output=True, text=True, env=given, cwd=tmp_path, check=True)
    assert found.stdout.strip() == "['interactive', 'legend.fontsize']"


def test_what_has_no_page_of_its_own_is_short():
    eqs = pliant.derive("stiff_flop")
    linear = repr(pliant.linearize(eqs))
    assert linear.startswith(
        "Linear system (completed)\n36 states, 3 inputs, 3 outputs:\nlinearized about   arm.shear_x[1] = "
    )
    assert "30 more" in linear
    run = pliant.simulate(eqs, 0.01)
    assert len(linear) < 800
    assert repr(run.recording()).startswith("Recording of the result: 201 samples, 0 to 0.01 s; tip.x [m]")


def test_results_draw_themselves_and_equilibria_show_outputs_first():
    eqs = pliant.derive("cart_pole")
    assert pliant.simulate(eqs, 0.1).plot().get_xlabel() == "time [s]"
    assert pliant.modes(pliant.derive("pendulum")).plot() is not None
    shown = pliant.equilibrium(pliant.derive("four_bar"))._repr_html_()
    assert shown.index("pin_force") < shown.index("<td>q1 [rad]</td>")


def test_outputs_have_units_and_the_view_comes_before_the_folded_tables():
    robot = pliant.load("four_bar")
    shown = pliant.equilibrium(pliant.derive(robot))._repr_html_()
    assert "pin [m]" in shown
    assert "value (SI)" not in shown
    page = robot._repr_html_()
    assert page.index("<iframe") < page.index("<details>")
    assert 'class="fill"' in frame_of(page)


def test_linear_systems_comparisons_and_films_show_themselves(eqs, tmp_path):
    linear = pliant.linearize(eqs)
    assert "eigenvalues" in linear._repr_html_()
    assert "least damped" in repr(pliant.linearize(pliant.derive("tendon_robot"), at="initial"))
    rows = pliant.compare(pliant.derive("cantilever"), {"rod": ["pcs:2", "pcs:3"]}, until=0.02)
    assert "pcs:3" in rows._repr_html_()
    assert len(rows) == 2
    film = pliant.film(eqs, pliant.simulate(eqs, 0.2, save_every=0.05), tmp_path / "run.gif", fps=10, size=(120, 90))
    assert film.frames == 3
    assert film.path.exists()
    assert "data:image/gif" in film._repr_html_()


def test_names_of_many_instances_are_shown_once():
    from pliant.show.names import names_once

    names = ["base", *(f"disc[{k}]" for k in range(1, 6)), "finger[1]", "finger[2]"]
    assert names_once(names) == {0: "base", 1: "disc[i]", 6: "finger[1]", 7: "finger[2]"}


def test_tables_without_headings_have_no_empty_row():
    html = pliant.equilibrium(pliant.derive("pendulum"))._repr_html_()
    assert "<th>coordinate</th>" in html
    assert "<td>largest unbalanced force</td>" in html
    assert "<th></th>" not in html.partition("<iframe")[0]
