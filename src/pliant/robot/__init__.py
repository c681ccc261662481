"""The complete robot: a model file as one object; reading, checks, flattening, writing."""

from pliant.language.faults import Fault, SpecError
from pliant.language.parameter import Environment
from pliant.robot.flattening import flatten, structural_parameters
from pliant.robot.reader import bundled_robots, load, load_text
from pliant.robot.robot import RobotSpec
from pliant.robot.structure import coordinate_table
from pliant.robot.writer import dump, save
