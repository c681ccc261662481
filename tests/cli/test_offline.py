"""No command speaks to anybody: main commands with every way out of the machine closed."""

import subprocess
import sys

import pytest

CLOSED = """
import socket, sys
reached = []

def close(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        reached.append((event, str(arguments[1:])))
        raise OSError(f"the network is closed: {event} {arguments[1:]}")

sys.addaudithook(close)
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError:
    pass
assert reached  # it is closed
reached.clear()
from pliant.cli import run
for line in sys.argv[1:]:
    code = run(line.split())
    assert code == 0, (line, code)
assert not reached, reached
print("closed")
"""


def test_commands_work_without_a_network(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    commands = [
        "models", "check four_bar", "show four_bar", "equilibrium four_bar", "modes four_bar", "linearize cart_pole",
        f"simulate four_bar --until 0.1 --out {out}.nc --report {out}.html", f"picture four_bar --out {out}.png",
        f"sweep pendulum --vary length=0.3:0.7 --sample sobol:4 --until 0.1 --out {tmp_path}/sweep", "equations pendulum",
        f"film {out}.nc {out}.gif",
    ]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", CLOSED, *commands], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.endswith("closed\n")
    assert (tmp_path / "out.html").exists()
