"""Pictures and views of a section of a report. One that cannot be drawn is replaced by a remark, and the rest is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pliant.show.clips import Clip
from pliant.show.figures import figure_html, sketch_html
from pliant.show.page import text
from pliant.show.player import player

if TYPE_CHECKING:
    from pliant.engine.equations import Equations


@dataclass(frozen=True)
class ReportPart:
    """A section of a report.

    Attributes:
        name: id of its player on the page.
        missing: what could not be drawn in the whole report, with the reason.
    """

    name: str
    missing: list[str] = field(default_factory=list)

    def made(self, make: Callable[[], str], what: str) -> str:
        """The HTML that a function returns, or a remark that it is missing. PLIANT_DEBUG raises the error instead."""
        try:
            return make()
        except Exception as reason:
            if os.environ.get("PLIANT_DEBUG"):
                raise
            self.missing.append(f"{what} ({str(reason) or type(reason).__name__})")
            return f'<p class="warning" role="note">Missing, because of an error: {text(self.missing[-1])}</p>'

    def figure(self, draw: Callable[[], Any], words: str) -> str:
        """A figure with `words` as alternative text."""
        return self.made(lambda: figure_html(draw, words), words)

    def sketch(self, eqs: Equations, pose: Any, words: str) -> str:
        """The drawing of the robot."""
        return self.made(lambda: sketch_html(eqs, pose, words), words)

    def player(self, title: str, make: Callable[[], Sequence[Clip]], all_of: tuple[int, str] | None = None) -> str:
        """The three-dimensional view of the clips that a function makes, nothing if there are none. all_of: the number of frames of
        the clip, or of clips, that there could be, and what they are; a note states how many of them are played."""

        def html() -> str:
            clips = make()
            if not clips:
                return ""
            shown = player(self.name, title, clips)
            count = len(clips[0].times) if len(clips) == 1 and not clips[0].loops else len(clips)
            if all_of is None or count >= all_of[0]:
                return shown
            return f'{shown}<p class="note">{count} of {all_of[0]} {all_of[1]} are played.</p>'

        return self.made(html, title)
