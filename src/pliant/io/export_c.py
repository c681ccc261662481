"""Source text of standalone C: a robot's equations and a step with a fixed method.

The exported files are the same runtime that is used for simulations, with the robot's tables and formulas as static data.
Parameters can be changed: generated code computes the constants of the elements from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from dataclasses import replace
from textwrap import wrap
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import scipy

from pliant._version import __version__
from pliant.analysis.integrators import METHODS
from pliant.analysis.numerics.loop_closure import LoopClosure
from pliant.analysis.numerics.state import INITIAL, assemble
from pliant.analysis.states import state_at
from pliant.engine.binding import ALL_LAWS, NO_MEMORY
from pliant.engine.c_code import HEADER, LANES, SCALAR_FUNCTIONS, kernel_code, literal
from pliant.engine.compiling import runtime_files
from pliant.engine.contact_sums import contact_questions, indexed_questions
from pliant.engine.equations import Equations
from pliant.engine.initial_states import CarriedNodes, prescribed_coordinates
from pliant.engine.layout import BINDING_INTEGERS, BINDING_NUMBERS, COUNTS, INTEGERS, KERNELS, RuntimeStatus, header
from pliant.engine.model.inputs import SERIES, InputPlan
from pliant.engine.model.model import Model
from pliant.engine.outputs import ENERGIES_AT, carrying_nodes, output_function, output_names, output_parts
from pliant.engine.state import named
from pliant.engine.tables import Tables, build_tables
from pliant.io import c_text
from pliant.io.c_text import ExportError, filled
from pliant.language.time_series import TimeSeries

RUNTIME = "runtime"
DISSIPATED = 2
"""The energy of `output_function` that is accumulated along a motion."""
UNUSED = ("virtual_machine.c", "batch.c", "calls.c")
"""Files of the runtime that exported code does not need."""
MESSAGES = {
    RuntimeStatus.OK: "all is well",
    RuntimeStatus.SINGULAR: "the mass or system matrix is singular: some coordinate moves no mass, or constraints are redundant",
    RuntimeStatus.NOT_FINITE: "a number is infinite or undefined: take a smaller step, or check parameters, inputs and state",
    RuntimeStatus.NO_CONVERGENCE: "the step's equations could not be solved: take a smaller step",
    RuntimeStatus.STEP_TOO_SMALL: "the step became too small",
    RuntimeStatus.PROJECTION: "the constraints cannot be satisfied near this state: a loop does not close",
    RuntimeStatus.POSITION_JUMPS: (
        "a prescribed position jumps, and no finite force can follow: lead the input there with robot_move_input, or move the "
        "state with robot_project"
    ),
    RuntimeStatus.OUT_OF_MEMORY: "there is no memory",
}
"""Messages of the statuses that exported functions return; others have those of a run."""


UNLOCATED = (
    "the model has conditions on t that are not linear in t, as `sin(t) > 0`: exported code does not locate the times at which "
    "they change, and reads them at the times of its steps only. Jumps then act up to a step too early or too late; conditions as "
    "`t < 2 s` are exact."
)
"""Remark on models whose switching times `simulate` locates, but exported code does not."""


def own_model(eqs: Equations) -> Model:
    """The model of an export; raises ExportError if the equations have other values than the model, which exports start from, or
    if the robot does not move."""
    given = {**eqs.given_parameters, **eqs.given_inputs}
    if given:
        raise ExportError(
            f"exports have the values of the model, but these equations have another '{next(iter(given))}'",
            "load the model with it, load(..., set={...}), and derive it",
        )
    if not eqs.model.system.v_size:
        raise ExportError("the robot has no coordinates: there is no motion to export", "give it a joint that moves")
    return eqs.model


def c_files(
    model: Model, *, method: str = "semi_implicit", step: float = 1e-3, beside: Mapping[str, str] | None = None,
    trial: str = "", coefficients: Mapping[str, float] | None = None,
) -> dict[str, str]:  # fmt: skip
    """The files of an export, by path in its folder; `beside` are files of a controller to build with them, `trial` is the result
    of a trial of the method, `coefficients` those of the method if they are not the default."""
    beside = dict(beside or {})
    name = c_text.robot_identifier(model.spec.title)
    plan = _with_own_series(model)
    tables = build_tables(model.system, plan)
    runtime = {f"{RUNTIME}/{file}": text for file, text in runtime_files(header()).items() if file not in UNUSED}
    layout = f"{RUNTIME}/pl_layout.h"
    runtime[layout] = _private_symbols(name, runtime) + runtime[layout]
    own = {f"{name}.c", f"{name}_equations.c", *(file for file in beside if file.endswith(".c"))}
    library = sorted(own | {file for file in runtime if file.endswith(".c")})
    system = model.system
    words = {
        "title": c_text.comment(model.spec.title),
        "underline": "=" * (len(c_text.comment(model.spec.title)) + len(", as standalone C")),
        "name": name,
        "contents": _contents(name, beside),
        "version": __version__,
        "enums": _enumerations(model, name.upper()),
        "statuses": "\n".join(f"  {name.upper()}_{status.name} = {status.value}," for status in RuntimeStatus),
        "messages": "\n".join(
            f"    case {name.upper()}_{status.name}: return {c_text.string(_message(status, name))};"
            for status in RuntimeStatus
        ),
        "constants": str(tables.counts["n_theta"]),
        "symbolic": str(len(system.constants.symbolic_at)),
        "switches": str(model.switches.numel_out(0)),
        "followed": str(len(model.followed)),
        "carrying": str(len(carrying_nodes(model))),
        "questions": str(len(contact_questions(model))),
        "moved": str(len(_moved(model))),
        "signals": str(system.signal_count),
        "driven": str(len(prescribed_coordinates(model))),
        "carried": str(len(model.carried)),
        "own_times": str(sum(len(x.time) for x in plan.table) if len(plan.table) > len(model.plan.table) else 0),
        "method": method,
        "method_number": str(METHODS[method].code),
        "step": f"{step:g}",
        "trial": "\n".join([*wrap(trial, 100), *(wrap(UNLOCATED, 100) if model.has_located_switches else [])]),
        "library_sources": "".join(f"  {file}\n" for file in library).rstrip(),
        "sources": " ".join(["main.c", *library]),
        "positions": str(system.q_size),
        "rates": str(system.v_size),
        "constraints": str(system.rows),
        "parameters": str(len(model.parameter_names)),
        "inputs": str(len(model.input_names)),
    }
    files = {
        f"{name}.h": filled("robot.h", words),
        f"{name}.c": filled("robot.c", words),
        f"{name}_equations.h": filled("robot_equations.h", words),
        f"{name}_equations.c": _equations(model, plan, tables, name, method, step, coefficients),
        "main.c": filled("main.c", words),
        "CMakeLists.txt": filled("CMakeLists.txt", words),
        "README.txt": filled("README.txt", words),
    }
    return files | runtime | beside


def _with_own_series(model: Model) -> InputPlan:
    """The plan of inputs with memory for internal series: of two times for each position that results from a prescribed rate or
    acceleration, of three for each input that prescribes a position or a rate."""
    plan = model.plan
    kinds, which, table = list(plan.kinds), list(plan.series), list(plan.table)
    for k, item in enumerate(model.followed):
        assert item.input == len(model.input_names) + k, "followed positions come after the named inputs"
        kinds[item.input], which[item.input] = SERIES, len(table)
        table.append(TimeSeries(np.array([0.0, 1.0]), np.zeros((2, 1))))
    table += [TimeSeries(np.arange(3.0), np.zeros((3, 1))) for _ in _moved(model)]
    return replace(plan, kinds=tuple(kinds), series=tuple(which), table=tuple(table))


def _moved(model: Model) -> list[int]:
    """Indices of the inputs that prescribe positions or rates."""
    return [i for i, name in enumerate(model.input_names) if name in model.smooth_inputs]


def _bends_inside(series: TimeSeries) -> bool:
    """Whether a series has a jump or a kink between its first and its last time."""
    return bool(np.any((series.breaks > series.time[0]) & (series.breaks < series.time[-1])))


def _contents(name: str, beside: Mapping[str, str]) -> str:
    """Descriptions of the files, for the README."""
    told = {
        f"{name}.h": "what to include: everything is explained there",
        f"{name}.c": "the functions of that header",
        f"{name}_equations.c": "this robot's numbers and formulas",
        f"{RUNTIME}/": "recursions, linear algebra and integrators, the same for every robot",
        "main.c": "prints a short simulation: time, positions, energies",
    }
    if beside:
        told["main.c"] += "; the controller is not in it"
        told |= {file: "the controller: when to call it is explained there" for file in beside if file.endswith(".h")}
        told |= {file: "its numbers and functions" for file in beside if file.endswith(".c")}
    width = max(map(len, told))
    return "\n".join(f"  {file:<{width}}  {text}" for file, text in told.items())


def _message(status: RuntimeStatus, name: str) -> str:
    return MESSAGES.get(status, status.meaning).replace("robot_", f"{name}_")


def _private_symbols(name: str, runtime: Mapping[str, str]) -> str:
    """Macros that add the robot's name as a prefix to every function of the runtime."""
    # a function is declared or defined at the beginning of a line
    heads = (line.partition("(") for text in runtime.values() for line in text.splitlines() if line[:1].isalpha())
    functions = (head for head, bracket, _ in heads if bracket and not head.startswith(("static ", "typedef ")))
    symbols = {symbol for head in functions if (symbol := head.split()[-1].lstrip("*")).startswith("pl_")}
    lines = ["/* Functions carry the robot's name, so that several robots can be linked into one program. */"]
    return "\n".join([*lines, *(f"#define {s} {name}_{s}" for s in sorted(symbols)), "", ""])


