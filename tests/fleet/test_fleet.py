"""Fleets on the CPU: equal to `simulate` for each robot, for any number of robots and parameters, even if others fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pliant

# a soft section with chambers on a hinged link, driven by a torque and pressures
ARM = """
pliant: 1
name: soft_arm
parameters:
  mass: 0.2 kg
  modulus: {value: 0.5 MPa, minimum: 1 kPa}
  lean: 20 deg
  torque: {value: 0 N*m, input: true}
  pressure: {value: 0 kPa, input: true}
sections: {s: {shape: circle, radius: 8 mm}}
materials: {m: {density: 1100 kg/m^3, youngs_modulus: =modulus, poissons_ratio: 0.45}}
bodies:
  link:
    mass: =mass
    center_of_mass: [0, 0, 5 cm]
    shape: {type: cylinder, radius: 1 cm, length: 10 cm}
    frames: {end: {position: [0, 0, 10 cm]}}
joints:
  hinge: {type: revolute, axis: y, child: link, angle: {initial: =lean, damper: 2e-3 N*m*s, input: =torque}}
rods:
  tip:
    parent: link.end
    length: 12 cm
    section: s
    material: m
    damping: [0, 0, 0.5 N*s, 2e-5 N*m^2*s, 2e-5 N*m^2*s, 0]
    chambers: {side: {pressure: =pressure, radius: 2 mm, positions: [[5 mm, 0]]}}
    model: {kind: pcc}
outputs:
  place: {frame: tip.tip, quantity: position}
  pull: {frame: tip.tip, quantity: acceleration}
  energy: {energy: total}
  wasted: {energy: dissipated}
"""

# a free body with a tendon-driven rod: a quaternion, a routed line, an input that follows the time
SWIMMER = """
pliant: 1
name: swimmer
world: {gravity: [0, 0, -1 m/s^2]}
parameters: {pull: {value: 0 N, input: true}, other: {value: 0.5 N, input: true}}
sections: {s: {shape: circle, radius: 6 mm}}
materials: {m: {density: 1100 kg/m^3, youngs_modulus: 0.5 MPa, poissons_ratio: 0.45}}
bodies: {hull: {mass: 0.3 kg, shape: {type: box, size: [10 cm, 6 cm, 4 cm]}}}
joints:
  flight: {type: free, child: hull, orientation: {initial: {axis: x, angle: 30 deg}, rate: [1 rad/s, 6 rad/s, 0.1 rad/s]}}
rods:
  tail: {parent: hull, length: 10 cm, section: s, material: m, rayleigh: {beta: 20 ms}, model: {kind: pcs, elements: 1}}
tendons:
  side: {type: tension, through: [{rod: tail, radius: 4 mm, angle: 0 deg}], tension: =pull}
  back: {type: tension, through: [{rod: tail, radius: 4 mm, angle: 90 deg}], tension: =other}
inputs: {pull: {sine: {amplitude: 0.2 N, offset: 0.3 N, frequency: 3 Hz}}}
"""

# a free body on a spring, which turns fast: a quaternion, and a force that follows the time
SPINNER = """
pliant: 1
name: spinner
parameters: {force: {value: 0 N, input: true}}
bodies: {box: {mass: 0.3 kg, shape: {type: box, size: [10 cm, 6 cm, 4 cm]}, frames: {corner: {position: [5 cm, 3 cm, 2 cm]}}}}
joints:
  flight: {type: free, child: box, orientation: {initial: {axis: x, angle: 30 deg}, rate: [1 rad/s, 9 rad/s, 0.1 rad/s]}}
links: {rope: {type: axial, between: [world, box.corner], spring: {coefficient: 40 N/m, rest: 2 cm}, damper: 0.5 N*s/m}}
loads: {push: {frame: box, force: ["=force*sin(20*t/1 s)", 0, 0]}}
"""

# a loop of three bars, with a crank that a motor torque drives, and a row that others imply
LOOP = """
pliant: 1
name: loop
parameters: {torque: {value: 0 N*m, input: true}, span: 20 cm}
defaults: {bodies: {mass: 0.1 kg, shape: {type: cylinder, radius: 5 mm, length: 10 cm, axis: x}, center_of_mass: [5 cm, 0, 0]}}
bodies:
  crank: {frames: {tip: {position: [10 cm, 0, 0]}}}
  bar: {frames: {tip: {position: [20 cm, 0, 0]}}}
  rocker: {frames: {tip: {position: [15 cm, 0, 0]}}}
