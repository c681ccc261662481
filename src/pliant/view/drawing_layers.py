"""Polygons, lines, markers and text of a flat picture, stored in layers until they are drawn on matplotlib axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.view.colours import INK, darker


class DrawingLayers:
    """The content of a drawing; `low` and `high` are its corners [m].

    size: unit of symbols [m]. crowd: factor on it if there are many.
    """

    size: float
    crowd: float
    low: np.ndarray
    high: np.ndarray
    todo: list[tuple[float, Any]]

    def _include(self, points: np.ndarray) -> None:
        self.low = np.minimum(self.low, points.min(axis=0))
        self.high = np.maximum(self.high, points.max(axis=0))

    def _polygon(
        self, points: np.ndarray, colour: str, layer: float, *, see_through: bool = False, edge: float = 0.9
    ) -> None:
        self._include(points)
        alpha = 0.5 if see_through else None

        def paint(ax: Any, zorder: float) -> None:
            ax.fill(
                *points.T, facecolor=colour, edgecolor=darker(colour), linewidth=edge, joinstyle="round", zorder=zorder,
                alpha=alpha,
            )  # fmt: skip

        self.todo.append((layer, paint))

    def _line(self, points: np.ndarray, colour: str, width: float, layer: float, **style: Any) -> None:
        self._include(points)

        def paint(ax: Any, zorder: float) -> None:
            ax.plot(*points.T, color=colour, linewidth=width, zorder=zorder, **{"linestyle": "solid", **style})

        self.todo.append((layer, paint))

    def _marker(self, point: np.ndarray, marker: str, points_wide: float, layer: float, colour: str) -> None:
        self._include(point[None] + 0.02 * self.size * np.array([[-1, -1], [1, 1]]))

        def paint(ax: Any, zorder: float) -> None:
            ax.plot(
                *point, marker=marker, markersize=self.crowd * points_wide, markerfacecolor=colour, markeredgecolor=INK,
                markeredgewidth=0.3 + 0.9 * self.crowd, zorder=zorder,
            )  # fmt: skip

        self.todo.append((layer, paint))

    def _text(self, words: str, place: np.ndarray, colour: str, size: float, width: float = 0.02) -> None:
        """Centred text. width: half of its width, relative to the unit of symbols."""
        reach = self.size * np.array([width, 0.02])
        self._include(place + np.stack([-reach, reach]))

        def paint(ax: Any, zorder: float) -> None:
            from matplotlib.patheffects import withStroke

            # text stays legible in front of a net
            halo = [withStroke(linewidth=2.0, foreground="white")]
            ax.text(
                *place, words, color=colour, fontsize=size, ha="center", va="center", zorder=zorder, path_effects=halo
            )

        self.todo.append((980, paint))
