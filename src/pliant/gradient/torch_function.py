"""A differentiable analysis as a PyTorch function, with `autograd`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pliant.gradient.differentiable import Differentiable


def torch_function(f: Differentiable) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """`Differentiable.to_torch`."""
    try:
        import torch
        from torch.autograd.function import once_differentiable
    except ImportError as reason:
        raise ModuleNotFoundError("torch is not installed: pip install 'pliant[torch]'", name="torch") from reason

    def as_array(x: Any) -> np.ndarray:
        return np.asarray(x.detach().cpu().numpy(), dtype=float)

    class Function(torch.autograd.Function):
        """Outputs, in the order of `f.of`, of given tensors by name."""

        @staticmethod
        def forward(ctx: Any, names: tuple[str, ...], *given: Any) -> Any:
            values = {name: as_array(x) for name, x in zip(names, given, strict=True)}
            kind = reduce(torch.promote_types, [x.dtype for x in given])
            device = given[0].device
            if any(ctx.needs_input_grad[1:]):
                found, ctx.pullback = f.vjp(values)
            else:
                found = f(values)
            ctx.names, ctx.like = names, [(x.dtype, x.device) for x in given]
            return tuple(torch.as_tensor(np.array(found[name]), dtype=kind, device=device) for name in f.of)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *cotangents: Any) -> Any:
            found = ctx.pullback({name: as_array(x) for name, x in zip(f.of, cotangents, strict=True)})
            given = zip(ctx.names, ctx.like, strict=True)
            return None, *(torch.as_tensor(found[n], dtype=kind, device=device) for n, (kind, device) in given)

    def function(values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Outputs by name at these values by name; omitted arguments have their initial values."""
        f.check_argument_names(values or {})
        given = {name: torch.as_tensor(x) for name, x in (values or {}).items()}
        given = {n: x if x.is_floating_point() else x.to(torch.float64) for n, x in given.items()}
        if not given:
            return {name: torch.as_tensor(np.array(x)) for name, x in f().items()}
        found = Function.apply(tuple(given), *given.values())
        return dict(zip(f.of, found, strict=True))

    return function
