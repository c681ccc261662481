"""A leg with a leaf spring is pretensioned by its tendon: paths to the bowed shape on both sides, and its curvature."""

import sys
from itertools import pairwise

import numpy as np

import pliant

SIDES = {"by its weight": {}, "pushed over": {"leaf.section[5].y": -0.5}}
"""The weight of the spring bends it to one side; a force of half a newton at its middle bends it to the other."""


def curvature(path: pliant.Path) -> np.ndarray:
    """Curvature of the spring's elements at the end of a path, without the first [1/m]."""
    angles = [
        name for name in path.dataset["coordinate"].values if name.startswith("leaf.") and name.endswith(".angle")
    ]
    return np.array([path[b][-1] - path[a][-1] for a, b in pairwise(angles)]) / (0.5 / len(angles))


def main(picture: str | None = None) -> float:
    """Largest curvature of the pretensioned spring [1/m]; a plot of both sides is written to the file `picture`."""
    eqs = pliant.derive("leg")
    paths = {
        name: pliant.continuation(eqs, parameter="tendon_rest", to=0.40, imperfection=push)
        for name, push in SIDES.items()
    }
    bends = {name: curvature(path) for name, path in paths.items()}
    for name, bend in bends.items():
        print(f"{name}: {paths[name].message}; curvature {np.round(bend, 2)} 1/m")
        assert paths[name].status == "completed"
        assert paths[name].stable.all()
        # an arch without a kink: a half sine changes by no more than 0.31 of its height over a tenth of its length
        assert np.abs(np.diff(bend)).max() < 0.35 * np.abs(bend).max()
    weight, pushed = bends.values()
    assert np.all(weight > 0)
    assert np.all(pushed < 0)
    if picture is not None:
        draw(paths, bends, picture)
    return float(np.abs(weight).max())


def draw(paths: dict[str, pliant.Path], bends: dict[str, np.ndarray], picture: str) -> None:
    """The lateral position of the middle over the tendon's rest length, and the curvature along the spring."""
    import matplotlib.pyplot as plt

    from pliant.plot import save

    _, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
    for (name, path), dashes in zip(paths.items(), ("-", "--"), strict=True):
        left.plot(1e3 * path.value, 1e3 * path["middle"][:, 0], dashes, label=name)
        right.plot(50 * np.arange(1.5, 10), bends[name], dashes, marker="o", markersize=3, label=name)
    left.set(xlabel="rest length of the tendon [mm]", ylabel="x of the spring's middle [mm]")
    right.set(xlabel="arc length along the spring [mm]", ylabel="curvature [1/m]")
    left.legend(frameon=False)
    save(left, picture)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
