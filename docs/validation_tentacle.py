"""What each piece of physics does for the tentacle of `examples/tentacle_identification.py`: fits with more and more of it."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

from tentacle_identification import MARKERS, OWN, PRIORS, fitted_rms, measurements  # noqa: E402

import pliant  # noqa: E402
from pliant.identify.fit import fit  # noqa: E402

MATERIAL = ("youngs_modulus", "density")
ROUTING = ("tendon_offset", "tendon_taper", "tendon_angle1", "tendon_angle2")
PLACES = tuple(name for name in PRIORS if name not in (*MATERIAL, *ROUTING, "lost"))
FOLDS = 4


@dataclass(frozen=True)
class Step:
    """A fit: what it adds, the parameters, those of each group of poses, and the law of the silicone."""

    added: str
    parameters: tuple[str, ...]
    own: tuple[str, ...] = OWN
    law: str = "linear"


STEPS = (
    Step("modulus and density, with the taper as it is", MATERIAL, ()),
    Step("mount (place and angles), places of the markers", MATERIAL + PLACES, ()),
    Step("angles of the mount and second marker for each of the two groups of poses", MATERIAL + PLACES),
    Step("routing of the tendons: offset, its taper, two angles", MATERIAL + PLACES + ROUTING),
    Step("tension lost on the way to the tentacle", tuple(PRIORS)),
    Step("`law: neo_hookean` in place of `linear`", tuple(PRIORS), law="neo_hookean"),
)


def row(data: Path, step: Step) -> str:
    """A row of the table."""
    text = (EXAMPLES / "tentacle.yaml").read_text().replace("law: neo_hookean", f"law: {step.law}")
    eqs = pliant.derive(pliant.load_text(text, set={} if "lost" in step.parameters else {"lost": 0}))
    priors = {name: PRIORS[name] for name in step.parameters}
    found = fit(eqs, step.parameters, measurements(data / "tentacle_markers.csv", step.own), priors=priors)
    cells = [f"{1e3 * rms:.1f}" for rms in fitted_rms(found).values()]
    left_out = found.cross_validate(FOLDS).rms["p4"]
    return f"| {step.added} | {' | '.join(cells)} | {1e3 * left_out:.1f} |"


def tentacle_steps(data: Path) -> str:
    """The table. data: folder of the recording."""
    with ProcessPoolExecutor(2) as workers:
        rows = list(workers.map(partial(row, data), STEPS))
    head = f"| what is fitted | {' | '.join(list(MARKERS)[:-1])} | tip | tip, left out |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])