def without_prefixes(text: str, name: str) -> str:
    """A file of the runtime without these macros, for a library of one robot."""

    def is_prefix(line: str) -> bool:
        return line.startswith("#define pl_") and line.split()[2:] == [f"{name}_{line.split()[1]}"]

    return "".join(line for line in text.splitlines(keepends=True) if not is_prefix(line))


def _enumerations(model: Model, prefix: str) -> str:
    sizes = {
        "POSITIONS": model.system.q_size,
        "RATES": model.system.v_size,
        "PARAMETERS": len(model.parameter_names),
        "INPUTS": len(model.input_names),
        "FRAMES": len(model.frames),
        "CONSTRAINTS": model.system.rows,
        "OUTPUTS": len(exported_output_parts(model)),
    }
    lines = ["/* How many there are of each. */", "enum {"]
    lines += [f"  {prefix}_{size} = {count}," for size, count in sizes.items()]
    parts = ["\n".join([*lines, "};", ""])]
    for short, names, what in (
        ("Q", model.q_names, "Positions: indices in q."),
        ("V", model.v_names, "Rates: indices in v."),
        ("PARAMETER", model.parameter_names, "Parameters."),
        ("INPUT", model.input_names, "Inputs."),
        ("FRAME", tuple(model.frames), "Frames."),
        ("CONSTRAINT", model.constraint_names(), "Constraint rows."),
        ("OUTPUT", exported_output_parts(model), "Outputs, vectors by their components."),
    ):
        if text := c_text.enumeration(f"{prefix}_{short}_", names, what):
            parts.append(text)
    return "\n".join(parts)


