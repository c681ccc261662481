"""States set during a run: resets and impacts, on the constraints, by every integrator, with events, controllers and saving."""

import numpy as np
import pytest

import pliant
from pliant import Event, derive, load, load_text, simulate
from pliant.language.arguments import ArgumentError

GRAVITY = 9.81
BALL = """
pliant: 1
parameters: {push: {value: 0 N, input: true}}
bodies: {ball: {mass: 0.2 kg}}
joints: {drop: {type: prismatic, child: ball, axis: z, displacement: {initial: 1 m, input: =push}}}
"""
TWO_LINKS = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies:
  upper:
    mass: 2 kg
    center_of_mass: [0, 0, -0.4 m]
    shape: {type: slender_rod, length: 0.8 m, axis: z}
    frames: {end: {position: [0, 0, -0.8 m]}}
  lower:
    mass: 1 kg
    center_of_mass: [0, 0, -0.3 m]
    shape: {type: slender_rod, length: 0.6 m, axis: z}
    frames: {end: {position: [0, 0, -0.6 m]}}
joints:
  hip: {type: revolute, child: upper, axis: y, angle: {initial: 0.3, rate: 1.5}}
  knee: {type: revolute, parent: upper.end, child: lower, axis: y, angle: {initial: -0.8, rate: -2}}
"""
RESTITUTION = 0.8


@pytest.fixture(scope="module")
def ball():
    return derive(load_text(BALL))


@pytest.fixture(scope="module")
def links():
    return derive(load_text(TWO_LINKS))


def bounces(times, share=RESTITUTION):
    """An event that throws the ball back and notes when."""

    def then(now):
        times.append(now.t)
        now.v["drop"] = -share * now.v["drop"]

    return Event(lambda now: now.q[0], direction="falling", then=then, name="bounce")


def bounce_times(count, share=RESTITUTION):
    first = np.sqrt(2 / GRAVITY)
    return first + 2 * first * np.concatenate([[0.0], np.cumsum(share ** np.arange(1.0, count))])


def once(change, after=0.0):
    """A mid-step function that acts at the first step that ends after a time, and notes it."""

    def act(now):
        if now.t >= after and "when" not in now.memory:
            now.memory["when"] = when.append(now.t)
            change(now)

    when: list[float] = []
    act.when = when
    return act


def balance(run):
    energy = run.energy
    return (energy["total"] + energy["dissipated"] - energy["supplied"] - energy["added"]).values


@pytest.mark.parametrize("method", [None, "explicit", "implicit", "generalized_alpha", "newmark"])
def test_a_ball_bounces_when_the_closed_form_says(ball, method):
    times = []
    run = simulate(ball, 3.0, method=method, events=[bounces(times)])
    np.testing.assert_allclose(times, bounce_times(6), atol=1e-11)
    assert run.status == "completed"
    assert run.q.min() > -1e-12
    last = times[-1]
    speed = RESTITUTION**6 * GRAVITY * times[0]
    np.testing.assert_allclose(run.final.v[0], speed - GRAVITY * (3 - last), atol=1e-10)
    np.testing.assert_allclose(balance(run), balance(run)[0], atol=1e-10)
    # what each bounce takes
    taken = 0.2 * GRAVITY * (RESTITUTION**12 - 1)
    assert run.energy["added"].values[-1] == pytest.approx(taken, rel=1e-9)
    assert not any("energy" in note for note in run.remarks)


def test_bounces_of_the_semi_implicit_method_converge_at_its_order(ball):
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        times = []
        simulate(ball, 1.5, method="semi_implicit", step=step, events=[bounces(times)])
        errors.append(abs(times[1] - bounce_times(2)[1]))
    assert errors[0] > 1.6 * errors[1] > 1.6**2 * errors[2]


def test_a_bounce_inside_one_long_step_is_not_missed(ball):
    """Steps ten times as long as the flights: it starts on the floor, and each flight ends within the step it begins in."""
    times = []
    state = pliant.State(np.array([0.0]), np.array([GRAVITY * 0.025]))
    simulate(ball, 1.0, start=state, method="explicit", step=0.5, events=[bounces(times, 1.0)])
    np.testing.assert_allclose(times, 0.05 * np.arange(1, 20), atol=1e-9)


def test_impacts_that_accumulate_end_the_run_with_a_word(ball):
    times = []
    run = simulate(ball, 5.0, events=[bounces(times, 0.5)], on_failure="return")
    assert run.status == "failed"
    assert "'bounce' recurs at ever shorter intervals" in run.message
    assert run.time[-1] == pytest.approx(3 * np.sqrt(2 / GRAVITY), abs=1e-4)  # the sum of all flights
    assert run.q.min() > -1e-9


def test_of_several_events_the_first_comes_first_and_simultaneous_ones_come_together():
    text = """
