# SPDX-License-Identifier: Apache-2.0
"""Code that PyTorch makes at run time, and graphs of it: torch_compiled.py WORD

Words: autotune (kernels chosen by timing them), attention (flex_attention, cuDNN's), dynamic (one kernel for many
sizes), eight (8-bit floats), graphed (a model trained from CUDA graphs), extension (a kernel of the user's, built by
PyTorch), again (parts computed a second time in the backward pass). Nothing is wrong with any of them, so no report
may have an error or a warning. Exit status: 0, 77 without PyTorch or GPU.
"""
# run: autotune
# expect: clean
# run: attention
# options: --guard
# expect: clean
# run: dynamic
# options: --guard=tensors
# expect: clean
# run: eight
# options: --guard=tensors
# expect: clean
# run: graphed
# expect: clean
# run: graphed
# options: --guard
# expect: clean
# run: extension
# options: --guard=tensors
# expect: clean
# run: again
# options: --guard=tensors
# expect: clean

import pathlib
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch

F = torch.nn.functional
warnings.simplefilter("ignore")  # of what is no final interface yet


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def make_model(width=256):
    layers = (torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width), torch.nn.Linear(width, 8))
    return torch.nn.Sequential(*layers).cuda()


def train(model, parameters, sizes):
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    for size in sizes:
        model(random(size, 256)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def autotune():
    model = make_model()
    train(torch.compile(model, mode="max-autotune-no-cudagraphs"), model.parameters(), (64,) * 4)
    product = torch.compile(lambda a, b: torch.relu(a @ b).softmax(-1), mode="max-autotune-no-cudagraphs")
    product(random(300, 200, dtype=torch.float16), random(200, 100, dtype=torch.float16))


def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = (random(2, 4, 256, 64, dtype=torch.float16).requires_grad_() for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j, 2, 4, 256, 256)
    torch.compile(flex_attention)(q, k, v, block_mask=mask).sum().backward()
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


def dynamic():
    model = make_model()
    train(torch.compile(model, dynamic=True), model.parameters(), (64, 96, 31, 128, 7, 1))
    scan = torch.compile(lambda a: (a.cumsum(0), a.sort(1), a.sum((0, 1)), a[a > 0]), dynamic=True)
    for size in (100, 33, 1000):
        scan(random(size, 70))


def eight():
    one = torch.ones((), device="cuda")
    a, b = (random(64, 64).to(torch.float8_e4m3fn) for _ in range(2))
    torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    rows = torch.ones(64, 1, device="cuda")
    torch._scaled_mm(a, b.t(), scale_a=rows, scale_b=rows.t(), out_dtype=torch.bfloat16)


def graphed():
    model = make_model()
    graph = torch.cuda.make_graphed_callables(model, (random(64, 256).requires_grad_(),))
    train(graph, model.parameters(), (64,) * 4)
    model = make_model()  # the one before is its graphs now, and those cannot be captured
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    given = random(64, 256)

    def step():
        optimizer.zero_grad()
        model(given).square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    whole = torch.cuda.CUDAGraph()
    with torch.cuda.graph(whole):
        step()
    for _ in range(3):
        given.copy_(random(64, 256))
        whole.replay()


KERNEL = """
__global__ void halve(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] / 2;
}
torch::Tensor half_of(torch::Tensor in) {
  auto out = torch::empty_like(in);
  const int n = in.numel();
  halve<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(in.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}
"""


def extension():
    from torch.utils import cpp_extension

    with tempfile.TemporaryDirectory() as folder:
        built = cpp_extension.load_inline(
            "halves",
            "torch::Tensor half_of(torch::Tensor in);",
            "#include <c10/cuda/CUDAStream.h>\n" + KERNEL,
            functions=["half_of"],
            build_directory=folder,
        )
        assert built.half_of(torch.ones(1000, device="cuda")).sum().item() == 500


def again():
    from torch.utils.checkpoint import checkpoint

    model = make_model()
    train(lambda x: checkpoint(model, x, use_reentrant=False), model.parameters(), (64,) * 3)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        train(model, model.parameters(), (64,) * 3)


WORDS = (autotune, attention, dynamic, eight, graphed, extension, again)

if __name__ == "__main__":
    torch.manual_seed(0)
    next(word for word in WORDS if word.__name__ == sys.argv[1])()
    torch.cuda.synchronize()
