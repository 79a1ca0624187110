"""Ahead-of-time compilation: a generated Triton file to GPU code, on a machine that needs no GPU.

What has to be compiled, the file itself says: its launching function is called with tensors that have shapes and no
memory, and with something in each kernel's place that notes what is launched.
"""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain, groupby
from threading import RLock
from typing import Any, Literal, NamedTuple

from attndsl.backends.gpu.failing import compiling
from attndsl.backends.gpu.host import every_branch, host_text, kernel_names, schedule_tables, without_imports
from attndsl.backends.gpu.resources import Resources, parameter_count, resources_of
from attndsl.backends.gpu.stand_ins import TORCH, StandIn, TooLarge
from attndsl.backends.gpu.targets import GpuKind
from attndsl.choices import SPLITS
from attndsl.packages import pip_install

Form = Literal["usual", "any"]
"""What code is right for: the `usual` strides and addresses, which are 1 or a multiple of 16 where those of contiguous
tensors are, and extents below 2^31; or any."""

WORKERS = min(8, os.cpu_count() or 1)
"""How many kernels are compiled at once, in threads: Triton, LLVM and ptxas work beside Python."""

Progress = Callable[[int, int], None]
"""Is shown how many kernels are compiled, and of how many."""


class PackageMissing(ImportError):
    """Compiling for a GPU takes triton, which is not installed."""

    def __init__(self) -> None:
        super().__init__(
            f"compiling for a GPU needs the package triton, which is not installed: {pip_install('triton')}"
        )


class KernelLaunch(NamedTuple):
    """A kernel's launch: the values of its arguments by name, and the options under which it is compiled."""

    kernel: str
    values: Mapping[str, Any]
    options: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """One kernel, compiled: `code` is a cubin or hsaco, `assembly` its PTX or GCN text.

    `signature` names all that a launch passes, in order, with the types that the code takes; "constexpr" marks what it
    is not passed: `constants`, for whose values it is made, and `fixed` numbers, right for these values alone. The
    numbers and addresses of `aligned` arguments are multiples of 16. After the arguments the code takes so many null
    pointers. Shared memory is counted in bytes.
    """

    kernel: str
    signature: Mapping[str, str]
    constants: Mapping[str, int | str]
    options: Mapping[str, int]
    fixed: Mapping[str, int]
    aligned: Sequence[str]
    hidden_pointers: int
    threads: int
    shared: int
    resources: Resources
    code: bytes
    assembly: str


def require_packages() -> None:
    """Raises PackageMissing where what `compile_ahead` needs is not installed."""
    if importlib.util.find_spec("triton") is None:
        raise PackageMissing


def compile_ahead(
    text: str,
    name: str,
    target: GpuKind,
    tensors: Sequence[StandIn],
    progress: Progress = lambda done, total: None,
) -> list[CompiledKernel]:
    """All that the function `name` of a generated file launches for tensors of these types.

    Each kernel in the usual form with every schedule that the target has the shared memory for, and in the form for any
    with the first: that is seldom needed, and takes the longest. What runs in the schedules of another kernel has that
    form for each. The tensors need no memory. Raises PackageMissing, TritonFails, and TooLarge where nothing of a form
    fits.
    """
    require_packages()
    functions, scheduled = load(text, torch=TORCH), set(schedule_tables(text).values())
    pool = ThreadPoolExecutor(WORKERS)
    try:
        kernels: list[tuple[list[Future[CompiledKernel]], list[Future[CompiledKernel]]]] = []
        for kernel, group in groupby(launches(text, name, tensors), lambda launch: launch.kernel):
            found = list(group)
            alone = [[launch] for launch in found]
            usual = [pool.submit(_compile_first, functions[kernel], each, "usual", target) for each in alone]
            first = [found] if kernel in scheduled else alone
            general = [pool.submit(_compile_first, functions[kernel], each, "any", target) for each in first]
            kernels.append((usual, general))
        asked = [future for both in kernels for futures in both for future in futures]
        for done, future in enumerate(as_completed(asked), 1):
            if not isinstance(future.exception(), TooLarge):
                future.result()
            progress(done, len(asked))
    finally:
        pool.shutdown(cancel_futures=True)  # what fails, or is interrupted, waits for nothing that has not begun
    made: list[CompiledKernel] = []
    for usual, general in kernels:
        fitting = [future for future in usual if future.exception() is None] or usual[-1:]
        made += [future.result() for future in (*fitting, *general)]
    return made


def _compile_first(function: Any, found: Sequence[KernelLaunch], form: Form, target: GpuKind) -> CompiledKernel:
    """Code for the first of a kernel's launches that fits the target. Raises TooLarge where none does, TritonFails."""
    for launch in found[:-1]:
        with suppress(TooLarge):
            return compile_launch(function, launch, form, target)
    return compile_launch(function, found[-1], form, target)


def load(text: str, **given: Any) -> dict[str, Any]:
    """What a generated file defines; packages that are `given` by name are not imported.

    Triton reads the lines of functions, so they are kept where it finds them.
    """
    filename = f"<attndsl triton {sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "attndsl.generated", **given}
    exec(compile(without_imports(text, given), filename, "exec", dont_inherit=True), namespace)
    return namespace


