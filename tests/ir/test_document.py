"""`docs/ir.md`: what it says of operations and passes is made of the code; `pytest --update-goldens` writes it anew."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from attndsl.checking.check import check
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.targets import TARGETS
from attndsl.ir.attn import ATTN
from attndsl.ir.build import build
from attndsl.ir.context import print_module
from attndsl.ir.spec import SPEC
from attndsl.ir.tile import TILE
from attndsl.ir.walks import ROLES_LEVEL
from attndsl.ir.xdsl import Dialect, IRDLOperation, ModuleOp, UnitAttr
from attndsl.passes import load_pass
from attndsl.syntax.read import read_source

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ir.md"

DIALECTS = {
    "what both levels say of a spec": SPEC,
    "what is computed": ATTN,
    "how a kernel walks it": TILE,
    "who does what": ROLES_LEVEL,
}


def operations() -> Iterator[str]:
    """A section for each dialect: its operations, as they are written, and the law of each."""
    for question, dialect in DIALECTS.items():
        yield f"### `{dialect.name}`: {question}"
        for op in operations_of(dialect):
            yield "\n".join(f"  {line}".rstrip() for line in [f"`{written(op)}`", "", *law(op).splitlines()]).replace(
                "  ", "- ", 1
            )


def operations_of(dialect: Dialect) -> list[type[IRDLOperation]]:
    return [op for op in dialect.operations if issubclass(op, IRDLOperation)]


def law(op: type[IRDLOperation]) -> str:
    """The docstring of an operation; IR in it is set as code."""
    doc = inspect.cleandoc(op.__doc__ or "")
    return re.sub(r"^(?=(?:spec|attn|tile|roles)\.\w+ [@%\"])", "    ", doc, flags=re.MULTILINE)


def written(op: type[IRDLOperation]) -> str:
    """How an operation is written: its assembly format without what only its parser reads."""
    text = re.sub(r"\battr-dict\b|[`^]", "", op.assembly_format or "")
    text = re.sub(r":\s*type\([^)]*\)(?=\)\?$)|:\s*type\(.*$", "", text.strip())
    for name, row in op.get_irdl_definition().properties.items():
        if row.constr.get_bases() == {UnitAttr}:
            text = text.replace(f"({name} ${name}", f"({name}")
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\(\s+", "(", re.sub(r"\s+([\]),])", r"\1", re.sub(r"\s*\[\s*", "[", text)))
    return f"{op.name} {text.strip()}".strip()


def stages() -> tuple[str, list[str]]:
    """The tensors of the spec, and its kernel as it is built and after each pass."""
    module = build(check(read_source(str(ROOT / "examples" / "gqa.attn"))), {"T": "f32"})
    pipeline = TARGETS["numpy"].lowering().steps
    steps = iter(pipeline)
    tensors, last = halves(module)
    sections = [last]

    def after(name: str, module: ModuleOp, changed: bool) -> None:
        nonlocal last
        step = next(steps)
        sections.append(f"### {step.spelling}")
        sections.append(f"{first_sentence(name)} Its place: {step.reason}.")
        (_, kernel), before = halves(module), last
        last = kernel
        sections.append(kernel if kernel != before else "Here it changes nothing.")

    run_pipeline(module, passes_of(pipeline), after)
    assert next(steps, None) is None
    return tensors, sections


def halves(module: ModuleOp) -> tuple[str, str]:
    """The declarations of a module and its kernels, as blocks of code."""
    lines = [line.removeprefix("  ") for line in print_module(module).strip().splitlines()[1:-1]]
    declared = [line for line in lines if line.startswith("spec.")]
    return fenced(declared), fenced([line for line in lines if line not in declared])


def fenced(lines: list[str]) -> str:
    return "\n".join(["```mlir", *lines, "```"])


def first_sentence(name: str) -> str:
    """What a pass does, as its module says first."""
    doc = inspect.cleandoc(inspect.getmodule(load_pass(name)).__doc__ or "")
    sentence = " ".join(doc.split("\n\n")[0].partition(": ")[2].split())
    return sentence[:1].upper() + sentence[1:]


def test_the_page_is_what_the_code_says(golden: Callable[[Path, str], None]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    tensors, kernels = stages()
    for title, made in {"operations": [*operations()], "tensors": [tensors], "stages": kernels}.items():
        before, begin, rest = page.partition(f"<!-- {title} -->\n")
        _, end, behind = rest.partition("<!-- end -->")
        assert begin and end, f"the page has a place for {title}"
        page = "\n\n".join([before + begin.rstrip(), *made, end + behind])
    golden(PAGE, page)


def test_every_operation_has_a_law() -> None:
    for dialect in DIALECTS.values():
        assert all(op.__doc__ for op in operations_of(dialect))
