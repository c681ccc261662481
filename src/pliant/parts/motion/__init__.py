"""Elementary motions: maps from coordinates to a relative pose, of which all joints and rods are composed.

A motion is a name, its coordinates, and the formula of the pose (`elementary.py`). Rates, convective terms and derivatives are
derived from this formula (`pliant.engine.kernel`).
"""

from pliant.parts.motion.base import (
    DISPLACEMENT,
    FIXED,
    FREE,
    PLANAR_XZ,
    PLANAR_YZ,
    ROTATION,
    ROTATION_VECTOR,
    SCREW,
    TRANSLATION,
    Motion,
    Quaternion,
    Vector,
    rotation_vector_motion,
)
