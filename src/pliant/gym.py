"""Environments of gymnasium on fleets of robots: `pliant.gym.make("arm.yaml", count=4096)`."""

try:
    import gymnasium  # noqa: F401 (to say what is missing)
except ModuleNotFoundError as reason:
    raise ModuleNotFoundError("gymnasium is not installed: pip install 'pliant[gym]'", name="gymnasium") from reason

from pliant.environment import FleetEnvironment as FleetEnvironment
from pliant.environment import PolicyController as PolicyController
from pliant.environment import make as make
