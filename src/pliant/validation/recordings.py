"""The fabric sleeve compared with its recording: evaluation of the trackers, the driven model, and a fit on the first half."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import scipy

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.integrators import GeneralizedAlpha
from pliant.analysis.simulate import simulate
from pliant.engine.equations import Equations
from pliant.identify.compare import compare
from pliant.identify.recording import drive
from pliant.language.recording import Recording, read_recording
from pliant.robot.reader import load, load_text
from pliant.validation.case import CaseResult, Line, Plot, cases_of

HELD = 0.5
"""Time for which the arm stays at its first angle before the release [s], while the fabric settles on it."""
MIDDLE = 0.175
"""Distance of node 8 from the clamps, along the drawing [m]."""
LINK, CLAMPS = 0.27, 0.03
"""Published length of the link, and distance of the clamps from its top [m]."""
PUBLISHED_SCALE = 0.25
"""The length of which the authors' 10 cm are 40 % [m]. They call it l_zs and do not define it."""


@dataclass(frozen=True)
class TrackerData:
    """Data of the trackers, in the authors' axes rotated about the vertical so that the arm swings in the x-z plane.

    Attributes:
        time: of the samples [s]; angle: of the arm from hanging down, towards +x [rad].
        fabric: position of node 8 relative to the joint (n x 3) [m]; radius: its mean distance from the joint along the arm [m].
        arm: distance of the further link tracker from the joint [m]: a lower bound of its length.
        first: samples of the first half.
    """

    time: np.ndarray
    angle: np.ndarray
    fabric: np.ndarray
    radius: float
    arm: float
    first: np.ndarray

    @property
    def moved(self) -> np.ndarray:
        """Displacement of node 8 since the first sample (n x 3) [m]."""
        return np.asarray(self.fabric - self.fabric[0])

    @property
    def amplitude(self) -> float:
        """Half the horizontal width of the motion in the second half [m]."""
        return float(np.ptp(self.fabric[~self.first, 0]) / 2)


def read_sleeve(file: Path) -> TrackerData:
    """Angle, joint and node 8 from the recording. Plane of the swing, joint and distances are determined from the first half
    alone."""
    recording = read_recording(file)

    def place(name: str) -> np.ndarray:
        x, y, z = (recording.column(f"{name}_{axis}") for axis in "xyz")
        return np.stack([-y, z, x], axis=1)

    near, far, fabric = place("arm1"), place("arm2"), place("fabB")
    along = (far - near) / np.linalg.norm(far - near, axis=1)[:, None]
    first = np.arange(len(along)) < len(along) // 2
    # the direction in the horizontal plane that the arm swings in
    swing = np.linalg.svd(along[first, :2] - along[first, :2].mean(axis=0))[2][0]
    swing = swing * np.sign(swing[0])
    turn = np.array([[swing[0], swing[1], 0], [-swing[1], swing[0], 0], [0, 0, 1]])
    near, far, fabric, along = (x @ turn.T for x in (near, far, fabric, along))
    joint, distances = np.zeros(3), []
    for tracker in (near, far):
        # tracker = joint + distance along + offset across, by least squares
        across = np.cross([0, 1, 0], along)
        rows = np.concatenate([np.tile(np.eye(3), (first.sum(), 1)), np.zeros((3 * first.sum(), 2))], axis=1)
        rows[:, 3], rows[:, 4] = along[first].ravel(), across[first].ravel()
        found = np.linalg.lstsq(rows, tracker[first].ravel(), rcond=None)[0]
        joint += found[:3] / 2
        distances.append(float(found[3]))
    fabric = fabric - joint
    radius = float(np.einsum("ij,ij->i", fabric, along)[first].mean())
    angle = np.arctan2(along[:, 0], -along[:, 2])
    return TrackerData(recording.time, angle, fabric, radius, max(distances), first)


