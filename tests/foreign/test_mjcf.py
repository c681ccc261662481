"""MJCF robots: as in MuJoCo, as text that loads to the same robot, and rejected with clear messages if invalid."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.cli import run
from pliant.foreign import mjcf_child

mujoco = pytest.importorskip("mujoco")

from beside_mujoco import mujoco_error  # noqa: E402

ROBOTS = Path(__file__).parent / "robots"
FEATURES = ROBOTS / "features.xml"
MORE_FEATURES = ROBOTS / "features2.xml"

ARM = """\
<mujoco model="arm">
  <worldbody>
    <body name="rod" pos="0 0 1">
      <joint name="hinge" axis="0 1 0" range="-60 60"/>
      <geom name="stick" type="capsule" fromto="0 0 0 0 0 0.5" size="0.02"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" gear="10"/></actuator>
</mujoco>
"""


def written(folder: Path, text: str | bytes, name: str = "arm.xml") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def faults(file: Path) -> list[pliant.Fault]:
    with pytest.raises(pliant.SpecError) as caught:
        pliant.load(file)
    return list(caught.value.faults)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "size"), [(FEATURES, (11, 17)), (MORE_FEATURES, (12, 18))])
def test_the_equations_are_those_of_mujoco(file: Path, size: tuple[int, int]) -> None:
    error, bodies, rates = mujoco_error(file, 4)
    assert (bodies, rates) == size
    assert error < 1e-10


@pytest.mark.parametrize("file", [FEATURES, MORE_FEATURES])
def test_the_text_is_the_same_robot(file: Path, tmp_path: Path) -> None:
    found = pliant.import_robot(file)
    assert pliant.load_text(found.text()) == found.robot
    found.save(tmp_path / "features.yaml")
    assert pliant.load(tmp_path / "features.yaml") == found.robot


def test_what_is_left_out_is_listed_with_its_line() -> None:
    notes = {(note.line, note.path): note.message for note in pliant.import_robot(FEATURES).notes}
    assert notes[54, "joint curve"] == "a nonlinear equality constraint of joints is not imported"
    assert notes[53, "weld bond"] == "an inactive equality constraint is not imported"
    assert notes[71, "muscle muscle"].startswith("an actuator whose force is not linear")


LOOPS = """\
<mujoco>
  <worldbody>
    <body name="a" pos="0 0 1" euler="10 20 30">
      <freejoint name="fa"/><geom size="0.1"/><site name="sa" pos="0.1 0 0" euler="0 90 0"/>
    </body>
    <body name="b" pos="0.5 0 1" euler="0 40 0">
      <freejoint name="fb"/><geom size="0.1"/><site name="sb" pos="0 0.2 0"/>
    </body>
  </worldbody>
  <equality>EQUALITY</equality>
</mujoco>
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "equality",
    [
        '<connect body1="a" body2="b" anchor="0.1 0.2 0.3"/>',
        '<connect body1="a" anchor="0.1 0.2 0.3"/>',
        '<weld body1="a" body2="b"/>',
        '<weld body1="a" body2="b" anchor="0.1 0 0" relpose="0.3 0.1 0.2 0.8 0.6 0 0"/>',
        '<weld site1="sa" site2="sb"/>',
        '<connect site1="sa" site2="sb"/>',
    ],
)
def test_loops_hold_what_those_of_mujoco_hold(equality: str, tmp_path: Path) -> None:
    file = written(tmp_path, LOOPS.replace("EQUALITY", equality))
    eqs = pliant.derive(pliant.load(file))
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    # to where MuJoCo's residual vanishes, by Gauss's and Newton's method on its own rows
    for _ in range(60):
        mujoco.mj_forward(model, data)
        rows = data.efc_type == 0
        J = data.efc_J.reshape(-1, model.nv)[rows] if model.opt.jacobian != 1 else None
        step = np.linalg.lstsq(J, -data.efc_pos[rows], rcond=None)[0]
        mujoco.mj_integratePos(model, data.qpos, step, 1)
    assert np.abs(data.efc_pos[rows]).max() < 1e-9
    found = eqs.constraints(data.qpos, np.zeros(model.nv))
    assert np.abs(found.value).max() < 1e-8
    assert len(found.value) == rows.sum()
    both = np.vstack([found.jacobian.toarray() if hasattr(found.jacobian, "toarray") else found.jacobian, J])
    assert np.linalg.matrix_rank(both, tol=1e-7) == rows.sum()