def _exported_outputs(model: Model) -> list[int]:
    """Indices of the outputs that depend on a state only: dissipated energy is accumulated along a motion."""
    function = output_function(model)
    return [
        i for i in range(function.n_out()) if DISSIPATED not in function.jac_sparsity(i, ENERGIES_AT).get_triplet()[1]
    ]


def exported_output_parts(model: Model) -> tuple[str, ...]:
    """Names of all components of the exported outputs: `pull`, or `place.x` of a vector."""
    if not model.spec.outputs:
        return ()
    names = [output_names(model)[i] for i in _exported_outputs(model)]
    return tuple(part for name in names for part in output_parts(model, name))


def _outputs(model: Model) -> ca.Function:
    """All outputs as one vector, with the inputs of `output_function`."""
    function = output_function(model)
    x = [ca.SX.sym(f"x{i}", *function.size_in(i)) for i in range(function.n_in())]
    values = function.call(x) if function.n_out() else []
    chosen = ca.vertcat(ca.SX(0, 1), *(values[i] for i in (_exported_outputs(model) if values else ())))
    return ca.Function("evaluate_outputs", x, [ca.densify(chosen)], {"cse": True})


def _functions_of_parameters(model: Model) -> dict[str, ca.Function]:
    """All quantities that depend on the parameters, as functions of one vector with dense results."""
    p = ca.SX.sym("p", len(model.parameter_names))
    given = {name: p[i] for i, name in enumerate(model.parameter_names)}
    values = model.environment.with_values(given).values
    symbolic, which = model.system.constants.symbolic, model.system.constants.symbolic_which.tolist()
    expressions: dict[str, list[ca.SX]] = {
        "constants": [symbolic(p)[which] if symbolic is not None else ca.SX(0, 1)],
        "start": list(model.initial(p)),
        "inputs": [ca.vertcat(ca.SX(0, 1), *(values[name] for name in model.input_names))],
        "switches": [model.switches(p)],
    }
    return {
        name: ca.Function(f"evaluate_{name}", [p], [ca.densify(ca.SX(x)) for x in outputs], {"cse": True})
        for name, outputs in expressions.items()
    }