def driven_sleeve(measured: TrackerData) -> Equations:
    """The bundled sleeve with its arm fixed at the first angle, then driven as recorded."""
    # the model's joint rotates the hanging arm towards -x
    swung = -(measured.angle - measured.angle[0])
    before = np.arange(0, HELD, 0.025)
    time, swing = np.r_[before, measured.time + HELD], np.r_[0 * before, swung]
    return drive(derive(load("sleeve", variant="driven")), Recording("sleeve", time, {"swing": swing}))[0]


def readings(measured: TrackerData) -> dict[str, dict[str, float]]:
    """Position of the fabric on the arm, in three interpretations of the publication and the recording (distances
    from the joint [m]).

    The far tracker is 360 mm from the joint, although the published length of the link is 270 mm.
    """
    above = measured.arm - LINK
    return {
        "as published": {"clamps": CLAMPS, "reach": LINK},
        "as published, from the link's top": {"clamps": CLAMPS + above, "reach": measured.arm},
        "node 8 where it was recorded": {"clamps": measured.radius - MIDDLE, "reach": measured.arm},
    }


def follow(
    eqs: Equations, measured: TrackerData, values: dict[str, float], *, first_half: bool = False
) -> np.ndarray | None:
    """Displacement of the model's node 8 since the release at the recorded times [m]; None if it could not be computed."""
    times = measured.time[measured.first] if first_half else measured.time
    run = simulate(
        eqs,
        HELD + times[-1],
        parameters={"start": -measured.angle[0], **values},
        method=GeneralizedAlpha(step=2.5e-3),
        save_at=tuple(HELD + times),
    )
    place = np.asarray(run["middle"])
    return place - place[0] if run.status == "completed" else None


def error(moved: np.ndarray, measured: TrackerData, samples: np.ndarray) -> float:
    """Mean distance from the recorded displacement in these samples [m]."""
    return float(np.linalg.norm(moved - measured.moved[samples], axis=1).mean())


Choices = Mapping[str, Sequence[float]]


def fit_on_first_half(
    eqs: Equations, measured: TrackerData, place: dict[str, float], choices: Choices
) -> tuple[dict[str, float], float]:
    """The parameters among all combinations of `choices` with the smallest error in the first half, and that error [m].

    The second half is neither simulated nor used. A grid, because the folds of fabric on an arm depend on its
    parameters discontinuously.
    """
    found = []
    for combination in product(*choices.values()):
        values = {**place, **dict(zip(choices, combination, strict=True))}
        moved = follow(eqs, measured, values, first_half=True)
        if moved is not None:
            found.append((error(moved, measured, measured.first), values))
    least, values = min(found, key=lambda entry: entry[0])
    return values, least


def main_frequency(signal: np.ndarray, time: np.ndarray) -> float:
    """Frequency of the highest peak of a signal's spectrum [Hz]."""
    frequency, height = spectrum(signal, time)
    return float(frequency[height.argmax()])


