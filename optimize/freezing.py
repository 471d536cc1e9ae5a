"""Tunes some roles and leaves the others as they are.

DSPy's optimisers skip a submodule that says `_compiled`; the flag works on a wrapper module, not on a bare Predict,
which is why every role is a module around its predictor. A flag left behind would hide the role from the saved state,
so it is set for the length of a `with` block and cleared on the copy the optimiser hands back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import dspy

from disco_dspy.roles import Role

ROLES = ("parser", "grapher", "planner", "generator")


def roles_of(student: dspy.Module) -> dict[str, Role]:
    """The role modules of a program, by name, in the order of the paper."""
    found = {name: getattr(student, name, None) for name in ROLES}
    return {name: module for name, module in found.items() if isinstance(module, Role)}


@contextmanager
def only(student: dspy.Module, roles: Iterable[str]) -> Iterator[None]:
    """Hides every role but `roles` from optimisers while the block runs."""
    wanted = set(roles)
    thaw(student)
    frozen = [module for name, module in roles_of(student).items() if name not in wanted]
    for module in frozen:
        module._compiled = True
    try:
        yield
    finally:
        thaw(student)


def thaw(student: dspy.Module) -> None:
    """Clears the flag on a program and its roles, so that all of it is saved and can be tuned again."""
    student._compiled = False
    for module in roles_of(student).values():
        module._compiled = False
