"""Printed equations, through SymPy: in full for small systems, by element for others, as plain text and as LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import comb, prod
from typing import Any, TypeAlias

import casadi as ca

from pliant.engine.model.model import Model
from pliant.engine.operations import read
from pliant.engine.symbolic import casadi_function
from pliant.parts.assembly.system import MASS_SIZE


@dataclass(frozen=True)
class PrintedSizes:
    """Largest sizes that are printed. rates, operations (of M a + h), terms (of an expanded expression): of equations in full;
    larger ones fill pages (rotation vectors of two bodies have 1e20 terms), and are printed by element. formula: operations of one
    formula of an element. unnamed: an expression is named if its number of operations times its number of uses exceeds this.
    simplified: operations of an expression whose sines and cosines are combined: SymPy takes
    minutes for longer ones, and for some quotients by sums of any length.
    digits: of numbers. denominator: products of rounded coefficients with larger ones are rounded again, because SymPy takes
    minutes for sums of long ones."""

    rates: int = 6
    operations: int = 400
    terms: int = 1000
    formula: int = 600
    unnamed: int = 8
    simplified: int = 400
    digits: int = 8
    denominator: int = 10**12


PRINTED = PrintedSizes()


def equations_text(model: Model) -> str:
    """`M a + h = 0` (plus constraints) line by line, or by element if that would be too long."""
    terms = _terms(model)
    if terms is None:
        return as_text(element_lines(model))
    rates = model.v_names
    lines = ["Equations of motion: M a + h = " + ("J' lambda" if terms.rows else "0"), ""]
    lines += ["q = (" + ", ".join(model.q_names) + "), v = (" + ", ".join(rates) + ")", ""]
    n, M = len(rates), terms.M
    for i in range(n):
        lines += [f"M[{rates[i]}, {rates[j]}] = {M[i][j]}" for j in range(i, n) if M[i][j] != 0]
    lines += [""] + [f"h[{rates[i]}] = {terms.h[i]}" for i in range(n)]
    if terms.rows:
        lines += ["", "Constraints:"] + [
            f"{row.name}: {DERIVATIVES[row.order].format(row.left)} = {row.right}" for row in terms.rows
        ]
    return "\n".join(lines)


def equations_latex(model: Model) -> str:
    """The same as an aligned LaTeX block, or by element as a fragment of a document."""
    import sympy

    terms = _terms(model)
    if terms is None:
        return as_latex(element_lines(model))
    symbols = _symbols(model)
    names = {symbol: upright(symbol.name) for group in ("q", "u", "p") for symbol in symbols[group]}
    names |= {s: rf"\dot{{{upright(n)}}}" for s, n in zip(symbols["v"], model.v_names, strict=True)}

    def latex(x: Any) -> str:
        return str(sympy.latex(sympy.Matrix(x), symbol_names=names))

    lines = [r"M(q) &= " + latex(terms.M), r"h(q, v) &= " + latex(terms.h)]
    for row in terms.rows:
        left, right = (sympy.latex(x, symbol_names=names) for x in (row.left, row.right))
        lines.append(LATEX_DERIVATIVES[row.order].format(left) + " &= " + right)
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])


DERIVATIVES = ("{}", "d/dt ({})", "d2/dt2 ({})")
LATEX_DERIVATIVES = ("{}", r"\frac{{d}}{{dt}} \left( {} \right)", r"\frac{{d^2}}{{dt^2}} \left( {} \right)")


@dataclass(frozen=True)
class Row:
    """A constraint: the derivative of this order of `left` equals `right`."""

    name: str
    left: Any
    order: int
    right: Any


@dataclass(frozen=True)
class Terms:
    """Equations written out: M by rows, h, constraints."""

    M: list[list[Any]]
    h: list[Any]
    rows: list[Row]


def _terms(model: Model) -> Terms | None:
    """The equations in full; None if they would be unreadable."""
    import sympy

    n = len(model.v_names)
    if n > PRINTED.rates or model.system.contacts.laws:
        return None
    residual = casadi_function(model, "inverse_dynamics")
    if not residual.is_a("SXFunction") or residual.n_instructions() > PRINTED.operations:
        return None
    symbols = _symbols(model)
    t, q, v, u, p = (ca.SX.sym(x, len(symbols[x])) for x in ("t", "q", "v", "u", "p"))
    a = ca.SX.sym("a", n)
    r = residual(t, q, v, a, u, p)
    M, h = ca.jacobian(r, a), residual(t, q, v, ca.DM.zeros(n), u, p)
    phi = casadi_function(model, "constraints")(t, q, v, u, p)[0]
    function = ca.Function("terms", [t, q, v, u, p], [ca.densify(M), ca.densify(h), ca.densify(phi)])
    try:
        values = written(function, [symbols[x] for x in ("t", "q", "v", "u", "p")], shorten=False).outputs
        signals = [_tidy(sympy, x) for x in signal_values(model, sympy)]
    except CannotPrint:
        return None
    terms: dict[Any, int] = {}
    for x in (x for group in values for x in group):
        _expanded_terms(x, terms)
    if max(terms.values(), default=0) > PRINTED.terms:
        return None
    simplified = [[_tidy(sympy, x) for x in group] for group in values]
    # positions that result from prescribed rates and accelerations are zero in the values of constraints
    prescribed = {item.row: (item.order, signals[item.signal]) for item in model.followed}
    rows = [
        Row(name, value, *prescribed.get(k, (0, sympy.Integer(0))))
        for k, (name, value) in enumerate(zip(model.constraint_names(), simplified[2], strict=True))
    ]
    return Terms([[simplified[0][n * j + i] for j in range(n)] for i in range(n)], simplified[1], rows)


def _expanded_terms(x: Any, known: dict[Any, int]) -> int:
    """The number of terms of an expression whose products are expanded. known: those of its parts, arguments of functions too."""
    if x not in known:
        counts = [_expanded_terms(part, known) for part in x.args]
        if x.is_Add:
            known[x] = sum(counts)
        elif x.is_Mul:
            known[x] = prod(counts)
        elif x.is_Pow and x.exp.is_Integer and x.exp > 0:
            known[x] = comb(counts[0] + int(x.exp) - 1, int(x.exp))
        else:
            known[x] = 1
    return known[x]


def _tidy(sympy: Any, expression: Any) -> Any:
    rounded = sympy.nsimplify(expression, rational=True, tolerance=1e-12)
    if rounded == 0:
        return sympy.Integer(0)
    long = PRINTED.denominator
    expanded = sympy.expand(rounded).replace(lambda x: x.is_Rational and x.q > long, lambda x: x.evalf(15, chop=1e-12))
    quotient = any(power.base.is_Add and power.exp.is_negative for power in expanded.atoms(sympy.Pow))
    if not quotient and sympy.count_ops(expanded) <= PRINTED.simplified:
        expanded = sympy.trigsimp(expanded)
    return expanded.evalf(8, chop=1e-12)


def _symbols(model: Model) -> dict[str, list[Any]]:
    import sympy

    return {
        "t": [sympy.Symbol("t")],
        "q": [sympy.Symbol(name) for name in model.q_names],
        "v": [sympy.Symbol(f"d{name}") for name in model.v_names],
        "u": [sympy.Symbol(name) for name in model.input_names],
        "p": [sympy.Symbol(name, positive=True) for name in model.parameter_names],
    }


# -- by element --------------------------------------------------------------------------------------------------------

Line: TypeAlias = "str | Heading | Formula"

ASSEMBLY = (
    "Twists V = (linear, angular) and wrenches are in world axes at the world's origin; x and x* are the cross products of twists "
    "with twists and with wrenches, X the change of a twist from the axes and the origin of a frame to those of the world.",
    "A frame n that an element moves against its base b, with the element's coordinates q, rates v, accelerations a:",
    "    pose     T_n = T_b T0 (R, p)",
    "    twist    V_n = V_b + S_n v,   S_n = X(T_b T0) s",
    "    acceleration  A_n = A_b + S_n a + (V_b x S_n + X(T_b T0) ds/dt) v,   A_world = -(gravity, 0)",
    "A mass on frame n, with the inertia I_n in world axes, and wrenches w_n on it leave  f_n = I_n A_n + V_n x* I_n V_n - w_n.",
    "Along a coordinate of an element that moves the frames n:  M a + h = sum_n S_n' (f_n and those of all frames beyond n) - "
    "(forces on the coordinate).",
)


CONTACT_LAW = (
    "Surfaces that overlap by a depth d are pushed apart by  N = k d^p (1 + c dd/dt), not below 0. Friction is a "
    "spring between the surfaces that yields at mu N. Contact points are found by search, so no formula is printed:"
)


@dataclass(frozen=True)
class Heading:
    """Title of a group."""

    words: str


@dataclass(frozen=True)
class Formula:
    """`name = value`; a value is an expression or a matrix of SymPy."""

    name: str
    value: Any


class _Printer:
    """The lines of one model."""

    def __init__(self, model: Model) -> None:
        import sympy

        self.sympy, self.model, self.system = sympy, model, model.system
        self.parameters = [sympy.Symbol(name, positive=True) for name in model.parameter_names]
        self.inputs = [sympy.Symbol(name) for name in model.input_names]
        p = ca.SX.sym("p", len(self.parameters))
        self.theta: Any = ca.densify(ca.SX(self.system.constants.expression(p)))
        self.p = p
        self.labels = _labels(model)
        self.seen: dict[Hashable, str] = {}

    def lines(self) -> Iterator[Line]:
        system, model = self.system, self.model
        n = len(model.v_names)
        right = "J' lambda" if system.rows else "0"
        yield f"Equations of motion by element: M a + h = {right}, with {n} {'rate' if n == 1 else 'rates'}"
        yield from ASSEMBLY
        yield from self._formulas("everywhere", "", [self.p], [self.parameters], [self.theta[0:3]], ("gravity",))
        yield Heading("Elements")
        for element in system.elements:
            yield from self._element(element)
        yield Heading("Masses")
        for node in system.masses:
            yield from self._mass(node)
        for number, inertia in enumerate(system.inertias):
            yield from self._inertia(number, inertia)
        if system.coordinate_forces or system.frame_forces or system.routes:
            yield Heading("Forces")
            yield from self._forces()
        if system.contacts.laws:
            yield Heading("Contacts")
            yield from self._contacts()
        if system.rows:
            yield Heading("Constraints")
            yield from self._constraints()

    def _contacts(self) -> Iterator[Line]:
        """The parts of contacts; positions and forces are computed by a search, not by formulas."""
        yield CONTACT_LAW
        for law in self.system.contacts.laws:
            first, second = (
                ", ".join(dict.fromkeys(self.system.contacts.shapes[k].name for k in sorted(side)))
                for side in (law.first, law.second)
            )
            yield f"    {law.name}: {first} and {second}"

    # -- kinds of lines ------------------------------------------------------------------------------------------------

    def _element(self, element: Any) -> Iterator[Line]:
        q = [self._symbol(name) for name in self.model.q_names[element.q_at : element.q_at + element.q_size]]
        names = ", ".join(map(str, q))
        for node in element.nodes:
            entry = self.system.nodes[node]
            assert entry is not None
            words = f"{self.labels[node]} on {self.labels[element.base]}" + (f", by {names}" if names else ", fixed")
            at, own = entry.constants, entry.constants + 12
            motion = entry.motion
            theta, x = self.theta, ca.SX.sym("q", element.q_size)
            constants = theta[own : own + motion.constants]
            R, p = motion.pose(x, constants)
            outputs = [ca.reshape(theta[at : at + 9], 3, 3), theta[at + 9 : at + 12], R, p]
            outputs += [motion.twist_per_rate(x, constants)] if element.v_size else []
            labels = ("R0", "p0", "R", "p", "s")[: len(outputs)]
            yield from self._formulas(
                words, f"motion {motion.name}", [x, self.p], [q, self.parameters], outputs, labels
            )

    def _mass(self, node: int) -> Iterator[Line]:
        at = self.system.masses[node]
        c = self.theta[at : at + MASS_SIZE]
        # the moments are mass * centre and the inertia about the frame's origin
        inertia = ca.vertcat(ca.horzcat(c[4], c[7], c[8]), ca.horzcat(c[7], c[5], c[9]), ca.horzcat(c[8], c[9], c[6]))
        yield from self._formulas(
            f"rigid mass on {self.labels[node]}", "mass", [self.p], [self.parameters],
            [c[0], c[1:4], inertia], ("mass", "mass * centre", "inertia about the origin"),
        )  # fmt: skip

    def _inertia(self, number: int, inertia: Any) -> Iterator[Line]:
        kind = inertia.kind
        elements = [self.system.elements[e] for e in inertia.elements]
        names = [self._symbol(n) for e in elements for n in self.model.q_names[e.q_at : e.q_at + e.q_size]]
        frames = " and ".join(self.labels[node] for node in inertia.nodes)
        x, theta = ca.SX.sym("q", len(names)), self.theta
        c = theta[inertia.own_constants : inertia.own_constants + kind.constants]
        pose = ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3)
        M = kind.mass_matrix(pose if kind.frames == 2 else None, x, c)
        given = (
            [self._symbol(f"R{i}{j}") for j in (1, 2, 3) for i in (1, 2, 3)],
            [self._symbol(f"p{i}") for i in (1, 2, 3)],
        )
        words = f"mass that moves with {frames}" + (f" and {', '.join(map(str, names))}" if names else "")
        yield from self._formulas(
            f"{words}, by the twists of the frames in their own axes and the rates", f"inertia {kind.name}",
            [x, ca.vec(pose[0]), pose[1], self.p], [names, *given, self.parameters], [M], ("M",),
        )  # fmt: skip

    def _forces(self) -> Iterator[Line]:
        system, theta = self.system, self.theta
        for c in system.coordinate_forces:
            q_size = sum(part.q_size for part in c.kind.parts)
            q, v = ca.SX.sym("q", q_size), ca.SX.sym("v", c.size)
            names = [self._symbol(n) for n in self.model.q_names[c.q_at : c.q_at + q_size]]
            rates = [self._symbol(f"d{n}") for n in self.model.v_names[c.v_at : c.v_at + c.size]]
            s = ca.SX.sym("s", c.kind.signals)
            effect = c.kind.effect(q, v, theta[c.constants : c.constants + c.kind.constants], s)
            words = f"force of {c.source} along {', '.join(map(str, names))}"
            signals = self._signals(range(c.signals, c.signals + c.kind.signals))
            yield from self._formulas(
                words, f"force {c.kind.name}", [q, v, s, self.p], [names, rates, signals, self.parameters],
                [effect.force], ("force",),
            )  # fmt: skip
        for f in system.frame_forces:
            yield from self._frame_force(f)
        for route in system.routes:
            length, rate = ca.SX.sym("l"), ca.SX.sym("dl")
            s, sd = (ca.SX.sym(x, route.kind.signals) for x in ("s", "ds"))
            c = theta[route.law_constants : route.law_constants + route.kind.constants]
            points = ", ".join(self.labels[node] for node in route.nodes)
            signals = self._signals(range(route.signals, route.signals + route.kind.signals))
            speeds = [self._symbol(f"d({x})/dt") for x in signals]
            tension = route.kind.law(length, rate, c, s, sd)
            yield from self._formulas(
                f"tension of {route.source} along the line through {points}", f"line {route.kind.name}",
                [length, rate, s, sd, self.p], [[self._symbol("length")], [self._symbol("rate")], signals, speeds, self.parameters],
                [tension.force], ("tension",),
            )  # fmt: skip

    def _frame_force(self, f: Any) -> Iterator[Line]:
        frames = range(1, len(f.nodes) + 1)
        poses = [(ca.SX.sym(f"R{k}", 3, 3), ca.SX.sym(f"p{k}", 3)) for k in frames]
        twists = [ca.SX.sym(f"V{k}", 6) for k in frames]
        s = ca.SX.sym("s", f.kind.signals)
        effect = f.kind.effect(poses, twists, self.theta[f.constants : f.constants + f.kind.constants], s)
        where = ", ".join(f"frame {k}: {self.labels[node]}" for k, node in zip(frames, f.nodes, strict=True))
        arguments, names = [], []
        for k, (R, p), V in zip(frames, poses, twists, strict=True):
            arguments += [ca.vec(R), p, V]
            names += [
                [self._symbol(f"R{k}_{i}{j}") for j in (1, 2, 3) for i in (1, 2, 3)],
                [self._symbol(f"p{k}_{i}") for i in "xyz"],
                [self._symbol(f"V{k}_{i}") for i in (*"xyz", "rx", "ry", "rz")],
            ]
        signals = self._signals(range(f.signals, f.signals + f.kind.signals))
        parts = [effect.force[6 * k : 6 * k + 6] for k in range(len(f.nodes))]
        yield from self._formulas(
            f"wrenches of {f.source}; {where}", f"force {f.kind.name}",
            [*arguments, s, self.p], [*names, signals, self.parameters], parts, [f"wrench_{k}" for k in frames],
        )  # fmt: skip

    def _constraints(self) -> Iterator[Line]:
        theta = self.theta
        names = self.model.constraint_names()
        right = row_targets(self.model, self.sympy)
        for c in self.system.constraints:
            frames = range(1, len(c.nodes) + 1)
            poses = [(ca.SX.sym(f"R{k}", 3, 3), ca.SX.sym(f"p{k}", 3)) for k in frames]
            constants = theta[c.constants : c.constants + c.kind.constants]
            value = c.kind.value([x.vector for x in c.kind.attached(poses, constants)], constants)
            arguments: list[Any] = []
            labels: list[Any] = []
            for k, (R, p) in zip(frames, poses, strict=True):
                arguments += [ca.vec(R), p]
                labels.append([self._symbol(f"R{k}_{i}{j}") for j in (1, 2, 3) for i in (1, 2, 3)])
                labels.append([self._symbol(f"p{k}_{i}") for i in "xyz"])
            where = ", ".join(f"frame {k}: {self.labels[node]}" for k, node in zip(frames, c.nodes, strict=True))
            rows = [target(names[c.row + k]) for k, target in enumerate(right[c.row : c.row + c.kind.size])]
            outputs = [ca.SX(value)[k] for k in range(c.kind.size)]
            words = f"constraint {c.name}; {where}"
            yield from self._formulas(
                words, f"constraint {c.kind.name}", [*arguments, self.p], [*labels, self.parameters],
                outputs, names[c.row : c.row + c.kind.size],
            )  # fmt: skip
            yield from rows
        for line in self.system.linear_constraints:
            q = ca.SX.sym("q", self.system.q_size)
            symbols = [self._symbol(name) for name in self.model.q_names]
            value = -theta[line.offset]
            for (i, _), k in zip(line.coordinates, line.coefficients, strict=True):
                value = value + theta[k] * q[i]
            yield from self._formulas(
                f"constraint {line.name}", "", [q, self.p], [symbols, self.parameters], [value], (names[line.row],)
            )
            yield right[line.row](names[line.row])

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _formulas(
        self, words: str, kind: str, arguments: Sequence[Any], symbols: Sequence[Sequence[Any]],
        outputs: Sequence[Any], labels: Sequence[str],
    ) -> Iterator[Line]:  # fmt: skip
        """A title, and each output as a formula of the symbols; a formula printed before with other names is referred to."""
        function = ca.Function("formula", list(arguments), [ca.densify(ca.SX(x)) for x in outputs], {"cse": True})
        size = function.n_instructions() - function.nnz_in() - function.nnz_out()
        if size > PRINTED.formula:
            yield f"{words}:"
            yield f"    {kind}: {size} operations, too long to print; see eqs.casadi() and pliant export"
            return
        shape = signature(function)
        if shape in self.seen:
            yield f"{words}: as {self.seen[shape]}"
            return
        try:
            found: PrintedFunction = written(function, [list(group) for group in symbols])
        except CannotPrint as reason:
            yield f"{words}:"
            yield f"    {kind}: {reason}"
            return
        self.seen[shape] = words
        yield f"{words}:"
        for symbol, value in found.named:
            yield Formula(str(symbol), value)
        for label, values, output in zip(labels, found.outputs, outputs, strict=True):
            rows, columns = ca.SX(output).shape
            value = values[0] if rows * columns == 1 else self.sympy.Matrix(columns, rows, values).T
            yield Formula(label, value)

    def _symbol(self, name: str) -> Any:
        return self.sympy.Symbol(name)

    def _signals(self, which: Sequence[int]) -> list[Any]:
        """Signals as expressions of time, inputs and parameters."""
        values = signal_values(self.model, self.sympy) if which else []
        return [values[k] for k in which]


def _labels(model: Model) -> dict[int, str]:
    """A name for every node: that of a frame at the node, of any frame on it, or its number."""
    numbers = model.system.constants.values(model.parameter_vector({}))
    labels: dict[int, str] = {}
    known: dict[int, tuple[bool, int]] = {}
    for name, entry in model.frames.items():
        placed = numbers[entry.constants : entry.constants + 12].tolist()
        rank = placed != [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], len(name)
        if entry.node not in known or rank < known[entry.node]:
            known[entry.node], labels[entry.node] = rank, name
    labels[0] = "world"
    return {node: labels.get(node, f"frame {node}") for node in range(len(model.system.nodes))}


def signal_values(model: Model, sympy: Any) -> list[Any]:
    """All signals as SymPy expressions of time, inputs and parameters; positions that result from commands are symbols."""
    plan = model.plan
    if plan.signals is None:
        return []
    hidden = [sympy.Symbol(f"position{k + 1}") for k in range(len(plan.kinds) - len(model.input_names))]
    inputs = [*(sympy.Symbol(name) for name in model.input_names), *hidden]
    zero = [sympy.Integer(0)] * len(plan.kinds)
    parameters = [sympy.Symbol(name, positive=True) for name in model.parameter_names]
    outputs = plan.signals.expand() if not plan.signals.is_a("SXFunction") else plan.signals
    return list(written(outputs, [[sympy.Symbol("t")], inputs, zero, zero, parameters], shorten=False).outputs[0])


def row_targets(model: Model, sympy: Any) -> list[Callable[[str], str]]:
    """Prescribed value of each constraint row, or of its derivative, as a function of its name."""
    signals = signal_values(model, sympy)
    followed = {item.row: item for item in model.followed}

    def target(row: int, signal: int) -> Callable[[str], str]:
        if row in followed:
            before = {1: "d/dt", 2: "d2/dt2"}[followed[row].order]
            wanted = signals[followed[row].signal]
            return lambda name: f"    required: {before} {name} = {wanted}"
        wanted = signals[signal] if signal >= 0 else 0
        return lambda name: f"    required: {name} = {wanted}"

    return [target(row, signal) for row, signal in enumerate(model.system.row_signals())]


def element_lines(model: Model) -> list[Line]:
    """The equations by element."""
    return list(_Printer(model).lines())


def as_text(lines: Sequence[Line]) -> str:
    """Plain text; matrices as printed by SymPy."""
    out: list[str] = []
    for line in lines:
        if isinstance(line, Heading):
            out += ["", line.words]
        elif isinstance(line, Formula):
            out.append(f"    {line.name} = {line.value}")
        else:
            out.append(line)
    return "\n".join(out)


def as_latex(lines: Sequence[Line]) -> str:
    """A fragment for the body of a document with amsmath: titles, text, and a displayed formula each."""
    import sympy

    out: list[str] = []
    for line in lines:
        if isinstance(line, Heading):
            out += ["", rf"\subsection*{{{line.words}}}"]
        elif isinstance(line, Formula):
            free = sorted(line.value.free_symbols, key=str) if hasattr(line.value, "free_symbols") else []
            names = {symbol: upright(symbol.name) for symbol in free}
            out.append(rf"\[ {upright(line.name)} = {sympy.latex(line.value, symbol_names=names)} \]")
        else:
            out += ["", _plain(line)]
    return "\n".join(out)


def _plain(words: str) -> str:
    """Text in LaTeX."""
    escaped = "".join(
        {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "^": r"\^{}", "$": r"\$"}.get(c, c) for c in words
    )
    return escaped.strip()


# -- functions as expressions of SymPy ---------------------------------------------------------------------------------


class CannotPrint(ValueError):
    """Raised if a function contains an operation that cannot be printed."""


@dataclass(frozen=True)
class PrintedFunction:
    """A printed function: names with their expressions, in order, and each output's entries by columns."""

    named: tuple[tuple[Any, Any], ...]
    outputs: tuple[tuple[Any, ...], ...]


