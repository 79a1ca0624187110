"""Code compiled ahead of time runs on a real GPU, started by its launcher alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.driver.ahead import gpu_files
from attndsl.syntax.source import Source

pytestmark = pytest.mark.gpu

EXAMPLES = Path(__file__).parents[2] / "examples"

PROGRAM = """
import sys, threading
for name in ("triton", "attndsl", "xdsl", "lark"):
    sys.modules[name] = None
import torch
from gqa_cuda_ARCH import gqa

def check(M, N, layout, error=2e-2):
    torch.manual_seed(M)
    made = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    q, k, v = made(2, 8, M, 128), made(2, 2, N, 128), made(2, 2, N, 128)
    if layout == "strided":
        q, k = q.transpose(2, 3).contiguous().transpose(2, 3), made(2, 2, N, 130)[..., 1:129].copy_(k)
    o = torch.empty_like(q)
    gqa(q, k, v, o)
    seen = torch.ones(M, N, dtype=torch.bool, device="cuda").tril(N - M)
    want = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), attn_mask=seen, enable_gqa=True)
    assert (o.float() - want).abs().max() < error, (M, N, layout)

for M, N in ((1, 1), (1, 5000), (7, 333), (300, 300), (1024, 2048)):
    for layout in ("contiguous", "strided"):
        check(M, N, layout)

failed = []
def thread():
    try:
        with torch.cuda.stream(torch.cuda.Stream()):
            check(64, 777, "contiguous")
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=thread) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
assert not failed, failed

q, k = torch.randn(1, 8, 1, 128, device="cuda").bfloat16(), torch.randn(1, 2, 4096, 128, device="cuda").bfloat16()
o, graph = torch.empty_like(q), torch.cuda.CUDAGraph()
gqa(q, k, k, o)
want = o.clone()
with torch.cuda.graph(graph):
    gqa(q, k, k, o)
o.zero_()
graph.replay()
torch.cuda.synchronize()
assert torch.equal(o, want)
print("all is well")
"""


def test_a_launcher_runs_without_triton(tmp_path: Path) -> None:
    import torch

    major, minor = torch.cuda.get_device_capability()
    spec = check(Source((EXAMPLES / "gqa.attn").read_text(), "gqa.attn"))
    for name, content in gpu_files(spec, {"T": "bf16"}, f"cuda:{major}{minor}", {"D": 128, "E": 128}).items():
        (tmp_path / name).write_bytes(content)
    program = PROGRAM.replace("ARCH", f"{major}{minor}")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("all is well\n", 0), done.stderr
