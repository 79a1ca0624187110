"""Drawn specs whose features have the size of a product get roles where they can, and agree with the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.choices import FUSED
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.summarise import feature_dims
from attndsl.driver.targets import target_of
from attndsl.gradient import NoGradient, gradient
from attndsl.ir.build import build
from attndsl.ir.context import context
from attndsl.ir.interpret import interpret
from attndsl.ir.tile import KernelOp
from attndsl.passes.assign_roles import AssignRoles
from attndsl.syntax.source import Source
from attndsl.testing.case import Case, types_with
from attndsl.testing.fuzz import Example, FuzzPlan, examples

from .test_roles import choices_of, kernels

FEATURES = 16


def agree_with_roles(spec: Spec, dims: Mapping[str, int]) -> int:
    """Raises Disagreement, or RolesFail; gives how many calls of a spec were tried whose warps get roles.

    Where one kernel does what several do, with roles or without, it is tried, too.
    """
    tried = 0
    sizes = dict.fromkeys(feature_dims(spec), FEATURES)
    pipeline = target_of("gluon").lowering(known=sizes, machine="cuda:90", boxes=True)
    plain = build(spec, types_with(spec, "bf16"))
    run_pipeline(plain, passes_of(pipeline.steps[:-1]))
    module = plain.clone()
    AssignRoles(rows=2, keys=4).apply(context(), module)
    module.verify()
    forms = [
        (each, 1) for each in (plain, module) if any(isinstance(op, KernelOp) and op.instead for op in each.walk())
    ]
    forms += [(module, 0)] if kernels(module, "roles") else []
    if not forms:
        return 0
    asked = [(form, {**chosen, FUSED: fuses}) for form, fuses in forms for chosen in choices_of(form)]
    for number in range(3):
        try:
            case = Case.make(spec, "bf16", number, {**dims, **sizes})
        except ValueError:  # no input of these dims satisfies what the spec requires
            continue
        for call in (case, case.poisoned()):
            for form, chosen in asked:
                arrays = {name: array.copy() for name, array in call.arrays.items()}
                found = interpret(form, arrays, call.dims, call.params, chosen)
                call.check("assign-roles", found, narrowed=True)
            tried += any(form is module for form, _ in forms)
    return tried


def tried_of_drawn(count: int, specs: Callable[[Example], Iterator[Spec]]) -> int:
    """How many calls were tried of specs that are made of so many drawn ones."""
    tried = 0

    @seed(7)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(examples(FuzzPlan(None, ())))
    def each(example: Example) -> None:
        nonlocal tried
        tried += sum(agree_with_roles(spec, example.case.dims) for spec in specs(example))

    each()
    return tried


def itself(example: Example) -> Iterator[Spec]:
    yield example.case.spec


def its_gradient(example: Example) -> Iterator[Spec]:
    """Turns of several scores, most of them."""
    with suppress(NoGradient):
        yield check(Source(gradient(example.case.spec).backward))


@pytest.mark.matrix
@pytest.mark.parametrize(("count", "specs"), [(60, itself), (40, its_gradient)])
def test_roles_of_drawn_specs_agree_with_the_reference(count: int, specs: Callable[[Example], Iterator[Spec]]) -> None:
    assert tried_of_drawn(count, specs) > 6, "hardly a drawn spec gets roles"
