# SPDX-License-Identifier: Apache-2.0
"""JAX with a GPU. Without either the program that imports this ends with status 77."""

import sys

try:
    import jax
except ImportError:
    print("skipped: no JAX")
    sys.exit(77)
try:
    jax.devices("gpu")
except RuntimeError as error:
    print(f"skipped: JAX sees no GPU: {error}")
    sys.exit(77)

__all__ = ["jax"]
