"""The live page: what it computes, whom it answers, and how it behaves in a browser."""

import html
import http.client
import json
import socket
import threading
import time

import numpy as np
import pytest

import pliant
from pliant.cli import run as command
from pliant.show.live_page import LiveRobot, Overlays, RequestGuard, SliderValues, check_host, is_expected
from pliant.show.sliders import coordinate_sliders, input_sliders, parameter_sliders

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
MODEL = f"""
pliant: 1
name: {json.dumps(HOSTILE)}
parameters:
  length: {{value: 0.5 m, description: {json.dumps(HOSTILE)}}}
  force: {{value: 0 N, input: true, minimum: -1 N, maximum: 1 N}}
sections: {{wire: {{shape: circle, radius: 2 cm}}}}
materials: {{rubber: {{density: 1100 kg/m^3, youngs_modulus: 1 MPa, poissons_ratio: 0.48}}}}
rods:
  arm: {{length: =length, section: wire, material: rubber, rotation: [{{axis: y, angle: 90 deg}}], model: {{kind: pcs}}}}
loads:
  tip: {{frame: arm.tip, force: [0, 0, =force]}}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(MODEL))


# -- what it computes ------------------------------------------------------------------------------------------------


def test_sliders_solve_again_without_deriving_again(eqs, monkeypatch):
    robot = LiveRobot(eqs)
    program = eqs.binding.program
    monkeypatch.setattr("pliant.show.live_page.derive", lambda *_: pytest.fail("derived again"))
    tips = [robot.rest(SliderValues(inputs={"force": f})).scene.rods[0].points[-1][2] for f in (0.0, 0.3, 0.6)]
    assert tips[0] < tips[1] < tips[2]
    longer = robot.rest(SliderValues(parameters={"length": 0.6})).scene.rods[0].points
    assert np.linalg.norm(np.diff(longer, axis=0), axis=1).sum() == pytest.approx(0.6, rel=0.02)
    assert eqs.binding.program is program


def test_the_shape_at_rest_is_that_of_the_equilibrium(eqs):
    robot = LiveRobot(eqs)
    robot.rest(SliderValues(inputs={"force": -0.5}))  # another start must not matter
    shown = robot.rest(SliderValues(inputs={"force": 0.5}))
    expected = pliant.equilibrium(eqs, inputs={"force": 0.5})
    np.testing.assert_allclose(shown.scene.rods[0].points[-1], eqs.frame("arm.tip", expected.q).position, atol=1e-7)
    assert shown.scene.loads[0].force[2] == pytest.approx(0.5)


def test_modes_are_those_of_the_pose_shown(eqs):
    robot = LiveRobot(eqs)
    choice = SliderValues(parameters={"length": 0.4})
    rest = pliant.equilibrium(eqs, parameters=choice.parameters)
    frequency = pliant.modes(eqs, at=rest.state, count=1, parameters=choice.parameters).frequencies[0]
    assert f"{frequency:.4g} Hz" in robot.mode(choice, 1, 0.25).words
    tips = [robot.mode(choice, 1, phase).scene.rods[0].points[-1] for phase in (0.25, 0.75)]
    assert np.linalg.norm(tips[1] - tips[0]) > 0.02
    with pytest.raises(ValueError, match="modes"):
        robot.mode(choice, 1000, 0.0)


def test_start_coordinates_move_the_initial_pose():
    eqs = pliant.derive("four_bar")
    start = eqs.initial_state().q
    moved = LiveRobot(eqs).start(SliderValues(start={"q1": start[0] + 0.3}))
    assert np.linalg.norm(np.diff(moved.scene.constraints[0], axis=0)) < 1e-8
    before = {s.name: s.points for s in LiveRobot(eqs).start(SliderValues()).scene.solids}
    assert np.linalg.norm(before["bar1"][1] - moved.scene.solids[0].points[1]) > 0.005


def test_an_overlay_is_derived_once(eqs):
    overlays = Overlays(eqs.model.spec)
    robot = overlays.robot("arm", "pcs:2")
    assert overlays.robot("arm", "pcs:2") is robot
    finer = robot.rest(SliderValues(inputs={"force": 0.2})).scene.rods[0].points[-1]
    own = LiveRobot(eqs).rest(SliderValues(inputs={"force": 0.2})).scene.rods[0].points[-1]
    assert 0 < np.linalg.norm(finer - own) < 0.05


def test_sliders_have_ranges_that_make_sense(eqs):
    (force,) = input_sliders(eqs)
    assert (force.low, force.value, force.high, force.label) == (-1.0, 0.0, 1.0, "force [N]")
    (length,) = parameter_sliders(eqs)
    assert (length.low, length.high) == (0.25, 0.75)
    pressures = input_sliders(pliant.derive("stiff_flop"))
    assert [(s.low, s.high) for s in pressures] == [(0.0, 1e5)] * 3
    angles = coordinate_sliders(pliant.derive("cart_pole"), 1.0)
    assert [(s.unit, round(s.high - s.low, 3)) for s in angles] == [("m", 2.0), ("rad", 6.283)]


DRIVEN = MODEL.replace("parameters:", "parameters:\n  amount: 0.4 N").replace(
    "loads:",
    "inputs: {force: =amount + 1 N/s*t}\noutputs: {tip: {frame: arm.tip}, push: {reaction: arm, component: z}}\nloads:",
)


def test_sliders_show_the_inputs_that_the_model_drives():
    """The pose, the sliders and the outputs belong together, also if an input of the file depends on a parameter."""
    eqs = pliant.derive(pliant.load_text(DRIVEN))
    (force,) = input_sliders(eqs)
    assert force.value == pytest.approx(0.4)
    robot = LiveRobot(eqs)
    rest = robot.rest(SliderValues())
    expected = pliant.equilibrium(eqs)
    assert rest.scene.loads[0].force[2] == pytest.approx(force.value)
    lines = dict(line.split(" = ") for line in rest.outputs.splitlines())
    assert float(lines["tip"].split(", ")[2].split()[0]) == pytest.approx(expected.outputs["tip"][2], rel=1e-3)
    assert float(lines["push"].split()[0]) == pytest.approx(float(expected.outputs["push"]), rel=1e-3)
    assert robot.inputs(SliderValues(parameters={"amount": 0.7})) == {"force": pytest.approx(0.7)}
    assert robot.inputs(SliderValues(parameters={"amount": 0.7}, inputs={"force": 0.1})) == {"force": 0.1}
    # without motion or rest there are no forces to show
    assert [line.split(" = ")[0] for line in robot.start(SliderValues()).outputs.splitlines()] == ["tip"]
    run = pliant.simulate(eqs, 0.1, save_every=0.05)
    assert LiveRobot(eqs, run).at_time(0.05).outputs.startswith("tip = ")


# -- whom it answers -------------------------------------------------------------------------------------------------


DOOR = RequestGuard(8080, "secret")


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"])
@pytest.mark.parametrize("path", ["/secret", "/secret/", "/secret/?websocket=ws://localhost:8080/secret"])
def test_this_machine_is_answered(host, path):
    assert DOOR.refusal(path, {"Host": host}) is None
    assert DOOR.refusal(path, {"Host": host, "Origin": "http://localhost:8080"}) is None
    assert DOOR.inside(path).split("?")[0] == "/"


@pytest.mark.parametrize(
    "path", ["/", "", "/index.html", "/secrets", "/secre", "/x/secret", "/?secret", "/%73ecret", "/\udcff"]
)
def test_other_addresses_are_refused(path):
    assert "incomplete address" in DOOR.refusal(path, {"Host": "localhost:8080"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost"},
        {"Host": "localhost:8081"},
        {"Host": "localhost:99999"},
        {"Host": "[localhost:8080"},
        {"Host": "localhost:8080", "Origin": "http://localhost:8081"},
        {"Host": "localhost:8080", "Origin": "http://localhost"},
        {"Host": "localhost:8080", "Origin": "https://localhost:8080"},
        {"Host": "evil.example:8080"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost@evil.example"},
        {"Host": "192.168.1.5:8080"},
        {"Host": "localhost:8080", "Origin": "https://evil.example"},
        {"Host": "localhost:8080", "Origin": "null"},
    ],
)
def test_others_are_refused(headers):
    assert DOOR.refusal("/secret/", headers)


def test_only_loopback_can_be_served(capsys):
    check_host("127.0.0.1")
    assert command(["view", "pendulum", "--host", "0.0.0.0", "--no-browser"]) == 2
    assert "ssh -L 8080:127.0.0.1:8080" in capsys.readouterr().err


def test_a_taken_port_is_named(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert command(["view", "pendulum", "--port", str(port), "--no-browser"]) == 2
    assert f"cannot use port {port}" in capsys.readouterr().err


def test_results_take_no_options_of_models(capsys):
    assert command(["view", "run.nc", "--set", "length=1 m", "--no-browser"]) == 2
    assert "contains its model" in capsys.readouterr().err


# -- in a browser ----------------------------------------------------------------------------------------------------


PAGES = {}


def live_page(door):
    """The page behind a door."""
    return PAGES[door]


@pytest.fixture(scope="module")
def served(eqs):
    """The page of a robot with a run, served on a free port."""
    pytest.importorskip("viser", reason="viser is not installed (the extra `view`)")
    from pliant.show.live_page import LivePage, free_port, start_server

    run = pliant.simulate(eqs, 1.0, save_every=0.02)
    server = start_server(free_port(0), HOSTILE)
    page = LivePage(server.viser, eqs.model.spec, eqs, run)
    thread = threading.Thread(target=page.loop, daemon=True)
    thread.start()
    PAGES[server.door] = page
    yield server.door
    page.stop()
    thread.join(10)
    server.stop()


def test_a_drawing_that_fails_while_a_browser_connects_is_sent_again(served, monkeypatch):
    page = live_page(served)
    draw, calls = page.drawing.draw, []

    def fragile(scene):
        calls.append(scene)
        if len(calls) == 1:
            raise RuntimeError("deque mutated during iteration")
        draw(scene)

    monkeypatch.setattr(page.drawing, "draw", fragile)
    page.changed.set()
    end = time.monotonic() + 20
    while len(calls) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(calls) >= 2


def test_the_server_itself_refuses(served):
    page = f"/{served.word}/"
    cases = (
        (page, {}, 200),
        ("/", {}, 403),
        (page, {"Host": "evil.example"}, 403),
        (page, {"Origin": "http://evil.example"}, 403),
        (page, {"Origin": f"http://localhost:{served.port + 1}"}, 403),
    )
    for path, headers, status in cases:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == status
        assert status == 200 or b"ssh -L" in body


def test_the_page_has_the_name_of_the_robot_as_its_title(served):
    for headers in ({}, {"Accept-Encoding": "gzip"}):
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
        connection.request("GET", f"/{served.word}/", headers={"Host": f"localhost:{served.port}", **headers})
        body = connection.getresponse().read()
        assert f"<title>{html.escape(HOSTILE)}</title>".encode() in body


def test_websockets_and_viser_are_as_they_were(served):
    import viser.infra._infra as module
    import websockets.asyncio.server

    assert module.websockets is websockets
    assert module.websockets.asyncio.server.serve is websockets.asyncio.server.serve
    assert websockets.asyncio.server.serve.__module__ == "websockets.asyncio.server"


GARBAGE = [
    b"", b"\x00", b"\xc1" * 20, b"\x91" * 100_000, "text", [1, 2], {"type": "Nonsense"}, {"type": ["a"]}, {"uuid": "x"},
    {"type": "GuiUpdateMessage"}, {"type": "GuiUpdateMessage", "uuid": "none", "updates": {"value": 1}},
    {"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"update_cb": 3}},
    {"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"value": {}}},
    {"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"value": "abc"}},
    {"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"value": float("nan")}},
    {"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"value": 1e300}},
    {"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"value": "x" * 100_000}},
    {"type": "GuiUpdateMessage", "uuid": "CHOICE", "updates": {"value": "mode"}},
    {"type": "GuiUpdateMessage", "uuid": "CHOICE", "updates": {"value": "mode 9999"}},
    {"type": "GuiUpdateMessage", "uuid": "SPEED", "updates": {"value": "fast"}},
    {"type": "ViewerCameraMessage"}, {"type": "ViewerCameraMessage", "wxyz": [1], "position": "here"},
    {"type": "ShareUrlRequest"}, {"type": "FileTransferStartUpload", "size_bytes": 10**12},
]  # fmt: skip


CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1, 0, 0, 0], "position": [0, 0, 1.0], "look_at": [0, 0, 0], "up_direction": [0, 0, 1],
    "fov": 0.5, "near": 0.1, "far": 10.0, "image_height": 100, "image_width": 100,
}  # fmt: skip


def test_only_what_the_controls_send_is_heard():
    import msgspec

    value = {"type": "GuiUpdateMessage", "uuid": "x", "updates": {"value": 0.5}}
    assert all(is_expected(msgspec.msgpack.encode(message)) for message in (CAMERA, value))
    changed = [
        {"type": "ShareUrlRequest"}, {"type": ["a"]}, [1], CAMERA | {"fov": {}}, CAMERA | {"wxyz": [0] * 9}, CAMERA | {"more": 1},
        *(value | {"updates": x} for x in ({"update_cb": 1}, {"value": float("nan")}, {"value": []}, {}, 3)),
    ]  # fmt: skip
    wrong = [*(g for g in GARBAGE if isinstance(g, bytes | str)), *map(msgspec.msgpack.encode, changed)]
    assert not any(map(is_expected, wrong))


def test_garbage_and_several_browsers(served, capfd, caplog):
    """Browsers that reconnect and send invalid messages: no traceback, and the page continues for the others."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    handles = live_page(served)
    names = {"SLIDER": handles.sliders["Inputs"]["force"][1], "CHOICE": handles.what, "SPEED": handles.speed}

    def raw(message):
        if isinstance(message, dict) and message.get("uuid") in names:
            message = message | {"uuid": names[message["uuid"]]._impl.uuid}
        return msgspec.msgpack.encode(message) if isinstance(message, dict | list) else message

    def browser():
        url = served.url.replace("http", "ws").rstrip("/")
        return connect(url, subprotocols=[f"viser-v{viser.__version__}"], max_size=None, compression=None)

    with browser() as watching:
        for message in GARBAGE:
            with browser() as one:
                one.send(raw(message))
        with browser() as one:
            for message in GARBAGE:
                if len(raw(message)) < 60_000:
                    one.send(raw(message))
            # these are meant, and all others hear of them; viser listens to who has told where he looks from
            one.send(raw(CAMERA))
            one.send(raw({"type": "GuiUpdateMessage", "uuid": "CHOICE", "updates": {"value": "initial pose"}}))
            one.send(raw({"type": "GuiUpdateMessage", "uuid": "SLIDER", "updates": {"value": 0.5}}))
            deadline = time.monotonic() + 20
            while "initial pose" not in str(handles.status.value) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert handles.status.value == "the initial pose"
            assert names["SLIDER"].value == 0.5
        assert watching.recv(timeout=10)
    names["CHOICE"].value, names["SPEED"].value, names["SLIDER"].value = "run", "1 x", 0.0
    with pytest.raises(Exception, match="403"):
        connect(f"ws://localhost:{served.port}/", subprotocols=[f"viser-v{viser.__version__}"])
    said = capfd.readouterr()
    assert "Traceback" not in said.err + said.out + caplog.text
    assert "Error" not in said.err + said.out + caplog.text


