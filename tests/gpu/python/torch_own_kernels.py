# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own kernels, which have no PTX, on an array that says it has more than it has:
torch_own_kernels.py clean|past-end

Exit status: 0, 77 without PyTorch or GPU.
"""
# run: clean
# options: --kernel-checks=tensors,libraries
# expect: clean
# not-checked: kernel-out-of-bounds
# not-checked: tensors of PyTorch
# run: past-end
# options: --kernel-checks=tensors,libraries
# expect: error kernel-out-of-bounds count=1 message="reads 4 bytes" stacks="accessed here","launched here":LINE(select),"allocated here":LINE(small)
# not-checked: kernel-out-of-bounds
# not-checked: tensors of PyTorch

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch

ELEMENTS = 1000


class Longer:
    """A tensor of floats as an array of more elements."""

    def __init__(self, tensor, more):
        self.tensor = tensor
        self.__cuda_array_interface__ = {
            "data": (tensor.data_ptr(), False),
            "shape": (tensor.numel() + more,),
            "typestr": "<f4",
            "version": 3,
        }


def main(run):
    more = 8 if run == "past-end" else 0
    small = torch.zeros(ELEMENTS, device="cuda")  # @small
    index = torch.tensor([ELEMENTS + more - 1], device="cuda")
    array = torch.as_tensor(Longer(small, more), device="cuda")
    torch.index_select(array, 0, index)  # @select
    matrix = torch.randn(256, 256, device="cuda")
    product = (matrix @ matrix).softmax(-1)
    torch.cuda.synchronize()
    return 0 if abs(product.sum().item() - 256) < 1 else 1


sys.exit(main(sys.argv[1]))
