"""Plots: their numbers are those of the results, their axes have units, and lines are distinguishable without colour."""

import json
import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib.colors import to_rgb

import pliant
from pliant import plot
from pliant.cli import run as command
from pliant.identify.compare import compare
from pliant.language.recording import Recording
from pliant.show.plot.style import COLOURS, DASHES, prefixed

CARTS = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {initial: 20 mm, spring: 157.91367 N/m, damper: 0.1 N*s/m}}}
outputs:
  place: {frame: cart}
  pull: {coordinate: rail, quantity: force}
  speed: {coordinate: rail, quantity: rate}
"""


FIN = """\
parameters: {pull: {value: 0 N, input: true}}
materials: {steel: {density: 7850 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
rods: {fin: {parent: cart, length: 30 cm, section: s, material: steel}}
loads: {pull: {frame: fin.tip, force: [=pull, 0, 0]}}
"""


@pytest.fixture(scope="module")
def cart():
    """A cart of 2 Hz that starts 20 mm off, saved every 10 ms."""
    return pliant.simulate(pliant.derive(pliant.load_text(CARTS)), 10.0, save_every=0.01, rtol=1e-8)


def drawn(ax, words):
    (line,) = (line for line in ax.lines if line.get_label() == words)
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


def test_a_trajectory_shows_the_result_in_its_unit(cart):
    ax = plot.trajectory(cart, "place")
    t, x = drawn(ax, "place.x")
    np.testing.assert_array_equal(t, cart.time)
    np.testing.assert_allclose(x, 1e3 * cart["place"].values[:, 0])
    assert ax.get_xlabel() == "time [s]"
    assert ax.get_ylabel() == "place [mm]"


def test_the_first_output_is_the_default_and_coordinates_work_too(cart):
    assert plot.trajectory(cart).get_ylabel() == "place [mm]"
    ax = plot.trajectory(cart, ["rail"])
    np.testing.assert_allclose(drawn(ax, "rail")[1], 1e3 * cart["rail"].values)


def test_different_units_do_not_share_an_axis(cart):
    assert (cart["pull"].unit, cart["speed"].unit, cart["rail"].unit, cart["cart"].unit) == ("N", "m/s", "m", "m")
    with pytest.raises(ValueError, match=r"'pull' \[N\].*'speed' \[m/s\].*separately"):
        plot.trajectory(cart, ["pull", "speed"])
    with pytest.raises(KeyError, match="did you mean 'pull'"):
        plot.trajectory(cart, "pul")


def test_units_survive_the_file(cart, tmp_path):
    cart.save(tmp_path / "run.nc")
    again = pliant.load_result(tmp_path / "run.nc")
    assert [again[name].unit for name in ("place", "pull", "rail")] == ["m", "N", "m"]


def test_a_path_in_a_plane_has_equal_scales(cart):
    ax = plot.trajectory(cart, "cart", plane="xz", recording=(cart.time, cart["cart"].position))
    np.testing.assert_allclose(drawn(ax, "cart")[0], 1e3 * cart["cart"].position[:, 0])
    np.testing.assert_allclose(drawn(ax, "recorded")[0], 1e3 * cart["cart"].position[:, 0])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("x [mm]", "z [mm]", 1.0)
    with pytest.raises(ValueError, match="two of x, y, z"):
        plot.trajectory(cart, "cart", plane="xx")


def test_energies_add_up_on_the_paper(cart):
    ax = plot.energy(cart)
    assert ax.get_ylabel() == "energy [mJ]"
    total, kinetic, potential = (drawn(ax, words)[1] for words in ("total", "kinetic", "potential"))
    np.testing.assert_allclose(kinetic + potential, total, atol=1e-12)
    np.testing.assert_allclose(total, 1e3 * cart.energy["total"].values)
    # what was never supplied is not drawn
    assert "supplied" not in [line.get_label() for line in ax.lines]


def test_a_spectrum_peaks_where_the_cart_swings(cart):
    ax = plot.spectrum(cart, "rail", modes=pliant.modes(pliant.derive(pliant.load_text(CARTS))))
    f, amplitude = drawn(ax, "rail")
    assert f[np.argmax(amplitude)] == pytest.approx(2.0, abs=0.1)
    # decays by exp(-t/20): the Hann window weighs its middle, t = 5 s
    assert amplitude.max() == pytest.approx(20 * np.exp(-0.25), rel=0.05)
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_label() == "modes"]
    assert marks == pytest.approx([2.0], rel=1e-6)
    uneven = pliant.simulate(pliant.derive(pliant.load_text(CARTS)), 1.0, save_at=[0, 0.1, 0.3, 0.4, 1.0])
    with pytest.raises(ValueError, match="equal intervals"):
        plot.spectrum(uneven, "rail")


def test_modes_are_drawn_at_their_frequencies():
    eqs = pliant.derive("double_pendulum")
    found = pliant.modes(eqs, at=pliant.equilibrium(eqs).state)
    ax = plot.modes(found)
    np.testing.assert_allclose(drawn(ax, "stable")[1], found.frequencies)
    upright = pliant.modes(eqs, at=np.array([np.pi, 0.0]))
    growing = plot.modes(upright)
    hollow = [line for line in growing.lines if line.get_label() == "grows"]
    assert hollow[0].get_markerfacecolor() == "white"
    assert np.all(hollow[0].get_ydata() < 0)
    assert growing.get_ylabel() == "natural frequency [Hz]"


def test_shapes_end_where_the_equations_say():
    eqs = pliant.derive("double_pendulum")
    poses = {"down": np.array([0.0, 0.0]), "aside": np.array([0.5, -0.2])}
    ax = plot.shape(eqs, poses, plane="xz")
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_aspect()) == ("x [m]", "z [m]", 1.0)
    for words, q in poses.items():
        first = next(line for line in ax.lines if line.get_label() == words)
        ends = np.concatenate([line.get_xydata() for line in ax.lines if line.get_color() == first.get_color()])
        # the tips of the second pose in the colour of that pose
        tip = eqs.frame("lower.tip", q).position[[0, 2]]
        assert np.min(np.linalg.norm(ends - tip, axis=1)) < 1e-12
    with pytest.raises(ValueError, match="no mode 3"):
        plot.shape(eqs, pliant.modes(eqs, at=poses["down"]), mode=3)


def test_a_mode_swings_to_both_sides_by_the_same_amount():
    eqs = pliant.derive("double_pendulum")
    ax = plot.shape(eqs, pliant.modes(eqs, at=np.zeros(2)), mode=1, plane="xz")
    colours = list(dict.fromkeys(line.get_color() for line in ax.lines))
    reach = [max(np.ptp(line.get_xdata()) for line in ax.lines if line.get_color() == c) for c in colours]
    assert reach[0] == pytest.approx(0, abs=1e-12)
    assert reach[1] == pytest.approx(reach[2], rel=1e-9)
    assert reach[1] > 0.05


TRUSS = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N}
bodies: {node: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}}}
joints: {slide: {type: prismatic, child: node, axis: z, position: [0, 0, 0.2 m]}}
links:
  left: {type: axial, between: [{frame: world, position: [-1 m, 0, 0]}, node], spring: {coefficient: 1 kN/m, rest: as at start}}
  right: {type: axial, between: [{frame: world, position: [1 m, 0, 0]}, node], spring: {coefficient: 1 kN/m, rest: as at start}}
loads: {push: {frame: node, force: [0, 0, =-load]}}
outputs: {height: {frame: node, component: z}}
"""


def test_a_path_marks_stability_and_special_points():
    path = pliant.continuation(pliant.derive(pliant.load_text(TRUSS)), parameter="load", to=6.0)
    ax = plot.path(path, "load", "height")
    styles = {line.get_label(): line.get_linestyle() for line in ax.lines}
    assert styles["stable"] == "-"
    assert styles["unstable"] == "--"
    limit = drawn(ax, "limit")
    np.testing.assert_allclose(limit[0], [x.value for x in path.special])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("load [N]", "height [m]")
    # every point lies on some piece, and pieces join
    points = {tuple(row) for line in ax.lines for row in line.get_xydata()}
    assert all((force, place) in points for force, place in zip(path.value, path["height"], strict=True))
    second = path.plot("load", "height", ax=ax, name="again")
    assert second is ax
    assert "again, stable" in [line.get_label() for line in ax.lines]
    with pytest.raises(pliant.ArgumentError, match="choose one"):
        plot.path(path, "node")


def test_lines_can_be_told_apart_without_colour():
    grey = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b in map(to_rgb, COLOURS)]
    for i in range(len(COLOURS)):
        for j in range(i):
            assert DASHES[i] != DASHES[j] or abs(grey[i] - grey[j]) > 0.3


@pytest.mark.parametrize(
    ("unit", "largest", "expected"),
    [
        ("m", 3.0, "m"),
        ("m", 0.05, "mm"),
        ("m", 5e3, "m"),
        ("Pa", 4e4, "kPa"),
        ("J", 3e-5, "µJ"),
        ("rad", 1e-5, "rad"),
        ("m", 0, "m"),
    ],
)
def test_prefixes(unit, largest, expected):
    found, factor = prefixed(unit, [0.0, -largest])
    assert found == expected
    assert factor == {"m": 1.0, "mm": 1e3, "kPa": 1e-3, "µJ": 1e6, "rad": 1.0}[expected] or factor == pytest.approx(1e6)


def test_models_are_compared_with_the_finest_without_a_recording(tmp_path):
    rows = compare(
        pliant.derive(pliant.load("cantilever", set={"tip_force": 0.02})), {"rod": ["pcs:2", "pcs:4"]}, until=0.1
    )
    assert rows[-1].mean_error_mm == 0
    assert rows[0].mean_error_mm > 0
    assert rows[0].static_mean_error_mm > 0
    assert rows[0].mean_error_percent_of_rod == pytest.approx(rows[0].mean_error_mm / 10)
    axes = plot.compare(rows)
    heights = [patch.get_height() for patch in axes[2].patches]  # without the reference, whose error is zero
    assert heights == pytest.approx([rows[0].mean_error_mm, rows[0].static_mean_error_mm])
    assert axes[2].get_ylabel() == "mean error against\nthe pcs:4 model [mm]"
    assert len(axes) == 6
    assert [x.get_text() for x in axes[3].get_legend().get_texts()] == ["pcs:4 model", "pcs:2"]
    assert [ax.get_ylabel() for ax in axes[3:]] == ["x [mm]", "y [mm]", "z [mm]"]
    for component, (ax, letter) in enumerate(zip(axes[3:], "xyz", strict=True)):
        (line,) = [line for line in ax.lines if line.get_color() == COLOURS[0]]
        assert ax.get_ylabel().startswith(letter)
        np.testing.assert_allclose(line.get_ydata(), 1e3 * rows[0].path[:, component])
    low, high = axes[5].get_ylim()  # the deflection fills its axes, however far from the base the tip is
    assert np.ptp(axes[5].lines[0].get_ydata()) > 0.5 * (high - low)
    plot.save(axes, tmp_path / "compare.svg")
    assert (tmp_path / "compare.svg").read_text().startswith("<?xml")


def test_comparisons_without_rests_show_none_and_outputs_carry_their_units():
    text = CARTS.replace(
        "outputs:",
        "sections: {s: {shape: circle, radius: 2 mm}}\n" + FIN + "outputs:\n  side: {frame: fin.tip, component: x}",
    )
    time = np.linspace(0, 0.5, 51)
    forces = np.where(time < 0.2, 0.1, 0.0)
    recording = Recording("bench.csv", time, {"pull": forces, "side": 1e-3 * np.sin(time)}, {"pull": "N", "side": "m"})
    rows = compare(pliant.derive(pliant.load_text(text)), {"fin": ["pcs:1", "pcs:2"]}, recording, output="side")
    assert any("no 1 s in which all inputs are constant" in note for row in rows for note in row.remarks)
    axes = plot.compare(rows)
    assert len(axes[1].patches) == len(rows)  # times of motions alone
    assert axes[3].get_ylabel() == "side [mm]"


def test_the_command_writes_the_plot_beside_the_rows(tmp_path, capsys):
    file = tmp_path / "compare.pdf"
    words = ["compare", "cantilever", "--rods", "rod=pcs:2,pcs:4", "--until", "0.05", "--plot", str(file), "--json"]
    assert command(words) == 0
    (first, _) = json.loads(capsys.readouterr().out)["rows"]
    expected = (
        "rod states derive_s compile_s static_s run_s realtime_factor mean_error_mm max_error_mm static_mean_error_mm"
    )
    assert list(first)[:10] == expected.split()
    assert file.read_bytes().startswith(b"%PDF")
    words[-2] = str(tmp_path / "compare.docx")
    assert command(words) == 2
    assert "end it in .pdf" in capsys.readouterr().err


def test_without_matplotlib_the_message_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None\nimport pliant\npliant.plot.modes(None)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'pliant[plot]'" in found.stderr


def test_inputs_over_time_with_axes_for_each_unit():
    text = """\
pliant: 1
parameters: {push: {value: 0 N, input: true}, turn: {value: 0 N*m, input: true}, hold: {value: 2 N, input: true}}
bodies: {cart: {mass: 1 kg}}
joints: {rail: {type: prismatic, child: cart, axis: x, displacement: {input: =push+hold+turn/(1 m)}}}
outputs: {push: {frame: cart, component: x}}
"""
    given = {"push": "=1 N*sin(t)", "turn": "=1 N*m*t"}
    run = pliant.simulate(pliant.derive(pliant.load_text(text)), 1.0, save_every=0.1, inputs=given)
    first, second = plot.inputs(run)
    assert first.get_ylabel() == "push [N]"  # the input, not the output of that name
    np.testing.assert_allclose(first.lines[0].get_ydata(), np.sin(run.time), atol=1e-9)
    assert (second.get_ylabel(), second.get_xlabel()) == ("turn [N m]", "time [s]")
    np.testing.assert_allclose(second.lines[0].get_ydata(), run.time, atol=1e-9)
    assert len(plot.inputs(run, ["push", "hold"]).lines) == 2
    with pytest.raises(ValueError, match="can show one unit only"):
        plot.inputs(run, ["push", "turn"], ax=first)


def test_eigenvalues_on_the_complex_plane():
    eqs = pliant.derive("cart_pole")
    linear = pliant.linearize(eqs, at={"hinge": 0.0})
    wanted = np.sort_complex(np.linalg.eigvals(linear.A))
    for found in (linear, pliant.modes(eqs, at={"hinge": 0.0})):
        points = [line.get_xydata() for line in plot.eigenvalues(found).lines if line.get_linestyle() == "None"]
        drawn = np.sort_complex(np.concatenate(points) @ [1, 1j])
        np.testing.assert_allclose(drawn, wanted, atol=1e-6)


def test_eigenvalues_per_sample_are_drawn_with_the_unit_circle():
    from pliant.control import StateFeedback, closed_loop, discretize, lqr

    eqs = pliant.derive("cart_pole")
    slow = discretize(pliant.linearize(eqs, at={"hinge": 0.0}), 0.02)
    gains = lqr(slow)
    loop = closed_loop(StateFeedback(eqs, gains))
    for found, wanted in ((slow, np.linalg.eigvals(slow.A)), (gains, gains.poles), (loop, loop.poles)):
        ax = plot.eigenvalues(found)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("re z", "im z")
        points = [line.get_xydata() for line in ax.lines if line.get_linestyle() == "None"]
        np.testing.assert_allclose(
            np.sort_complex(np.concatenate(points) @ [1, 1j]), np.sort_complex(wanted), atol=1e-9
        )
        assert any(
            np.allclose(np.hypot(*line.get_xydata().T), 1.0) and len(line.get_xdata()) > 100 for line in ax.lines
        )
    assert plot.eigenvalues(gains.modes).get_xlabel() == "real part [1/s]"
    with pytest.raises(ValueError, match="give modes, a linear system"):
        plot.eigenvalues(eqs)


def test_the_name_of_a_repeated_input_stands_for_all_its_instances():
    arm = """
pliant: 1
parameters: {torque: {count: 2, value: 0 N*m, input: true}}
bodies: {a: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}, b: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints:
  first: {type: revolute, child: a, axis: z, angle: {input: "=torque[1]"}}
  second: {type: revolute, parent: a, child: b, axis: z, angle: {input: "=torque[2]"}}
"""
    run = pliant.simulate(pliant.derive(pliant.load_text(arm)), 0.1, inputs={"torque[1]": "2*t N*m"})
    ax = plot.inputs(run, ["torque"])
    assert [line.get_label() for line in ax.lines] == ["torque[1]", "torque[2]"]


def test_the_number_of_a_single_mode_is_an_integer():
    ax = plot.modes(pliant.modes(pliant.derive("pendulum"), at={"hinge": 0.0}))
    assert [tick for tick in ax.get_xticks() if ax.get_xlim()[0] < tick < ax.get_xlim()[1]] == [1]


def test_legends_of_a_search_are_above_its_lines():
    visits = [
        SimpleNamespace(objective=x, missed=1 - x, spare={"tip.x >= 8 cm": x - 1}, values={"a": x})
        for x in (0, 0.5, 1.0)
    ]
    found = SimpleNamespace(way=visits, spare={"tip.x >= 8 cm": 0}, values={"a": 1.0}, bounds={"a": (0.0, 2.0)})
    axes = plot.search(found)
    axes[0].figure.canvas.draw()
    assert len(axes) == 3
    for ax in axes:
        legend = ax.get_legend()
        assert len(legend.get_texts()) == 1
        assert legend.get_window_extent().y0 >= ax.get_window_extent().y1 - 1
