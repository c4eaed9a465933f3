# SPDX-License-Identifier: Apache-2.0
"""Five tests of a PyTorch module, of which one leaks raw memory. check_pytest.py runs them."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from planted_leak import keep_a_block

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch sees no GPU", allow_module_level=True)


@pytest.fixture(scope="module")
def model():
    return torch.nn.Linear(256, 256).cuda()


def test_forward(model):
    assert model(torch.ones(4, 256, device="cuda")).shape == (4, 256)


def test_backward(model):
    model(torch.ones(4, 256, device="cuda")).sum().backward()
    assert model.weight.grad is not None


def test_leaks():
    keep_a_block()  # @leak


def test_frees():
    assert keep_a_block()() == 0


def test_graph(model):
    inputs = torch.ones(4, 256, device="cuda")
    with torch.no_grad():
        model(inputs)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answers = model(inputs)
        graph.replay()
    assert torch.isfinite(answers).all()
