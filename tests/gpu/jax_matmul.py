# SPDX-License-Identifier: Apache-2.0
"""Multiplies matrices with JAX on the GPU. Exit status: the first word (see planted_leak.py), or 77 without JAX or GPU.

XLA takes most of the GPU's memory at its start and keeps it, which is no mistake.
"""

import sys

from planted_leak import finish

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("skipped: no JAX")
    sys.exit(77)
try:
    devices = jax.devices("gpu")
except RuntimeError as error:
    print(f"skipped: JAX sees no GPU: {error}")
    sys.exit(77)

a = jax.random.normal(jax.random.PRNGKey(0), (512, 512))
product = jax.jit(lambda x: x @ x.T)(a)
difference = float(jnp.abs(product - product.T).max())
print(f"{devices[0]}: largest asymmetry {difference:.2e}")
assert difference < 1e-2
finish()