def test_stops_are_as_stiff_as_the_soft_limits() -> None:
    limits = pliant.load(FEATURES).joints["shoulder"].angle.limits
    model = mujoco.MjModel.from_xml_path(str(FEATURES))
    v = model.joint("shoulder").dofadr[0]
    assert limits.stiffness == pytest.approx(model.dof_M0[v] / (0.95 * 0.02) ** 2, rel=1e-3)


@pytest.mark.slow
def test_keyframes_are_variants() -> None:
    home = pliant.load(f"{MORE_FEATURES}@home")
    model = mujoco.MjModel.from_xml_path(str(MORE_FEATURES))
    state = pliant.derive(home).initial_state()
    given = dict(zip(pliant.derive(home).model.q_names, state.q, strict=True))
    for name in ("turn", "bend", "slide", "sway0", "j2"):
        assert given[name] == pytest.approx(model.key_qpos[0][model.joint(name).qposadr[0]], abs=1e-15)
    assert home.parameters["winch"].value == "1 m"
    assert pliant.load(MORE_FEATURES).joints["turn"].angle.initial == 0
    assert pliant.check(MORE_FEATURES) == []


def test_excluded_contacts_and_pairs_are_respected() -> None:
    contacts = pliant.load(MORE_FEATURES).contacts
    touching = {
        (a, b): contact.friction.along
        for contact in contacts.values()
        for a in contact.between[0]
        for b in contact.between[1]
    }
    assert ("b", "floor") not in touching  # excluded
    assert touching["w", "floor"] == 0.2  # a pair
    assert touching["l", "wall"] == 0.9  # by priority
    assert touching["l", "floor"] == 1


@pytest.mark.slow
def test_what_flags_disable_is_not_there(tmp_path: Path) -> None:
    flags = "spring damper frictionloss limit contact gravity actuation equality".split()
    disabled = " ".join(f'{flag}="disable"' for flag in flags)
    file = written(tmp_path, FEATURES.read_text().replace("<option ", f"<option><flag {disabled}/></option><option "))
    error, *_ = mujoco_error(file, 3)
    assert error < 1e-10
    robot = pliant.load(file)
    assert not robot.contacts
    assert not robot.constraints
    assert "shoulder_motor" not in robot.parameters
    assert robot.joints["shoulder"].angle.limits is None


CABLE = """\
<mujoco>
  <option gravity="0 0 GRAVITY"/>
  <worldbody>
    <body name="wall" pos="0 0 1" euler="0 0 30">
      <composite prefix="rope" type="cable" curve="s" count="COUNT 1 1" size="0.4" offset="0.1 0 0" initial="none">
        <plugin plugin="mujoco.elasticity.cable"><config key="twist" value="2e6"/><config key="bend" value="4e6"/></plugin>
        <joint kind="main" damping="0.01"/>
        <geom type="capsule" size="0.005" density="1000"/>
      </composite>
    </body>
  </worldbody>
</mujoco>
"""


def test_cables_are_rods(tmp_path: Path) -> None:
    """Beside chains of capsules on ball joints with springs, as MuJoCo makes them of a cable whose bend is twice its twist."""
    file = written(tmp_path, CABLE.replace("COUNT", "41").replace("GRAVITY", "-3"))
    found = pliant.import_robot(file)
    assert not found.notes
    assert found.robot.rods["rope"].length == 0.4
    tip = pliant.equilibrium(pliant.derive(found.robot)).frames["rope.tip"].position
    coarse, fine = (hanging_chain(links, size=0.4, radius=0.005, bend=4e6) for links in (10, 20))
    sag = 1 - tip[2]
    assert sag > 0.2
    # chains whose first link is fixed are of first order in the length of a link: what they tend to is the rod
    assert np.linalg.norm(tip - coarse) > 0.03 * sag
    assert np.linalg.norm(tip - (2 * fine - coarse)) < 0.01 * sag


