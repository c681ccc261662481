"""Sweeps on a Dask cluster of processes on this machine."""

import os
import signal
import threading

import numpy as np
import pytest

import pliant
from pliant.study.folder import records

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'pliant[dask]'")

VARY = {"youngs_modulus": "80:200 kPa", "p1": "0:30 kPa"}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as made:
        yield made


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    """One of two workers is killed in the middle; another one takes its place, and every case is done once."""
    begun = threading.Event()

    def look(pulse):
        if pulse.done >= 5 and not begun.is_set():
            begun.set()
            with distributed.Client(cluster) as other:
                number = next(iter(other.run(os.getpid).values()))
            os.kill(number, signal.SIGKILL)

    with distributed.Client(cluster) as client:
        found = pliant.sweep(
            "stiff_flop",
            VARY,
            tmp_path,
            sample="sobol:60",
            until=0.2,
            keep=("outputs",),
            executor=client,
            progress=look,
        )
    assert begun.is_set()
    assert sorted(case for case, _, _ in records(tmp_path / "runs.journal")) == list(range(60))
    assert (found.status.values == "completed").all()
    few = pliant.cases(VARY, "sobol:60")[:5]
    here = pliant.simulate_many("stiff_flop", few, 0.2, keep=("outputs",))
    assert np.array_equal(found["output.tip"].values[:5], here["output.tip"].values)


def test_an_address_will_do(cluster):
    found = pliant.equilibrium_many("stiff_flop", {"p1": "0:20:3 kPa"}, executor=cluster.scheduler_address)
    assert list(found.status.values) == ["converged"] * 3


def test_an_address_without_a_scheduler_is_said(monkeypatch):
    monkeypatch.setattr("pliant.study.many.PATIENCE", "1s")
    with pytest.raises(pliant.ArgumentError, match="there is no Dask scheduler at"):
        pliant.equilibrium_many("stiff_flop", [{}], executor="tcp://127.0.0.1:9")