def launches(text: str, name: str, tensors: Sequence[StandIn]) -> Iterator[KernelLaunch]:
    """What the function `name` of a generated file may launch for these tensors: each kernel, in each schedule.

    Parameters have their defaults, or 1.
    """
    import triton

    functions, kernels = load(text, torch=TORCH), kernel_names(text)
    noted: list[KernelLaunch] = []
    stand_ins = {kernel: _Noted(kernel, functions[kernel].arg_names, noted) for kernel in kernels}
    host: dict[str, Any] = {"triton": triton, "tl": triton.language, "torch": TORCH, **stand_ins}
    module = every_branch(without_imports(host_text(text), ["torch"]), f"{name}_launches")
    exec(compile(module, "<launches>", "exec"), host)
    parameters = inspect.signature(host[name]).parameters.values()
    params = {p.name: 1 for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    tables = schedule_tables(text)
    others = set(kernels).difference(tables.values())
    found: dict[str, list[KernelLaunch]] = {kernel: [] for kernel in kernels}
    for table, kernel in tables.items():
        for schedule in functions[table]:
            noted.clear()
            host[table] = (schedule,)
            host[name](*tensors, **params, schedule={SPLITS: 2})
            for launch in noted:
                # What has no schedules runs in those of others.
                if launch.kernel == kernel or (launch.kernel in others and launch not in found[launch.kernel]):
                    found[launch.kernel].append(launch)
        host[table] = functions[table]
    yield from chain.from_iterable(found.values())


class _Noted(NamedTuple):
    """Stands for a kernel, and notes its launches."""

    name: str
    arguments: Sequence[str]
    noted: list[KernelLaunch]

    def __getitem__(self, grid: Any) -> Any:
        def note(*values: Any, **options: int) -> None:
            self.noted.append(KernelLaunch(self.name, dict(zip(self.arguments, values, strict=True)), options))

        return note


class _Source(NamedTuple):
    """What of a launch its code is made for: `signature`, `fixed` and `aligned` as a Binary has them."""

    signature: dict[str, str]
    constants: dict[str, Any]
    fixed: dict[str, int]
    aligned: list[str]

    @classmethod
    def of(cls, function: Any, launch: KernelLaunch, form: Form) -> _Source:
        """The usual form is what Triton compiles at such a launch; what is right for 64-bit indices is so for any."""
        import triton.language as tl

        made = cls({}, {}, {}, [])
        for param in function.params:
            name, value = param.name, launch.values[param.name]
            special = form == "usual" and not param.do_not_specialize
            type_ = param.annotation_type or ("i32" if special else "i64")
            if param.is_constexpr:
                made.constants[name] = tl.int64 if name == "INDEX" and form == "any" else value
                type_ = "constexpr"
            elif isinstance(value, StandIn):
                type_ = value.pointer
                made.aligned.extend([name] if special else [])
            elif special and value == 1 and not param.annotation_type:
                made.fixed[name] = 1
                type_ = "constexpr"
            elif special and value % 16 == 0:
                made.aligned.append(name)
            made.signature[name] = type_
        return made


@cache
def _source_class() -> Any:
    """Triton's class of sources, for use by several threads.

    One at a time parses Python: 3.11 loses count of its own recursion else, and the interpreter's lock is held anyway.
    """
    from triton.compiler import ASTSource

    parsing = RLock()

    class GuardedSource(ASTSource):  # type: ignore[misc]
        def hash(self) -> str:
            with parsing:
                return str(super().hash())

        def make_ir(self, *arguments: Any, **named: Any) -> Any:
            with parsing:
                return super().make_ir(*arguments, **named)

    return GuardedSource


def compile_launch(function: Any, launch: KernelLaunch, form: Form, target: GpuKind) -> CompiledKernel:
    """Code for a kernel, `function` as `load` gives it, right for one launch and those like it.

    Raises TooLarge, TritonFails.
    """
    import triton
    from triton.backends.compiler import GPUTarget

    made = _Source.of(function, launch, form)
    arch = int(target.arch) if target.backend == "cuda" else target.arch
    with compiling(launch.kernel):
        kernel = triton.compile(
            _source_class()(
                fn=function,
                signature=made.signature,
                constexprs={**made.constants, **made.fixed},
                attrs={(function.arg_names.index(name),): [["tt.divisibility", 16]] for name in made.aligned},
            ),
            target=GPUTarget(target.backend, arch, target.machine.lanes),
            options={**launch.options, "enable_fp_fusion": True},  # as at a launch; 3.9 warns where it is not said
        )
    about = kernel.metadata
    assert about.num_ctas == 1 and not about.global_scratch_size and not about.profile_scratch_size
    if about.shared > target.machine.shared:
        made_for = ", ".join(f"{name}={value}" for name, value in {**made.constants, **launch.options}.items())
        raise TooLarge(
            f"{launch.kernel} with {made_for} needs {about.shared} bytes of shared memory; a program has "
            f"{target.machine.shared} on {target.name}"
        )
    code, assembly = kernel.asm[target.code], kernel.asm[target.assembly]
    passed = sum(type_ != "constexpr" for type_ in made.signature.values())
    return CompiledKernel(
        kernel=launch.kernel,
        signature=made.signature,
        constants={name: value if isinstance(value, int) else str(value) for name, value in made.constants.items()},
        options=launch.options,
        fixed=made.fixed,
        aligned=made.aligned,
        hidden_pointers=parameter_count(target, launch.kernel, assembly) - passed,
        threads=about.num_warps * target.machine.lanes,
        shared=about.shared,
        resources=resources_of(target, launch.kernel, code, assembly),
        code=code,
        assembly=assembly,
    )