def written(function: ca.Function, inputs: list[list[Any]], *, shorten: bool = True) -> PrintedFunction:
    """Replays the operations of an SX function on SymPy's symbols.

    With `shorten` repeated expressions are named w1, w2, ..., and numbers have eight digits.
    """
    import sympy

    one, two = _operations(sympy)
    graph = read(function)
    uses = Counter(node for args in (*graph.args, *((node,) for *_, node in graph.outputs)) for node in args)
    taken = {str(symbol) for group in inputs for symbol in group}
    names = (sympy.Symbol(name) for k in count(1) if (name := f"w{k}") not in taken)
    named: list[tuple[Any, Any]] = []
    values: list[Any] = []
    for node, (op, args) in enumerate(zip(graph.ops, graph.args, strict=True)):
        x = [values[i] for i in args]
        if node in graph.numbers:
            value = _number(sympy, graph.numbers[node], PRINTED.digits if shorten else 15)
        elif node in graph.places:
            argument, index = graph.places[node]
            value = inputs[argument][index]
        elif op in one or op in two:
            value = (one if op in one else two)[op](*x)
            if shorten and uses[node] > 1 and _operations_in(sympy, value) * uses[node] > PRINTED.unnamed:
                named.append((next(names), value))
                value = named[-1][0]
        else:
            raise CannotPrint(f"an operation (number {op}) that cannot be printed")
        values.append(value)
    outputs: list[list[Any]] = [[sympy.Integer(0)] * function.nnz_out(i) for i in range(function.n_out())]
    for output, index, node in graph.outputs:
        outputs[output][index] = values[node]
    return PrintedFunction(tuple(named), tuple(map(tuple, outputs)))


