"""Elementary motions: maps from coordinates to a relative pose, of which all joints and rods are composed.

One motion per file: a name, its coordinates, and the formula of the pose. Rates, convective terms and derivatives
are derived from this formula (`pliant.equations.kernel`), so a new motion is one short file.
"""

from pliant.motion.base import Motion, Quaternion, Vector
from pliant.motion.displacement import DISPLACEMENT
from pliant.motion.fixed import FIXED
from pliant.motion.free import FREE
from pliant.motion.planar import PLANAR_XZ, PLANAR_YZ
from pliant.motion.rotation import ROTATION
from pliant.motion.rotation_vector import ROTATION_VECTOR, rotation_vector_motion
from pliant.motion.screw import SCREW
from pliant.motion.translation import TRANSLATION
