"""Writers of files that are killed: a few times for each (`tools/kill_test.py` does any number)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "kill_test.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_writers_leave_nothing_half_written(tmp_path):
    """In a separate process, without threads, so that it can fork."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(TOOL), "--kills", "10", "--seed", "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("nothing lost") == 5
    assert list(tmp_path.iterdir()) == []
