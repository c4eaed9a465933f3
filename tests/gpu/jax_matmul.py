# SPDX-License-Identifier: Apache-2.0
"""Multiplies matrices with JAX on the GPU. Exit status: the first word (see planted_leak.py), or 77 without JAX or GPU.

XLA takes most of the GPU's memory at its start and keeps it, which is no mistake.
"""

from gpu_jax import jax
from jax import numpy as jnp
from planted_leak import finish

a = jax.random.normal(jax.random.PRNGKey(0), (512, 512))
product = jax.jit(lambda x: x @ x.T)(a)
difference = float(jnp.abs(product - product.T).max())
print(f"{jax.devices('gpu')[0]}: largest asymmetry {difference:.2e}")
assert difference < 1e-2
finish()
