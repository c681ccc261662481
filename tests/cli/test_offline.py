"""No command uses the network: all commands run in a process in which sockets are monitored, including the import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROBOTS = Path(__file__).parents[1] / "foreign" / "robots"

WATCHED = """
import contextlib, io, ipaddress, json, socket, sys

asked = []

def is_local(address):
    if isinstance(address, (str, bytes)):  # a Unix socket
        return True
    if address[0] in ("localhost", ""):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address[0]).is_loopback
    return False

def watch(event, given):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
        if given[1] is not None and not is_local(given[1]):
            asked.append([event, repr(given[1])])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        if given[0] is not None and not is_local([given[0]]):
            asked.append([event, repr(given[0])])
    elif event in ("urllib.Request", "http.client.connect", "ftplib.connect", "webbrowser.open"):
        asked.append([event, repr(given)])
    elif event == "subprocess.Popen" and any(word in str(given[1]) for word in ("curl", "wget", "pip", "http://", "https://")):
        asked.append([event, repr(given[1])])

sys.addaudithook(watch)
"""

COMMANDS = """
from pliant.cli import run

codes = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        codes.append([words, run(words), said.getvalue()])
from pliant.show.live_page import free_port, start_server
with contextlib.redirect_stdout(io.StringIO()):
    server = start_server(free_port(0), "offline")
    server.stop()
print(json.dumps([asked, codes]))
"""

RUN = [
    ["new", "mine"], ["check", "mine.yaml"], ["show", "four_bar"], ["models"], ["schema"], ["cite"],
    ["import", str(ROBOTS / "features.urdf")],
    ["equilibrium", "pendulum", "--report", "rest.html"], ["modes", "pendulum"], ["linearize", "cart_pole"],
    ["simulate", "four_bar", "--until", "0.05", "--out", "run.nc", "--report", "run.html"], ["run", "pendulum", "--out", "ran"],
    ["equations", "pendulum"], ["path", "leaf_spring", "--parameter", "end_distance", "--to", "0.499"],
    ["sweep", "pendulum", "--vary", "mass=1,2 kg", "--until", "0.01", "--out", "swept", "--workers", "2"],
    ["sweep", "swept", "--report", "swept.html"], ["picture", "four_bar", "--out", "robot.png"], ["film", "run.nc", "run.gif"],
    ["optimize", "pendulum", "--vary", "length=0.4:0.6 m", "--minimize", "height", "--evaluations", "3"],
    ["compare", "cantilever", "--rods", "rod=pcs:1,pcs:2"],
    ["export", "pendulum", "--c", "c"], ["export", "pendulum", "--fmu", "pendulum.fmu"], ["export", "run.nc", "--gltf", "run.glb"],
    ["export", "four_bar", "--mjcf", "four_bar.xml"], ["validate", "pendulum_period", "--report", "proof.html"],
]  # fmt: skip
"""Each command once, with its output files."""


def watched(program: str, given: str, folder: Path) -> list[object]:
    """What a program prints as JSON in a process whose sockets are watched."""
    environment = {**os.environ, "PLIANT_DEBUG": "1", "MPLCONFIGDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + program],
        input=given,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))",
        "socket.create_connection(('192.0.2.1', 9), timeout=0.01)",
        "socket.getaddrinfo('pliant.invalid', 80)",
        "__import__('urllib.request').request.urlopen('http://pliant.invalid/', timeout=0.01)",
        "socket.socket().bind(('0.0.0.0', 0))",
    ],
)
def test_what_asks_the_network_is_noticed(attempt: str, tmp_path: Path) -> None:
    program = f"with contextlib.suppress(OSError): {attempt}\nprint(json.dumps(asked))"
    assert watched(program, "", tmp_path)


def test_this_machine_is_not_the_network(tmp_path: Path) -> None:
    program = "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
    assert watched(f"{program}\nprint(json.dumps(asked))", "", tmp_path) == []


@pytest.mark.slow
def test_no_command_asks_the_network(tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the extra `view`)")
    asked, codes = watched(COMMANDS, json.dumps(RUN), tmp_path)
    assert asked == []
    assert [each for each in codes if each[1] != 0] == []
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")]
    assert len(pages) == 5
    for page in pages:
        assert "https://" not in page
        assert "http://" not in page.replace("http://www.w3.org/", "")