def hanging_chain(links: int, *, size: float, radius: float, bend: float) -> np.ndarray:
    """Where the tip of a chain comes to rest in MuJoCo; the mass per length is that of the cable with forty links."""
    each, area = size / links, np.pi * radius**2
    density = 1000 * (1 + 4 / 3 * radius / (size / 40))
    spring = bend * np.pi / 4 * radius**4 / each
    geom = f'<geom type="cylinder" size="{radius}" fromto="0 0 0 {each} 0 0" mass="{density * area * each}"/>'
    joint = f'<joint type="ball" stiffness="{spring}" damping="{0.004 / links}"/>'
    chain = "".join(f'<body pos="{each} 0 0">{geom}{joint}' for _ in range(links - 1))
    tail = f'<site name="tip" pos="{each} 0 0"/>' + "</body>" * (links - 1)
    text = f"""<mujoco><option gravity="0 0 -3" timestep="1e-3" integrator="implicit"><flag contact="disable"/></option>
        <worldbody><body pos="0 0 1" euler="0 0 30"><body pos="0.1 0 0">{geom}{chain}{tail}</body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for _ in range(20_000):
        mujoco.mj_step(model, data)
        data.qvel *= 0.99  # which changes nothing at rest
        if np.abs(data.qvel).max() < 1e-6 and data.time > 1:
            break
    assert np.abs(data.qvel).max() < 1e-4
    return np.array(data.site("tip").xpos)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('type="cable"', 'type="rope"'), "only those of type cable are read"),
        (('value="4e6"', 'value="0"'), "it has no elasticity"),
        (('curve="s"', 'curve="tan(s)"'), "its curve is not made of"),
        (('type="capsule"', 'type="sphere"'), "its geoms are not capsules"),
    ],
)
def test_cables_that_are_left_out_are_noted(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    text = CABLE.replace("COUNT", "5").replace("GRAVITY", "0").replace(*change)
    found = pliant.import_robot(written(tmp_path, text))
    assert not found.robot.rods
    assert any(said in note.message and note.line == 5 for note in found.notes)


@pytest.mark.parametrize("initial", ["free", "ball"])
def test_cables_may_be_curved_and_free(initial: str, tmp_path: Path) -> None:
    text = CABLE.replace("COUNT", "11").replace("GRAVITY", "-9.81").replace('"none"', f'"{initial}"')
    curved = text.replace('curve="s"', 'curve="cos(s) sin(s) s"').replace('size="0.4"', 'size="0.5 0.1 2"')
    eqs = pliant.derive(pliant.load(written(tmp_path, curved)))
    assert len(eqs.rates) == 30 + (6 if initial == "free" else 3)
    frames = eqs.frames(eqs.initial_state().q)
    turn = np.array([[np.cos(np.pi / 6), -0.5, 0], [0.5, np.cos(np.pi / 6), 0], [0, 0, 1]])
    for name, point in (("rope", [0.1, 0, 0]), ("rope.tip", [0.1, 0, 0.5])):
        assert frames[name].position == pytest.approx([0, 0, 1] + turn @ (np.array([0.1, 0, 0]) + point), abs=1e-6)


STRING = """\
<mujoco>
  <worldbody>
    <body name="post" pos="0 0 1" euler="0 20 0">
      <geom size="0.1"/>
      <flexcomp type="grid" dim="1" count="5 1 1" spacing="0.1 0.1 0.1" pos="0.2 0 0" quat="0.8 0 0.6 0" name="rope"
                mass="0.2" radius="0.01">
        <edge stiffness="100" damping="0.3"/><pin id="0"/>
      </flexcomp>
    </body>
  </worldbody>
