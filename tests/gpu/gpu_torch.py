# SPDX-License-Identifier: Apache-2.0
"""PyTorch with a GPU. Without either the program that imports this ends with status 77."""

import sys

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)

__all__ = ["torch"]
