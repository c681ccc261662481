"""Extended Kalman filter: estimates the state of the nonlinear model from measured outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.integrators import Method, make_run
from pliant.analysis.linearize import StateSpace, linearize
from pliant.analysis.motion.events import Now
from pliant.analysis.motion.method_choice import choose_method
from pliant.analysis.simulate import simulate
from pliant.control.discrete import held
from pliant.control.limits import named
from pliant.control.lqr import Weights, weight_matrix
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.layout import RuntimeStatus
from pliant.engine.outputs import evaluate_outputs
from pliant.engine.state import State
from pliant.language.arguments import ArgumentError, number, positive, vector

MOST_STEPS = 100_000
"""Maximum number of steps of a prediction over one sample."""


@dataclass
class ExtendedKalman:
    """Estimates the state of a robot without closed loops from named outputs.

    Attributes:
        equations: the model; its `parameters` may differ from the robot's.
        outputs: names of the measured outputs; vectors with all components.
        start: the initial estimate.
        deviation: standard deviation of that state, one for all or one per state (increments of q, then v).
        process: variance of the change of each state per second; inputs: variance of a disturbance of each input.
        noise: variance of the outputs.
        method: integrator between samples; None: chosen by stiffness.
        disturbances: unknown inputs of the model (such as contact forces). They are estimated along with the state, as random
            walks: `drift` is the variance of the change of each per second, `disturbance_deviation` its initial standard deviation.
            The estimate is `disturbance`, in the order of the names; in the covariance they follow the states.
    """

    equations: Equations
    outputs: tuple[str, ...]
    start: State
    sample_time: float
    deviation: np.ndarray | float = 1.0
    process: Weights = 0.0
    inputs: Weights = 0.0
    noise: Weights = 1.0
    parameters: Values | None = None
    method: Method | None = None
    disturbances: tuple[str, ...] = ()
    drift: Weights = 1.0
    disturbance_deviation: np.ndarray | float = 0.0

    def __post_init__(self) -> None:
        eqs = self.equations
        if eqs.model.system.rows:
            raise ValueError(
                "the extended Kalman filter is for robots without closed loops; design `kalman` about a state"
            )
        check_names("output", self.outputs, eqs.model.spec.outputs)
        rates = eqs.rates
        self._labels = rates + tuple(f"d({x})/dt" for x in rates)
        self._process = weight_matrix(self.process, self._labels, "state", 0.0)
        self._inputs = weight_matrix(self.inputs, eqs.inputs, "input", 0.0)
        check_names("input", self.disturbances, eqs.inputs)
        self._chosen: Method | None = None
        self._drift = weight_matrix(self.drift, self.disturbances, "disturbance", 0.0)
        self.reset()

    def reset(self) -> None:
        """Discard all measurements."""
        self.state = self.start
        n, k = len(self._labels), len(self.disturbances)
        self.disturbance = np.zeros(k)
        spreads = ((self.deviation, n), (self.disturbance_deviation, k))
        self.covariance = np.diag(
            np.concatenate([np.broadcast_to(np.asarray(x, dtype=float) ** 2, size) for x, size in spreads])
        )

    def _in_force(self, inputs: Values) -> dict[str, float]:
        """The inputs with the estimated disturbances."""
        return dict(inputs) | dict(zip(self.disturbances, self.disturbance.tolist(), strict=True))

    def correct(self, y: np.ndarray, t: float, inputs: Values) -> State:
        """The estimate after a measurement y with these inputs."""
        q, v = self.state.q, self.state.v
        inputs = self._in_force(inputs)
        about = self._about(t, inputs)
        C = np.hstack([about.C, about.D[:, self._columns]])
        R = weight_matrix(self.noise, about.outputs, "output", 1.0)
        bound = self.equations.at(inputs=inputs, parameters=self.parameters).binding
        a, multipliers = bound.forward(t, q, v)
        values = evaluate_outputs(self.equations.model, bound, t, q, v, a, multipliers, 0.0)
        expected = np.concatenate([np.atleast_1d(values[name]) for name in self.outputs])
        P = self.covariance
        gain = np.linalg.solve(C @ P @ C.T + R, C @ P).T
        x = gain @ (y - expected)
        # Joseph's form keeps the covariance positive despite round-off of the gain
        keep = np.eye(len(P)) - gain @ C
        self.covariance = keep @ P @ keep.T + gain @ R @ gain.T
        n = len(v)
        self.state = State(bound.increment(q, x[:n]), v + x[n : 2 * n], t)
        self.disturbance = self.disturbance + x[2 * n :]
        return self.state

    @property
    def _columns(self) -> list[int]:
        return [self.equations.inputs.index(name) for name in self.disturbances]

    def predict(self, t: float, inputs: Values) -> State:
        """The estimate one sample after time t, with constant inputs."""
        inputs = self._in_force(inputs)
        about = self._about(t, inputs)
        A, B = held(about.A, about.B, self.sample_time)
        n, k = len(A), len(self.disturbances)
        F = np.block([[A, B[:, self._columns]], [np.zeros((k, n)), np.eye(k)]])
        self.covariance = F @ self.covariance @ F.T
        self.covariance[:n, :n] += B @ self._inputs @ B.T + self.sample_time * self._process
        self.covariance[n:, n:] += self.sample_time * self._drift
        self.state = self._moved(t, t + self.sample_time, inputs)
        return self.state

    def _moved(self, t: float, end: float, inputs: Values) -> State:
        """The predicted state at a later time [s], with constant inputs."""
        q, v = self.state
        bound = self.equations.at(inputs=inputs, parameters=self.parameters).binding
        switching = self.equations.model.switch_times(bound.parameters, t, end).size
        if bound.m or bound.series or switching or self.equations.model.motion_inputs:
            run = simulate(
                self.equations, end, begin=t, start=self.state, inputs=inputs, parameters=self.parameters,
                method=self.method, save_at=[end], controllers=(),
            )  # fmt: skip
            return State(run.q[-1], run.v[-1], end)
        # a short separate run, without a result
        if self._chosen is None:
            self._chosen = self.method or choose_method(bound, t, end, q, v).method
        method, trial = self._chosen, make_run(bound, self._chosen)
        trial.configure(
            t=t, q=q, v=v, stops=np.array([end]), samples=np.array([end]), step=min(method.step or end - t, end - t),
            fixed=method.fixed, rtol=method.relative_tolerance, atol=method.absolute_tolerance, max_step=end - t,
        )  # fmt: skip
        status = trial.start() or trial.advance(MOST_STEPS)
        if status:
            raise ValueError(f"the prediction from t = {t:g} s failed: {RuntimeStatus(status).meaning}")
        return State(trial.q.copy(), trial.v.copy(), end)

    def _about(self, t: float, inputs: Values) -> StateSpace:
        linear = linearize(
            self.equations, at=self.state, time=t, inputs=inputs, parameters=self.parameters,
            independent=self.equations.rates,
        )  # fmt: skip
        return linear.select(None, self.outputs)


LEAST_SAMPLES = 3
"""Number of samples on a surface after which its stiffness is estimated."""


@dataclass
class StiffnessEstimate:
    """The stiffness k [N/m] and the position x0 [m] of a surface by recursive least squares: force = k (x - x0) during contact.

    x: displacement of the frame into the surface. threshold: force above which there is contact [N]. forgetting:
    forgetting factor; below 1 the estimate follows surfaces that change.
    """

    threshold: float = 0.0
    forgetting: float = 1.0

    def __post_init__(self) -> None:
        number("StiffnessEstimate: threshold", self.threshold, at_least=0)
        number("StiffnessEstimate: forgetting", self.forgetting, above=0, at_most=1)
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self.samples = 0
        self._weight = 0.0
        self._mean = np.zeros(2)
        self._spread = np.zeros((2, 2))

    def update(self, x: float, force: float) -> bool:
        """Process a sample; returns whether there is contact."""
        if not force > self.threshold:
            return False
        self.samples += 1
        self._weight = self.forgetting * self._weight + 1
        away = np.array([x, force]) - self._mean
        self._mean = self._mean + away / self._weight
        self._spread = self.forgetting * self._spread + np.outer(away, np.array([x, force]) - self._mean)
        return True

    @property
    def stiffness(self) -> float:
        """k [N/m]; NaN until the surface has been pressed at different depths."""
        if self.samples < LEAST_SAMPLES or not self._spread[0, 0] > 0:
            return float("nan")
        return float(self._spread[0, 1] / self._spread[0, 0])

    @property
    def place(self) -> float:
        """x0 [m]: the position of the undeformed surface."""
        return float(self._mean[0] - self._mean[1] / self.stiffness)

    @property
    def deviation(self) -> float:
        """Standard deviation of k [N/m] from the scatter of the samples, assuming independence."""
        if self.samples < LEAST_SAMPLES or not self._spread[0, 0] > 0:
            return float("nan")
        left = max(0.0, self._spread[1, 1] - self.stiffness * self._spread[0, 1])
        return float(np.sqrt(left / max(self._weight - 2, 1e-300) / self._spread[0, 0]))


@dataclass
class ContactObserver:
    """Estimates the force on a frame, and the stiffness of the surface that it presses on, from outputs and inputs.

    Pass it to `simulate` among the controllers, before those whose commands it uses; it commands nothing. The model contains no
    contact, but the force as inputs (a load at the frame, `forces` in world axes), which an extended Kalman filter models as
    random walks. Other model errors (such as a wrong stiffness of the robot) appear as forces, too.

    Attributes:
        equations: the model, without the contact; its `parameters` may differ from the robot's.
        frame: the frame that is touched. forces: the three inputs of the model that are the force on it, along x, y and z.
        outputs: measured outputs; noise: standard deviations of the outputs by name, which a simulation adds to them (`seed`).
        normal: outward normal of the surface, world axes: the stiffness is the force along it over the penetration. drift:
        standard deviation of the change of each force in a second [N]; large for fast forces, small for smooth estimates.
        process: variance of the change of each state per second.
        threshold, forgetting: of the `StiffnessEstimate`. Choose a threshold well above the error of the force, otherwise
            samples without contact are included. free_until: time [s] of a run up to which the robot is known to be free of
            contact. Until then the estimated force is model error; its mean over the second half of that time is the `offset`,
            which is subtracted from the estimates.
        time, force, deviation, stiffness: of each sample: time [s], force [n x 3, N], its standard deviation, and the estimated
        stiffness
            [N/m].
    """

    equations: Equations
    frame: str
    forces: tuple[str, str, str]
    outputs: tuple[str, ...]
    noise: Mapping[str, float]
    normal: Sequence[float] = (0.0, 0.0, 1.0)
    sample_time: float = 0.02
    drift: float = 1.0
    process: Weights = 0.0
    threshold: float = 0.05
    forgetting: float = 1.0
    free_until: float = 0.0
    seed: int = 0
    parameters: Values | None = None
    method: Method | None = None
    name: str = "contact observer"
    time: list[float] = field(default_factory=list)
    force: list[np.ndarray] = field(default_factory=list)
    deviation: list[np.ndarray] = field(default_factory=list)
    stiffness: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        eqs = self.equations
        check_names("frame", [self.frame], eqs.frame_names)
        check_names("input", self.forces, eqs.inputs)
        check_names("output", self.outputs, eqs.model.spec.outputs)
        if len(self.forces) != 3:
            raise ArgumentError(f"{named(self)}: the force has three inputs, not {len(self.forces)}")
        for output in self.outputs:
            if output not in self.noise or not np.all(np.asarray(self.noise[output], dtype=float) > 0):
                raise ArgumentError(
                    f"{named(self)}: the noise of output '{output}' must be above zero",
                    "give its standard deviation in `noise`; the filter weighs it against the model",
                )
        if not np.any(vector("normal", self.normal, 3)):
            raise ArgumentError(f"{named(self)}: the normal of the surface is zero", "give the direction out of it")
        positive(f"{named(self)}: drift", self.drift)
        self.surface = StiffnessEstimate(self.threshold, self.forgetting)
        self._check_forces()

    def _check_forces(self) -> None:
        """Reject inputs that are not the force on the frame."""
        eqs = self.equations.at(parameters=self.parameters)
        q = eqs.initial_state().q
        columns = [eqs.inputs.index(name) for name in self.forces]
        by_force = -eqs.input_derivative(q, np.zeros(len(eqs.rates)))[:, columns]
        wanted = eqs.frame_jacobian(self.frame, q)[:3].T
        if np.max(np.abs(by_force - wanted)) > 1e-6 * max(float(np.max(np.abs(wanted))), 1e-300):
            raise ArgumentError(
                f"{named(self)}: the inputs {', '.join(self.forces)} are not the force on '{self.frame}' in world axes",
                f"give the model a load {{frame: {self.frame}, force: [={self.forces[0]}, ={self.forces[1]}, ={self.forces[2]}]}}",
            )

    def start(self, now: Now) -> None:
        """Reset; the initial estimate is the equilibrium of the model."""
        known = self._known(now, now.t)
        rest = equilibrium(self.equations, inputs=known, parameters=self.parameters)
        values = rest.outputs
        variances = [
            np.broadcast_to(np.asarray(self.noise[x], dtype=float) ** 2, np.size(values[x])) for x in self.outputs
        ]
        self.filter = ExtendedKalman(
            self.equations, self.outputs, State(rest.q, np.zeros(len(self.equations.rates)), now.t),
            self.sample_time, deviation=0.0, process=self.process, noise=np.concatenate(variances),
            parameters=self.parameters, method=self.method, disturbances=self.forces, drift=self.drift**2,
            disturbance_deviation=self.drift,
        )  # fmt: skip
        self._last: float | None = None
        self._free: list[np.ndarray] = []
        self._begin, self.offset = now.t, np.zeros(3)
        self.surface.reset()
        for record in (self.time, self.force, self.deviation, self.stiffness):
            record.clear()

    def _known(self, now: Now, t: float) -> dict[str, float]:
        """The inputs of the robot at a time [s] that are also inputs of the model."""
        values = now.equations.at(inputs=now.inputs, parameters=now.parameters).binding.with_series(now.motions)
        numbers = dict(zip(now.equations.inputs, values.signals(t)[0].tolist(), strict=False))
        return {x: numbers[x] for x in self.equations.inputs if x in numbers and x not in self.forces}

    def command(self, now: Now) -> dict[str, float]:
        """Process a sample; nothing is commanded."""
        known = self._known(now, now.t - 0.5 * self.sample_time if self._last is not None else now.t)
        if self._last is not None:
            self.filter.predict(self._last, known)
        self.filter.correct(now.measure(self.outputs), now.t, known)
        self._last = now.t
        n = 2 * len(self.equations.rates)
        normal = np.asarray(self.normal, dtype=float) / np.linalg.norm(self.normal)
        if now.t - self._begin <= self.free_until:
            if now.t - self._begin > 0.5 * self.free_until:
                self._free.append(self.filter.disturbance.copy())
                self.offset = np.mean(self._free, axis=0)
            force = np.zeros(3)
        else:
            force = self.filter.disturbance - self.offset
        place = self.equations.frame(self.frame, self.filter.state.q, parameters=self.parameters).position
        self.surface.update(float(-normal @ place), float(normal @ force))
        self.time.append(now.t)
        self.force.append(force)
        self.deviation.append(np.sqrt(np.diag(self.filter.covariance)[n:]))
        self.stiffness.append(self.surface.stiffness)
        return {}
