"""The complete robot: a model file as one object; reading, checks, flattening, writing, derivation."""

from pliant.language.environment import Environment
from pliant.language.faults import Fault, SpecError
from pliant.spec.derive import derive
from pliant.spec.flattening import flatten, structural_parameters
from pliant.spec.listing import coordinate_table
from pliant.spec.reader import bundled_robots, check, load, load_text
from pliant.spec.robot import RobotSpec
from pliant.spec.writer import dump, save