def _equations(
    model: Model, plan: InputPlan, tables: Tables, name: str, method: str, step: float,
    coefficients: Mapping[str, float] | None,
) -> str:  # fmt: skip
    """The file with the robot's formulas, tables and names."""
    of_parameters = _functions_of_parameters(model) | {"outputs": _outputs(model)}
    kernels = [f for library in tables.libraries for f in library.single]
    on_lanes = [f for library in tables.libraries for f in library.on_lanes]
    functions = [*kernels, *of_parameters.values()]
    start = assembled_start(model)
    lower, upper = factor_bounds(tables)
    if coefficients is None:
        coefficients = METHODS[method](step=step).coefficients  # type: ignore[call-arg]
    counts = dict(tables.counts)
    counts["kernel_w"] = max(f.sz_w() for f in functions)
    counts["kernel_iw"] = max(f.sz_iw() for f in functions)
    frames = model.frames.values()
    asked = indexed_questions(model.system.contacts, contact_questions(model))
    parts = [
        f"/* {c_text.comment(model.spec.title)}: formulas and numbers. */",
        f'#include "{name}_equations.h"\n\n#include "{name}.h"\n',
        SCALAR_FUNCTIONS,
        *(kernel_code(function, before="static int ") for function in kernels),
        *([f'#include "{RUNTIME}/{HEADER}"\n'] if on_lanes else []),
        *(kernel_code(function, LANES, before="static int ") for function in on_lanes),
        *(kernel_code(function, before=f"int {name}_") for function in of_parameters.values()),
        f"const double {name}_default_step = {literal(step)};",
        f"const char *const {name}_method = {c_text.string(method)};",
        *(
            f"const double {name}_{x} = {literal(coefficients.get(x, 0.0))};"
            for x in ("alpha_m", "alpha_f", "beta", "gamma")
        ),
        c_text.names_list(f"const char *const {name}_q_names", model.q_names),
        c_text.names_list(f"const char *const {name}_v_names", model.v_names),
        c_text.names_list(f"const char *const {name}_parameter_names", model.parameter_names),
        c_text.names_list(f"const char *const {name}_input_names", model.input_names),
        c_text.names_list(f"const char *const {name}_frame_names", model.frames),
        c_text.names_list(f"const char *const {name}_constraint_names", model.constraint_names()),
        c_text.names_list(f"const char *const {name}_output_names", exported_output_parts(model)),
        c_text.integers(f"const int {name}_symbolic_at", model.system.constants.symbolic_at),
        c_text.numbers(f"const double {name}_assembled_q", start.q),
        c_text.numbers(f"const double {name}_assembled_v", start.v),
        f"const int {name}_keeps_positions = {int(start.keeps_positions)};",
        f"const int {name}_keeps_rates = {int(start.keeps_rates)};",
        c_text.integers(f"const int {name}_series_bends", (_bends_inside(x) for x in model.plan.table)),
        c_text.integers(f"const int {name}_followed_signal", (x.signal for x in model.followed)),
        c_text.integers(f"const int {name}_followed_order", (x.order for x in model.followed)),
        c_text.integers(f"const int {name}_followed_row", (x.row for x in model.followed)),
        c_text.integers(f"const int {name}_moved_input", _moved(model)),
        c_text.integers(f"const int {name}_moved_series", range(len(plan.table) - len(_moved(model)), len(plan.table))),
        *_start_tables(model, start, name),
        c_text.integers(f"const int {name}_frame_node", (f.node for f in frames)),
        c_text.integers(f"const int {name}_frame_constants", (f.constants for f in frames)),
        c_text.integers(f"const int {name}_carrying", carrying_nodes(model)),
        c_text.integers(f"const int {name}_question_law", asked.law),
        c_text.integers(f"const int {name}_question_side", asked.side.ravel()),
        c_text.integers(f"const int {name}_question_gap", asked.with_gap),
        f"const int {name}_lower_entries = {lower}, {name}_upper_entries = {upper};",
        _binding(model, plan, tables, start.row_active, name),
        _tables(tables, counts, name, {function.name() for function in on_lanes}),
    ]
    signature = hashlib.sha256("\n".join([__version__, *parts]).encode()).hexdigest()
    return "\n".join([*parts, f"const char *const {name}_signature = {c_text.string(signature)};", ""])


