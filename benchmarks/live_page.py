"""Memory of the live page while browsers connect, disconnect and use all controls: `python benchmarks/live_page.py --minutes 60`.

Three clients communicate with the page like browsers: one stays, one reconnects repeatedly, and one sends invalid data. They move
sliders, play the run and the modes, and lay other rod models over the robot. They run in a separate process, like browsers:
threads that start and end leave memory behind in their process. Prints the memory of the page's process [MB], the numbers of
actions, and its growth per hour, from a straight line through the second half. `--deeds-per-visit 2` makes as many visits in
minutes as otherwise in hours.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import random
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import viser
from websockets.sync.client import ClientConnection, connect

import pliant
from pliant.show.live_page import LivePage, free_port, start_server

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1, 0, 0, 0], "position": [0, 0, 1.0], "look_at": [0, 0, 0], "up_direction": [0, 0, 1],
    "fov": 0.5, "near": 0.1, "far": 10.0, "image_height": 100, "image_width": 100,
}  # fmt: skip


def memory() -> float:
    """Memory of this process [MB]."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Client:
    """Communicates with a page like a browser; `heard`: number of bytes received."""

    def __init__(self, url: str) -> None:
        self.url, self.heard = url.replace("http", "ws").rstrip("/"), 0
        self.connection = self._open()

    def _open(self) -> ClientConnection:
        made = connect(self.url, subprotocols=[f"viser-v{viser.__version__}"], max_size=None, compression=None)
        made.send(msgspec.msgpack.encode(CAMERA))
        threading.Thread(target=self._listen, args=(made,), daemon=True).start()
        return made

    def _listen(self, connection: ClientConnection) -> None:
        with contextlib.suppress(Exception):
            for message in connection:
                self.heard += len(message)

    def set(self, control: str, value: object) -> None:
        """Move a control, by its number."""
        message = {"type": "GuiUpdateMessage", "uuid": control, "updates": {"value": value}}
        self.connection.send(msgspec.msgpack.encode(message))

    def again(self) -> None:
        """Reload the page."""
        self.connection.close()
        self.connection = self._open()


@dataclass(frozen=True)
class Controls:
    """Controls of a page, by number: sliders with their ranges, choices with their words, and a button."""

    sliders: list[tuple[str, float, float]]
    what: tuple[str, tuple[str, ...]]
    overlays: list[str]
    play: str

    @classmethod
    def of(cls, page: LivePage) -> Controls:
        """Those of a page."""
        sliders = [(_number(x), s.low, s.high) for group in page.sliders.values() for s, x in group.values()]
        return cls(
            sliders, (_number(page.what), page.options), [_number(x) for x in page.overlay.values()], _number(page.play)
        )

    def act(self, client: Client, rng: random.Random) -> None:
        """Perform one action of a user."""
        deed = rng.random()
        if deed < 0.7:
            control, low, high = rng.choice(self.sliders)
            client.set(control, rng.uniform(low, high))
        elif deed < 0.85:
            client.set(self.what[0], rng.choice(self.what[1]))
        elif deed < 0.95:
            client.set(self.play, True)
        elif self.overlays:
            client.set(rng.choice(self.overlays), rng.choice(["none", "pcs:3", "pcs:10"]))


def _number(handle: Any) -> str:
    return str(handle._impl.uuid)


def drive(url: str, controls: Controls, minutes: float, deeds_per_visit: int, pipe: Connection) -> None:
    """Drive the page; reports its actions at intervals."""
    rng = random.Random(1)
    stays, comes, rubbish = Client(url), Client(url), Client(url)
    begin, told, deeds, visits = time.monotonic(), 0, 0, 0
    while (now := time.monotonic() - begin) < 60 * minutes:
        controls.act(rng.choice((stays, comes)), rng)
        rubbish.connection.send(rng.randbytes(100))
        deeds += 1
        if deeds % deeds_per_visit == 0:
            comes.again()
            visits += 1
        if now > told * 60 * minutes / 24:
            told += 1
            pipe.send((now, f"{deeds} deeds, {visits} visits, {stays.heard / 1e6:.0f} MB sent"))
        time.sleep(0.03)
    pipe.send(None)


def main() -> None:
    """Drive the page of a soft module for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--robot", default="stiff_flop")
    parser.add_argument(
        "--deeds-per-visit", type=int, default=50, help="after which one of the browsers reloads the page"
    )
    chosen = parser.parse_args()
    eqs = pliant.derive(chosen.robot)
    run = pliant.simulate(eqs, 1.0, save_every=0.02)
    with contextlib.redirect_stdout(io.StringIO()):
        server = start_server(free_port(0), "benchmark")
        page = LivePage(server.viser, eqs.model.spec, eqs, run)
    thread = threading.Thread(target=page.loop, daemon=True)
    thread.start()
    here, there = multiprocessing.Pipe()
    driven = server.door.url, Controls.of(page), chosen.minutes, chosen.deeds_per_visit, there
    multiprocessing.get_context("spawn").Process(target=drive, args=driven, daemon=True).start()
    found = []
    while (news := here.recv()) is not None:
        found.append((news[0], memory()))
        print(f"{news[0]:6.0f} s  {memory():7.1f} MB  {news[1]}", flush=True)
    late = np.array(found[len(found) // 2 :])
    slope = np.polyfit(late[:, 0], late[:, 1], 1)[0]
    print(
        f"grows by {3600 * slope:+.1f} MB in an hour; the page answers: {page.status.value!r}; alive: {thread.is_alive()}"
    )


if __name__ == "__main__":
    main()
