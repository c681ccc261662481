"""Control: designs are functions, controllers are plain objects.

The fields of those that model files may describe are in `robot/controllers.py`; `described.py` designs controllers from them.
"""

from pliant.control.discrete import DiscreteStateSpace, Mode, Reduction, Spillover, discretize, reduce, system_modes
from pliant.control.extended_kalman import ContactObserver, ExtendedKalman, StiffnessEstimate
from pliant.control.feedback import ClosedLoop, StateFeedback, Tracking, closed_loop
from pliant.control.fmu import Fmu
from pliant.control.limits import Allocation, DesignError, Limits, OutOfReach, allocate
from pliant.control.lqr import Group, Observer, Regulator, decentralized_lqr, kalman, lqr, luenberger
from pliant.control.path_control import ConstraintControl, Pid, PidControl
from pliant.control.predictive import Predictive, StepTimes
from pliant.control.quasistatic import ContactForce, PlanePosition, StaticControl, plan_slow
from pliant.control.static_model import rest_with
from pliant.control.task import (
    Coordinates,
    FrameDirection,
    FrameOrientation,
    FramePosition,
    Reference,
    Several,
    frame_pose,
)
from pliant.control.trajectory import Goal, Sphere, Trajectory, plan

__all__ = [
    "Allocation",
    "ClosedLoop",
    "ConstraintControl",
    "ContactForce",
    "ContactObserver",
    "Coordinates",
    "DesignError",
    "DiscreteStateSpace",
    "ExtendedKalman",
    "Fmu",
    "FrameDirection",
    "FrameOrientation",
    "FramePosition",
    "Goal",
    "Group",
    "Limits",
    "Mode",
    "Observer",
    "OutOfReach",
    "Pid",
    "PidControl",
    "PlanePosition",
    "Predictive",
    "Reduction",
    "Reference",
    "Regulator",
    "Several",
    "Sphere",
    "Spillover",
    "StateFeedback",
    "StaticControl",
    "StepTimes",
    "StiffnessEstimate",
    "Tracking",
    "Trajectory",
    "allocate",
    "closed_loop",
    "decentralized_lqr",
    "discretize",
    "frame_pose",
    "kalman",
    "lqr",
    "luenberger",
    "plan",
    "plan_slow",
    "reduce",
    "rest_with",
    "system_modes",
]
