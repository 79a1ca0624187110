"""Names that the manual allows, and that generated code, Python or what calls it may want for itself."""

from __future__ import annotations

from typing import Final

MADE_UP: Final = (
    "t", "t_2", "k_2", "k_3", "p_2", "q_2", "m", "l", "alpha", "state", "score_2", "seen", "shift", "m_new",
    "program", "programs", "stop", "step", "rows", "split", "group", "h_group", "i_end", "j_end", "j0", "n_b", "n_i",
    "q_ptr", "q_s0", "q_stride_0", "x_ptr", "x_s0", "o_ptr", "quotient_0", "D_PAD", "x_m", "x_l", "spec_m", "spec_0",
    "ROWS", "KEYS", "SPLITS", "INDEX", "LARGEST", "spec_launches", "spec_kernel", "SPEC_SCHEDULES",
)  # fmt: skip
"""What compilers call values, axes, workspaces, arguments and tables of theirs."""

HELPERS: Final = (
    "_read", "_write", "_dot_where", "_from_bf16", "_to_bf16", "_F8E4M3", "larger", "smaller", "floor_div",
    "floor_mod", "from_bf16", "_larger", "_floor_div", "choose", "choose_rows", "choose_splits", "processors",
    "options", "chosen", "launches", "arguments", "schedules", "kernel", "kernels", "Kernel", "LoadedCode",
    "CheckedCall", "Cuda",
    "Hip", "Handle", "FORMATS", "DTYPES", "KERNELS", "MANIFEST", "MAX_PROGRAMS", "read", "positional", "stream",
    "device", "grid", "warmup", "debug", "params", "specialization", "specialize_impl", "backend", "num_warps",
    "num_stages", "num_ctas", "signature", "inputs", "outputs", "target", "sizes", "machine", "name", "dtype", "where",
    "file", "allow_pickle",
)  # fmt: skip
"""What helpers, launchers, loaders and whoever calls them are called, and their arguments."""

MODULES: Final = ("np", "numpy", "tl", "triton", "torch", "ctypes", "json", "struct", "threading", "Path", "Any", "os")

PYTHON: Final = (
    "self", "cls", "lambda", "None", "True", "False", "def", "class", "return", "global", "yield", "async", "await",
    "match", "case", "type", "print", "range", "min", "max", "int", "float", "bool", "abs", "len", "tuple", "list",
    "dict", "str", "id", "open", "eval", "exec", "enumerate", "ValueError", "Exception", "Ellipsis", "NotImplemented",
    "__debug__", "__debug_", "__debug", "__class__", "__name__", "__file__", "__import__", "__builtins__", "__init__",
    "__call__", "__dict__", "_fields", "_replace", "_asdict", "_make", "count", "index", "args", "kwargs", "nan", "e5",
    "E", "j",
)  # fmt: skip
"""Keywords, builtins, and what Python itself looks for."""

ODD: Final = (
    "_", "__", "___", "_1", "_2", "__1", "_1_2", "x_1", "x_1_2", "x_0", "x_00", "x_", "x__", "x_2_", "lambda_", "np_",
    "lambda__", "_read_", "X", "a" * 60, "a" * 300, "_" * 40, "x" * 64 + "_2", "x" * 64 + "_3",
)  # fmt: skip
"""Little else than underscores or numbers; long; or but for an underscore or a number the same."""

HOSTILE_NAMES: Final[tuple[str, ...]] = tuple(dict.fromkeys((*MADE_UP, *HELPERS, *MODULES, *PYTHON, *ODD)))
"""All of them: each may be a dim, a parameter, an input, an output, an index, a `let`, or a spec; and, but for the
element type `bool`, a type variable."""