def spectrum(signal: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and heights of the spectrum of a signal without its mean, windowed, relative to the highest."""
    height = np.abs(np.fft.rfft((signal - signal.mean()) * np.hanning(len(signal)), 4096))
    return np.fft.rfftfreq(4096, float(time[1] - time[0])), height / height.max()


case = cases_of("Recordings")

AREA, MOMENT = np.pi * 0.03**2, np.pi / 4 * 0.03**4
ROLLOUT = f"""
pliant: 1
world: {{gravity: GRAVITY}}
sections:
  round: {{shape: properties, area: {AREA}, second_moments: [{MOMENT}, {MOMENT}], torsion_constant: {2 * MOMENT},
          shear_factors: [1, 1]}}
materials: {{rubber: {{density: 1000, youngs_modulus: 1 MPa, shear_modulus: 333333.3}}}}
rods: {{arm: {{length: 0.6 m, section: round, material: rubber, ROD}}}}
outputs: {{tip: {{frame: arm.tip, quantity: position}}}}
"""
ROLLOUT_SOURCE = (
    "Roll-outs committed by the authors of soromox (github.com/tud-phi/soromox) with soromox and with SoRoSim "
    "(A. T. Mathew et al., IEEE Robotics & Automation Magazine 30 (2023))."
)


def beside(file: Path, gravity: str, rod: str, more: str = "") -> CaseResult:
    """Mean distance of the tip from those of soromox and SoRoSim [mm], whose errors are smaller than their difference."""
    run = simulate(
        derive(load_text(ROLLOUT.replace("GRAVITY", gravity).replace("ROD", rod) + more)), 3.0, save_every=0.01
    )
    rows = np.genfromtxt(file, delimiter=",", names=True)
    tips = {name: np.stack([rows[f"{name}_{axis}"] for axis in "xyz"], axis=1) for name in ("soromox", "sorosim")}
    tip = np.asarray(run["tip"].values)[: len(rows)]
    value = [1e3 * np.linalg.norm(tip - other, axis=1).mean() for other in tips.values()]
    lines = (
        Line("Pliant", rows["t"], tip[:, 0]),
        *(Line(name, rows["t"], x[:, 0], exact=True) for name, x in tips.items()),
    )
    return CaseResult(value, 0.0, Plot("time [s]", "x of the tip [m]", lines))


MODULE_MOTION_WORDS = ("pcs:3", "cosserat:3", "pseudo_rigid:3", "polynomial:3")


@case(tolerance=2.572, measure="absolute", unit="mm", data="stiff_flop_free.csv")
def module_motion(file: Path) -> CaseResult:
    """Pneumatic module compared with the recorded motion of its tip.

    The bundled module, driven by the recorded pressures.
    Compared: Mean distance of the tip from the recorded one over 47 s, in four rod models, nothing fitted.
    Source: S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), recording of a STIFF-FLOP module
    (github.com/smhadisadati/TMTDyn). The tolerance is what the published program reached at best on it.
    """
    rows = compare(
        derive("stiff_flop"), rods={"arm": MODULE_MOTION_WORDS}, recording=read_recording(file), begin=7.0, end=54.0
    )
    lines = (
        Line(MODULE_MOTION_WORDS[0], rows[0].time, 1e3 * rows[0].path[:, 1]),
        Line("recorded", rows[0].time, 1e3 * rows[0].measured[:, 1], exact=True),
    )
    plot = Plot("time [s]", "y of the tip [mm]", lines)
    return CaseResult([row.mean_error_mm for row in rows], 0.0, plot)


MODULE_REST_WORDS = ("pcs:3", "cosserat:3", "pseudo_rigid:3")
RESTS = {
    8.70: (0.04, -9.25, 59.57),
    15.15: (7.73, 4.18, 58.75),
    21.70: (-5.12, 3.08, 59.15),
    26.20: (0.55, -23.55, 56.87),
    31.10: (19.12, 10.38, 55.07),
    35.10: (-17.42, 10.00, 56.98),
    39.20: (-0.67, -35.18, 50.00),
    44.60: (29.40, 16.73, 45.79),
    50.90: (-28.03, 17.75, 49.47),
}
"""Times near the ends of the pressure steps [s], at which the tip's position [mm] was read off the recording by hand."""


@case(tolerance=2.572, measure="absolute", unit="mm", data="stiff_flop_free.csv")
def module_rest(file: Path) -> CaseResult:
    """Pneumatic module compared with nine recorded equilibria.

    The bundled module under the recorded pressures.
    Compared: Mean distance of the tip from nine recorded places at rest, in three rod models, nothing fitted.
    Source: S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), recording of a STIFF-FLOP module
    (github.com/smhadisadati/TMTDyn). The tolerance is what the published program reached at best in motion.
    """
    rows = compare(
        derive("stiff_flop"),
        rods={"arm": MODULE_REST_WORDS},
        recording=read_recording(file),
        begin=7.0,
        end=54.0,
        rest_at=tuple(RESTS),
    )
    read = np.array(list(RESTS.values()))
    return CaseResult([np.linalg.norm(1e3 * row.static_path - read, axis=1).mean() for row in rows], 0.0)


