"""Drawn specs whose features have the size of a product get roles where they can, and agree with the reference."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from attndsl.driver.compile import lower
from attndsl.driver.summarise import feature_dims
from attndsl.ir.context import context
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.passes.approximate_functions import ApproximateFunctions
from attndsl.passes.assign_roles import AssignRoles
from attndsl.testing.case import Case, types_with
from attndsl.testing.fuzz import Example, FuzzPlan, examples

from .test_roles import kernels

FEATURES = 16


def agree_with_roles(example: Example) -> int:
    """Raises Disagreement, or RolesFail; gives how many calls of a spec were tried whose warps get roles."""
    spec, tried = example.case.spec, 0
    sizes = dict.fromkeys(feature_dims(spec), FEATURES)
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes, "cuda:90")
    ApproximateFunctions().apply(context(), module)
    AssignRoles(rows=2, keys=4).apply(context(), module)
    if not kernels(module, "roles"):
        return 0
    module.verify()
    for number in range(3):
        try:
            case = Case.make(spec, "bf16", number, {**example.case.dims, **sizes})
        except ValueError:  # no input of these dims satisfies what the spec requires
            continue
        for each in (case, case.poisoned()):
            arrays = {name: array.copy() for name, array in each.arrays.items()}
            found = interpret(module, arrays, each.dims, each.params, {**SMALL_CHOICES, "SPLITS": 1})
            each.check("assign-roles", found, narrowed=True)
            tried += 1
    return tried


@pytest.mark.matrix
def test_roles_of_drawn_specs_agree_with_the_reference() -> None:
    tried = 0

    @seed(7)
    @settings(
        max_examples=60,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(examples(FuzzPlan(None, ())))
    def each(example: Example) -> None:
        nonlocal tried
        tried += agree_with_roles(example)

    each()
    assert tried > 6, "hardly a drawn spec gets roles"