pliant: 1
bodies: {left: {mass: 1 kg}, right: {mass: 2 kg}, late: {mass: 1 kg}}
joints:
  a: {type: prismatic, child: left, axis: z, displacement: {initial: 1 m}}
  b: {type: prismatic, child: right, axis: z, displacement: {initial: 1 m}}
  c: {type: prismatic, child: late, axis: z, displacement: {initial: 1.5 m}}
"""
    seen = []

    def event(name):
        def then(now):
            seen.append((name, now.t))
            now.v[name] *= -1

        return Event(lambda now: now.q[name], direction="falling", then=then, name=name)

    first, late = np.sqrt(2 / GRAVITY), np.sqrt(3 / GRAVITY)
    simulate(derive(load_text(text)), 0.7, method="explicit", step=0.35, events=[event("c"), event("b"), event("a")])
    assert [name for name, _ in seen] == ["b", "a", "c"]
    np.testing.assert_allclose([t for _, t in seen], [first, first, late], atol=1e-10)


@pytest.mark.parametrize("method", ["explicit", "implicit", "generalized_alpha", "newmark", "semi_implicit"])
def test_a_mid_step_reset_restarts_every_method(ball, method):
    """After a reset the run is the one that starts there."""
    step = 0.01 if method == "semi_implicit" else None

    def change(now):
        now.q[0], now.v[0] = 3.0, 2.0

    act = once(change, after=0.2)
    run = simulate(ball, 1.0, method=method, step=step, mid_step=act, save_at=[0.1, 1.0])
    (when,) = act.when
    rest = 1.0 - when
    error = 0.5 * GRAVITY * rest * 0.01 if step else 0.0  # of the first order
    assert run.q[-1, 0] == pytest.approx(3 + 2 * rest - 0.5 * GRAVITY * rest**2, abs=1e-9 + error)
    assert run.q[0, 0] == pytest.approx(1 - 0.5 * GRAVITY * 0.01, abs=1e-9 + (0.01 if step else 0))


def test_a_state_saved_when_it_is_set_is_the_one_that_was_set(ball):
    act = once(lambda now: now.v.__setitem__(0, 1.0), after=0.2)
    run = simulate(ball, 0.4, method="explicit", step=0.1, mid_step=act, save_at=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(run.v[:, 0], [-0.1 * GRAVITY, 1.0, 1 - 0.1 * GRAVITY], atol=1e-12)
    np.testing.assert_allclose(np.diff(run.energy["added"].values)[1], 0.0, atol=1e-15)
    np.testing.assert_allclose(run.dataset["a"].values[:, 0], -GRAVITY, atol=1e-12)


def test_added_energy_is_in_files_tables_and_answers(ball, tmp_path):
    run = simulate(ball, 1.0, events=[bounces([])], out=tmp_path / "run.nc", save_every=0.1)
    back = pliant.load_result(tmp_path / "run.nc")
    np.testing.assert_array_equal(back.energy["added"], run.energy["added"])
    run.save(tmp_path / "run.csv")
    assert "added [J]" in (tmp_path / "run.csv").read_text().splitlines()[0]
    plain = simulate(ball, 0.2, save_every=0.1)
    assert "added" not in plain.energy


def test_a_rate_that_is_set_leaves_the_others_as_they_are(links):
    act = once(lambda now: now.v.__setitem__("hip", 0.0))
    run = simulate(links, 0.02, method="explicit", step=0.01, mid_step=act, save_at=[0.01])
    alone = simulate(links, 0.02, method="explicit", step=0.01, save_at=[0.01])
    assert run.v[0, 0] == 0
    assert run.v[0, 1] == alone.v[0, 1]


def test_an_impact_is_transmitted_by_inertia(links):
    """An impulse about the hip alone: that of the knee stays, and what the coupled links do follows from M."""
    act = once(lambda now: now.impact({"hip": 0.0}))
    run = simulate(links, 0.02, method="explicit", step=0.01, mid_step=act, save_at=[0.01])
    before = simulate(links, 0.02, method="explicit", step=0.01, save_at=[0.01])
    M = links.mass_matrix(run.q[0]).toarray()
    impulse = M @ (run.v[0] - before.v[0])
    assert run.v[0, 0] == pytest.approx(0, abs=1e-12)
    assert impulse[1] == pytest.approx(0, abs=1e-12 * abs(impulse[0]))
    assert abs(run.v[0, 1] - before.v[0, 1]) > 0.1


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_a_bounce_of_a_frame_keeps_what_the_wall_cannot_change(links, share):
    """The impulse has no moment about the point that was hit, and at restitution 1 no energy is lost."""
    normal = np.array([-3.0, 0.0, 1.0])
    act = once(lambda now: now.bounce("lower.end", normal, share))
    run = simulate(links, 0.02, method="explicit", step=0.01, mid_step=act, save_at=[0.01])
    before = simulate(links, 0.02, method="explicit", step=0.01, save_at=[0.01])
    n = normal / np.linalg.norm(normal)
    fast, slow = (links.frame("lower.end", x.q[0], x.v[0]).velocity @ n for x in (before, run))
    assert slow == pytest.approx(-share * fast, abs=1e-12)
    J = links.frame_jacobian("lower.end", run.q[0])[:3]
    impulse = links.mass_matrix(run.q[0]) @ (run.v[0] - before.v[0])
    along = J.T @ n
    np.testing.assert_allclose(impulse, along * (impulse @ along) / (along @ along), atol=1e-12)
    lost = run.energy["kinetic"].values[0] - before.energy["kinetic"].values[0]
    assert lost == pytest.approx(0.0, abs=1e-12) if share == 1 else lost < -1e-3


FIVE_BAR = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies:
  a:
    mass: 1 kg
    center_of_mass: [0.5 m, 0, 0]
    shape: {type: slender_rod, length: 1 m, axis: x}
    frames: {end: {position: [1 m, 0, 0]}}
  b:
    mass: 2 kg
    center_of_mass: [0.5 m, 0, 0]
    shape: {type: slender_rod, length: 1 m, axis: x}
    frames: {end: {position: [1 m, 0, 0]}}
  c:
    mass: 1 kg
    center_of_mass: [0.5 m, 0, 0]
    shape: {type: slender_rod, length: 1 m, axis: x}
    frames: {end: {position: [1 m, 0, 0]}}
  ground: {}
  d:
    mass: 1 kg
    center_of_mass: [0.5 m, 0, 0]
    shape: {type: slender_rod, length: 1 m, axis: x}
    frames: {end: {position: [1 m, 0, 0]}}
joints:
  foot: {type: weld, child: ground, position: [1.2 m, 0, 0]}
  j1: {type: revolute, child: a, axis: z, angle: {initial: 1.9, rate: 1}}
  j2: {type: revolute, parent: a.end, child: b, axis: z, angle: {initial: -1.0, rate: 0.5}}
  j3: {type: revolute, parent: ground, child: c, axis: z, angle: {initial: 1.2}}
  j4: {type: revolute, parent: c.end, child: d, axis: z, angle: {initial: 1.0}}
constraints:
  pin: {between: [b.end, d.end], components: [x, y]}
"""


