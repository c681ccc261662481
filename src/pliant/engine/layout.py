"""Memory layouts and statuses that the C runtime and Python share: one list of each.

The lists below define the C header `pl_layout.h` (`header`), the ctypes structures of the same name, the initializers of exported
C and the enumeration `RuntimeStatus`. Only the standard library is used here: the build of the package loads this file by its
path.

`pl_tables` describes a robot and is constant; all threads share it. `pl_binding` contains the values derived from parameters,
inputs and active rows; it is constant during an evaluation. `pl_arguments` are the arguments of an evaluation. `pl_run_head` is
the public part of a run, read and written by both sides.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any, ClassVar

MOTION_FORMS = "kernel fixed screw rotation translation free planar_xz planar_yz".split()
"""Motions with formulas in the runtime (`runtime/motion.c`), in `node_form`; all others are kernels."""

ELEMENT_FORMS = "general single rotation translation free".split()
"""Elements with special treatment in the articulated-body recursion (`runtime/articulated.c`), in `elem_form`."""

SHAPE_FORMS = "point wire side faces plane".split()
"""Components of shapes in contact (`runtime/contact_search.c`), in `shape_kind`: single vertices, edges in a chain, the same
without its ends, triangles and edges, or a half space."""

COUNTS = (
    "n_node n_elem nq nv m n_theta n_s n_d n_cforce n_fforce n_con n_linear n_quat n_plain n_signal n_input "
    "n_parameter has_input_kernel has_round_off_kernel nnz nnz_j nnz_kkt kkt_dense by_tree kernel_w kernel_iw "
    "n_inertia n_inertia_run n_weightless n_coupled inertia_columns n_route n_route_point n_rel n_rel_kind n_shared_kind n_motion "
    "n_vertex n_item n_edge n_shape n_group n_law n_excluded "
    # the largest of any element, each at least 1: rates of an element or coordinate force, frames of a force or constraint,
    # rows of a constraint, signals of a force, numbers in W of an inertia, points of a routed line, and of one with friction,
    # numbers that a kernel of several instances takes of each (constants, signals, coordinates)
    "max_k max_frames max_rows max_signals max_inertia max_points max_friction max_lane_numbers"
).split()
"""Integers in `pl_tables`."""

INTEGERS = (
    "elem_form elem_base elem_q elem_v elem_k elem_d elem_node elem_nodes elem_pos elem_stride "
    "node_elem node_form node_kind node_theta node_s node_constant node_mass motion_begin motion_node motion_constants "
    "path_begin path_node path_lower path_upper colptr row "
    "cforce_kind cforce_q cforce_v cforce_k cforce_theta cforce_signal cforce_signals cforce_begin cforce_column "
    "fforce_kind fforce_index fforce_begin fforce_nodes fforce_theta fforce_signal fforce_signals "
    "fpair_begin fpair_a fpair_b fpair_row fpair_col fpair_pos "
    "rel_begin rel_placed rel_constants rel_signals rel_force rel_nodes rel_theta rel_signal rel_plain "
    "relpair_begin relpair_a relpair_b relpair_row relpair_col relpair_pos "
    "shared_begin shared_constants shared_weightless shared_nodes shared_theta shared_plain "
    "sharedpair_begin sharedpair_a sharedpair_b sharedpair_row sharedpair_col sharedpair_pos "
    "route_kind route_begin route_nodes route_slot route_theta route_law route_signal route_signals route_friction route_stretches "
    "rcol_begin rcol_node rcol_sign rrow_begin rrow_node rrow_case rrow_pos "
    "rtouch_begin rtouch_node rtouch_base relem_begin relem rblock_begin rblock_pos "
    "con_kind con_begin con_nodes con_theta con_size con_row conj_begin conj_frame conj_node conj_pos "
    "cpair_begin cpair_a cpair_b cpair_row cpair_col cpair_pos "
    "linear_row linear_theta linear_begin linear_q linear_v linear_elem linear_coefficient linear_pos row_signal "
    "j_row j_col kkt_colptr kkt_row kkt_order kkt_of kkt_of_j kkt_of_jt kkt_of_diagonal "
    "quat_q quat_v plain_q plain_v "
    "vertex_node vertex_theta vertex_shape item_vertex item_shape shape_kind shape_group shape_vertex shape_item shape_skip "
    "shape_corners shape_theta shape_node shape_closed group_law law_theta excluded "
    "vertex_item around_begin around item_edge edge_vertex edge_face edge_sharp "
    "inertia_run inertia_kind inertia_node inertia_k inertia_theta inertia_constants inertia_owned "
    "inertia_weightless inertia_begin inertia_pair mover_elem mover_own mover_node mover_pos"
).split()
"""Arrays of integers in `pl_tables`."""

KERNELS = (
    "motion_kinematics motion_tangent cforce_value cforce_tangent fforce_value fforce_tangent "
    "rel_value rel_tangent shared_value shared_tangent shared_mass con_value con_tangent input_kernel signal_kernel "
    "round_off_kernel inertia_value inertia_tangent route_value route_tangent"
).split()
"""Arrays of kernels (`pl_kernel`) in `pl_tables`, one kernel per kind of element."""

BINDING_NUMBERS = "constants parameters held series_time series_poly contact_records contact_poses".split()
"""Arrays of numbers in `pl_binding`: constants of all elements ([0..2] gravity), parameters, values of held inputs, and times and
coefficients (six per time, constant term first) of all series; the memory of contacts (records as in `runtime/contact.h`), and the
poses of all nodes in which it began."""

BINDING_INTEGERS = (
    "input_kind input_series series_begin row_active coordinate_force_active frame_force_active route_active "
    "contact_state"
).split()
"""Arrays of integers in `pl_binding`. input_kind: 0 held, 1 expression of time, 2 series. input_series: index of an input's
series or -1. series_begin: index in `series_time` at which each series begins, with the end of the last one. contact_state: kind
of memory of contacts (`pl_memory_kind`), number of contacts in it, and the only active law (-1 for all, -2 for none). The others
are 0 or 1."""

ARGUMENTS = (
    ("double", "t tolerance"),
    ("const double *", "q v a multipliers"),
    ("const int *", "frames"),  # pairs: the node, and the index of its placement in the constants
    ("int", "count"),  # of these pairs
)
"""Fields of `pl_arguments` by C type."""

RUN_HEAD = (
    ("int", "method fixed"),  # fixed: equal steps of at most `h` between stops, no error control
    ("double", "t h h_max rtol atol"),
    ("double", "pause"),  # return to the caller on reaching this time, which is one of the stops
    ("double", "projection_tolerance"),
    ("double", "alpha_m alpha_f beta gamma"),  # generalized-alpha; Newmark is alpha_m = alpha_f = 0
    ("double *", "q v a multipliers work"),  # state at t; work: energy dissipated and supplied [2]
    ("const double *", "stop sample_t"),  # times that a step must end on, the last one the run's end; times to sample
    ("const double *", "watch"),  # times in between that show features of signals shorter than steps may be
    ("double *", "sample_q sample_v sample_a sample_multipliers sample_work"),  # one row per sample
    ("double *", "sample_step"),  # the step that led to each sample, 0 at the start; may be null
    (
        "double *",
        "moved lost pulse",
    ),  # speed and spin per node: largest ones, those of vibrations lost, their angular frequency
    ("double *", "deepest"),  # largest depth of contacts of each shape
    ("int", "n_stop next_stop n_watch n_sample next_sample"),
    ("int", "where"),  # index in v of the first number that is not finite
    # the largest change of a signal within a fixed step that its ends do not show, relative to its largest value; its time; which
    ("double", "missed missed_at"),
    ("int", "missed_signal"),
    ("long", "steps rejected newton"),
    ("long", "brief"),  # impacts shorter than a step, whose rebound is lost
    ("double", "exchanged"),  # the most energy that was exchanged, where the steps measure it (energy_drift.c)
)
"""Fields of `pl_run_head` by C type."""


KINKS = {
    "SHORTER": 1 / 32,  # factor of the step from one attempt to the next
    "ATTEMPTS": 5,
    "MISFIT": 1e-6,  # misfit, relative to the change over a step, above which shorter steps are tried
    "BETTER": 1e-2,  # relative to the misfit of the first step: that of steps which no longer cross a kink
    "CONSTANT": 1.25,  # factor within which the misfit of even shorter steps stays if the kink is in the state itself
    "CONFIRMED": 1e-2,  # relative to the change made by shorter steps: the largest change made by even shorter ones
}
"""Constants of finite differences that recognize kinks (`runtime/parameter_change.c`, `differences.py`)."""


class RuntimeStatus(IntEnum):
    """Status of an evaluation or of a run: number, meaning for a run, and reason for the failure of an evaluation."""

    meaning: str
    """Description of the outcome of a run and suggested action."""
    failure: str
    """Description of the failure of an evaluation and suggested action."""

    def __new__(cls, number: int, meaning: str = "", failure: str = "") -> RuntimeStatus:
        """A status of this number with its two sentences."""
        status = int.__new__(cls, number)
        status._value_ = number
        status.meaning, status.failure = meaning, failure or f"the evaluation failed: {meaning}."
        return status

    OK = 0, "the run has reached its end"
    SINGULAR = (
        1,
        "the mass or system matrix became singular: a coordinate moves no mass, or constraints contradict each other; "
        "give the bodies mass and inertia, or remove redundant ones",
        "the mass matrix is singular in this state: some coordinate moves no mass, or constraints contradict each other. "
        "Give the bodies mass and inertia, or remove the superfluous coordinate or constraint; a robot that is millions of times "
        "its size away from the world's origin, where round-off hides its inertia, is placed near it.",
    )
    NOT_FINITE = (
        2,
        "a rate is no longer a finite number: the motion diverges; use a smaller step or an implicit method, or check "
        "stiffness, mass and inputs",
        "the state contains a number that is not finite. Check initial values, parameters and inputs.",
    )
    NO_CONVERGENCE = 3, "Newton's iterations did not converge; use a smaller step, or let the method choose it"
    STEP_TOO_SMALL = (
        4,
        "the step became too small to continue: the motion is singular here, or the tolerances are tighter than round-off "
        "allows",
    )
    MAX_STEPS = 5, "the run paused after the requested number of steps"
    SAMPLES_FULL = 6, "there is no room for further samples"
    PROJECTION = (
        7,
        "the constraints can no longer be satisfied: the mechanism has reached a dead end",
        "the constraints cannot be satisfied from this state: the loop does not close. Check lengths and initial values.",
    )
    POSITION_JUMPS = 8, "a prescribed position jumps, and no finite force can follow; prescribe a ramp instead"
    OUT_OF_MEMORY = (
        9,
        "there is not enough memory to continue; close other programs, or use a coarser model",
        "there is not enough memory to factorize the system matrix. Close other programs, or use a coarser model.",
    )
    PASSED_THROUGH = (
        10,
        "surfaces would pass through each other, because they are too fast for their thickness; use smaller steps",
    )


def _fields(*groups: tuple[Any, list[str] | str]) -> list[tuple[str, Any]]:
    return [(name, kind) for kind, names in groups for name in (names.split() if isinstance(names, str) else names)]


class KernelStruct(ctypes.Structure):
    """`pl_kernel`: address of a function, the number passed to it (CasADi's id for the virtual machine), and the address of a
    function for several instances at once, or null."""

    _fields_: ClassVar[Any] = [("call", ctypes.c_void_p), ("number", ctypes.c_int), ("lanes", ctypes.c_void_p)]


class TablesStruct(ctypes.Structure):
    """`pl_tables`."""

    _fields_: ClassVar[Any] = _fields((ctypes.c_int, COUNTS), (ctypes.c_void_p, INTEGERS), (ctypes.c_void_p, KERNELS))


class BindingStruct(ctypes.Structure):
    """`pl_binding`."""

    _fields_: ClassVar[Any] = _fields((ctypes.c_void_p, BINDING_NUMBERS), (ctypes.c_void_p, BINDING_INTEGERS))


_CTYPES: dict[str, Any] = {"int": ctypes.c_int, "long": ctypes.c_long, "double": ctypes.c_double}


class ArgumentsStruct(ctypes.Structure):
    """`pl_arguments`."""

    _fields_: ClassVar[Any] = _fields(*((_CTYPES.get(kind, ctypes.c_void_p), names) for kind, names in ARGUMENTS))


class RunHead(ctypes.Structure):
    """`pl_run_head`."""

    _fields_: ClassVar[Any] = _fields(*((_CTYPES.get(kind, ctypes.c_void_p), names) for kind, names in RUN_HEAD))


STRUCTURES: tuple[type[ctypes.Structure], ...] = (TablesStruct, BindingStruct, ArgumentsStruct, RunHead)
"""Structures in the order of `pl_layout_size(which)`."""


def header() -> str:
    """The C header `pl_layout.h`."""

    def members(kind: str, names: list[str] | str) -> list[str]:
        space = "" if kind.endswith("*") else " "
        return [f"  {kind}{space}{name};" for name in (names.split() if isinstance(names, str) else names)]

    head = [line for kind, names in RUN_HEAD for line in members(kind, names)]
    arguments = [line for kind, names in ARGUMENTS for line in members(kind, names)]
    lines = [
        "/* Made by layout.py: structures shared with Python, and statuses. */",
        "#ifndef PL_LAYOUT_H",
        "#define PL_LAYOUT_H",
        "",
        "#include <stddef.h>",
        "",
        "/* Status of evaluations and of runs. */",
        "enum {",
        *(f"  PL_{s.name} = {s.value}," for s in RuntimeStatus),
        "};",
        "",
        "/* Forms of motions (node_form), elements (elem_form) and shapes (shape_kind). */",
        "enum {",
        *(f"  PL_MOTION_{name.upper()} = {number}," for number, name in enumerate(MOTION_FORMS)),
        *(f"  PL_SHAPE_{name.upper()} = {number}," for number, name in enumerate(SHAPE_FORMS)),
        *(f"  PL_ELEMENT_{name.upper()} = {number}," for number, name in enumerate(ELEMENT_FORMS)),
        "};",
        "",
        "/* Finite differences that recognize kinks: see layout.py. */",
        *(f"#define PL_KINK_{name} {value!r}" for name, value in KINKS.items()),
        "",
        "/* A kernel: compiled ones ignore the number; see virtual_machine.c for others. Kinds whose instances are evaluated",
        " * side by side (lanes.h) have `lanes` once it is compiled, and `call` until then. */",
        "typedef int (*pl_function)(const double **arg, double **res, long long *iw, double *w, int number);",
        "typedef struct pl_kernel {",
        "  pl_function call;",
        "  int number;",
        "  pl_function lanes;",
        "} pl_kernel;",
        "",
        "/* A robot: sizes, index tables and kernels. Constant, shared by all threads. */",
        "typedef struct pl_tables {",
        *members("int", COUNTS),
        *members("const int *", INTEGERS),
        *members("const pl_kernel *", KERNELS),
        "} pl_tables;",
        "",
        "/* Constants, inputs and active elements. */",
        "typedef struct pl_binding {",
        *members("const double *", BINDING_NUMBERS),
        *members("const int *", BINDING_INTEGERS),
        "} pl_binding;",
        "",
        "/* Arguments of an evaluation: see calls.c. */",
        "typedef struct pl_arguments {",
        *arguments,
        "} pl_arguments;",
        "",
        "/* The public first part of a run: settings, state, samples and counters. */",
        "#define PL_RUN_HEAD \\",
        *(f"{line} \\" for line in head[:-1]),
        head[-1],
        "typedef struct pl_run_head {",
        "  PL_RUN_HEAD",
        "} pl_run_head;",
        "",
        "/* Bytes of pl_tables (0), pl_binding (1), pl_arguments (2), pl_run_head (3). */",
        "size_t pl_layout_size(int which);",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)
