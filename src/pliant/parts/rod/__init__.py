"""Rods: soft parts, each in one of several models. A new model is one file and one name here."""

from typing import Annotated, TypeAlias, get_args

from pliant.language.base import ByType
from pliant.language.names import ALIASES
from pliant.parts.rod.base import RodModelBase
from pliant.parts.rod.cosserat import Cosserat
from pliant.parts.rod.finite_element import FiniteElement
from pliant.parts.rod.gvs import Gvs
from pliant.parts.rod.pcc import Pcc, PccCog
from pliant.parts.rod.pcs import Pcs
from pliant.parts.rod.polynomial import Polynomial
from pliant.parts.rod.pseudo_rigid import PseudoRigid
from pliant.parts.rod.timoshenko import Timoshenko

RodModel: TypeAlias = Annotated[
    Pcc | PccCog | Pcs | Gvs | Cosserat | FiniteElement | Polynomial | PseudoRigid | Timoshenko,
    ByType("rod model", key="kind", aliases=ALIASES),
]

KINDS: dict[str, type[RodModelBase]] = {
    str(member.model_fields["kind"].default): member for member in get_args(get_args(RodModel)[0])
}
"""Rod models by kind."""
