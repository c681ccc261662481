"""Exported pages, in a browser without a network: the robot moves as simulated here, and follows sliders and the pointer."""

import json
from contextlib import nullcontext

import numpy as np
import pytest

import pliant
from pliant.analysis.integrators import METHODS
from pliant.cli import run as command
from pliant.engine.compiling import find_zig
from pliant.targets import wasm

needs_zig = pytest.mark.skipif(find_zig() is None, reason="no compiler for WebAssembly (pip install ziglang)")

PAGES = {
    "cart_pole": ("force", 0.25, "inputs"),
    "four_bar": ("length2", 0.55, "parameters"),
    "cantilever": ("tip_force", 0.0625, "parameters"),
    "cc_arm_2": ("f12", 0.75, "inputs"),
    "arm_with_rod": ("gust", 0.25, "inputs"),
}
"""Bundled robots: a mechanism with and without a loop, rods of two models, and a controlled arm; a slider and its value."""

MOVE = """
const row = [...document.querySelectorAll(".row")].find((x) => x.querySelector("label")?.textContent === arguments[0]);
const range = row.querySelector("input[type=range]");
range.value = String(arguments[1]);
range.dispatchEvent(new Event("input"));
return Number(range.value);
"""
SEEN = """
const {player, drawing, data} = window.live, [node, local] = arguments, p = [0, 1, 2].map((k) => drawing.p[3 * node + k]);
const {clientWidth: w, clientHeight: h} = player.canvas, view = player.matrix(w / h);
const c = [0, 1, 3].map((r) => view[r] * p[0] + view[4 + r] * p[1] + view[8 + r] * p[2] + view[12 + r]);
return [w * (0.5 + 0.5 * c[0] / c[2]), h * (0.5 - 0.5 * c[1] / c[2])];
"""


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the page of a robot, and returns its file."""

    def export(eqs, **options):
        with pytest.warns() if options.pop("warned", False) else nullcontext():
            file = pliant.export_wasm(eqs, tmp_path / "page", **options).files[0]
        browser.open(file.as_uri(), network=False)
        browser.wait(lambda: browser.run("return document.body.dataset.ready"))
        return file

    return export


@needs_zig
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_robot_follows_a_slider_and_moves_as_simulated(name, browser, opened):
    slider, value, kind = PAGES[name]
    eqs = pliant.derive(name)
    file = opened(eqs, method="generalized_alpha")
    assert file.stat().st_size < 1_000_000
    canvas = ".player canvas"
    still = browser.picture(canvas)
    assert browser.coloured(still) > 0.001, "the robot is drawn"
    assert browser.run(MOVE, slider, value) == pytest.approx(value)
    assert browser.run("return window.live.advance(2000)"), browser.run("return window.live.warning.textContent")
    found = browser.run("return window.live.q()")
    run = pliant.simulate(eqs, 2.0, method=METHODS["generalized_alpha"](step=1e-3), **{kind: {slider: value}})
    np.testing.assert_allclose(found, run.q[-1], rtol=0, atol=1e-9 * max(1, np.abs(run.q[-1]).max()))
    untouched = pliant.simulate(eqs, 2.0, method=METHODS["generalized_alpha"](step=1e-3))
    assert np.abs(run.q[-1] - untouched.q[-1]).max() > 1e-6, "the slider matters"
    assert browser.differing(still, browser.picture(canvas)) > 0.001, "the picture follows"
    assert not browser.errors()
    assert {url.partition(":")[0] for url in browser.requests()} <= {"file", "data"}, "nothing is fetched"


BALL = """
pliant: 1
name: "<b>ball</b>"
description: A ball of 2 kg on three slides.
world: {gravity: [0, 0, 0]}
parameters: {stiffness: 20 N/m, push: {value: 0 N, input: true}}
defaults: {joints: {type: prismatic}}
bodies: {x: {mass: 0 kg}, y: {mass: 0 kg}, ball: {mass: 2 kg, shape: {type: sphere, radius: 10 cm}}}
joints:
  jx: {child: x, axis: x, displacement: {spring: =stiffness, damper: 4 N*s/m, input: =push}}
  jy: {parent: x, child: y, axis: y, displacement: {spring: =stiffness, damper: 4 N*s/m}}
  jz: {parent: y, child: ball, axis: z, displacement: {spring: =stiffness, damper: 4 N*s/m}}
