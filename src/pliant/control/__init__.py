"""Control: designs are functions, controllers are plain objects.

The fields of those that model files may describe are in `robot/controllers.py`; `described.py` designs controllers from them.
"""

from pliant.control.closed_loop import ClosedLoop, closed_loop
from pliant.control.constraint import ConstraintControl
from pliant.control.contact_task import ContactForce, PlanePosition
from pliant.control.decentralized import Group, decentralized_lqr
from pliant.control.discrete import DiscreteStateSpace, discretize
from pliant.control.extended_kalman import ContactObserver, ExtendedKalman, StiffnessEstimate
from pliant.control.feedback import StateFeedback
from pliant.control.fmu import Fmu
from pliant.control.limits import Allocation, DesignError, Limits, OutOfReach, allocate
from pliant.control.lqr import Regulator, lqr
from pliant.control.modes import Mode, system_modes
from pliant.control.observer import Observer, kalman, luenberger
from pliant.control.orientation_task import FrameDirection, FrameOrientation, frame_pose
from pliant.control.pid import Pid, PidControl
from pliant.control.predictive import Predictive, StepTimes
from pliant.control.quasistatic_control import StaticControl
from pliant.control.quasistatic_planning import plan_slow
from pliant.control.reduction import Reduction, Spillover, reduce
from pliant.control.static_model import rest_with
from pliant.control.task import Coordinates, FramePosition, Reference, Several
from pliant.control.tracking import Tracking
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
