"""The four roles as DSPy modules: each asks its model, decodes the reply, asks once more, or does without."""

from disco_dspy.roles.base import Role
from disco_dspy.roles.generator import GeneratorRole
from disco_dspy.roles.grapher import GrapherRole
from disco_dspy.roles.parser import ParserRole
from disco_dspy.roles.planner import PlannerRole

__all__ = ["GeneratorRole", "GrapherRole", "ParserRole", "PlannerRole", "Role"]
