"""Sizes and speeds of the pages of `pliant export --wasm` for the bundled robots: `python benchmarks/pages.py [ROBOT ...]`.

Each page is opened in headless Chromium from its file. Speed is simulated time per time on one core of this machine, at the step
of the page and at 8 times that, to which pages change by themselves on devices that are slower than real time; drawing is the time
of one picture. A core of a phone has about half the speed of one of a desktop.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pliant

MEASURE = """
const done = arguments[0];
window.pliantLive.then((live) => {
  const {code, data} = live, timed = (stretch) => {
    let steps = 0, status = code.page_reset();
    const begin = performance.now();
    while (performance.now() - begin < 1500 && !status) { status = code.page_advance(5, stretch * data.step); steps += 5; }
    return [steps * stretch * data.step / ((performance.now() - begin) / 1000), status];
  };
  timed(1);
  const own = timed(1), long = data.stretches ? timed(8) : [NaN, 0], begin = performance.now();
  for (let k = 0; k < 20; k++) live.show();
  done({own, long, draw: (performance.now() - begin) / 20});
});
"""


def main(names: list[str]) -> None:
    """Print a line for each robot."""
    driver = browser()
    print(f"{'robot':<24}{'page KB':>8}{'1 ms':>9}{'8 ms':>9}   x real time{'draw ms':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or [robot.name for robot in pliant.bundled_robots()]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done = pliant.export_wasm(pliant.derive(name), Path(folder) / name)
            driver.get(done.files[0].as_uri())
            found: dict[str, Any] = driver.execute_async_script(MEASURE)
            speeds = "".join(
                f"{rate:9.2f}" if not status else f"{'stops':>9}" for rate, status in (found["own"], found["long"])
            )
            print(f"{name:<24}{done.size / 1024:8.0f}{speeds}{'':14}{found['draw']:10.1f}", flush=True)
    driver.quit()


def browser() -> Any:
    """Chromium without a window."""
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("this needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in "--headless=new --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader".split():
        options.add_argument(flag)
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.set_script_timeout(120)
    return made


if __name__ == "__main__":
    main(sys.argv[1:])