</mujoco>
"""


def test_flexes_of_springs_are_meshes(tmp_path: Path) -> None:
    file = written(tmp_path, STRING)
    eqs = pliant.derive(pliant.load(file))
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qpos, data.qvel = rng.normal(size=(2, model.nv)) * 0.05
    mujoco.mj_forward(model, data)
    R = data.xmat[1].reshape(3, 3)
    start = eqs.initial_state().q.reshape(-1, 3)
    turned = [(R @ part.reshape(-1, 3).T).T for part in (data.qpos, data.qvel, data.qacc_smooth)]
    q, v, a = (start + turned[0]).ravel(), turned[1].ravel(), turned[2].ravel()
    assert eqs.forward_dynamics(q, v)[0] == pytest.approx(a, rel=1e-9, abs=1e-9)
    cloth = written(tmp_path, STRING.replace('dim="1"', 'dim="2"').replace("5 1 1", "5 5 1"))
    assert any(note.message.startswith("<flexcomp> is not imported") for note in pliant.import_robot(cloth).notes)


HELD = """\
<mujoco model="held">
  <extension><plugin plugin="mujoco.elasticity.cable"/></extension>
  <worldbody>
    <body name="slider" pos=".5 0 0">
      <joint name="slide" type="slide" axis="1 0 0"/><geom type="sphere" size=".02" mass=".1" contype="0" conaffinity="0"/>
    </body>
    <composite prefix="a" type="cable" curve="s" count="11 1 1" size=".5" initial="none">
      <plugin plugin="mujoco.elasticity.cable"><config key="twist" value="1e7"/><config key="bend" value="4e6"/></plugin>
      <joint kind="main" damping=".01"/>
      <geom type="capsule" size=".005"/>
    </composite>
  </worldbody>
  <contact><exclude body1="aB_first" body2="slider"/></contact>
  <equality><weld name="end" body1="aB_last" body2="slider"/><connect name="pin" body1="aB_4" anchor="0.05 0 0"/></equality>
  <sensor><framepos objtype="body" objname="aB_last"/></sensor>
</mujoco>
"""


def test_constraints_of_the_links_of_cables_hold_the_rod(tmp_path: Path) -> None:
    found = pliant.import_robot(written(tmp_path, HELD))
    assert [(note.line, note.message) for note in found.notes] == [
        (15, "<framepos> is not imported: it refers to 'aB_last', a part of a cable")
    ]
    eqs = pliant.derive(found.robot)
    run = pliant.simulate(eqs, 0.05)
    assert np.abs(run["a.vertex6"].position[:, 2]).max() < 1e-9  # a straight rod that cannot stretch holds x by itself
    assert np.abs(run["a.tip"].position - run["slider"].position).max() < 1e-9
    assert run["slide"].values[-1] < -1e-6  # the sagging cable pulls the slider
    moved = written(tmp_path, HELD.replace("0.05 0 0", "0.03 0.01 0"), "moved.xml")
    assert "nearest vertex" in str(pliant.import_robot(moved).notes)
    lost = written(tmp_path, HELD.replace('body2="slider"/><connect', 'body2="tray"/><connect'), "lost.xml")
    assert "no body 'tray'" in str(faults(lost)[0])


TERRAIN = """\
<mujoco model="terrain">
  <asset><hfield name="hills" nrow="3" ncol="4" size="2 1 .3 .1" elevation="0 0 .3 0  0 1 .5 0  .7 .2 0 .1"/></asset>
  <worldbody>
    <geom name="ground" type="hfield" hfield="hills" pos=".1 .2 .3"/>
    <body name="egg" pos="0 0 1">
      <freejoint/><geom name="egg" type="ellipsoid" size=".1 .2 .3" mass="1"/>
      <body name="flag" pos="0 0 .3">
        <joint name="wave" axis="1 0 0"/><geom type="capsule" size=".01 .1" pos="0 0 .05" mass=".1"/>
        <site name="top" pos="0 0.1 .1" euler="10 20 30"/>
      </body>
    </body>
  </worldbody>
  <sensor>
    <jointpos name="angle" joint="wave"/><jointvel name="rate" joint="wave"/>
    <framepos name="place" objtype="site" objname="top"/><framequat name="turn" objtype="xbody" objname="flag"/>
    <framepos name="seen" objtype="xbody" objname="egg" reftype="site" refname="top"/>
    <framelinvel name="speed" objtype="site" objname="top"/><frameangvel name="spin" objtype="site" objname="top"/>
    <accelerometer name="acc" site="top"/><framepos name="centre" objtype="body" objname="flag"/>
  </sensor>
