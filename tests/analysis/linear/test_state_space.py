"""Linearizations against formulas and against differences of the nonlinear equations."""

import numpy as np
import pytest
from scipy.signal import lsim

from pliant import State, derive, equilibrium, linearize, load, load_text, modes, simulate
from pliant.engine.outputs import evaluate_outputs
from pliant.language.arguments import ArgumentError
from pliant.language.time_series import TimeSeries

CART_POLE = """
pliant: 1
parameters: {push: {value: 0 N, input: true}, kick: {value: 0 N*m, input: true}}
bodies:
  cart: {mass: 2 kg}
  pole:
    mass: 0.5 kg
    center_of_mass: [0, 0, 0.3 m]
    inertia: {principal: [0.01, 0.01, 0.001]}
    frames: {tip: {position: [0, 0, 0.6 m]}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {input: =push, damper: 0.4}}
  hinge: {type: revolute, parent: cart, child: pole, axis: y, angle: {input: =kick + 0.1 m*push}}
outputs:
  tip: {frame: pole.tip, quantity: position}
  speed: {frame: pole.tip, quantity: velocity, component: x}
  felt: {frame: pole.tip, quantity: acceleration, component: x}
"""


def test_cart_pole_has_the_textbook_matrices():
    space = linearize(derive(load_text(CART_POLE)), at=State(np.zeros(2), np.zeros(2)))
    M = np.array([[2.5, 0.5 * 0.3], [0.5 * 0.3, 0.01 + 0.5 * 0.09]])
    K = np.array([[0, 0], [0, -0.5 * 9.81 * 0.3]])
    C = np.diag([0.4, 0.0])
    inputs = np.array([[1.0, 0.0], [0.1, 1.0]])
    np.testing.assert_allclose(space.A[:2], np.hstack([np.zeros((2, 2)), np.eye(2)]), atol=1e-12)
    np.testing.assert_allclose(space.A[2:], -np.linalg.solve(M, np.hstack([K, C])), atol=1e-10)
    np.testing.assert_allclose(space.B[2:], np.linalg.solve(M, inputs), atol=1e-10)
    assert space.inputs == ("push", "kick")
    assert space.outputs == ("tip.x", "tip.y", "tip.z", "speed", "felt")


def _by_differences(eqs, state, independent, h=1e-6):
    """A by central differences of the constrained motion: independent values are moved, the others follow."""
    chosen = [eqs.rates.index(name) for name in independent]
    others = [i for i in range(len(eqs.rates)) if i not in chosen]

    def rate(y, y_dot):
        q = state.q.copy()
        q[chosen] = y
        for _ in range(30):
            c = eqs.constraints(q)
            if not others:
                break
            q[others] -= np.linalg.solve(c.jacobian.toarray()[:, others], c.value)
        v = np.zeros(len(eqs.rates))
        v[chosen] = y_dot
        J = eqs.constraints(q, v).jacobian.toarray()
        if others:
            v[others] = -np.linalg.solve(J[:, others], J[:, chosen] @ y_dot)
        a, _ = eqs.forward_dynamics(q, v)
        return np.concatenate([y_dot, a[chosen]])

    x = np.concatenate([state.q[chosen], state.v[chosen]])
    f = len(chosen)
    columns = []
    for k in range(2 * f):
        step = np.zeros(2 * f)
        step[k] = h
        columns.append((rate((x + step)[:f], (x + step)[f:]) - rate((x - step)[:f], (x - step)[f:])) / (2 * h))
    return np.array(columns).T


@pytest.mark.parametrize("independent", [("q1",), ("q3",)])
def test_moving_four_bar_is_linearized_exactly(independent):
    eqs = derive(load("four_bar"))
    q, _ = eqs.initial_state()
    J = eqs.constraints(q).jacobian.toarray()
    v = np.array([2.0, 0.0, 0.0])
    v[1:] = -np.linalg.solve(J[:, 1:], J[:, 0] * 2.0)
    state = State(q, v)
    space = linearize(eqs, at=state, independent=independent)
    np.testing.assert_allclose(space.A, _by_differences(eqs, space.state, independent), rtol=1e-5, atol=1e-4)


def test_a_spinning_body_is_linearized_exactly():
    eqs = derive(load("tumbling_body"))
    q, v = eqs.initial_state()
    bound = eqs.binding
    space = linearize(eqs, at=State(q, v))
    n, h = len(v), 1e-6
    for k in range(n):
        e = np.zeros(n)
        e[k] = h
        by_q = (bound.forward(0, bound.increment(q, e), v)[0] - bound.forward(0, bound.increment(q, -e), v)[0]) / (
            2 * h
        )
        by_v = (bound.forward(0, q, v + e)[0] - bound.forward(0, q, v - e)[0]) / (2 * h)
        np.testing.assert_allclose(space.A[n:, k], by_q, atol=1e-6)
        np.testing.assert_allclose(space.A[n:, n + k], by_v, atol=1e-6)
    # the increments of a rotating frame turn with it
    w = v[3:]
    np.testing.assert_allclose(space.A[3:6, 3:6], -np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]))


