# SPDX-License-Identifier: Apache-2.0
"""Gives tensors of PyTorch to a kernel of another library that leaves them: torch_rows.py LIBRARY WORD

LIBRARY is built from torch_rows.cu. Words:
    plain, past-end    the kernel reads one row behind the tensor
    freed              the kernel reads a tensor that is gone
Exit status: 0, 77 without PyTorch or GPU, 3 where CUDA said that something is wrong.
"""

import ctypes
import sys

from gpu_torch import torch

ROWS, COLUMNS = 64, 256  # 64 KiB: nothing lies between the tensor's end and that of its mapping
library, word = ctypes.CDLL(sys.argv[1]), sys.argv[2]
rows = torch.ones(ROWS, COLUMNS, device="cuda")
sums = torch.zeros(ROWS, COLUMNS, device="cuda")
address = rows.data_ptr()
count = ROWS
if word == "freed":
    del rows
    torch.cuda.synchronize()
    count = ROWS - 1
stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
status = library.add_rows(ctypes.c_void_p(address), ctypes.c_void_p(sums.data_ptr()), count, COLUMNS, stream)
try:
    torch.cuda.synchronize()
    print(f"status {status}, first sum {sums[0, 0].item():g}")
except RuntimeError as error:
    print(error)
    status = status or 3
sys.exit(3 if status else 0)