</mujoco>
"""


def test_sensors_are_outputs(tmp_path: Path) -> None:
    found = pliant.import_robot(written(tmp_path, TERRAIN))
    assert [note.path for note in found.notes if "sensor" in note.message] == ["acc", "centre"]
    model = mujoco.MjModel.from_xml_string(TERRAIN)
    data, eqs = mujoco.MjData(model), pliant.derive(found.robot)
    data.qpos[:] = [0.1, 0.2, 2.0, *(np.array([0.8, 0.2, -0.4, 0.4])), 0.7]
    data.qvel[:] = [0.1, -0.2, 0.3, 0.5, -0.6, 0.7, 0.8]
    mujoco.mj_forward(model, data)
    start = pliant.State(data.qpos.copy(), data.qvel.copy())
    start.v[:3] = data.qvel[:3]
    run = pliant.simulate(eqs, 1e-6, start=start)
    for name in ("angle", "rate", "place", "turn", "seen", "speed", "spin"):
        assert run[name].values[0] == pytest.approx(np.squeeze(data.sensor(name).data), abs=1e-12), name


def test_a_picture_of_too_many_heights_is_not_unpacked(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    text = """<mujoco><asset><hfield name="h" file="h.png" size="1 1 1 1"/></asset>
      <worldbody><geom name="ground" type="hfield" hfield="h"/><body><freejoint/><geom size="1"/></body></worldbody></mujoco>"""
    for pixels, is_read in ((20, True), (5000, False)):
        image.new("L", (pixels, pixels), 10).save(tmp_path / "h.png")
        found = pliant.import_robot(written(tmp_path, text))
        assert ("ground" in found.robot.surfaces) == is_read
        assert any("too many heights; it is not imported" in note.message for note in found.notes) != is_read


def test_height_fields_and_ellipsoids_are_surfaces(tmp_path: Path) -> None:
    robot = pliant.load(written(tmp_path, TERRAIN))
    ground, egg = robot.surfaces["ground"], robot.surfaces["egg_geom"]
    model = mujoco.MjModel.from_xml_string(TERRAIN)
    data, hit = mujoco.MjData(model), np.zeros(1, dtype=np.int32)
    data.qpos[:3] = 50.0  # the egg is out of the way
    mujoco.mj_forward(model, data)
    for i, y in enumerate((-1, 0, 1)):
        for j, x in enumerate((-2, -2 / 3, 2 / 3, 2)):
            at = np.array([0.1 + (1 - 1e-9) * x, 0.2 + (1 - 1e-9) * y, 5.0])
            depth = mujoco.mj_ray(model, data, at, np.array([0, 0, -1.0]), None, 1, -1, hit)
            assert 5.0 - depth - 0.3 == pytest.approx(float(ground.heights[i][j]), abs=1e-6)
    assert [float(x) for x in egg.semi_axes] == [0.1, 0.2, 0.3]


@pytest.mark.slow
def test_models_are_attached(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    written(tmp_path / "parts", ARM, "part.xml")
    text = """<mujoco><asset><model name="part" file="parts/part.xml"/></asset><worldbody>
        <frame pos="0 1 0"><attach model="part" body="rod" prefix="left-"/></frame>
        <frame pos="0 -1 0"><attach model="part" body="rod" prefix="right-"/></frame></worldbody></mujoco>"""
    file = written(tmp_path, text, "two.xml")
    assert mujoco_error(file, 3)[0] < 1e-10
    assert set(pliant.load(file).bodies) == {"left_rod", "right_rod"}
    outside = written(tmp_path / "parts", text.replace("parts/part.xml", "../../etc/part.xml"), "three.xml")
    assert "outside the folder" in faults(outside)[0].message


def test_files_are_read_from_declared_folders_only(tmp_path: Path) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    cube = "\n".join(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1))
    faces = "\n".join(f"f {' '.join(corners)}" for corners in "124 143 578 586 156 162 348 387 137 175 268 284".split())
    (tmp_path / "cube.obj").write_text(f"{cube}\n{faces}\n")
    text = ARM.replace("<worldbody>", '<asset><mesh name="cube" file="../cube.obj"/></asset><worldbody>')
    text = text.replace('type="capsule" fromto="0 0 0 0 0 0.5" size="0.02"', 'type="mesh" mesh="cube" pos="1 2 3"')
    file = written(folder, text)
    assert "its file is in none of the declared folders" in faults(file)[0].message
    robot = pliant.load(file, folders=[tmp_path])
    assert robot.surfaces["stick"].file == "../cube.obj"
    # MuJoCo moves meshes to their centre; the file is placed where it was meant
    assert [float(x) for x in robot.surfaces["stick"].position] == pytest.approx([1, 2, 3], abs=1e-12)
    assert robot.bodies["rod"].mass == "1000 kg"
    with_inertia = text.replace("<geom", '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom')
    assert not pliant.load(written(folder, with_inertia)).surfaces
    for inside in ("../cube.xml", str(tmp_path / "cube.xml")):
        (tmp_path / "cube.xml").write_text("<mujocoinclude/>")
        included = written(folder, ARM.replace("<worldbody>", f'<include file="{inside}"/><worldbody>'))
        assert "outside the folder" in faults(included)[0].message


def test_included_files_are_part_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "more.xml").write_text('<mujocoinclude><option gravity="0 0 -1"/></mujocoinclude>')
    robot = pliant.load(written(tmp_path, ARM.replace("<worldbody>", '<include file="more.xml"/><worldbody>')))
    assert robot.world.gravity == (0, 0, -1)
    (tmp_path / "more.xml").write_text('<mujocoinclude><include file="more.xml"/></mujocoinclude>')
    assert "is included twice" in faults(tmp_path / "arm.xml")[0].message


WRONG = {
    "entities": (ARM.replace("<mujoco", '<!DOCTYPE m [<!ENTITY a "b">]><mujoco', 1), "document types and entities"),
    "cut short": (ARM[:200], "not well formed"),
    "unknown attribute": (ARM.replace("axis=", "axle="), "MuJoCo rejects it: Schema violation"),
    "unknown joint": (ARM.replace('motor joint="hinge"', 'motor joint="hing"'), "MuJoCo rejects it"),
    "negative mass": (ARM.replace('size="0.02"', 'size="0.02" mass="-1"'), "MuJoCo rejects it"),
    "NaN": (ARM.replace('pos="0 0 1"', 'pos="0 0 nan"'), "is not finite"),
    "endless": (FEATURES.read_text().replace("0 0 1 0 0", "1e308 0 1 0 0"), "is not finite"),
    "overflow": (ARM.replace('pos="0 0 1"', 'pos="0 0 1e999"'), "is not finite"),
    "a crowd": (
        ARM.replace("<body", '<replicate count="100000"><body').replace("</body>", "</body></replicate>"),
        "too many parts",
    ),
    "crowds of crowds": (
        ARM.replace("<body", '<replicate count="1000"><replicate count="1000"><body').replace(
            "</body>", "</body></replicate></replicate>"
        ),
        "too many parts",
    ),
    "a long cable": (CABLE.replace("COUNT", "100000000").replace("GRAVITY", "0"), "<composite> creates too many parts"),
    "attached to itself": (
        '<mujoco><asset><model name="m" file="arm.xml"/></asset><worldbody><attach model="m" prefix="x"/></worldbody></mujoco>',
        "too many models are attached",
    ),
    "too deep": ("<mujoco><worldbody>" + "<body>" * 3000, "nested too deeply"),
    "nothing": ("<mujoco/>", "the model has no bodies"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_words(case: str, tmp_path: Path) -> None:
    text, said = WRONG[case]
    file, began = written(tmp_path, text), time.process_time()
    assert any(said in str(fault) for fault in faults(file)), [str(fault) for fault in faults(file)]
    assert run(["check", str(file)]) == 2
    assert time.process_time() - began < 5


@pytest.mark.slow
def test_what_mujoco_never_finishes_is_refused_within_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = FEATURES.read_text().replace('scale="0.1 0.1', 'scale="1e9 0.1')
    monkeypatch.setenv("PLIANT_LIMITS", "import_time=2")
    began = time.monotonic()
    (fault,) = faults(written(tmp_path, hangs))
    assert time.monotonic() - began < 30  # two seconds of the processor, on a busy machine
    assert fault.message == "MuJoCo does not finish compiling it"
    assert fault.hint == "check its numbers; at most 2 s, unless PLIANT_LIMITS=import_time=... sets another limit"
    monkeypatch.setenv("PLIANT_LIMITS", "time=2")  # that of commands bounds it too
    assert run(["check", str(tmp_path / "arm.xml")]) in (2, 124)


def test_memory_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_LIMITS", "import_memory=60MB")
    (fault,) = faults(written(tmp_path, ARM))
    assert "import_memory" in fault.hint  # MuJoCo refuses it, or ends its process


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os; os.abort()", "MuJoCo's compiler crashes on it (SIGABRT)"),
        ("raise SystemExit(3)", "MuJoCo's compiler crashes on it (code 3)"),
    ],
)
def test_a_crash_of_mujoco_is_a_fault(program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjcf_child, "__file__", str(written(tmp_path, program, "child.py")))
    (fault,) = faults(written(tmp_path, ARM))
    assert fault.message == said


def test_memory_that_a_file_asks_for_is_not_given(tmp_path: Path) -> None:
    texture = '<texture type="2d" builtin="flat" width="100000" height="100000"/>'
    field = '<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>'
    text = ARM.replace("<worldbody>", f'<size memory="900G"/><asset>{texture}{field}</asset><worldbody>')
    assert pliant.load(written(tmp_path, text)) == pliant.load(written(tmp_path, ARM))


def test_without_mujoco_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (fault,) = faults(written(tmp_path, ARM))
    assert (fault.message, fault.hint) == ("MJCF files need the package mujoco", "install pliant[import], or mujoco")


def test_commands_take_such_files(tmp_path: Path) -> None:
    file = written(tmp_path, ARM)
    assert run(["simulate", str(file), "--until", "0.1", "--json"]) == 0
    assert run(["import", str(file), "--out", str(tmp_path / "arm.yaml")]) == 0
    assert pliant.derive(pliant.load(tmp_path / "arm.yaml")).inputs == ("hinge_motor",)


def test_warnings_of_mujoco_are_notes_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = ARM.replace("<worldbody>", '<compiler settotalmass="7"/><worldbody>')
    found = pliant.import_robot(written(tmp_path, text))
    assert found.robot.bodies["rod"].mass == "7 kg"
    assert any(note.message.startswith("MuJoCo warns: compiler attribute 'settotalmass'") for note in found.notes)
    assert [file.name for file in tmp_path.iterdir()] == ["arm.xml"]


def test_a_pinned_flex_of_edges_of_different_lengths_keeps_its_pin(tmp_path: Path) -> None:
    text = STRING.replace('type="grid" dim="1" count="5 1 1" spacing="0.1 0.1 0.1"', 'type="direct" dim="1" POINTS')
    text = text.replace("POINTS", 'point="0 0 0 .1 0 0 .3 0 0" element="0 1 1 2"')
    mesh = pliant.load(written(tmp_path, text)).meshes["rope"]
    assert "pinned" in mesh.sets
    assert "pinned" in mesh.held


SWIMMER = """<mujoco><option density="1000" viscosity="0.7" wind="0.3 -0.2 0.1"/><worldbody>
  <body name="head" pos="0 0 1"><freejoint/><geom type="box" size=".1 .05 .03" GEOM/>
    <body name="fin" pos=".12 0 0" euler="0 0 20"><joint axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .15 .02 .04" size=".01" GEOM/></body></body></worldbody></mujoco>"""