def test_a_closed_loop_stays_closed_by_impulses_of_the_loop_alone():
    """Five bars: one rate is set, and on the others M (v+ - v-) = J'l."""
    eqs = derive(load_text(FIVE_BAR))
    run = simulate(
        eqs,
        0.02,
        method="explicit",
        step=0.01,
        mid_step=once(lambda now: now.v.__setitem__("j1", -2.0)),
        save_at=[0.01],
    )
    at = eqs.rates.index("j1")
    others = [i for i in range(4) if i != at]
    before = simulate(eqs, 0.02, method="explicit", step=0.01, save_at=[0.01])
    assert run.v[0, at] == -2.0
    np.testing.assert_array_equal(run.q, before.q)
    _, rate, _, J = eqs.binding.constraints(0.01, run.q[0], run.v[0])
    assert np.abs(rate).max() < 1e-12
    M, change = eqs.mass_matrix(run.q[0]).toarray(), run.v[0] - before.v[0]
    assert np.abs(change[others]).max() > 0.1
    own, loop = M[np.ix_(others, others)] @ change[others], J.toarray()[:, others].T
    np.testing.assert_allclose(own - loop @ np.linalg.lstsq(loop, own, rcond=None)[0], 0, atol=1e-11)


def test_an_impact_on_a_closed_loop_is_the_impulse_that_was_asked_for():
    """Five bars again: now the whole M (v+ - v-) is an impulse on one coordinate and one of the loop."""
    eqs = derive(load_text(FIVE_BAR))
    act = once(lambda now: now.impact({"j1": -2.0}))
    run = simulate(eqs, 0.02, method="explicit", step=0.01, mid_step=act, save_at=[0.01])
    before = simulate(eqs, 0.02, method="explicit", step=0.01, save_at=[0.01])
    assert run.v[0, eqs.rates.index("j1")] == pytest.approx(-2.0, abs=1e-12)
    impulse = eqs.mass_matrix(run.q[0]) @ (run.v[0] - before.v[0])
    _, rate, _, J = eqs.binding.constraints(0.01, run.q[0], run.v[0])
    by = np.column_stack([np.eye(4)[eqs.rates.index("j1")], J.toarray().T])
    np.testing.assert_allclose(impulse - by @ np.linalg.lstsq(by, impulse, rcond=None)[0], 0, atol=1e-11)
    assert np.abs(rate).max() < 1e-12


