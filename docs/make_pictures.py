"""Make all pictures of the documentation again: python docs/make_pictures.py [NAME ...]

NAME is a bundled robot, an example with an arm from a URDF file, `film` (the film of a soft module), `report` (a view of its
report, which needs Chromium), the name of an analysis (its plot in docs/analyses.md), or a bundled robot with `.gif`: a film of
it in out/films, such as snake.gif.
"""

from __future__ import annotations

import re
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import pliant
from pliant.control import Coordinates, rest_with
from pliant.show.film import film
from pliant.show.report import write_report
from pliant.show.sketch import save

FOLDER = Path(__file__).parent / "pictures"
FILM_FOLDER = Path("out") / "films"

AT_REST: dict[str, dict[str, dict[str, float]]] = {
    "stiff_flop": {"inputs": {"p1": 60e3}},
    "leg": {"parameters": {"tendon_rest": 0.4, "start1": -0.53, "start3": -0.33, "bend": -2.19}},
    "leaf_spring": {"parameters": {"end_distance": 0.407922}},
    "cantilever": {"parameters": {"tip_force": 0.2}},
    "timoshenko_cantilever": {},
    "cc_arm_2": {"inputs": {"f11": -180.0, "f21": -60.0}},
    "three_section_arm": {"inputs": {"p11": 120e3, "p22": 160e3, "p33": 200e3}},
    "cloth": {},
    "net": {},
    "moored_buoy": {},
    "gripper": {"inputs": {"pressure": 120e3, "lift": 0.0}},
    "snake": {"inputs": {f"bend[{k}]": 70e3 * np.sin(-np.pi / 4 * k) for k in range(1, 9)}},
    "tendon_robot": {"inputs": {"lower[1]": 5.0, "upper[2]": 4.0}},
    "parallel_rods": {"inputs": {f"push[{k}]": 0.04 * (1 - np.cos(np.pi / 3 * (k - 0.5))) for k in range(1, 7)}},
    "tissue_probe": {"inputs": {"pressure": 40e3, "stroke": 40e3}},
    "magnetic_catheter": {},
    "trunk": {"inputs": {"near1": 14.0, "far1": 4.0, "far2": 3.0}},
    "swimmer": {"inputs": {f"bend[{k}]": 60e3 * np.sin(-2 * np.pi * 1.27 * k / 6) for k in range(1, 7)}},
    "octopus_arm": {"inputs": {f"bend[{k}]": 45e3 * np.exp(-((k - 3) ** 2) / 4) for k in range(1, 9)}},
}
"""Robots that are drawn in equilibrium, with these inputs and parameters (SI units); all others at their start."""


FILMS = {
    "tendon_robot": 2.0,
    "parallel_rods": 1.5,
    "arm_with_rod": 1.0,
    "hopper": 1.5,
    "snake": 8.0,
    "gripper": 2.5,
    "stiff_flop@circling": 4.0,
    "magnetic_catheter@steered": 4.0,
}
"""Robots that films are made of, and how long they move [s]."""


PLOTS = {"periodic": "Periodic orbits", "workspace": "Workspace", "frequency_response": "Frequency response"}
"""Plots, by the section of docs/analyses.md whose code draws them."""


HELD = {"ur5_with_finger": {"pressure": 40e3}, "panda_with_trunk": {"pull[1]": 6.0}}
"""Examples of arms that are drawn in the pose that they hold, with these inputs (SI units)."""


def main(names: list[str]) -> None:
    """Draw the named pictures, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or [*(robot.name for robot in pliant.bundled_robots()), *HELD, "film", "report", *PLOTS]:
        if name == "report":
            draw_report()
            continue
        if name in PLOTS:
            draw_plot(name)
            continue
        if name == "film":
            draw_film("stiff_flop@circling", FOLDER / "stiff_flop.gif")
            continue
        if name.endswith(".gif"):
            FILM_FOLDER.mkdir(parents=True, exist_ok=True)
            draw_film(name.removesuffix(".gif"), FILM_FOLDER / name)
            continue
        if name in HELD:
            draw_held(name)
            continue
        eqs = pliant.derive(name)
        given = AT_REST.get(name)
        pose = None if given is None else pliant.equilibrium(eqs, **given)
        target = FOLDER / f"{name}.png"
        save(pliant.sketch(eqs, pose, parameters=(given or {}).get("parameters")), target)
        print(target)


def draw_held(example: str) -> None:
    """An example whose arm is held by its torques."""
    module = runpy.run_path(str(Path(__file__).parents[1] / "examples" / f"{example}.py"))
    eqs, joints = pliant.derive(pliant.load(module["MODEL"])), module["JOINTS"]
    torques = tuple(f"{joint}_torque" for joint in joints)
    pose = rest_with(eqs, Coordinates(joints), module["POSE"], use=torques, inputs=HELD[example])
    save(pliant.sketch(eqs, pose, labels=False), FOLDER / f"{example}.png")
    print(FOLDER / f"{example}.png")


def draw_plot(name: str) -> None:
    """The first plot of a result in a section of the page on analyses, from the code there."""
    section = (
        (FOLDER.parent / "analyses.md")
        .read_text(encoding="utf-8")
        .partition(f"## {PLOTS[name]}\n")[2]
        .partition("\n## ")[0]
    )
    names: dict[str, object] = {"pliant": pliant, "np": np}
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(code, names)
    figure = names["ax"].figure  # type: ignore[attr-defined]
    figure.savefig(FOLDER / f"{name}.png", dpi=160, bbox_inches="tight")
    print(FOLDER / f"{name}.png")


def draw_film(robot: str, target: Path) -> None:
    """The motion of a robot, at the speed that it has."""
    eqs = pliant.derive(robot)
    run = pliant.simulate(eqs, FILMS.get(robot, 2.0), save_every=0.05)
    film(eqs, run, target, fps=20, size=(262, 346) if robot.startswith("stiff_flop") else (480, 360))
    print(target)


def draw_report() -> None:
    """The three-dimensional view of a report, as a browser shows it."""
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        print("the picture of the report needs chromium and chromedriver; it stays as it is", file=sys.stderr)
        return
    from selenium import webdriver

    eqs = pliant.derive("trunk")
    rest = pliant.equilibrium(eqs, **AT_REST["trunk"])
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(eqs, page, [pliant.modes(eqs, at=rest.state, count=4, **AT_REST["trunk"])])
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        flags = "--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --window-size=900,700"
        for flag in [*flags.split(), f"--user-data-dir={folder}/profile"]:
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
        try:
            driver.get(page.as_uri())
            driver.execute_script("const p = window.pliantPlayers[0]; p.time = 0.5; p.zoom(0.8)")
            (FOLDER / "report.png").write_bytes(driver.find_element("css selector", ".player").screenshot_as_png)
        finally:
            driver.quit()
    print(FOLDER / "report.png")


if __name__ == "__main__":
    main(sys.argv[1:])
