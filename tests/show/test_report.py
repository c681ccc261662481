"""Reports: their contents, that they contain only text from models, and their behaviour in a browser."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import pliant
from pliant.cli import run as command
from pliant.show.outlines import length_text, round_length
from pliant.show.page import block, encoded, figure_html, page, player_data, text
from pliant.show.report import report
from pliant.show.scene import Clip, SceneMaker, result_clips, run_clip, spread_indices
from pliant.show.stage import make_stage

HOSTILE = """</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">'"&amp;\u2028\u202e{{7*7}}"""
MODEL = f"""
pliant: 1
name: {json.dumps(HOSTILE)}
description: {json.dumps("<svg onload=window.hacked=3> ]]> " + HOSTILE)}
parameters: {{length: {{value: 0.5 m, description: {json.dumps(HOSTILE)}}}}}
sections: {{wire: {{shape: circle, radius: 2 cm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}}}
rods:
  arm: {{length: =length, section: wire, material: rubber, rotation: [{{axis: y, angle: 90 deg}}], model: {{kind: pcs}}}}
outputs:
  tip: {{frame: arm.tip}}
"""


@pytest.fixture(scope="module")
def hostile():
    eqs = pliant.derive(pliant.load_text(MODEL))
    rest = pliant.equilibrium(eqs)
    run = pliant.simulate(eqs, 0.5, save_every=0.02)
    return eqs, rest, pliant.modes(eqs, at=rest.state, count=3), run


@pytest.fixture(scope="module")
def page_file(hostile, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_bytes(encoded(report(hostile[0], hostile[1:])))
    return file


class Elements(HTMLParser):
    """All elements of a page, as a browser would read them."""

    def __init__(self, document):
        super().__init__()
        self.found = []
        self.feed(document)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_nothing_of_a_model_becomes_markup(page_file):
    document = page_file.read_text(encoding="utf-8")
    elements = Elements(document).found
    assert not [a for _, attributes in elements for a in attributes if a.startswith("on") or a == "style"]
    assert [a.get("type") for tag, a in elements if tag == "script"].count(None) == 1
    assert all(a["src"].startswith("data:image/") for tag, a in elements if tag == "img")
    assert not {tag for tag, _ in elements} & {"svg", "iframe", "object", "embed", "form", "base"}
    assert "http://" not in document.replace("http://www.w3.org/", "")
    assert "https://" not in document
    assert text(HOSTILE) in document


def test_data_blocks_cannot_be_left():
    for value in (HOSTILE, "<!--<script>", "]]>", "\u2028\u2029", "\ud800"):
        written = block("x", {"name": value})
        assert written.count("<") == 2
        assert json.loads(re.search(r">(.*)<", written, re.DOTALL)[1]) == {"name": value}
    encoded(page("\ud800", "\ud800"))


def test_the_policy_allows_our_script_alone(page_file):
    document = page_file.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', document)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2


def test_the_report_holds_what_was_computed(hostile, page_file):
    eqs, rest, modes, run = hostile
    document = page_file.read_text(encoding="utf-8")
    assert f"{modes.frequencies[0]:.6g}" in document
    assert text(rest.message) in document
    assert text(run.method) in document
    assert text(pliant.dump(eqs.model.spec)) in document
    for words in ("tip over time", "energies over time", "Timing", "Reproduction", "casadi"):
        assert words in document


def test_the_player_gets_positions_to_a_fraction_of_the_robot(hostile):
    eqs, _, _, run = hostile
    clip = run_clip(eqs, run)
    stage = make_stage(clip.scenes)
    data = player_data(stage, "x", [clip])
    low, span = np.array(data["quantum"]["low"]), np.array(data["quantum"]["span"])
    for batch, packed in zip(stage.batches, data["batches"], strict=True):
        track = packed["tracks"]["p"]
        raw = np.frombuffer(base64.b64decode(track["data"]), "<i2").reshape(-1, packed["count"], 4)[..., :3]
        places = low + span * (0.5 + 0.5 * raw / 32767)
        assert np.abs(places - batch.positions).max() < span.max() / 60000


def test_a_mode_moves_visibly_and_comes_back(hostile):
    modes = hostile[2]
    clips = result_clips(modes, most=2)
    assert [clip.name for clip in clips] == [f"mode {k + 1}: {modes.frequencies[k]:.4g} Hz" for k in range(2)]
    for clip in clips:
        tips = np.array([scene.rods[0].points[-1] for scene in clip.scenes])
        assert 0.05 < np.ptp(tips, axis=0).max() / 0.5 < 0.5
        np.testing.assert_allclose(tips[0], tips[-1])


def test_a_mode_with_phases_moves_through_them():
    """Two carts that a damper couples do not stand still together; every picture is of one size."""
    text = """
pliant: 1
bodies: {a: {mass: 1 kg, shape: {type: box, size: [1 cm, 1 cm, 1 cm]}}, b: {mass: 1 kg}}
joints:
  sa: {type: prismatic, child: a, axis: x, displacement: {spring: 100 N/m}}
  sb: {type: prismatic, parent: a, child: b, axis: x, position: [1 m, 0, 0], displacement: {spring: 80 N/m, damper: 9 N*s/m}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    found = pliant.modes(eqs)
    k = found.kinds.index("oscillating")
    swings = np.array([found.phase(k, angle) for angle in np.linspace(0, 2 * np.pi, 9)])
    np.testing.assert_allclose(swings[0], swings[-1], atol=1e-12)
    np.testing.assert_allclose(swings[2], found.shapes[:, k].real)
    assert np.linalg.matrix_rank(swings, tol=1e-3 * np.abs(swings).max()) == 2
    positions = np.array(found.positions(k))
    assert 0.02 < np.ptp(positions, axis=0).max() < 0.5


def test_modes_of_closed_loops_stay_closed():
    eqs = pliant.derive("four_bar")
    rest = pliant.equilibrium(eqs)
    (clip,) = result_clips(pliant.modes(eqs, at=rest.state))
    gaps = [np.linalg.norm(np.diff(scene.constraints[0], axis=0)) for scene in clip.scenes]
    assert max(gaps) < 1e-8


def test_long_runs_are_thinned_evenly():
    times = np.linspace(0, 60, 60001)
    chosen = spread_indices(times, 1200)
    assert chosen[0] == 0
    assert chosen[-1] == 60000
    assert len(chosen) <= 1200
    assert np.ptp(np.diff(times[chosen])) < 0.005
    np.testing.assert_array_equal(spread_indices(times[:50], 1200), np.arange(50))


def test_lengths_of_the_grid_are_round():
    assert [round_length(x) for x in (0.0123, 0.25, 0.99, 5.0, 70.0)] == pytest.approx([0.01, 0.2, 0.5, 5.0, 50.0])
    assert [length_text(x) for x in (0.001, 0.02, 5.0)] == ["1 mm", "2 cm", "5 m"]


@pytest.mark.parametrize("analysis", ["equilibrium", "modes", "linearize", "simulate"])
def test_every_analysis_writes_a_report(analysis, tmp_path, capsys):
    file = tmp_path / "page.html"
    assert command([analysis, "pendulum", "--report", str(file), "--json"]) == 0
    json.loads(capsys.readouterr().out)
    assert file.read_bytes().startswith(b"<!DOCTYPE html>")


def test_run_writes_a_report_beside_its_results(tmp_path, capsys):
    assert command(["run", "four_bar", "--out", str(tmp_path / "new"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").stat().st_size > 50_000


def test_without_matplotlib_run_says_that_there_is_no_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pliant.cli.analysis.find_spec", lambda name: None)
    assert command(["run", "pendulum", "--out", str(tmp_path / "results")]) == 0
    assert "no report in" in (told := capsys.readouterr().err)
    assert "pip install 'pliant[plot]'" in told
    assert not list(tmp_path.rglob("*.html"))


def test_bad_names_of_reports_are_refused_before_anything_is_computed(tmp_path, capsys):
    assert command(["simulate", "pendulum", "--until", "1e9", "--report", str(tmp_path / "page.pdf")]) == 2
    assert "end it in .html" in capsys.readouterr().err
    assert command(["modes", "pendulum", "--report", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot write" in capsys.readouterr().err


# -- in a browser ----------------------------------------------------------------------------------------------------


def test_the_report_works_without_network(browser, page_file):
    browser.open(page_file.as_uri(), network=False)
    browser.wait(
        lambda: browser.run("return window.pliantPlayers.length === 3 && window.pliantPlayers.every(p => p.drawn > 0)")
    )
    assert browser.run("return window.hacked") is None
    assert browser.find("h1").text == " ".join(HOSTILE.split())
    assert not browser.errors()
    outside = [url for url in browser.requests() if not url.startswith(("file:", "data:", "chrome"))]
    assert not outside
    for k in range(3):
        browser.run("document.querySelectorAll('.player canvas')[arguments[0]].scrollIntoView()", k)
        assert browser.coloured(browser.picture(f"section#part{k + 1} canvas")) > 0.01


def test_playing_scrubbing_and_choosing_modes_change_the_picture(browser, page_file):
    browser.open(page_file.as_uri(), network=False)
    motion, modes = "section#part3", "section#part2"
    browser.run("document.querySelector(arguments[0] + ' canvas').scrollIntoView()", motion)
    before = browser.picture(f"{motion} canvas")
    browser.find(f"{motion} .play").click()
    browser.wait(lambda: browser.run("return window.pliantPlayers[2].time > 0.1"))
    browser.wait(lambda: browser.differing(before, browser.picture(f"{motion} canvas")) > 0.002)
    browser.wait(lambda: not browser.run("return window.pliantPlayers[2].playing"))  # it stops at its end
    browser.run("document.querySelector(arguments[0] + ' canvas').scrollIntoView()", modes)
    browser.find(f"{modes} .play").click()
    browser.wait(lambda: browser.run("const p = window.pliantPlayers[1]; return p.playing && p.drawn > 3"))
    browser.find(f"{modes} .play").click()
    browser.run("const p = window.pliantPlayers[1]; p.time = 0.5; p.draw()")
    first = browser.picture(f"{modes} canvas")
    choice = browser.find(f"{modes} .clip")
    choice.send_keys("mode 3")
    browser.run("const p = window.pliantPlayers[1]; p.time = 0.5; p.draw()")
    assert browser.differing(first, browser.picture(f"{modes} canvas")) > 0.002
    # by keyboard alone
    canvas = browser.find(f"{modes} canvas")
    turned = browser.picture(f"{modes} canvas")
    canvas.send_keys("\ue014\ue014\ue014")
    assert browser.differing(turned, browser.picture(f"{modes} canvas")) > 0.002
    assert not browser.errors()


def test_one_pose_needs_no_controls_of_time(hostile):
    (clip,) = result_clips(hostile[1])
    assert isinstance(clip, Clip)
    data = player_data(make_stage(clip.scenes), "x", [clip])
    assert all(not track["moves"] for batch in data["batches"] for track in batch["tracks"].values())


def test_remarks_commands_and_walls_of_states(tmp_path):
    """Every remark of every analysis, what drives the robot, long lists folded, eigenvalues drawn."""
    push = {"force": (np.array([0.0, 0.2]), np.array([0.0, 1.0]))}
    eqs = pliant.derive("cart_pole")
    linear = pliant.linearize(eqs, at="initial")
    assert linear.remarks
    written = report(eqs, [linear, pliant.simulate(eqs, 0.2, save_every=0.05, inputs=push)])
    assert f"Linear system: {text(linear.remarks[0])}" in written
    assert 'alt="inputs force over time"' in written
    assert 'alt="Eigenvalues on the complex plane' in written
    assert "<td>rail, hinge, d(rail)/dt, d(hinge)/dt</td>" in written
    soft = pliant.derive("stiff_flop")
    written = report(soft, [pliant.linearize(soft)])
    assert "<details><summary>36 states</summary>" in written
    assert "eigenvalues</summary>" in written
    assert "inputs p1" not in written


def test_the_curves_of_a_rod_have_the_same_points_in_order_in_all_poses():
    """Nodes of a segment were ordered by their distance in each pose, so that a strongly curved one was drawn folded."""
    eqs = pliant.derive(pliant.load_text(MODEL.replace("kind: pcs", "kind: pcs, elements: 5").replace("2 cm", "1 cm")))
    maker, counts = SceneMaker(eqs), set()
    for bend in (0.0, 10.0, 30.0, 60.0):
        start = eqs.initial_state().q.copy()
        start[[k for k, name in enumerate(eqs.coordinates) if "bend_y" in name]] = bend
        (rod,) = maker.at(start).rods
        counts.add(len(rod.points))
        pieces = np.linalg.norm(np.diff(rod.points, axis=0), axis=1)
        assert pieces.sum() == pytest.approx(0.5, rel=0.1)
    assert len(counts) == 1


def test_a_view_that_fails_is_missing_in_a_report_that_has_the_rest(hostile, monkeypatch, tmp_path, capsys):
    def fail(*given, **options):
        raise ValueError("no such shape")

    monkeypatch.setattr("pliant.show.report.player", fail)
    eqs, rest, modes, run = hostile
    missing = []
    written = report(eqs, [rest, modes, run], missing)
    assert [x.partition(" (")[0] for x in missing] == ["equilibrium", "modes", "the motion"]
    assert written.count("Missing, because of an error") == 3
    assert "Natural frequency of each mode" in written
    assert "energies over time" in written
    file = tmp_path / "m.html"
    assert command(["modes", "pendulum", "--report", str(file)]) == 2
    assert "lacks modes (no such shape)" in capsys.readouterr().err
    assert "damping ratio" in file.read_text(encoding="utf-8")
    monkeypatch.setenv("PLIANT_DEBUG", "1")
    assert command(["run", "pendulum", "--report", str(file)]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_instances_of_an_output_share_a_plot():
    model = (
        "pliant: 1\nbodies: {b: {count: 3, mass: 1 kg}}\n"
        "joints: {j: {type: prismatic, child: b, axis: z, displacement: {spring: 1 N/m}}}\n"
        "outputs: {z: {count: 3, frame: 'b[i]', component: z}, place: {frame: 'b[1]'}}\n"
    )
    eqs = pliant.derive(pliant.load_text(model))
    written = report(eqs, [pliant.simulate(eqs, 0.1, save_every=0.05)])
    assert 'alt="z[1], z[2], z[3] over time"' in written
    assert 'alt="place over time"' in written


def test_wide_figures_are_scrolled_on_narrow_screens():
    import matplotlib.pyplot as plt

    for width, is_wide in ((3.5, False), (7.1, True)):
        html = figure_html(lambda width=width: plt.subplots(figsize=(width, 2))[1], "a figure")
        assert html.startswith('<div class="wide">') == is_wide


def test_the_title_of_a_report_names_the_variant():
    for model, title in (("pendulum", "pendulum"), ("pendulum@damped", "pendulum@damped")):
        html = report(pliant.derive(model), [])
        assert f"<h1>{title}</h1>" in html
        assert f"<title>{title} - Pliant report</title>" in html


@pytest.mark.slow
def test_plots_of_a_motion_begin_with_the_outputs_of_the_model_and_have_no_empty_ones():
    """The outputs of six legs filled the page; the contact that the variant is about was left out."""
    eqs = pliant.derive("six_leg@docking")
    written = report(eqs, [pliant.simulate(eqs, 2e-3, step=1e-3, method="generalized_alpha", start="equilibrium")])
    assert 'alt="contact over time"' in written
    assert 'alt="leg1/tip over time"' in written
    assert written.index('alt="contact over time"') < written.index('alt="leg1/tip over time"')
    assert "constraint error over time" in written
    eqs = pliant.derive("gripper")  # its motion is prescribed exactly
    run = pliant.simulate(eqs, 1e-3)
    assert len(run.recorded["constraint"])
    assert ("constraint error over time" in report(eqs, [run])) == bool(np.any(run.constraint_error > 0))


def test_python_writes_the_report_of_the_command(tmp_path):
    eqs = pliant.derive("pendulum")
    assert pliant.write_report(eqs, tmp_path / "both.html", [pliant.equilibrium(eqs), pliant.simulate(eqs, 0.1)]) == []
    written = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "<h2>Equilibrium</h2>" in written
    assert "simulated to t = 0.1 s" in written
