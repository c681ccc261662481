"""Short names of rod models, from the papers that compare them, as aliases of the names common in the literature."""

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
    """Resolve an alias; other names are returned unchanged."""
    return ALIASES.get(kind, kind) if isinstance(kind, str) else kind
