"""Printed equations: those of larger systems by element describe the computation, and prescribed accelerations are printed."""

import re

import casadi as ca
import numpy as np
import pytest
import sympy

from pliant import derive, load, load_text
from pliant.cli import run as command
from pliant.engine.printing import written

CHAIN = """\
pliant: 1
parameters: {length: 5 cm, k: 0.05 N*m, drive: {value: 0 N*m, input: true}, push: {value: 0 m/s^2, input: true}}
bodies:
  cart: {mass: 1 kg}
  link:
    count: 7
    mass: =10 g * (1 - i/20)
    center_of_mass: [0, 0, =-length/2]
    shape: {type: slender_rod, length: =length}
    frames: {tip: {position: [0, 0, =-length]}}
joints:
  slide: {type: prismatic, child: cart, axis: x, displacement: {name: z}}
  bend:
    type: revolute
    axis: y
    parent: "link[i-1].tip"
    first_parent: cart
    child: link
    angle: {spring: =k, damper: 1e-4, input: =drive}
constraints:
  led: {between: [world, cart], components: x, acceleration: =push}
"""


def blocks(text: str) -> dict[str, dict[str, str]]:
    """Formulas of every title; titles that refer to others have theirs, under `as`."""
    found: dict[str, dict[str, str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("    ") and " = " in line and title:
            name, value = line.strip().split(" = ", 1)
            found[title][name] = value
        elif match := re.fullmatch(r"(.*): as (.*)", line):
            found[match[1]] = {"as": match[2]}
        elif line.endswith(":"):
            title = line[:-1]
            found[title] = {}
    return found


def numbers(text: str, values: dict[str, float]) -> np.ndarray:
    """A printed expression or matrix at values of its names, which may hold brackets."""
    names = {f"name{k}": name for k, name in enumerate(values)}
    for short, name in names.items():
        text = re.sub(rf"(?<![\w\]]){re.escape(name)}(?![\w\[])", short, text)
    found = sympy.Matrix([sympy.sympify(text)]) if "Matrix" not in text else sympy.sympify(text)
    return np.array(found.subs({short: values[name] for short, name in names.items()}).tolist(), dtype=float)


def hat(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def test_a_chain_put_together_from_what_is_printed():
    """Mass matrix and forces at rest by the printed recursion, formulas read from the text alone."""
    eqs = derive(load_text(CHAIN))
    found = blocks(eqs.text())
    rng = np.random.default_rng(2)
    q = rng.uniform(-0.5, 0.5, 8)
    values = {**dict(zip(eqs.coordinates, q, strict=True)), **eqs.parameters, "drive": 0.02}
    values |= {f"d{name}": 0.0 for name in eqs.rates}
    gravity = np.array([0, 0, -9.81, 0, 0, 0])
    frames = {"world": (np.eye(3), np.zeros(3), np.zeros((6, 8)))}
    M, h = np.zeros((8, 8)), np.zeros(8)
    titles = [title for title in found if " on " in title and ", by " in title]
    assert [title.split(" on ")[0] for title in titles] == ["cart", *(f"link[{k}]" for k in range(1, 8))]
    for column, title in enumerate(titles):
        name, base, coordinate = re.fullmatch(r"(.*) on (.*), by (.*)", title).groups()
        there, own = values, found[title]
        if "as" in own:
            own = found[own["as"]]
            there = {**values, found_coordinate(title, found): values[coordinate]}
        R0, p0, R, p, s = (numbers(own[label], there) for label in ("R0", "p0", "R", "p", "s"))
        R_b, p_b, J_b = frames[base]
        R_j, p_j = R_b @ R0, p_b + R_b @ p0.ravel()
        S = np.concatenate([R_j @ s[:3, 0] + np.cross(p_j, R_j @ s[3:, 0]), R_j @ s[3:, 0]])
        J = J_b.copy()
        J[:, column] = S
        frames[name] = R_j @ R, p_j + R_j @ p.ravel(), J
        mass = found[f"rigid mass on {name}"]
        m, first, about = (numbers(mass[k], values) for k in ("mass", "mass * centre", "inertia about the origin"))
        R, p, J = frames[name]
        arm = R @ first.ravel()
        cross = hat(p) @ hat(arm)
        rotary = R @ about @ R.T - cross - cross.T - m[0, 0] * hat(p) @ hat(p)
        total = hat(arm + m[0, 0] * p)
        inertia = np.block([[m[0, 0] * np.eye(3), -total], [total, rotary]])
        M += J.T @ inertia @ J
        h -= J.T @ inertia @ gravity
    for k in range(1, 8):
        h[k] -= numbers(found["force of bend[1] along bend[1]"]["force"], {**values, "bend[1]": q[k]})[0, 0]
    np.testing.assert_allclose(M, eqs.mass_matrix(q).toarray(), atol=1e-9)
    np.testing.assert_allclose(h, eqs.bias(q, np.zeros(8), inputs={"drive": 0.02}), atol=1e-8)
    assert "required: d2/dt2 led.x = push" in eqs.text()


def found_coordinate(title: str, found: dict[str, dict[str, str]]) -> str:
    """The coordinate in the formulas that a title refers to."""
    return found[title]["as"].rpartition(", by ")[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stiff_flop", "leg", "trunk", "three_section_arm"])
def test_formulas_in_print_are_those_that_are_computed(name):
    """Poses of all kinds of motions and laws of all kinds of forces, with names for repeated expressions."""
    system = derive(load(name)).model.system
    functions = {}
    for node in system.nodes[1:]:
        q, c = ca.SX.sym("q", node.motion.q_size), ca.SX.sym("c", node.motion.constants)
        functions[node.motion.name] = ca.Function("f", [q, c], [ca.densify(ca.vec(x)) for x in node.motion.pose(q, c)])
    for force in system.coordinate_forces:
        sizes = (sum(part.q_size for part in force.kind.parts), force.size, force.kind.constants, force.kind.signals)
        x = [ca.SX.sym(label, size) for label, size in zip("qvcs", sizes, strict=True)]
        functions[force.kind.name] = ca.Function("f", x, [ca.densify(force.kind.effect(*x).force)])
    assert functions
    rng = np.random.default_rng(6)
    for kind, function in functions.items():
        names = [[sympy.Symbol(f"a{i}_{j}") for j in range(function.nnz_in(i))] for i in range(function.n_in())]
        # strains near those at rest: the end of a law's range, where it is NaN, is not printed
        given = [rng.uniform(0.9, 1.1, len(group)) for group in names]
        printed = written(function, names)
        values = {
            symbol: x for group, row in zip(names, given, strict=True) for symbol, x in zip(group, row, strict=True)
        }
        for symbol, value in printed.named:
            values[symbol] = float(value.subs(values))
        for k, output in enumerate(printed.outputs):
            expected = np.asarray(function.call(given)[k]).ravel()
            got = [float(value.subs(values)) for value in output]
            np.testing.assert_allclose(
                got, expected, rtol=1e-5, atol=1e-6 * max(1, np.abs(expected).max()), err_msg=kind
            )


LED = """\
pliant: 1
parameters: {push: {value: 0 m/s^2, input: true}}
bodies: {cart: {mass: 2 kg}}
joints: {slide: {type: prismatic, child: cart, axis: z, displacement: {name: z}}}
constraints: {led: {between: [world, cart], components: z, KIND: "=WHAT"}}
"""


@pytest.mark.parametrize(
    ("kind", "what", "line"),
    [
        ("acceleration", "push + 2 m/s^2*sin(t/1 s)", "led.z: d2/dt2 (z) = push + 2.0*sin(t)"),
        ("rate", "push*1 s", "led.z: d/dt (z) = push"),
        ("position", "push*1 s^2", "led.z: -push + z = 0"),
    ],
)
def test_prescribed_motions_are_printed(kind, what, line):
    eqs = derive(load_text(LED.replace("KIND", kind).replace("WHAT", what)))
    assert line in eqs.text().splitlines()
    if kind == "acceleration":
        assert r"\frac{d^2}{dt^2} \left( z \right) &= \mathrm{push} + 2.0 \sin{\left(t \right)}" in eqs.latex()


@pytest.mark.slow
def test_the_command_prints_larger_robots(capsys):
    assert command(["equations", "stiff_flop"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Equations of motion by element")
    assert "force of arm along" in text
    assert command(["equations", "leg", "--latex"]) == 0
    latex = capsys.readouterr().out
    assert r"\subsection*{Elements}" in latex
    assert latex.count(r"\[") == latex.count(r"\]") > 10


TURNED = """\
pliant: 1
bodies: {a: {mass: 1 kg}, b: {mass: 1 kg}}
joints:
  a: {type: cylindrical, child: a}
  b: {type: planar, child: b, rotation: {axis: [1, 2, 3], angle: 20 deg}}
constraints: {same: {between: [a, {frame: b, rotation: {axis: [1, 2, 3], angle: 0.2}}], components: orientation, GIVEN}}
"""


def test_equations_that_would_fill_pages_are_printed_by_element():
    """Rotation vectors of two bodies, expanded, have 1e20 terms."""
    eqs = derive(load_text(TURNED.replace("GIVEN", "position: [0.1, 0.1, 0.1]")))
    assert eqs.text().startswith("Equations of motion by element")


@pytest.mark.slow
def test_round_off_of_rotations_is_not_printed():
    text = derive(load_text(TURNED.replace(", GIVEN", ""))).text()
    assert text.startswith("Equations of motion: M a + h")
    assert "e-1" not in text
    assert "M[b.angle" not in text  # a point mass at its axis