def signature(function: ca.Function) -> Hashable:
    """The operations of a function, by which functions with equal text are recognized; comparing with SymPy would take a hundred
    times longer."""
    graph = read(function)
    shapes = tuple(function.size_out(i) for i in range(function.n_out()))
    numbers = tuple((node, f"{number:.{PRINTED.digits}g}") for node, number in graph.numbers.items())
    return shapes, tuple(graph.ops), tuple(graph.args), numbers, tuple(graph.places.items()), tuple(graph.outputs)


def _operations_in(sympy: Any, value: Any) -> int:
    """Number of operations in an expression; a function or a power of one symbol is not counted."""
    return 0 if value.is_Atom or all(part.is_Atom for part in value.args) else int(sympy.count_ops(value))


def _number(sympy: Any, value: float, digits: int) -> Any:
    """A constant: integers exactly, others with limited digits."""
    whole = abs(value) < 1e15 and value == int(value)
    return sympy.Integer(int(value)) if whole else sympy.Float(value, digits)


def _operations(sympy: Any) -> tuple[dict[int, Any], dict[int, Any]]:
    one = {
        ca.OP_NEG: lambda x: -x, ca.OP_SQ: lambda x: x**2, ca.OP_SQRT: sympy.sqrt, ca.OP_SIN: sympy.sin,
        ca.OP_COS: sympy.cos, ca.OP_TAN: sympy.tan, ca.OP_EXP: sympy.exp, ca.OP_LOG: sympy.log,
        ca.OP_INV: lambda x: 1 / x, ca.OP_TWICE: lambda x: 2 * x, ca.OP_FABS: sympy.Abs, ca.OP_SIGN: sympy.sign,
        ca.OP_NOT: lambda x: 1 - x, ca.OP_TANH: sympy.tanh, ca.OP_ATAN: sympy.atan,
        ca.OP_ASIN: sympy.asin, ca.OP_ACOS: sympy.acos, ca.OP_SINH: sympy.sinh, ca.OP_COSH: sympy.cosh,
        ca.OP_FLOOR: sympy.floor,
    }  # fmt: skip
    two = {
        ca.OP_ADD: lambda x, y: x + y, ca.OP_SUB: lambda x, y: x - y, ca.OP_MUL: lambda x, y: x * y,
        ca.OP_DIV: lambda x, y: x / y, ca.OP_POW: lambda x, y: x**y, ca.OP_CONSTPOW: lambda x, y: x**y,
        ca.OP_ATAN2: sympy.atan2, ca.OP_FMIN: sympy.Min, ca.OP_FMAX: sympy.Max,
        ca.OP_LT: lambda x, y: _indicator(sympy, x < y), ca.OP_LE: lambda x, y: _indicator(sympy, x <= y),
        ca.OP_EQ: lambda x, y: _indicator(sympy, sympy.Eq(x, y)), ca.OP_NE: lambda x, y: _indicator(sympy, sympy.Ne(x, y)),
        # a NaN branch only marks the end of a law's range
        ca.OP_IF_ELSE_ZERO: lambda x, y: 0 if y is sympy.nan else x * y,
        ca.OP_AND: lambda x, y: x * y, ca.OP_OR: lambda x, y: sympy.Max(x, y),
    }  # fmt: skip
    return one, two


def _indicator(sympy: Any, condition: Any) -> Any:
    return sympy.Piecewise((1, condition), (0, True))


def upright(name: str) -> str:
    """A name as LaTeX: single letters are italic, words upright."""
    escaped = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathrm{{{escaped}}}"