@pytest.mark.parametrize("method", [None, "explicit", "implicit", "generalized_alpha"])
def test_a_mechanism_that_is_stopped_starts_again_from_rest(method):
    """One rate of the four-bar is set to zero, and all are: from there it continues like a run that starts there."""
    eqs = derive(load("four_bar"))
    act = once(lambda now: now.v.__setitem__(0, 0.0), after=0.1)
    run = simulate(eqs, 0.3, method=method, rtol=1e-7, mid_step=act)
    assert run.constraint_error.max() < 1e-9
    np.testing.assert_allclose(balance(run), balance(run)[0], atol=2e-4 * np.ptp(run.energy["potential"].values))
    stopped = simulate(eqs, act.when[0], method=method, rtol=1e-7)
    again = simulate(eqs, 0.3, begin=act.when[0], start=pliant.State(stopped.q[-1], 0 * stopped.v[-1]), rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], again.q[-1], atol=1e-5)


def test_a_position_that_is_set_closes_the_loop():
    eqs = derive(load("four_bar"))
    act = once(lambda now: now.q.__setitem__("q1", now.q["q1"] + 0.1), after=0.1)
    run = simulate(eqs, 0.3, method="explicit", step=0.01, mid_step=act, save_at=[0.09, 0.1, 0.2])
    assert act.when[0] == pytest.approx(0.1)
    assert run.constraint_error.max() < 1e-9
    alone = simulate(eqs, 0.3, method="explicit", step=0.01, save_at=[0.1])
    assert run["q1"].values[1] == pytest.approx(alone["q1"].values[0] + 0.1, abs=1e-12)
    J = eqs.binding.constraints(0.1, run.q[1], run.v[1])
    assert np.abs(J[1]).max() < 1e-9