outputs: {place: {frame: ball}}
"""


@needs_zig
def test_the_pointer_pulls_and_buttons_run_pause_and_restart(browser, opened):
    from selenium.webdriver.common.action_chains import ActionChains

    eqs = pliant.derive(pliant.load_text(BALL))
    opened(eqs)
    assert browser.run("return document.querySelector('h1').textContent") == "<b>ball</b>"
    node = eqs.model.frames["ball"].node
    assert browser.run("return window.live.code.page_mass(arguments[0], 0, 0, 0)", node) == pytest.approx(2)
    x, y = browser.run(SEEN, node)
    canvas = browser.find(".player canvas")
    dx, dy = x - canvas.size["width"] / 2, y - canvas.size["height"] / 2
    actions = ActionChains(browser.driver, duration=50)
    actions.move_to_element_with_offset(canvas, round(dx), round(dy)).click_and_hold().move_by_offset(60, 0).perform()
    browser.wait(lambda: browser.run("return window.live.code.page_time()") > 0.5)
    assert browser.run("return window.live.held.node") == node
    asked = np.subtract(*browser.run("return [window.live.held.target, window.live.held.start]"))
    pulled = np.array(
        browser.run("const l = window.live; return Array.from(l.robot.numbers(l.code.page_outputs(), 3))")
    )
    reach = np.linalg.norm(asked)
    assert reach > 0.02
    # the springs of the slides pull it back a little
    np.testing.assert_allclose(pulled, asked, rtol=0, atol=0.2 * reach)
    ActionChains(browser.driver).release().perform()
    assert browser.run("return window.live.held") is None
    browser.wait(lambda: browser.run("return Math.hypot(...window.live.q())") < 0.2 * reach)
    browser.find("button.play").click()  # pauses
    time = browser.run("return window.live.code.page_time()")
    assert time == browser.run("return window.live.code.page_time()")
    browser.find("button.restart").click()
    assert browser.run("return window.live.code.page_time()") == 0
    view = browser.run("return window.live.player.toward")
    ActionChains(browser.driver).move_to_element_with_offset(
        canvas, 20 - canvas.size["width"] // 2, 20 - canvas.size["height"] // 2
    ).click_and_hold().move_by_offset(40, 0).release().perform()
    assert browser.run("return window.live.player.toward") != view, "beside the robot the mouse turns the view"
    assert not browser.errors()


@needs_zig
def test_steps_become_longer_on_slow_devices_and_numbers_can_be_typed(browser, opened):
    opened(pliant.derive(pliant.load_text(BALL)))
    field = browser.find(".row input[type=number]")
    browser.run("arguments[0].value = '3'; arguments[0].onchange()", field)
    assert browser.run("return window.live.code.page_input(0)") == 3
    browser.run("arguments[0].value = ''; arguments[0].onchange()", field)
    assert browser.run("return window.live.code.page_input(0)") == 3
    slow = (
        "const live = window.live; live.pace = 0.1; live.play(true); live.frame(0); live.frame(100); live.play(false);"
    )
    browser.run(slow)
    assert browser.run("return window.live.stretch") == 2
    browser.run("window.live.fixed = true;" + slow)
    assert browser.run("return window.live.stretch") == 2
    browser.run(
        "const s = document.querySelector('select.series'); s.value = '3'; s.onchange(); window.live.advance(50)"
    )
    assert browser.run("return window.live.plot.group.name") == "jz"


@needs_zig
def test_drawn_pieces_are_where_the_scene_has_them(browser, opened):
    """Poses of all copies after a motion, and after a change of a parameter, compared with a stage made here."""
    from pliant.show.scene import SceneMaker
    from pliant.show.stage import make_stage

    eqs = pliant.derive("leg")
    opened(eqs)
    assert browser.run(MOVE, "length1", 0.14) == 0.14
    browser.run("window.live.advance(200)")
    q = np.array(browser.run("return window.live.q()"))
    maker = SceneMaker(eqs, {"length1": 0.14})
    stage = make_stage([maker.at(q)])
    size = float(np.max(stage.high - stage.low))
    for batch in stage.batches:
        if batch.layer in ("loads", "contacts"):
            continue
        drawn = browser.run(
            "const b = window.live.drawing.batches.find((x) => x.layer === arguments[0] && x.shape === arguments[1]);"
            "return Array.from(b.tracks.p.values)",
            batch.layer,
            batch.shape,
        )
        expected, found = batch.positions[0], np.reshape(drawn, (-1, 3))
        nearest = [float(np.linalg.norm(found - place, axis=1).min()) for place in expected]
        assert max(nearest) < 0.02 * size, f"{batch.layer} {batch.shape}"


@needs_zig
def test_what_a_page_leaves_out_is_told(tmp_path, capsys):
    text = (
        BALL
        + """
control:
  follow: {type: pid, coordinates: [jx], path: ["0.1 m"], proportional: [10 N/m], derivative: [1 N*s/m], integral: [0 N/(m*s)],
           sample_time: 10 ms, inputs: push}
"""
    )
    (tmp_path / "ball.yaml").write_text(text)
    assert command(["export", str(tmp_path / "ball.yaml"), "--wasm", str(tmp_path / "page"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert any("follow" in x and "keep the values of the model" in x for x in told["remarks"])
    assert told["size"] == (tmp_path / "page" / "index.html").stat().st_size
    page = (tmp_path / "page" / "index.html").read_text()
    assert "keep the values of the model" in page
    assert "<b>ball</b>" not in page


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    with pytest.raises(pliant.ExportError, match=r"pip install pliant\[compiler\]"):
        pliant.export_wasm(pliant.derive("pendulum"), tmp_path / "page")
    assert not (tmp_path / "page").exists()
