"""Control: from the equations to a loop that holds. Designs are functions, controllers plain objects."""

from pliant.control.discrete import DiscreteStateSpace, TooSlow, discretize
from pliant.control.feedback import StateFeedback
from pliant.control.limits import Infeasible, Limits, allocate
from pliant.control.lqr import Regulator, lqr
from pliant.control.modes import Mode, NotReached, system_modes
from pliant.control.observer import Observer, kalman, luenberger
from pliant.control.reduction import Reduction, Spillover, reduce

__all__ = [
    "DiscreteStateSpace",
    "Infeasible",
    "Limits",
    "Mode",
    "NotReached",
    "Observer",
    "Reduction",
    "Regulator",
    "Spillover",
    "StateFeedback",
    "TooSlow",
    "allocate",
    "discretize",
    "kalman",
    "lqr",
    "luenberger",
    "reduce",
    "system_modes",
]