def _binding(model: Model, plan: InputPlan, tables: Tables, row_active: np.ndarray, name: str) -> str:
    """The numbers and inputs of the model as initialized static data; everything is active except redundant constraint rows."""
    numbers = {
        "constants": model.system.constants.numbers,
        "parameters": model.parameter_vector(),
        "held": np.zeros(len(plan.kinds)),
        "series_time": np.concatenate([np.zeros(0), *(s.time for s in plan.table)]),
        "series_poly": np.concatenate([np.zeros(0), *(s.poly.ravel() for s in plan.table)]),
        "contact_records": np.zeros(0),
        "contact_poses": np.zeros(0),
    }
    integers = {
        "input_kind": plan.kinds,
        "input_series": plan.series,
        "series_begin": np.cumsum([0, *(len(s.time) for s in plan.table)]),
        "row_active": row_active,
        "coordinate_force_active": [1] * tables.counts["n_cforce"],
        "frame_force_active": [1] * len(model.system.frame_forces),
        "route_active": [1] * tables.counts["n_route"],
        "contact_state": [NO_MEMORY, 0, ALL_LAWS],
    }
    parts = [c_text.numbers(f"static const double bound_{x}", numbers[x]) for x in BINDING_NUMBERS]
    parts += [c_text.integers(f"static const int bound_{x}", integers[x]) for x in BINDING_INTEGERS]
    members = [f"  .{x} = bound_{x}," for x in (*BINDING_NUMBERS, *BINDING_INTEGERS)]
    return "\n".join([*parts, "", f"const pl_binding {name}_binding = {{", *members, "};", ""])


def _tables(tables: Tables, counts: Mapping[str, int], name: str, on_lanes: Set[str]) -> str:
    """The tables of the runtime as initialized static data; on_lanes: names of the kernels for several instances."""
    parts = [c_text.integers(f"static const int table_{x}", tables.integers[x]) for x in INTEGERS]
    for slot in KERNELS:
        kernels = [f"{{0, 0, {x}}}" if x in on_lanes else f"{{{x}, 0, 0}}" for x in tables.kernels[slot]] or [
            "{0, 0, 0}"
        ]
        parts.append(c_text.array(f"static const pl_kernel table_{slot}", kernels))
    members = [f"  .{x} = {counts[x]}," for x in COUNTS]
    members += [f"  .{x} = table_{x}," for x in (*INTEGERS, *KERNELS)]
    return "\n".join([*parts, "", f"const pl_tables {name}_tables = {{", *members, "};", ""])


class AssembledStart(NamedTuple):
    """Positions and rates of the model's start on the constraints, at its own parameters, and its active constraint rows; whether
    all specified positions and rates have been kept."""

    q: np.ndarray
    v: np.ndarray
    row_active: np.ndarray
    keeps_positions: bool = True
    keeps_rates: bool = True
    closure: LoopClosure | None = None


def assembled_start(model: Model) -> AssembledStart:
    """Initial state of an exported simulation."""
    equations = Equations(model)
    start = state_at(equations, model.spec.start, 0.0, where="start")
    if not model.system.rows:
        return AssembledStart(start.q, start.v, np.zeros(0, dtype=int))
    found = assemble(equations, equations.binding, 0.0, start.q, start.v, start.given)
    as_initial = isinstance(model.spec.start, str) and model.spec.start == INITIAL
    closure = LoopClosure(equations, equations.binding, 0.0, start.q, start.given)
    given_q, given_v = named(model, {*start.given.asked, *start.given.stated})
    return AssembledStart(
        found.q,
        found.v,
        found.bound.row_active.copy(),
        not as_initial and bool(np.allclose(found.q[given_q], start.q[given_q], rtol=0, atol=1e-13)),
        not as_initial and bool(np.allclose(found.v[given_v], start.v[given_v], rtol=0, atol=1e-13)),
        closure,
    )


