"""Control: from the equations to a loop that holds. Designs are functions, controllers plain objects."""

from pliant.control.constraint import ConstraintControl, Pid, UnderActuated
from pliant.control.discrete import DiscreteStateSpace, TooSlow, discretize
from pliant.control.extended import ExtendedKalman
from pliant.control.feedback import StateFeedback
from pliant.control.limits import Limits, allocate
from pliant.control.lqr import Regulator, lqr
from pliant.control.modes import Mode, NotReached, system_modes
from pliant.control.observer import Observer, kalman, luenberger
from pliant.control.predictive import Predictive
from pliant.control.reduction import Reduction, Spillover, reduce
from pliant.control.slow import plan_slow
from pliant.control.statics import StaticControl
from pliant.control.task import Coordinates, FramePosition, Path, Several
from pliant.control.tracking import Tracking
from pliant.control.trajectory import Goal, Sphere, Trajectory, plan

__all__ = [
    "ConstraintControl",
    "Coordinates",
    "DiscreteStateSpace",
    "ExtendedKalman",
    "FramePosition",
    "Goal",
    "Limits",
    "Mode",
    "NotReached",
    "Observer",
    "Path",
    "Pid",
    "Predictive",
    "Reduction",
    "Regulator",
    "Several",
    "Sphere",
    "Spillover",
    "StateFeedback",
    "StaticControl",
    "TooSlow",
    "Tracking",
    "Trajectory",
    "UnderActuated",
    "allocate",
    "discretize",
    "kalman",
    "lqr",
    "luenberger",
    "plan",
    "plan_slow",
    "reduce",
    "system_modes",
]
