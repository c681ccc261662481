"""Short names of rod models: those of the papers that compare them. Each stands for the name that the field uses."""

from __future__ import annotations

from typing import Any

ALIASES = {
    "ebr": "pcs",
    "eba": "cosserat",
    "srl": "pseudo_rigid",
    "rom": "polynomial",
    "cc": "pcc",
    "cog": "pcc_cog",
    "fe": "finite_element",
}


def canonical(kind: Any) -> Any:
    """The name that an alias stands for; anything else unchanged."""
    return ALIASES.get(kind, kind) if isinstance(kind, str) else kind
