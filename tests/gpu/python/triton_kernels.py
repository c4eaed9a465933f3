# SPDX-License-Identifier: Apache-2.0
"""A kernel of Triton that copies words which lie apart: triton_kernels.py clean|strided|past-end

Exit status: 0, 77 without Triton, PyTorch or GPU.
"""
# run: clean
# expect: clean
# run: strided
# options: --coalescing
# expect: warning uncoalesced ratio=7..9 line=LINE(load)
# run: together
# options: --coalescing
# expect: clean
# run: past-end
# options: --guard=tensors
# exit: signal 6
# not-checked: leak
# expect: error kernel-out-of-bounds message="64.0 KiB" line=LINE(load) stacks="accessed here":LINE(load),"launched here":LINE(launch),"allocated here":LINE(source)
# or: registers no longer hold the address
# expect: error kernel-fault stacks="accessed here":LINE(load),"launched here":LINE(launch),"allocated here":LINE(source),"allocated here":LINE(target)
# not-checked: leak
# run: past-end
# options: --kernel-checks=tensors
# exit: 1
# expect: error kernel-out-of-bounds count=256 message="reads 8 bytes" line=LINE(load) stacks="accessed here":LINE(load),"launched here":LINE(launch),"allocated here":LINE(source)
# expect: error kernel-out-of-bounds count=256 message="writes 8 bytes" line=LINE(store) stacks="accessed here":LINE(store),"launched here":LINE(launch),"allocated here":LINE(target)

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_torch import torch

try:
    import triton
    from triton import language as tl
except ImportError:
    print("skipped: no Triton")
    sys.exit(77)

WORDS = 16384


@triton.jit
def copy_words(source, target, count, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    words = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + words * STRIDE, mask=words < count)  # @load
    tl.store(target + words, values, mask=words < count)  # @store


def copy(words, stride, count):
    source = torch.ones(words, device="cuda")  # @source
    target = torch.zeros(words, device="cuda")  # @target
    for _ in range(4):
        copy_words[(triton.cdiv(count, 256),)](source, target, count, STRIDE=stride, BLOCK=256)  # @launch
    assert target[count - 1].item() == 1


if __name__ == "__main__":
    word = sys.argv[1]
    stride = 32 if word == "strided" else 1
    copy(WORDS * stride, stride, WORDS * 2 if word == "past-end" else WORDS)
