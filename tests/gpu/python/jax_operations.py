# SPDX-License-Identifier: Apache-2.0
"""Many operations of JAX, by the library that does them. Nothing is wrong with any of them.

Exit status: 0, 77 without JAX or GPU.
"""
# run:
# expect: clean
# run:
# options: --guard=tensors
# expect: clean
# run:
# env: XLA_PYTHON_CLIENT_ALLOCATOR=platform
# expect: clean
# run:
# env: XLA_PYTHON_CLIENT_PREALLOCATE=false
# options: --guard
# expect: clean
# run:
# env: TF_GPU_ALLOCATOR=cuda_malloc_async
# expect: clean

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_jax import jax
from jax import numpy as jnp


def linear(key):
    a = jax.random.normal(key, (128, 128))
    spd = a @ a.T + 128 * jnp.eye(128)
    yield jnp.linalg.cholesky(spd)
    yield jnp.linalg.svd(a)[1]
    yield jnp.linalg.qr(a)[1]
    yield jnp.linalg.eigh(spd)[0]
    yield jnp.linalg.solve(spd, a[:, 0])
    yield jnp.linalg.inv(spd)
    yield jnp.fft.irfft2(jnp.fft.rfft2(a))


def network(key):
    def loss(weights, images):
        hidden = jax.lax.conv_general_dilated(images, weights[0], (1, 1), "SAME")
        hidden = jax.nn.relu(hidden).reshape(images.shape[0], -1)
        return jnp.square(hidden @ weights[1]).mean()

    weights = [jax.random.normal(key, (8, 3, 3, 3)), jax.random.normal(key, (8 * 16 * 16, 10))]
    step = jax.jit(lambda w, x: [old - 1e-3 * slope for old, slope in zip(w, jax.grad(loss)(w, x))])
    for _ in range(5):
        weights = step(weights, jax.random.normal(key, (4, 3, 16, 16)))
    yield from weights


def others(key):
    a = jax.random.normal(key, (1000, 20))
    yield jnp.sort(a, axis=0)
    yield jnp.cumsum(a, axis=0)
    yield jnp.median(a)
    yield jax.lax.top_k(a, 3)[0]
    yield jax.random.permutation(key, 1000).astype(float)
    yield jax.lax.scan(lambda total, row: (total + row, total), jnp.zeros(20), a)[0]
    yield jax.vmap(lambda row: jnp.outer(row, row))(a).sum(0)
    yield jax.ops.segment_sum(a, jnp.arange(1000) % 7, 7)


if __name__ == "__main__":
    for operations in (linear, network, others):
        for answer in operations(jax.random.PRNGKey(0)):
            assert bool(jnp.isfinite(answer).all())
