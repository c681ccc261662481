"""HTML pages that need no network and run only the package's own script.

All content of models is passed through `text` or, as data, through `block`. The page's policy allows the one script
and the one style sheet by their checksums, so that even injected markup could neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.show.plot.style import axes, style
from pliant.show.sketch import settings, sketch

if TYPE_CHECKING:
    from pliant.analysis.motion.result import Result
    from pliant.engine.equations import Equations


def text(value: Any) -> str:
    """Any text as HTML."""
    return html.escape(str(value), quote=True)


def prose(value: str) -> str:
    """A description as HTML; names between backticks are set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of texts; columns without names have no row of headings."""
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    heading = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    lines = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>{heading}<tbody>{lines}</tbody></table></div>'


def block(name: str, data: Any) -> str:
    """Data for the script, in a form that cannot close its element."""
    written = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{text(name)}">{written}</script>'


def picture(content: bytes, kind: str, words: str) -> str:
    """An image embedded in the page; kind: `png` or `svg+xml`. `words` is its alternative text."""
    return f'<img alt="{text(words)}" src="data:image/{kind};base64,{base64.b64encode(content).decode()}">'


def page(title: str, body: str, *, fill: bool = False, live: bool = False) -> str:
    """A complete page; fill: it consists of one player, which fills the height of its window; live: it runs a robot (see
    `targets/wasm.py`)."""
    script, style = asset("player.js"), asset("page.css")
    if live:
        script, style = script + asset("live.js"), style + asset("live.css")
    compiles = " 'wasm-unsafe-eval'" if live else ""
    filled = ' class="live"' if live else ' class="fill"' if fill else ""
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_checksum(script)}'{compiles}; style-src '{_checksum(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{text(title)}</title><style>{style}</style></head>\n'
        f"<body{filled}>{body}\n<script>{script}</script></body></html>\n"
    )


def encoded(document: str) -> bytes:
    """The bytes of a page; characters that have no encoding (halves of pairs) become question marks."""
    return document.encode("utf-8", errors="replace")


def frame(document: str, height: int = 560) -> str:
    """A page inside a notebook's output, isolated from the notebook and allowed only to run its script."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{text(document)}" width="100%" height="{height}" '
        'style="border:0" title="robot"></iframe>'
    )


@cache
def asset(name: str) -> str:
    """A file of the player."""
    return files("pliant.show").joinpath("web", name).read_text(encoding="utf-8")


def _checksum(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


WIDE = 5.5
"""Figures wider than this [inch] are scrolled on narrow screens: their text would be too small to read."""


def figure_html(draw: Callable[[], Any], words: str) -> str:
    """The figure that a function draws as an image, with `words` as alternative text."""
    with style():
        return _image(draw(), words)


def _image(axes: Any, words: str) -> str:
    import matplotlib.pyplot as plt

    figure = np.ravel(np.asarray(axes, dtype=object))[0].figure
    content = io.BytesIO()
    with settings({"svg.fonttype": "path", "svg.hashsalt": "pliant"}):
        figure.savefig(content, format="svg", metadata={"Date": None})
    plt.close(figure)
    image = picture(content.getvalue(), "svg+xml", words)
    return f'<div class="wide">{image}</div>' if figure.get_figwidth() > WIDE else image


def sketch_html(eqs: Equations, pose: Any, words: str) -> str:
    """The drawing of a robot, as an image."""
    return _image(sketch(eqs, pose), words)


def constraint_error(run: Result) -> Any:
    """Axes with the largest constraint error over time."""
    ax = axes(None)
    ax.semilogy(run.time, np.maximum(run.constraint_error, 1e-17))
    ax.set_xlabel("time [s]")
    ax.set_ylabel("constraint error [m or rad]")
    return ax