def scene(browser):
    """Pixels of the page where the robot is, without the panel of controls and messages."""
    return browser.picture("body")[130:, :400]


def choose(browser, now, option):
    """Choose an entry of the list that shows `now`."""
    boxes = browser.driver.find_elements("css selector", "input[role=combobox]")
    next(box for box in boxes if box.get_attribute("value") == now and box.is_displayed()).click()
    entry = f"//div[@role='option'][normalize-space(.)='{option}']"
    browser.wait(lambda: browser.driver.find_elements("xpath", entry))
    browser.driver.find_element("xpath", entry).click()


def status(browser):
    return browser.run("return document.querySelector('textarea').value")


def button(browser, word):
    return browser.driver.find_element("xpath", f"//button[normalize-space(.)='{word}']")


def moves(browser):
    """Wait until the robot has moved."""
    before = scene(browser)
    browser.wait(lambda: browser.differing(before, scene(browser)) > 0.003)


def test_the_live_page_plays_follows_sliders_and_shakes(browser, served):
    browser.driver.set_window_size(720, 620)  # drawn without a graphics card, small is quick
    browser.open(served.url)
    browser.wait(lambda: browser.driver.find_elements("css selector", "textarea") and status(browser).startswith("t ="))
    browser.wait(lambda: browser.coloured(scene(browser)) > 0.01)
    # the run plays
    button(browser, "Play").click()
    moves(browser)
    button(browser, "Pause").click()
    # a slider, from the keyboard: the rod at rest bends up
    choose(browser, "run", "at rest")
    browser.wait(lambda: "equilibrium" in status(browser))
    before = scene(browser)
    sliders = browser.driver.find_elements("css selector", "[role=slider]")
    force = next(
        s for s in sliders if s.get_attribute("aria-valuemax") == "1" and s.get_attribute("aria-valuemin") == "-1"
    )
    force.send_keys("\ue010")  # to its end
    browser.wait(lambda: browser.differing(before, scene(browser)) > 0.003)
    # a mode, with its frequency
    choose(browser, "at rest", "mode 1")
    browser.wait(lambda: status(browser).startswith("mode 1:") and " Hz" in status(browser))
    button(browser, "Play").click()
    moves(browser)
    button(browser, "Pause").click()
    assert HOSTILE in browser.find("body").text
    assert browser.run("return window.hacked") is None
    assert not browser.errors()
    asked = [url for url in browser.requests() if url.startswith(("http", "ws"))]
    assert asked
    assert all(url.startswith(f"http://localhost:{served.port}/{served.word}") for url in asked)