def test_the_drag_of_boxes_of_inertia_is_that_of_mujoco(tmp_path: Path) -> None:
    assert mujoco_error(written(tmp_path, SWIMMER.replace("GEOM", "")), 6)[0] < 1e-12
    assert mujoco_error(written(tmp_path, SWIMMER.replace("GEOM", "").replace('density="1000"', "")), 6)[0] < 1e-12


@pytest.mark.parametrize("axis", range(3))
def test_geoms_with_a_shape_in_the_fluid_are_ellipsoids(tmp_path: Path, axis: int) -> None:
    """Along an axis their drag is that of MuJoCo, without viscosity."""
    text = """<mujoco><option density="1000"/><worldbody><body name="hull" pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .05 .03" fluidshape="ellipsoid" fluidcoef="0.6 0.2 1 0 0"/></body></worldbody></mujoco>"""
    found = pliant.import_robot(written(tmp_path, text))
    assert ["ellipsoid" in note.message for note in found.notes] == [True]
    eqs, model = pliant.derive(found.robot), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[axis] = 0.8
    mujoco.mj_forward(model, data)
    q, v = eqs.initial_state().q, np.array(data.qvel)
    drag = eqs.bias(q, v) - eqs.bias(q, 0 * v)
    np.testing.assert_allclose(drag, -data.qfrc_passive, atol=1e-9)
    # added mass counts in accelerations
    assert eqs.mass_matrix(q).toarray()[axis, axis] > 1.05 * model.body_mass[1]
