"""The parts of a robot, for building one in Python: the same names and defaults as in a model file."""

# ruff: noqa: F401 (this module only gathers names)

from __future__ import annotations

from pliant.analysis.equilibrium import FindEquilibrium
from pliant.analysis.linearize import Linearize
from pliant.analysis.modes import Modes
from pliant.analysis.path import Continuation
from pliant.analysis.simulate import Simulate
from pliant.body.body import (
    Along,
    Body,
    BodyFrame,
    Box,
    Cylinder,
    InertiaMatrix,
    PrincipalInertia,
    SlenderRod,
    Sphere,
    Tube,
)
from pliant.constraint.frames import Frames
from pliant.contact import Contact, Friction
from pliant.control.base import InputLimit
from pliant.control.constraint import ConstraintControlSpec
from pliant.control.learning_task import LearningTask, RandomParameter, RandomStart
from pliant.control.lqr_control import (
    ControlGroup,
    CoordinateValue,
    CoordinateWeight,
    Disturbance,
    HeldPose,
    InputValue,
    InputWeight,
    LqrControlSpec,
    OutputWeight,
    ProcessNoise,
    Sensor,
)
from pliant.control.pid import PidControlSpec
from pliant.control.quasistatic_control import StaticControlSpec
from pliant.external_load import Distributed, Wrench
from pliant.input.inputs import (
    Piece,
    PiecewiseInput,
    Ramp,
    RampInput,
    Series,
    SeriesInput,
    Sine,
    SineInput,
    Step,
    StepInput,
)
from pliant.joint import Chain, Cylindrical, Free, Planar, Prismatic, Revolute, Spherical, Universal, Weld
from pliant.joint.chain import (
    AxisAngleTurn,
    AxisTurn,
    QuaternionTurn,
    QuaternionVectorTurn,
    Rotate,
    Translate,
    VectorTurn,
)
from pliant.joint.coordinate import (
    AngleCoordinate,
    AngleDamper,
    AngleFriction,
    AngleLimits,
    AngleSpring,
    EqualTo,
    LengthCoordinate,
    LengthDamper,
    LengthFriction,
    LengthLimits,
    LengthSpring,
    Orientation,
    OrientationSpring,
)
from pliant.language.parameter import Parameter, World
from pliant.language.placement import (
    Around,
    Attachment,
    AxisRotation,
    DirectionRotation,
    EulerRotation,
    Placement,
    QuaternionRotation,
    VectorRotation,
)
from pliant.language.scalar import Each
from pliant.link import Axial, Beam
from pliant.link.axial import AxialSpring
from pliant.mesh import Membrane, Shell
from pliant.mesh.base import NodeValues
from pliant.mesh.drawing import (
    BlockDrawing,
    BoxSet,
    FileDrawing,
    LabelledSet,
    ListedDrawing,
    NearestSet,
    NumberedSet,
    PlaneSet,
    RectangleDrawing,
    WebDrawing,
)
from pliant.mesh.edges import MembraneEdges, ShellEdges
from pliant.output import (
    ConstraintOutput,
    ContactOutput,
    CoordinateOutput,
    EnergyOutput,
    ExpressionOutput,
    FrameOutput,
    LinkOutput,
    MeshOutput,
    ReactionOutput,
    RodOutput,
    TendonOutput,
)
from pliant.rod import Cosserat, FiniteElement, Gvs, Pcc, PccCog, Pcs, Polynomial, PseudoRigid, Timoshenko
from pliant.rod.chamber import Chamber
from pliant.rod.gvs import StrainOrders
from pliant.rod.rod import Rayleigh, Rod, RodFrame
from pliant.rod.shape import Arc, Helix, Points, PoseAlong, Poses
from pliant.section import (
    Annulus,
    Circle,
    ExplicitProperties,
    ExplicitStiffness,
    Holes,
    Polygon,
    Rectangle,
    Station,
    Table,
)
from pliant.section.material import Material
from pliant.spec.analyses import ListedAnalysis
from pliant.spec.attach import Attach
from pliant.spec.robot import RobotSpec
from pliant.surface import (
    BoxSurface,
    CapsuleSurface,
    ConvexSurface,
    CylinderSurface,
    HeightFieldSurface,
    MeshSurface,
    PlaneSurface,
    SphereSurface,
)
from pliant.tendon import ElasticTendon, TensionTendon
from pliant.tendon.routing import FramePoint, HelicalStretch, ParallelStretch, PointStretch, RodPoint

__all__ = [name for name in dir() if name[0].isupper()]