TOP = """
pliant: 1
bodies:
  top: {mass: 2, center_of_mass: [0.05, 0, 0.1], inertia: {principal: [0.02, 0.03, 0.015]},
        frames: {tip: {position: [0.1, 0.05, -0.15]}}}
joints:
  flight: {type: free, child: top, x: {damper: 7}, y: {damper: 4}, z: {damper: 9},
           orientation: {initial: {axis: y, angle: 0.3}}}
constraints: {pivot: {between: [world, top.tip], components: position, holds: as at start}}
outputs: {speed: {frame: top, quantity: velocity}, pull: {constraint: pivot}}
"""


def test_a_top_on_its_tip_is_linearized_exactly():
    """Free rotations, constraints and motion at once: rates of translations follow from rotations, and dampers feel them."""
    eqs = derive(load_text(TOP))
    bound, (q0, _) = eqs.binding, eqs.initial_state()
    turn = np.array([1.0, -2.0, 3.0])

    def on_its_tip(change, rates):
        q = bound.increment(q0, np.concatenate([np.zeros(3), change]))
        q[:3] -= eqs.constraints(q).value  # the tip moves as the body does
        J = eqs.constraints(q).jacobian.toarray()
        return q, np.concatenate([-np.linalg.solve(J[:, :3], J[:, 3:] @ rates), rates])

    def acceleration(change, rates):
        return eqs.forward_dynamics(*on_its_tip(change, rates))[0][3:]

    space = linearize(eqs, at=State(*on_its_tip(np.zeros(3), turn)), independent=eqs.rates[3:])
    for k, step in enumerate(1e-6 * np.eye(3)):
        by_q = (acceleration(step, turn) - acceleration(-step, turn)) / 2e-6
        by_v = (acceleration(0 * step, turn + step) - acceleration(0 * step, turn - step)) / 2e-6
        np.testing.assert_allclose(space.A[3:, k], by_q, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(space.A[3:, 3 + k], by_v, rtol=1e-6, atol=1e-6)
        # increments turn with the body
        np.testing.assert_allclose(space.A[:3, k], -np.cross(turn, 1e6 * step), atol=1e-12)
    np.testing.assert_array_equal(space.A[:3, 3:], np.eye(3))

    def outputs(change, rates):
        q, v = on_its_tip(change, rates)
        a, multipliers = eqs.forward_dynamics(q, v)
        out = evaluate_outputs(eqs.model, bound, 0.0, q, v, a, multipliers, 0.0)
        return np.concatenate([out["speed"], out["pull"]])

    for k, step in enumerate(1e-6 * np.eye(3)):
        by_q = (outputs(step, turn) - outputs(-step, turn)) / 2e-6
        by_v = (outputs(0 * step, turn + step) - outputs(0 * step, turn - step)) / 2e-6
        np.testing.assert_allclose(space.C[:, k], by_q, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(space.C[:, 3 + k], by_v, rtol=1e-6, atol=1e-5)


def test_output_rows_match_differences():
    eqs = derive(load_text(CART_POLE))
    q, v = np.array([0.1, 0.7]), np.array([0.3, -1.1])
    space = linearize(eqs, at=State(q, v))

    def outputs(x, u=(0.0, 0.0)):
        bound = eqs.at(inputs=dict(zip(eqs.inputs, u, strict=True))).binding
        a, multipliers = bound.forward(0.0, x[:2], x[2:])
        out = evaluate_outputs(eqs.model, bound, 0.0, x[:2], x[2:], a, multipliers, 0.0)
        return np.array([*out["tip"], out["speed"], out["felt"]])

    x, h = np.concatenate([q, v]), 1e-6
    for k in range(4):
        e = h * np.eye(4)[k]
        np.testing.assert_allclose(space.C[:, k], (outputs(x + e) - outputs(x - e)) / (2 * h), atol=2e-7)
    for k in range(2):
        e = 1e-3 * np.eye(2)[k]
        np.testing.assert_allclose(space.D[:, k], (outputs(x, e) - outputs(x, -e)) / 2e-3, atol=1e-9)


def test_python_control_takes_it():
    control = pytest.importorskip("control")
    eqs = derive(load("cart_pole"))
    system = linearize(eqs, at=equilibrium(eqs).state).to_control()
    assert isinstance(system, control.StateSpace)
    assert system.nstates == 4


def test_wrong_choice_of_independent_coordinates_is_refused():
    from pliant.analysis.numerics.saddle import PartitionError

    eqs = derive(load("four_bar"))
    with pytest.raises(PartitionError, match="1 independent rates here; 2 were chosen"):
        linearize(eqs, independent=("q1", "q2"))


PUSHED_CRANE = """
pliant: 1
parameters: {u: {value: 0 UNIT, input: true}, torque: {value: 0 N*m, input: true}}
bodies:
  trolley: {mass: 5 kg}
  load: {mass: 20 kg, center_of_mass: [0, 0, -2 m], shape: {type: sphere, radius: 20 cm}, frames: {low: {position: [0, 0, -3 m]}}}
joints:
  rail: {type: prismatic, child: trolley, axis: xMOTION}
  rope: {type: revolute, parent: trolley, child: load, axis: y, angle: {input: =torque, damper: 0.7}}
CONSTRAINT
outputs:
  low: {frame: load.low, quantity: position}
  felt: {frame: load.low, quantity: acceleration, component: x}
"""


def pushed_crane(by: str, law: str = "2*u"):
    unit = {"acceleration": "m/s^2", "rate": "m/s"}.get(by, "m")
    motion = f", displacement: {{motion: ={law}}}" if by == "motion" else ""
    constraint = (
        f"constraints: {{drive: {{between: [world, trolley], components: [x], {by}: ={law}}}}}" if not motion else ""
    )
    text = PUSHED_CRANE.replace("UNIT", unit).replace("MOTION", motion).replace("CONSTRAINT", constraint)
    return derive(load_text(text))


@pytest.mark.parametrize("by", ["acceleration", "rate", "motion", "position"])
def test_what_an_input_prescribes_is_a_state_and_its_acceleration_an_input(by):
    """Against differences of the accelerations with the drive's acceleration given, about a moving state."""
    eqs, free = pushed_crane(by), pushed_crane("acceleration")
    q, v = np.array([0.4, 0.3]), np.array([0.5, -0.8])
    # the input has the position and the rate of this state
    moving = {"u": TimeSeries(np.zeros(1), np.array([[0.2, 0.25]]))}
    inputs = {"acceleration": {"u": 0.0}, "rate": {"u": 0.25}}.get(by, moving)
    space = linearize(eqs, at=State(q, v), inputs=inputs)
    assert space.states == ("rail", "rope", "d(rail)/dt", "d(rope)/dt")
    assert space.inputs == ({"acceleration": "u", "rate": "d(u)/dt"}.get(by, "d2(u)/dt2"), "torque")

    def acceleration(x, u):
        return free.forward_dynamics(x[:2], x[2:], inputs={"u": u[0], "torque": u[1]})[0]

    def output(x, u):
        a = acceleration(x, u)
        frame = free.frame("load.low", x[:2], x[2:], a)
        return np.concatenate([frame.position, frame.acceleration[:1]])

    x, u, h = np.concatenate([q, v]), np.zeros(2), 1e-6
    for function, by_x, by_u in ((acceleration, space.A[2:], space.B[2:]), (output, space.C, space.D)):
        for k in range(4):
            d = h * np.eye(4)[k]
            np.testing.assert_allclose(by_x[:, k], (function(x + d, u) - function(x - d, u)) / (2 * h), atol=1e-6)
        for k in range(2):
            d = h * np.eye(2)[k]
            np.testing.assert_allclose(by_u[:, k], (function(x, u + d) - function(x, u - d)) / (2 * h), atol=1e-6)
    assert space.B[2, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("by", ["motion", "position"])
def test_a_motion_that_is_no_multiple_of_its_input(by):
    """The rail follows the square of the input: its rates and accelerations depend on the input and on its rate."""
    q, v = np.array([0.4, 0.3]), np.array([0.5, -0.8])
    root = np.sqrt(q[0])
    moving = {"u": TimeSeries(np.zeros(1), np.array([[root, v[0] / (2 * root)]]))}
    space = linearize(pushed_crane(by, "u^2/(1 m)"), at=State(q, v), inputs=moving)
    free = pushed_crane("acceleration")

    def acceleration(x, u):
        at = np.sqrt(x[0])
        needed = 2 * (x[2] / (2 * at)) ** 2 + 2 * at * u[0]
        return free.forward_dynamics(x[:2], x[2:], inputs={"u": needed / 2, "torque": u[1]})[0]

    x, u, h = np.concatenate([q, v]), np.zeros(2), 1e-6
    for k, d in enumerate(h * np.eye(4)):
        np.testing.assert_allclose(
            space.A[2:, k], (acceleration(x + d, u) - acceleration(x - d, u)) / (2 * h), atol=1e-6
        )
    for k, d in enumerate(h * np.eye(2)):
        np.testing.assert_allclose(
            space.B[2:, k], (acceleration(x, u + d) - acceleration(x, u - d)) / (2 * h), atol=1e-6
        )


def test_the_linear_system_predicts_a_commanded_run():
    """A small pulse of acceleration: the motion is that of the linear system."""
    eqs = pushed_crane("acceleration")
    space = linearize(eqs, at=State(np.zeros(2), np.zeros(2)))
    time = np.linspace(0, 1, 101)
    pulse = 1e-3 * np.sin(np.pi * time) ** 2
    run = simulate(eqs, 1.0, inputs={"u": lambda t: 1e-3 * np.sin(np.pi * t) ** 2}, rtol=1e-9, atol=1e-14, save_at=time)
    B = space.B[:, :1]
    _, _, x = lsim((space.A, B, np.eye(4), np.zeros((4, 1))), pulse, time)
    np.testing.assert_allclose(run["rope"].values, x[:, 1], atol=2e-4 * np.max(np.abs(x[:, 1])))
    np.testing.assert_allclose(run["rail"].values, x[:, 0], atol=2e-4 * np.max(np.abs(x[:, 0])))


def test_the_state_that_an_acceleration_led_to_is_kept():
    space = linearize(pushed_crane("acceleration"), at={"rail": 1.7, "rope": 0.0})
    np.testing.assert_allclose(space.state.q, [1.7, 0.0])


def test_a_position_is_no_input_of_the_linear_system():
    eqs = pushed_crane("motion")
    with pytest.raises(ValueError, match=r"'u' prescribes a position.*'d2\(u\)/dt2' in its place.*`acceleration: =u`"):
        linearize(eqs, input_names=["u"])
    assert linearize(eqs, input_names=["d2(u)/dt2"]).B.shape == (4, 1)


def test_one_input_may_move_several_things():
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {u: {value: 0 m, input: true}, w: {value: 0 m, input: true}}
bodies: {a: {mass: 1 kg}, b: {mass: 2 kg}}
joints:
  one: {type: prismatic, child: a, axis: x, displacement: {motion: =u}}
  two: {type: prismatic, child: b, axis: x, displacement: {motion: MOTION}}
"""
    space = linearize(derive(load_text(text.replace("MOTION", "=3*u"))), input_names=["d2(u)/dt2"])
    assert len(space.independent) == 1
    ratio = 1.0 if space.independent == ("one",) else 3.0
    np.testing.assert_allclose(space.B, [[0.0], [ratio]], atol=1e-12)
    alone = text.replace(", displacement: {motion: MOTION}", "").replace("=u}", "=u + w}")
    with pytest.raises(ValueError, match="do not prescribe motions independently"):
        linearize(derive(load_text(alone)))


def test_outputs_without_a_derivative_are_left_out_with_a_note():
    """Angle and plane of a straight arc are rejected if requested by name."""
    eqs = derive(load("three_section_arm@experiment_2"))
    space = linearize(eqs, at="initial")
    assert space.outputs == tuple(f"{name}.{axis}" for name in ("tip", "tip_1", "tip_2") for axis in "xyz")
    assert np.all(np.isfinite(space.C))
    assert any(
        "'angle_1' has no derivative" in note and "omitted" in note for note in "; ".join(space.remarks).split("; ")
    )
    assert linearize(eqs, at="initial", output_names=["tip"]).outputs == ("tip.x", "tip.y", "tip.z")
    with pytest.raises(ArgumentError, match="'plane_2' has no derivative in this state"):
        linearize(eqs, at="initial", output_names=["plane_2"])
    bent = linearize(eqs, at={"s1.l11": 0.01, "s2.l21": 0.01, "s3.l31": 0.01})
    assert "angle_1" in bent.outputs


def test_a_state_that_moves_unsteadily_has_the_remark_of_modes() -> None:
    """A pendulum on a spinning shaft: steady at the angle at which the centrifugal force balances its weight only."""
    eqs = derive(
        load_text("""
pliant: 1
world: {gravity: [0, 0, -9.81 m/s^2]}
bodies:
  shaft: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}
  bob: {mass: 1 kg, center_of_mass: [0, 0, -1 m], inertia: {principal: [0, 0, 0]}}
joints:
  spin: {type: revolute, child: shaft, axis: z, angle: {rate: 5 rad/s}}
  hinge: {type: revolute, parent: shaft, child: bob, axis: y}
""")
    )
    steady = float(np.arccos(9.81 / 25))
    for angle, words in ((steady, False), (0.3, True)):
        at = {"hinge": angle, "d(spin)/dt": 5.0}
        for remarks in (linearize(eqs, at=at).remarks, modes(eqs, at=at).remarks):
            assert any("moves ('spin' at 5 in SI units), but not steadily" in x for x in remarks) == words
