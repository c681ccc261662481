"""Memory of the live page while browsers come and go and move everything: `python benchmarks/live_page.py --minutes 60`.

Three clients speak to the page as browsers do: one stays, one comes and goes, and one sends rubbish. They move sliders, play the
run and the modes, and lay other rod models over the robot. Prints the memory of the process [MB], clients included, and what was
done; and how much it grows in an hour, by a straight line through the second half.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import viser
from websockets.sync.client import ClientConnection, connect

import pliant
from pliant.view.live.page import LivePage
from pliant.view.live.server import free_port, start_server

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1, 0, 0, 0], "position": [0, 0, 1.0], "look_at": [0, 0, 0], "up_direction": [0, 0, 1],
    "fov": 0.5, "near": 0.1, "far": 10.0, "image_height": 100, "image_width": 100,
}  # fmt: skip


def memory() -> float:
    """Memory of this process [MB]."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Client:
    """Speaks to a page as a browser does; `heard`: bytes that it was sent."""

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

    def set(self, handle: Any, value: object) -> None:
        """Move a control."""
        message = {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}}
        self.connection.send(msgspec.msgpack.encode(message))

    def again(self) -> None:
        """Load the page anew."""
        self.connection.close()
        self.connection = self._open()


def act(page: LivePage, client: Client, rng: random.Random) -> None:
    """Do one thing that a person may do."""
    group = page.sliders[rng.choice(list(page.sliders))]
    slider, handle = rng.choice(list(group.values()))
    deed = rng.random()
    if deed < 0.7:
        client.set(handle, rng.uniform(slider.low, slider.high))
    elif deed < 0.85:
        client.set(page.what, rng.choice(page.options))
    elif deed < 0.95:
        client.set(page.play, True)
    elif page.overlay:
        client.set(rng.choice(list(page.overlay.values())), rng.choice(["none", "pcs:3", "pcs:10"]))


def drive(page: LivePage, url: str, minutes: float) -> list[tuple[float, float]]:
    """Drive the page; times [s] and memory [MB]."""
    rng = random.Random(1)
    stays, comes, rubbish = Client(url), Client(url), Client(url)
    begin, found, deeds = time.monotonic(), [], 0
    while (now := time.monotonic() - begin) < 60 * minutes:
        act(page, rng.choice((stays, comes)), rng)
        rubbish.connection.send(rng.randbytes(100))
        deeds += 1
        if deeds % 50 == 0:
            comes.again()
        if now > len(found) * 60 * minutes / 24:
            found.append((now, memory()))
            print(f"{now:6.0f} s  {memory():7.1f} MB  {deeds} deeds, {stays.heard / 1e6:.0f} MB sent", flush=True)
        time.sleep(0.03)
    return found


def main() -> None:
    """Drive the page of a soft module for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--robot", default="stiff_flop")
    chosen = parser.parse_args()
    eqs = pliant.derive(chosen.robot)
    run = pliant.simulate(eqs, 1.0, save_every=0.02)
    with contextlib.redirect_stdout(io.StringIO()):
        server = start_server(free_port(0), "benchmark")
        page = LivePage(server.viser, eqs.model.spec, eqs, run)
    thread = threading.Thread(target=page.loop, daemon=True)
    thread.start()
    found = np.array(drive(page, server.door.url, chosen.minutes))
    late = found[len(found) // 2 :]
    slope = np.polyfit(late[:, 0], late[:, 1], 1)[0]
    print(
        f"grows by {3600 * slope:+.1f} MB in an hour; the page answers: {page.status.value!r}; alive: {thread.is_alive()}"
    )


if __name__ == "__main__":
    main()
