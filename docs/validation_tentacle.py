"""What each piece of physics does for the tentacle of `examples/tentacle_identification.py`: fits with more and more of it."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

from tentacle_identification import (  # noqa: E402
    DIRECTIONS,
    LEFT_OVER,
    MARKERS,
    MM,
    MOUNT,
    OWN,
    PLACES,
    PRIORS,
    fitted_rms,
    measurements,
)

import pliant  # noqa: E402
from pliant.identify.fit import Fit, fit  # noqa: E402

MATERIAL = ("youngs_modulus", "density")
MOUNTED = tuple(name for name in PRIORS if name.startswith("mount")) + MOUNT + PLACES
ROUTING = ("tendon_offset1", "tendon_offset2", "tendon_end", *DIRECTIONS)
TURNS = ("tendon_turn1", "tendon_turn2")
SECOND = tuple(MARKERS["p2"])


@dataclass(frozen=True)
class Step:
    """A fit: what it adds, the parameters, those of each group of poses, and the law of the silicone."""

    added: str
    parameters: tuple[str, ...]
    own: tuple[str, ...] = ()
    law: str = "neo_hookean"


STEPS = (
    Step("modulus and density, with the taper as it is", MATERIAL, law="linear"),
    Step("mount (place and angles), places of the markers", MATERIAL + MOUNTED, law="linear"),
    Step("angles of the mount and second marker for each group of poses", MATERIAL + MOUNTED, MOUNT + SECOND, "linear"),
    Step(
        "routing of the tendons: offsets at both ends, two directions",
        MATERIAL + MOUNTED + ROUTING,
        MOUNT + SECOND,
        "linear",
    ),
    Step("tension lost before the tentacle", (*MATERIAL, *MOUNTED, *ROUTING, "lost"), MOUNT + SECOND, "linear"),
    Step("`law: neo_hookean` in place of `linear`", (*MATERIAL, *MOUNTED, *ROUTING, "lost"), MOUNT + SECOND),
    Step(
        "tendons that turn around the axis on their way",
        (*MATERIAL, *MOUNTED, *ROUTING, "lost", *TURNS),
        MOUNT + SECOND,
    ),
    Step(
        "all markers and directions of the tendons for each group", (*MATERIAL, *MOUNTED, *ROUTING, "lost", *TURNS), OWN
    ),
    Step("friction of the tendons in their channels", tuple(PRIORS), OWN),
)


def left_out(found: Fit) -> np.ndarray:
    """Distances of the markers in each pose, predicted without it by one step of Gauss and Newton from the fit to all (poses x
    markers) [m]. With as many parameters as here that agrees with fits without the pose to some tenths of a millimetre."""
    residual, jacobian = found._solution.residual, found._solution.jacobian
    size = 3 * len(MARKERS)
    count = sum(len(target.samples.times) for target in found._search.targets)
    distances = []
    for k in range(count):
        kept = np.ones(len(residual), dtype=bool)
        kept[size * k : size * (k + 1)] = False
        step = np.linalg.lstsq(jacobian[kept], -residual[kept], rcond=None)[0]
        far = (residual + jacobian @ step)[~kept] * LEFT_OVER
        distances.append(np.linalg.norm(far.reshape(-1, 3), axis=1))
    return np.array(distances)


def row(data: Path, step: Step) -> str:
    """A row of the table."""
    text = (EXAMPLES / "tentacle.yaml").read_text().replace("law: neo_hookean", f"law: {step.law}")
    unused = {name: 0 for name in ("lost", "friction") if name not in step.parameters}
    eqs = pliant.derive(pliant.load_text(text, set=unused))
    priors = {name: PRIORS[name] for name in step.parameters}
    found = fit(eqs, step.parameters, measurements(data / "tentacle_markers.csv", step.own), priors=priors)
    cells = [f"{rms / MM:.1f}" for rms in fitted_rms(found).values()]
    tip = float(np.sqrt(np.mean(left_out(found)[:, -1] ** 2)))
    return f"| {step.added} | {' | '.join(cells)} | {tip / MM:.1f} |"


def tentacle_steps(data: Path) -> str:
    """The table. data: folder of the recording."""
    with ProcessPoolExecutor(2) as workers:
        rows = list(workers.map(partial(row, data), STEPS))
    head = f"| what is fitted | {' | '.join(list(MARKERS)[:-1])} | tip | tip, left out |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])
