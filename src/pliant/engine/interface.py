"""The runtime's functions with the types of their arguments, and the check that Python and C agree on layouts."""

from __future__ import annotations

import ctypes
from functools import cache

from pliant.engine.layout import STRUCTURES
from pliant.engine.libraries import function_address, runtime_library

_P, _D, _I, _L = ctypes.c_void_p, ctypes.c_double, ctypes.c_int, ctypes.c_long

FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "pl_layout_size": (ctypes.c_size_t, [_I]),
    "pl_work_new": (_P, [_P]),
    "pl_work_free": (None, [_P]),
    "pl_bind": (None, [_P, _P]),
    "pl_evaluations": (_L, [_P]),
    "pl_work_bytes": (ctypes.c_size_t, [_P]),
    "pl_batch": (_I, [_P, _I, *[_P] * 12]),
    "pl_batch_carried": (_I, [_P, _I, *[_P] * 7, _I, _P, _P]),
    "pl_batch_contact_sums": (_I, [_P, _I, *[_P] * 5, _I, *[_P] * 4]),
    "pl_rows": (_I, [_P, _I, _I, _P, _P, _I, _P, _P, _P]),
    "pl_fastest_rates": (_I, [_P, _I, _P, _D, _P, _P, _P]),
    "pl_run_whole": (_I, [_P, _P, _P, _L, _P, _I, _P, _P, _P]),
    "pl_run_new": (_P, [_P, _I]),
    "pl_run_free": (None, [_P]),
    "pl_run_start": (_I, [_P]),
    "pl_run_advance": (_I, [_P, _L]),
    "pl_run_go_to": (_I, [_P, _D, _P, _P]),
    "pl_contacts_at": (_I, [_P, _D, _P, _P, _I, _P]),
    "pl_contact_gap": (_D, [_P, _P, _I, _P]),
    "pl_contact_entries": (_I, [_P, _I, _P, _P, _P, _P]),
    "pl_run_contacts": (None, [_P, _P, _P]),
    "pl_run_contacts_now": (_I, [_P, _I, _P]),
    "pl_run_record": (_I, [_P, ctypes.c_size_t]),
    "pl_run_recorded": (_L, [_P, _P]),
    "pl_run_adjoint": (_I, [_P, _L, _L, _P, _I, *[_P] * 12]),
    "pl_run_follow": (_I, [_P, _I, *[_P] * 7]),
}
"""Return type and argument types by name."""


@cache
def runtime() -> ctypes.CDLL:
    """The runtime's library, with the types of its functions declared."""
    library = runtime_library()
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    for index, structure in enumerate(STRUCTURES):
        size = library.pl_layout_size(index)
        if size != ctypes.sizeof(structure):
            raise RuntimeError(
                f"the runtime library {library._name} does not fit this version of Pliant: {structure.__name__} has {size} "
                f"bytes there and {ctypes.sizeof(structure)} here. Install Pliant again."
            )
    return library


def address(name: str) -> int:
    """The address of one of the runtime's functions."""
    return function_address(getattr(runtime(), name))