joints:
  a: {type: revolute, axis: y, child: crank, angle: {initial: -60 deg, input: =torque, damper: 1e-3 N*m*s}}
  b: {type: revolute, axis: y, parent: crank.tip, child: bar, angle: {initial: 60 deg}}
  c: {type: revolute, axis: y, child: rocker, position: [=span, 0, 0], angle: {initial: -90 deg}}
constraints: {pin: {between: [bar.tip, rocker.tip], components: [x, y, z]}}
outputs: {force: {constraint: pin, component: x}}
"""

STEPS = {"explicit": 2e-5, "symplectic_euler": 1e-5, "semi_implicit": 1e-3, "implicit": 1e-3}


@pytest.fixture(scope="module")
def arm() -> pliant.Equations:
    return pliant.derive(pliant.load_text(ARM))


@pytest.fixture(scope="module")
def arms(arm: pliant.Equations) -> pliant.Fleet:
    """A fleet that several tests use; each puts it back to its start."""
    return pliant.Fleet(arm, 37, method="semi_implicit", step=1e-3, parameters={"mass": np.linspace(0.1, 0.4, 37)})


def _agrees(fleet: pliant.Fleet, robot: int, run: pliant.Result, bound: float = 1e-10) -> None:
    for ours, theirs in ((fleet.q[robot], run.final.q), (fleet.v[robot], run.final.v)):
        assert np.abs(ours - theirs).max() <= bound * np.abs(theirs).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "method", "pushed"),
    [
        *((ARM, method, {"pressure": 20e3}) for method in STEPS),
        (SWIMMER, "explicit", {"other": 0.8}),
        (SPINNER, "semi_implicit", {"force": 2.0}),
        (SPINNER, "symplectic_euler", {"force": 200.0}),
        (SPINNER, "implicit", {"force": 2.0}),
        *((LOOP, method, {"torque": 0.05}) for method in STEPS),
    ],
    ids=[
        *(f"arm-{method}" for method in STEPS),
        "swimmer",
        "spinner-semi_implicit",
        "spinner-symplectic",
        "spinner-implicit",
    ]
    + [f"loop-{method}" for method in STEPS],
)
def test_moves_as_simulate_does(text: str, method: str, pushed: dict[str, float]) -> None:
    eqs, step = pliant.derive(pliant.load_text(text)), STEPS[method]
    fleet = pliant.Fleet(eqs, 5, method=method, step=step)
    ((name, most),) = pushed.items()
    values = np.linspace(0, most, 5)
    fleet.step({name: values}, n=200)
    for robot in (0, 4):
        run = pliant.simulate(eqs, 200 * step, method=method, step=step, inputs={name: float(values[robot])})
        _agrees(fleet, robot, run)
    assert np.abs(fleet.q[0] - fleet.q[4]).max() > 1e-6  # the input counts
    assert np.allclose(fleet.time, 200 * step, rtol=1e-12)


def test_parameters_of_each_robot(arm: pliant.Equations, arms: pliant.Fleet) -> None:
    arms.reset()
    arms.step(n=100)
    for robot in (0, 20, 36):
        mass = float(np.linspace(0.1, 0.4, 37)[robot])
        run = pliant.simulate(arm, 0.1, method="semi_implicit", step=1e-3, parameters={"mass": mass})
        _agrees(arms, robot, run)


def test_parameters_that_the_start_depends_on(arm: pliant.Equations) -> None:
    lean = np.array([0.1, 0.3, -0.2])
    fleet = pliant.Fleet(arm, 3, method="semi_implicit", step=1e-3, parameters={"lean": lean, "modulus": 0.3e6})
    at = arm.coordinates.index("hinge")
    assert np.array_equal(fleet.q[:, at], lean)
    fleet.set_parameters({"lean": np.zeros(0)}, mask=np.zeros(3, dtype=bool))  # of none
    fleet.set_parameters({"lean": np.array([0.7])}, mask=[1])
    assert fleet.q[1, at] == 0.3  # until it is reset
    fleet.reset([1])
    assert fleet.q[1, at] == 0.7
    fleet.reset()
    assert np.array_equal(fleet.q[:, at], [0.1, 0.7, -0.2])  # those of the others are unchanged
    fleet.step(n=50)
    run = pliant.simulate(arm, 0.05, method="semi_implicit", step=1e-3, parameters={"lean": 0.7, "modulus": 0.3e6})
    _agrees(fleet, 1, run)


def test_loops_of_each_robot() -> None:
    eqs = pliant.derive(pliant.load_text(LOOP))
    spans = np.array([0.2, 0.22, 0.25])
    fleet = pliant.Fleet(eqs, 3, method="semi_implicit", step=1e-3, parameters={"span": spans})
    fleet.step(n=100)
    run = pliant.simulate(eqs, 0.1, method="semi_implicit", step=1e-3, parameters={"span": 0.25})
    _agrees(fleet, 2, run)
    here = eqs.at(parameters={"span": 0.25})
    assert np.abs(here.constraints(fleet.q[2], fleet.v[2]).value).max() < 1e-13
    force = here.forward_dynamics(fleet.q[2], fleet.v[2])[1][eqs.constraint_names.index("pin.x")]
    assert np.isclose(abs(fleet.outputs()["force"][2]), abs(force), rtol=1e-9)
    assert abs(force) > 1e-3


def test_many_calls_are_one(arms: pliant.Fleet) -> None:
    arms.reset()
    arms.step(n=60)
    q = arms.q.copy()
    arms.reset()
    for _ in range(20):
        arms.step(n=3)
    assert np.array_equal(arms.q, q)


def test_threads_and_neighbours_change_nothing(arm: pliant.Equations, arms: pliant.Fleet) -> None:
    arms.reset()
    arms.step({"torque": 0.01}, n=60)
    masses = np.linspace(0.1, 0.4, 37)[[36, 5]]
    other = pliant.Fleet(arm, 2, method="semi_implicit", step=1e-3, parameters={"mass": masses}, threads=1)
    other.step({"torque": 0.01}, n=60)
    assert np.array_equal(other.q, arms.q[[36, 5]])


def test_reset_of_some(arms: pliant.Fleet) -> None:
    arms.reset()
    start = arms.q.copy()
    arms.step({"torque": 0.0}, n=10)
    moved = arms.q.copy()
    mask = np.zeros(37, dtype=bool)
    mask[[3, 30]] = True
    arms.reset(mask)
    assert np.array_equal(arms.q[mask], start[mask])
    assert np.array_equal(arms.q[~mask], moved[~mask])
    assert np.array_equal(arms.time == 0, mask)


def test_a_robot_that_diverges_fails_alone(arms: pliant.Fleet) -> None:
    arms.reset()
    torque = np.zeros(37)
    torque[7] = 1e200
    arms.step({"torque": torque}, n=5)
    assert np.flatnonzero(arms.failed).tolist() == [7]
    assert np.isfinite(arms.q).all()
    assert arms.time[7] < arms.time[8]
    arms.reset([7])
    arms.step({"torque": 0.0}, n=5)
    assert not arms.failed.any()


def test_a_start_with_a_row_for_each(arms: pliant.Fleet) -> None:
    q, v = np.random.default_rng(1).normal(0, 0.1, (2, 37, 4))
    arms.reset(start=(q, v))
    assert np.array_equal(arms.q, q)
    assert np.array_equal(arms.v, v)
    arms.reset(start="initial")
    assert not np.array_equal(arms.q, q)


def test_outputs_and_frames(arm: pliant.Equations, arms: pliant.Fleet) -> None:
    arms.reset()
    arms.step({"torque": 0.02}, n=100)
    found = arms.outputs(["place", "pull", "energy"])
    here = arm.at(parameters={"mass": 0.4}, inputs={"torque": 0.02})
    q, v = arms.q[36], arms.v[36]
    a, _ = here.forward_dynamics(q, v)
    tip = here.frame("tip.tip", q, v, a)
    assert found["place"].shape == (37, 3)
    assert found["energy"].shape == (37,)
    assert np.allclose(found["place"][36], tip.position, rtol=0, atol=1e-13)
    assert np.allclose(found["pull"][36], tip.acceleration, rtol=1e-9, atol=1e-9)
    assert np.isclose(found["energy"][36], here.energy(q, v).total, rtol=1e-10)
    pose = arms.frame("tip.tip")
    assert np.allclose(pose.position[36], tip.position, rtol=0, atol=1e-13)
    assert np.allclose(pose.rotation[36], tip.rotation, rtol=0, atol=1e-13)


def test_single_precision(arm: pliant.Equations) -> None:
    fleet = pliant.Fleet(arm, 9, method="semi_implicit", step=1e-3, precision="single")
    fleet.step({"pressure": np.linspace(0, 20e3, 9)}, n=1000)
    assert fleet.q.dtype == np.float32
    run = pliant.simulate(arm, 1.0, method="semi_implicit", step=1e-3, inputs={"pressure": 20e3})
    assert np.abs(fleet.q[8] - run.final.q).max() < 1e-4 * np.abs(run.q).max()
    assert np.isclose(fleet.time[0], 1.0, rtol=1e-12)


@pytest.mark.parametrize("module", ["torch", "jax.numpy"])
def test_arrays_of_others(arms: pliant.Fleet, module: str) -> None:
    other = pytest.importorskip(module)
    arms.reset()
    if module == "torch":
        seen = other.from_dlpack(arms.q)
        arms.step(other.full((37, 2), 0.001, dtype=other.float64), n=1)
        assert np.array_equal(seen.numpy(), arms.q)  # the same memory
    else:
        arms.step(other.full((37, 2), 0.001), n=1)
    assert np.allclose(arms.inputs, 0.001)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"count": 0}, "count must be an integer of at least 1"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"precision": "half"}, "unknown precision 'half'"),
        ({"method": None, "step": None}, "needs a fixed step"),
        ({"method": "newmark", "precision": "single"}, "'newmark' has no straight-line code.*double precision only"),
        ({"method": pliant.Rosenbrock(), "step": None}, "needs a fixed step"),
        ({"inputs": ["torqe"]}, "unknown input 'torqe'"),
        ({"parameters": {"mass": [1.0, 2.0]}}, r"'mass' must be a number or an array of 3; its shape is \(2,\)"),
        ({"parameters": {"modulus": [1e5, 1.0, 1e5]}}, "robot 1: .*modulus"),
    ],
)
def test_refusals(arm: pliant.Equations, given: dict, said: str) -> None:
    options = {"count": 3, "method": "implicit", "step": 1e-3} | given
    with pytest.raises(ValueError, match=said):
        pliant.Fleet(arm, options.pop("count"), **options)


def test_refusals_of_steps(arms: pliant.Fleet) -> None:
    for inputs, said in ((np.zeros(3), "37 x 2"), ({"torque": np.zeros(3)}, "37"), ({"tork": 0.0}, "unknown input")):
        with pytest.raises(ValueError, match=said):
            arms.step(inputs)
    for mask, said in (
        (np.zeros(3, bool), "37 booleans"),
        ([37], "range from 0 to 36"),
        ([0.5], "booleans or indices"),
    ):
        with pytest.raises(ValueError, match=said):
            arms.reset(mask)
    with pytest.raises(ValueError, match="energy dissipated"):
        arms.outputs("wasted")


def test_says_that_it_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    eqs = pliant.derive(pliant.load("pendulum"))
    monkeypatch.setattr("pliant.fleet.cpu.PATIENCE", 0.01)
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    pliant.Fleet(eqs, 3, step=1e-3)
    assert "compiling code for a fleet of pendulum" in capsys.readouterr().err


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    eqs = pliant.derive(pliant.load("pendulum"))
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.setattr("pliant.engine.libraries.find_compiler", lambda: None)
    with pytest.raises(ValueError, match=r"no C compiler found.*pip install 'pliant\[compiler\]'"):
        pliant.Fleet(eqs, 3, step=1e-3)


def test_large_robots_and_those_with_contacts_are_stepped_by_the_runtime() -> None:
    for name, said in (("hopper", "contacts"), ("cantilever", "120 rates"), ("cloth", "frames")):
        eqs = pliant.derive(pliant.load(name))
        assert pliant.Fleet(eqs, 2, step=1e-3).engine == "runtime"
        with pytest.raises(ValueError, match=f"{said}.*double precision only"):
            pliant.Fleet(eqs, 3, step=1e-3, precision="single")