def test_values_that_contradict_the_loop_are_changed_with_a_word():
    eqs = derive(load("four_bar"))

    def change(now):
        now.v[:] = [1.0, 1.0, 1.0][: len(now.v)]

    run = simulate(eqs, 0.05, method="explicit", step=0.01, mid_step=once(change))
    assert any("were set at t = 0.01 s contradict the constraints" in note for note in run.remarks)
    assert run.constraint_error.max() < 1e-9


def test_a_quaternion_is_normalized_and_a_free_body_turns_on():
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {top: {mass: 1 kg, shape: {type: box, size: [0.1 m, 0.2 m, 0.3 m]}}}
joints: {fly: {type: free, child: top}}
"""
    eqs = derive(load_text(text))
    rotation = next(c for c in eqs.model.coordinates if c.is_rotation)
    part = slice(rotation.q_at, rotation.q_at + 4)

    def change(now):
        now.q[part] = [3.0, 0.0, 0.0, 4.0]
        now.v[rotation.v_at + 2] = 1.0

    run = simulate(eqs, 0.1, method="explicit", step=0.05, mid_step=once(change), save_at=[0.05, 0.1])
    np.testing.assert_allclose(run.q[0, part], [0.6, 0, 0, 0.8], atol=1e-14)
    half = np.arctan2(0.8, 0.6) + 0.5 * 0.05
    np.testing.assert_allclose(run.q[1, part], [np.cos(half), 0, 0, np.sin(half)], atol=1e-12)

    def nothing(now):
        now.q[part] = 0.0

    with pytest.raises(ArgumentError, match=r"quaternion of .* was set to zero"):
        simulate(eqs, 0.1, mid_step=nothing)


@pytest.mark.parametrize("kind", ["{kind: pcs, elements: 2}", "{kind: cosserat, elements: 2}"])
def test_what_a_joint_carries_goes_along(kind):
    """A crank with a rod on it is turned: the rod turns with it, whatever its coordinates are."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {crank: {mass: 1 kg, shape: {type: box, size: [0.1 m, 0.1 m, 0.1 m]}}}