@case(source=ROLLOUT_SOURCE, tolerance=4.0, measure="absolute", unit="mm", data="rollouts/planar.csv")
def rollout_planar(file: Path) -> CaseResult:
    """Arm of two arcs that falls in a plane, compared with two other simulators.

    Two pieces of constant strain, as in the other simulators.
    Compared: Mean distance of the tip from those of soromox and SoRoSim over 3 s; the arm is 0.6 m long and falls by 0.5 m.
    """
    rod = "damping: [10, 10, 10, 0.02, 0.02, 0.02], strains: planar, model: {kind: pcs, elements: 2}"
    return beside(file, "[-9.81, 0, 0]", rod)


@case(source=ROLLOUT_SOURCE, tolerance=8.0, measure="absolute", unit="mm", data="rollouts/spatial.csv")
def rollout_spatial(file: Path) -> CaseResult:
    """Arm of two pieces that falls in space, compared with two other simulators.

    Two pieces of constant strain, as in the other simulators.
    Compared: Mean distance of the tip from those of soromox and SoRoSim over 3 s, which differ by as much from each other.
    """
    rod = "damping: [10, 10, 10, 0.02, 0.02, 0.02], model: {kind: pcs, elements: 2}"
    return beside(file, "[-9.81, -9.81, 0]", rod)


TENDONS = """
tendons:
  a: {type: tension, through: [{rod: arm, offset: [-20 mm, 0], eyelets: 41}], tension: 1 N}
  b: {type: tension, through: [{rod: arm, offset: [0, 20 mm], eyelets: 41}], tension: 1 N}
"""


@case(source=ROLLOUT_SOURCE, tolerance=6.0, measure="absolute", unit="mm", data="rollouts/tendon.csv")
def rollout_tendon(file: Path) -> CaseResult:
    """Upright arm bent by two tendons, compared with two other simulators.

    Bending, twist and stretch linear along each of two pieces, as in the other simulators.
    Compared: Mean distance of the tip from those of soromox and SoRoSim over 3 s.
    """
    rod = (
        "damping: [28.27, 28.27, 84.8, 0.01909, 0.01909, 0.01272], strains: unshearable, "
        "model: {kind: gvs, order: 1, elements: 2}"
    )
    return beside(file, "[0, 0, -9.81]", rod, TENDONS)


@case(tolerance=25.0, measure="absolute", unit="mm", data="sleeve_recording.csv")
def sleeve_recording(file: Path) -> CaseResult:
    """Fabric sleeve on a swinging arm compared with its recording.

    The bundled sleeve, with its arm driven as recorded.
    Compared: Mean distance of a node of the fabric from the recorded one, in the first half, by which the model was chosen, and
    in the second.
    Source: S. M. H. Sadati et al., TMTDyn, Int. J. Robotics Research 40 (2021), recording of a fabric sleeve
    (github.com/smhadisadati/TMTDyn). The authors report about 100 mm; the tolerance is a quarter of that.
    """
    measured = read_sleeve(file)
    moved = follow(driven_sleeve(measured), measured, {})
    if moved is None:
        raise RuntimeError("the motion of the sleeve was not completed")
    halves = [1e3 * error(moved[half], measured, half) for half in (measured.first, ~measured.first)]
    lines = (
        Line("model", measured.time, 1e3 * moved[:, 0]),
        Line("recorded", measured.time, 1e3 * measured.moved[:, 0], exact=True),
    )
    return CaseResult(halves, 0.0, Plot("time [s]", "moved across [mm]", lines))


RADII = [*np.linspace(15.41, 6.42, 9), 5.61, 4.80]
OFFSET, LAST = 11.4, 11.4 - 29.5e-3 * 305
ANGLES = np.radians([30, 150])


def tendon(name: str, angle: float) -> str:
    """A tendon in the first piece, whose section axes x and y are the world's x and -y."""
    ends = (f"[{x * np.sin(angle)} mm, {-x * np.cos(angle)} mm]" for x in (OFFSET, LAST))
    points = ", ".join(f"{{at: {at} mm, offset: {end}}}" for at, end in zip((0, 305), ends, strict=True))
    return f"  {name}: {{type: tension, tension: ={name}, through: [{{rod: arm, points: [{points}], between: 12}}]}}\n"


