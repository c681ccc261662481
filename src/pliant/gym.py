"""Environments of gymnasium on fleets of robots: `pliant.gym.make("arm.yaml", count=4096)`."""

from pliant.environment.controller import PolicyController as PolicyController
from pliant.environment.vector import FleetEnvironment as FleetEnvironment
from pliant.environment.vector import make as make