sections: {wire: {shape: circle, radius: 5 mm}}
materials: {rubber: {density: 1100 kg/m^3, youngs_modulus: 5 MPa, poissons_ratio: 0.48}}
joints: {hinge: {type: revolute, child: crank, axis: y}}
rods: {arm: {parent: crank, length: 30 cm, section: wire, material: rubber, model: KIND}}
"""
    eqs = derive(load_text(text.replace("KIND", kind)))
    act = once(lambda now: now.q.__setitem__("hinge", 0.5))
    run = simulate(eqs, 0.002, method="explicit", step=1e-5, mid_step=act, save_at=[1e-5, 0.002])
    tip = eqs.frame("arm.tip", run.q[0], run.v[0]).position
    np.testing.assert_allclose(tip, 0.3 * np.array([np.sin(0.5), 0, np.cos(0.5)]), atol=1e-9)
    assert abs(run.energy["total"].values[-1]) < 1e-12


def test_controllers_and_events_share_a_run(ball):
    """Samples go on through the bounces, see them, and are neither lost nor repeated."""
    seen = []

    class Look:
        sample_time = 0.1

        def start(self, now):
            seen.clear()

        def command(self, now):
            seen.append((now.t, now.v[0]))
            return {"push": 0.0}

    times = []
    simulate(ball, 1.0, method="explicit", step=0.25, events=[bounces(times)], controllers=Look())
    np.testing.assert_allclose([t for t, _ in seen], 0.1 * np.arange(10), atol=1e-12)
    np.testing.assert_allclose(times, bounce_times(1), atol=1e-12)
    after = RESTITUTION * GRAVITY * times[0]
    expected = [-GRAVITY * t if t < times[0] else after - GRAVITY * (t - times[0]) for t, _ in seen]
    np.testing.assert_allclose([v for _, v in seen], expected, atol=1e-12)


def test_an_event_may_set_inputs_and_parameters(ball):
    """A thrust that begins at half the height."""

    def then(now):
        now.inputs["push"] = 0.2 * GRAVITY

    half = Event(lambda now: now.q[0] - 0.5, direction="falling", then=then)
    run = simulate(ball, 1.0, events=[half])
    time = np.sqrt(1 / GRAVITY)
    assert run.q[-1, 0] == pytest.approx(0.5 - GRAVITY * time * (1 - time), abs=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda now: now.v.__setitem__(0, np.nan), "rate of 'drop' was set to nan at t = "),
        (lambda now: now.q.__setitem__(0, np.inf), "position of 'drop' was set to inf"),
        (lambda now: setattr(now, "q", [1.0, 2.0]), "now.q must have 1 entries"),
        (lambda now: setattr(now, "v", [np.nan]), "now.v has a number that is not finite"),
        (lambda now: now.v.__setitem__("dorp", 0.0), "unknown coordinate or rate 'dorp'"),
        (lambda now: setattr(now, "velocity", 0.0), "now.velocity is unknown"),
        (lambda now: setattr(now, "t", 0.0), "now.t cannot be set"),
        (lambda now: setattr(now, "outputs", {}), "now.outputs cannot be set"),
        (lambda now: now.inputs.__setitem__("pusch", 1.0), "pusch"),
        (lambda now: now.parameters.__setitem__("mass", 1.0), "mass"),
        (lambda now: now.impact({"dorp": 0.0}), "unknown rate 'dorp'"),
        (lambda now: now.impact({"drop": np.nan}), "must be a finite number"),
        (lambda now: now.bounce("ball", [0, 0, 0]), "the normal of the wall is zero"),
        (lambda now: now.bounce("ball", [0, 0, 1], 1.5), "between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(ball, change, message):
    with pytest.raises(ValueError, match=message):
        simulate(ball, 0.5, mid_step=change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda now: now.v.__setitem__(0, 0.0), "the state cannot be set by"),
        (lambda now: setattr(now, "q", [0.0]), "the state cannot be set by"),
        (lambda now: now.inputs.__setitem__("push", 1.0), "inputs cannot be set by"),
        (lambda now: now.inputs.update(push=1.0), "inputs cannot be set by"),
        (lambda now: now.parameters.__setitem__("push", 1.0), "parameters cannot be set by"),
        (lambda now: now.impact({"drop": 0.0}), "the state cannot be set by"),
        (lambda now: setattr(now, "forces", 0.0), "now.forces is unknown"),
    ],
)
def test_controllers_and_values_of_events_set_nothing(ball, change, message):
    class Meddler:
        sample_time = 0.1

        def start(self, now):
            pass

        def command(self, now):
            change(now)
            return {}

    with pytest.raises(ValueError, match=message + (" a controller" if message.endswith("by") else "")):
        simulate(ball, 0.5, controllers=Meddler())

    def value(now):
        change(now)
        return 1.0

    with pytest.raises(ValueError, match=message):
        simulate(ball, 0.5, events=[Event(value)])


def test_whole_arrays_and_arithmetic_are_plain(ball):
    """`now.v *= 0.5` and whole arrays act; what is computed from a state is a plain array."""
    kinds = []

    def change(now):
        kinds.append((type(now.q + 1.0), type(2 * now.v), type(now.q.sum())))
        now.v *= 0.5
        now.q = np.array([2.0])

    run = simulate(ball, 0.2, method="explicit", step=0.1, mid_step=once(change), save_at=[0.1])
    assert kinds == [(np.ndarray, np.ndarray, np.float64)]
    np.testing.assert_allclose([run.q[0, 0], run.v[0, 0]], [2.0, -0.05 * GRAVITY], atol=1e-12)


def test_a_prescribed_coordinate_stays_on_its_motion_with_a_word():
    text = """
