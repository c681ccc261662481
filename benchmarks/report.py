"""Cost of saving, reporting and playing a long run: 60 s of a soft rod with 100 nodes, 1,000 saved frames.

    python benchmarks/report.py [--json]

Saving is the difference between the same simulation with 1,000 saved times and with its end alone: processor time, the
smaller of two repeats each. Opening and playing are measured in headless Chromium, if it is there, in wall time: from
requesting the page until every view is drawn, and frames drawn per second while the run plays (the best and the worst of
eight seconds), without a graphics card.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from pliant import GeneralizedAlpha, derive, load, simulate
from pliant.robot.rod_switch import with_rod_model
from pliant.show.report import write_report

NODES, UNTIL, FRAMES, REPEATS, WINDOWS = 100, 60.0, 1000, 2, 8
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --use-angle=swiftshader "
    "--enable-unsafe-swiftshader --window-size=1100,800"
)


def measure(folder: Path) -> dict[str, Any]:
    """All figures."""
    spec = load("cantilever", set={"gravity": 1.0})
    eqs = derive(with_rod_model(spec, "rod", f"cosserat:{NODES}"))
    method = GeneralizedAlpha(step=0.01)
    simulate(eqs, 0.1, method=method)  # compile and warm up
    seconds: dict[str, float] = {}
    for _ in range(REPEATS):
        for name, save in (("end", {"save_at": [UNTIL]}), ("frames", {"save_every": UNTIL / FRAMES})):
            start = time.process_time()
            run = simulate(eqs, UNTIL, method=method, **save)
            seconds[name] = min(seconds.get(name, 1e9), time.process_time() - start)
            assert run.status == "completed", run.message
    file = folder / "report.html"
    start = time.process_time()
    write_report(file, eqs, [run])
    return {
        "nodes": NODES + 1,
        "saved_times": len(run.time),
        "simulate_s": seconds["end"],
        "simulate_and_save_s": seconds["frames"],
        "saving_share": seconds["frames"] / seconds["end"] - 1,
        "report_s": time.process_time() - start,
        "report_mb": file.stat().st_size / 1e6,
        **in_browser(file, folder),
    }


def in_browser(file: Path, folder: Path) -> dict[str, float]:
    """Seconds to open the page and frames per second while it plays."""
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        return {}
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={folder / 'profile'}"]:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        start = time.perf_counter()
        driver.get(file.as_uri())  # returns when everything is loaded, the script included
        drawn = driver.execute_script("return window.pliantPlayers.every(p => p.drawn > 0)")
        opened = time.perf_counter() - start
        assert drawn, "a view was not drawn"
        driver.execute_script("const p = window.pliantPlayers[0]; p.canvas.scrollIntoView(); p.play(true)")
        rates = []
        for _ in range(WINDOWS):
            before = driver.execute_script("return [window.pliantPlayers[0].drawn, performance.now()]")
            time.sleep(1.0)
            after = driver.execute_script("return [window.pliantPlayers[0].drawn, performance.now()]")
            rates.append(1000 * (after[0] - before[0]) / (after[1] - before[1]))
        return {"open_s": opened, "frames_per_second": max(rates), "frames_per_second_worst": min(rates)}
    finally:
        driver.quit()


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    if arguments.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:<22}{value:>10.3g}")


if __name__ == "__main__":
    main()