TENTACLE_MARKERS = f"""
pliant: 1
parameters: {{pull1: {{value: 0 N, input: true}}, pull2: {{value: 0 N, input: true}}, youngs_modulus: 400 kPa}}
sections:
{"".join(f"  s{k}: {{shape: circle, radius: {x} mm}}" + chr(10) for k, x in enumerate(RADII))}
materials: {{silicone: {{density: 1200, youngs_modulus: =youngs_modulus, poissons_ratio: 0.5}}}}
defaults: {{rods: {{material: silicone, law: neo_hookean}}}}
rods:
  arm: {{length: 305 mm, rotation: {{axis: x, angle: 180 deg}}, section: [{", ".join(f"s{k}" for k in range(9))}],
        frames: {{at1: 129.1 mm, at2: 219.5 mm, at3: 280 mm}}, model: {{kind: pcs, elements: 12}}}}
  end: {{parent: arm.tip, length: 55 mm, section: [s8, s9, s10], model: {{kind: pcs, elements: 3}}}}
tendons:
{tendon("pull1", ANGLES[0])}{tendon("pull2", ANGLES[1])}
bodies: {{m1: {{}}, m2: {{}}, m3: {{}}, m4: {{}}}}
joints:
  on1: {{type: weld, parent: arm.at1, child: m1, position: [25 mm, 0, 0]}}
  on2: {{type: weld, parent: arm.at2, child: m2, position: [-21 mm, 0, 0]}}
  on3: {{type: weld, parent: arm.at3, child: m3, position: [20 mm, 0, 0]}}
  on4: {{type: weld, parent: end.tip, child: m4, position: [0, 0, 8 mm]}}
"""


@case(tolerance=1.0, measure="absolute", data="tentacle_markers.csv", quick=False)
def tentacle_markers(file: Path) -> CaseResult:
    """Tendon-driven silicone tentacle compared with sixteen recorded equilibria.

    Equilibria under the recorded tensions.
    Compared: Root mean square distance of four markers over eight poses, Young's modulus alone fitted to eight other ones, over
    what the authors' fit leaves on the poses that it was made with.
    Source: Motion capture of a tentacle (github.com/tud-phi/soromox); the authors' fit leaves 11.3, 18.4, 19.2 and 35.6 mm.
    """
    eqs = derive(load_text(TENTACLE_MARKERS))
    with file.open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    recorded = np.array([[[float(row[f"p{k}_{axis}"]) for axis in "xyz"] for k in (1, 2, 3, 4)] for row in rows])

    def places(modulus: float, some: slice) -> np.ndarray:
        here = eqs.at(parameters={"youngs_modulus": modulus})
        rests = [
            equilibrium(here, inputs={f"pull{k}": float(row[f"tension_{k}"]) for k in (1, 2)}) for row in rows[some]
        ]
        return np.array([[rest.frames[f"m{k}"].position for k in (1, 2, 3, 4)] for rest in rests])

    first, second = slice(0, 8), slice(8, 16)
    best = scipy.optimize.minimize_scalar(
        lambda x: np.sum((places(x, first) - recorded[first]) ** 2),
        bounds=(300e3, 600e3),
        method="bounded",
        options={"xatol": 2e3},
    )
    found = places(best.x, second)
    off = np.linalg.norm(found - recorded[second], axis=2)
    lines = (
        Line("model", 1e3 * found[:, 3, 1], 1e3 * found[:, 3, 2]),
        Line("recorded", 1e3 * recorded[second, 3, 1], 1e3 * recorded[second, 3, 2], exact=True),
    )
    plot = Plot("y of the tip marker [mm]", "z [mm]", lines)
    return CaseResult(1e3 * np.sqrt((off**2).mean(axis=0)) / (11.3, 18.4, 19.2, 35.6), 0.0, plot)