pliant: 1
bodies: {m: {mass: 3 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {motion: "=0.2 m * sin(2*t/1 s)"}}}
"""
    eqs = derive(load_text(text))
    run = simulate(eqs, 0.5, mid_step=once(lambda now: now.v.__setitem__(0, 5.0), after=0.2), save_every=0.1)
    np.testing.assert_allclose(run["x"].values, 0.2 * np.sin(2 * run.time), atol=1e-6)
    assert any("contradict the constraints and were changed: d(x)/dt from 5" in note for note in run.remarks)


def test_an_event_that_happens_often_is_noted_in_short(ball):
    times = []
    state = pliant.State(np.array([0.0]), np.array([GRAVITY * 0.01]))
    run = simulate(ball, 1.0, start=state, method="explicit", events=[bounces(times, 1.0)])
    np.testing.assert_allclose(times, 0.02 * np.arange(1, len(times) + 1), atol=1e-9)
    np.testing.assert_array_equal(run.events["bounce"], times)
    (text,) = run.remarks
    assert text.count("bounce at t = ") == 20
    assert f"bounce {len(times)} times in total" in text


@pytest.mark.parametrize("value", [lambda now: now.q * np.ones(2), lambda now: np.nan, lambda now: "low"])
def test_values_of_events_are_numbers(ball, value):
    with pytest.raises(ValueError, match=r"value of the event 'event' is .* at t = 0 s"):
        simulate(ball, 0.5, events=[Event(value)])


def test_lost_energy_is_still_remarked_on_where_functions_look_on():
    """A stiff spring in steps that are far too long: the remark is the same with a function that sets nothing."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {m: {mass: 1 kg}}
joints: {x: {type: prismatic, child: m, axis: x, displacement: {initial: 1 m, spring: 1e4}}}
"""
    eqs = derive(load_text(text))
    method = pliant.GeneralizedAlpha(step=0.02)
    plain = simulate(eqs, 2.0, method=method)
    watched = simulate(eqs, 2.0, method=method, mid_step=lambda now: None)
    assert any("of the energy exchanged was lost" in note for note in plain.remarks)
    assert watched.remarks == plain.remarks
    stopped = simulate(eqs, 2.0, method="explicit", mid_step=once(lambda now: now.v.__setitem__(0, 0.0), after=1.0))
    assert not any("energy" in note for note in stopped.remarks)
    assert abs(stopped.energy["added"].values[-1]) > 1.0


def test_a_state_that_is_set_at_the_end_is_the_final_one(ball):
    act = once(lambda now: now.q.__setitem__(0, 7.0), after=0.2)
    run = simulate(ball, 0.2, method="explicit", step=0.1, mid_step=act, save_every=0.1)
    assert run.final.q[0] == 7.0
    assert run.status == "completed"


@pytest.mark.parametrize("method", [None, "explicit", "implicit", "generalized_alpha"])
def test_a_ball_with_something_loose_in_it_never_falls_through_the_floor(method):
    """Only the shell is hit: what hangs inside keeps its velocity, and no bounce is taken twice or missed."""
    text = """
pliant: 1
bodies: {shell: {mass: 0.2 kg}, core: {mass: 0.1 kg}}
joints:
  drop: {type: prismatic, child: shell, axis: z, displacement: {initial: 0.3 m}}
  inner: {type: prismatic, parent: shell, child: core, axis: z, displacement: {spring: 300, damper: 0.3}}
"""
    eqs = derive(load_text(text))
    jumps = []

    def then(now):
        before = np.array(now.v)
        now.bounce("shell", [0, 0, 3], 0.7)
        jumps.append((now.t, before, np.array(now.v)))

    floor = Event(lambda now: now.frame("shell").position[2], direction="falling", then=then, name="bounce")
    run = simulate(eqs, 0.9, method=method, events=[floor], save_every=0.002)
    assert run.q[:, 0].min() > -1e-9
    assert len(jumps) >= 3
    for _, before, after in jumps:
        assert before[0] < 0
        assert after[0] == pytest.approx(-0.7 * before[0], rel=1e-9)
        assert after.sum() == pytest.approx(before.sum(), rel=1e-9)
    np.testing.assert_allclose(balance(run), balance(run)[0], atol=2e-2)


def test_a_robot_at_rest_has_lost_no_energy():
    """The leg starts at rest: what round-off leaves of 10 J is no motion, also with a function that sets zero rates to zero."""
    eqs = derive(load("leg"))
    for function in (None, lambda now: now.v.__setitem__(slice(None), 0.0)):
        run = simulate(eqs, 0.01, mid_step=function)
        assert not [note for note in run.remarks if "energy" in note]
        assert run.constraint_error.max() < 1e-12
