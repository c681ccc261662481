"""Colours of drawings: distinguishable with any type of colour vision, and different in lightness."""

import colorsys
import re
from collections.abc import Iterable, Sequence

import numpy as np

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#F0E442", "#D55E00")
"""Colours of bodies (Okabe and Ito)."""
SOFT = "#CC79A7"
INK, PALE, HELD = "#2B2B2B", "#8A8A8A", "#D55E00"
WATER = "#56B4E9"
"""Colour of the surface of a fluid."""
PUSH = "#A3195B"
"""Colour of contact forces."""
FIELD = "#00695C"
"""Colour of magnets and their fields."""
AXES = ("#D55E00", "#009E73", "#0072B2")

SCALE = np.array(
    [
        [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44],
        [253, 231, 37],
    ],
    dtype=float,
)  # fmt: skip
"""Scale from low to high (viridis without its darkest part, 0 to 255); its lightness increases uniformly, as grey requires."""


def group_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name; repeated parts (`bar[1]`, `bar[2]`) share one."""
    every = list(names)
    groups = list(dict.fromkeys(map(_group, every)))
    return {name: PALETTE[groups.index(_group(name)) % len(PALETTE)] for name in every}


def _group(name: str) -> str:
    return re.sub(r"\[\d+\]", "", name)


def scale_colours(shares: np.ndarray) -> np.ndarray:
    """Colours (... x 3, 0 to 255) of values between 0 and 1."""
    places = np.clip(shares, 0, 1) * (len(SCALE) - 1)
    return np.stack([np.interp(places, np.arange(len(SCALE)), SCALE[:, k]) for k in range(3)], axis=-1)


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue between 0 and 1."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def hex_colour(parts: Sequence[float]) -> str:
    """`#RRGGBB` of red, green and blue between 0 and 1."""
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, x))):02X}" for x in parts)


def lighter(colour: str, share: float) -> str:
    """A colour moved towards white by this fraction."""
    return hex_colour([x + share * (1 - x) for x in rgb(colour)])


def darker(colour: str) -> str:
    """A darker colour of the same hue, for outlines and text."""
    hue, light, saturation = colorsys.rgb_to_hls(*rgb(colour))
    return hex_colour(colorsys.hls_to_rgb(hue, 0.6 * light, saturation))