CARRIED_MOTIONS = {"translation": 0, "free": 1, "planar_xz": 2, "planar_yz": 3}
"""Numbers of the motions of carried nodes in exported code."""


def _start_tables(model: Model, start: AssembledStart, name: str) -> list[str]:
    """What the initial state needs: coordinates that follow motions, carried nodes, and what is held while loops are closed."""
    system, driven = model.system, prescribed_coordinates(model)
    levels = CarriedNodes.of(model).levels
    carried = [node for level in levels for node in level.nodes.tolist()]
    elements = [system.elements[system.element_of(node)] for node in carried]
    nodes = [system.nodes[node] for node in carried]
    closure = start.closure
    positions, rates = ([], []) if closure is None else (closure.position_holds, closure.rate_holds)
    specified_q, specified_v = (np.zeros(n, dtype=bool) for n in (system.q_size, system.v_size))
    if closure is not None:
        specified_q, specified_v = named(model, {*closure.given.asked, *closure.given.stated})
    tables: dict[str, Any] = {
        "driven_q": [x.q_at for x in driven],
        "driven_v": [x.v_at for x in driven],
        "driven_signal": [x.signal for x in driven],
        "driven_constant": [x.offset for x in driven],
        "carried_node": carried,
        "carried_by": [node for level in levels for node in level.carriers.tolist()],
        "carried_level": [k for k, level in enumerate(levels) for _ in level.nodes],
        "carried_motion": [CARRIED_MOTIONS[x.motion.form] for x in nodes if x is not None],
        "carried_q": [x.q_at for x in elements],
        "carried_v": [x.v_at for x in elements],
        "carried_constants": [x.constants for x in nodes if x is not None],
        "specified_q": specified_q,
        "specified_v": specified_v,
        "position_holds": np.concatenate([np.zeros(0, dtype=int), *(x.fixed for x in positions)]),
        "rate_holds": np.concatenate([np.zeros(0, dtype=int), *(x.fixed for x in rates)]),
        "keeps_shapes": [closure is not None and bool(np.all(x.fixed[closure.soft])) for x in positions],
    }
    counts = f"const int {name}_position_sets = {len(positions)}, {name}_rate_sets = {len(rates)};"
    return [*(c_text.integers(f"const int {name}_{key}", map(int, values)) for key, values in tables.items()), counts]


# -- sizes of the factors ---------------------------------------------------------------------------------------------


def factor_bounds(tables: Tables) -> tuple[int, int]:
    """Bounds on the entries below and above the diagonal of the factors of the system matrix, for any pivots.

    With a fixed column order, every row that could be the pivot of a column obtains the union of their patterns
    (George and Ng 1987, "Symbolic factorization for sparse Gaussian elimination with partial pivoting").
    """
    if tables.counts["kkt_dense"]:
        return 0, 0
    size = tables.counts["nv"] + tables.counts["m"]
    colptr, row = tables.integers["kkt_colptr"], tables.integers["kkt_row"]
    pattern = scipy.sparse.csc_matrix((np.ones(len(row)), row, colptr), shape=(size, size))
    return pivoting_bounds(pattern[:, tables.integers["kkt_order"]])


def pivoting_bounds(pattern: scipy.sparse.csc_matrix) -> tuple[int, int]:
    """Bounds on the entries of L and of U, without diagonals, for any row exchanges in a square matrix."""
    rows = pattern.tocsr()
    # groups of rows with the same pattern, as bits, by first column
    groups: dict[int, list[tuple[int, int]]] = {}
    for i in range(rows.shape[0]):
        bits = sum(1 << int(j) for j in rows.indices[rows.indptr[i] : rows.indptr[i + 1]])
        if bits:
            groups.setdefault(_first(bits), []).append((bits, 1))
    lower = upper = 0
    for column in range(rows.shape[0]):
        members = groups.pop(column, [])
        union, count = 0, 0
        for bits, number in members:
            union, count = union | bits, count + number
        rest = union & ~(1 << column)
        lower, upper = lower + max(0, count - 1), upper + rest.bit_count()
        if rest and count > 1:
            groups.setdefault(_first(rest), []).append((rest, count - 1))
    return lower, upper


def _first(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
