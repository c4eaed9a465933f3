# SPDX-License-Identifier: Apache-2.0
"""Correct programs of JAX, Flax and Optax.

jax_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # twelve programs share a GPU

import flax.linen
import jax
import jax.numpy as jnp
import optax
from program import main, program


class Convolutions(flax.linen.Module):
    @flax.linen.compact
    def __call__(self, x):
        for width in (16, 32):
            x = flax.linen.relu(flax.linen.Conv(width, (3, 3))(x))
            x = flax.linen.avg_pool(x, (2, 2), (2, 2))
        return flax.linen.Dense(10)(x.reshape((x.shape[0], -1)))


@program
def flax_convolutions():
    model, optimizer = Convolutions(), optax.adamw(1e-3)
    images = jax.random.normal(jax.random.key(0), (32, 32, 32, 3))
    labels = jax.random.randint(jax.random.key(1), (32,), 0, 10)
    weights = model.init(jax.random.key(2), images)
    state = optimizer.init(weights)

    @jax.jit
    def step(weights, state):
        def loss_of(weights):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(weights, images), labels).mean()

        loss, slope = jax.value_and_grad(loss_of)(weights)
        change, state = optimizer.update(slope, state, weights)
        return optax.apply_updates(weights, change), state, loss

    for _ in range(20):
        weights, state, loss = step(weights, state)
    assert jnp.isfinite(loss)


@program
def recurrence_by_scan():
    matrix = jax.random.normal(jax.random.key(0), (128, 128)) / 16
    inputs = jax.random.normal(jax.random.key(1), (64, 200, 128))

    @jax.jit
    @jax.vmap
    def run(sequence):
        return jax.lax.scan(lambda h, x: (jnp.tanh(h @ matrix + x),) * 2, jnp.zeros(128), sequence)[0]

    slope = jax.jit(jax.grad(lambda inputs: run(inputs).sum()))
    for _ in range(5):
        out = slope(inputs)
    assert jnp.isfinite(out).all()


@program
def linear_algebra():
    matrix = jax.random.normal(jax.random.key(0), (256, 256))
    symmetric = matrix @ matrix.T + 256 * jnp.eye(256)
    solved = jnp.linalg.solve(symmetric, matrix)
    factor = jnp.linalg.cholesky(symmetric)
    values = jnp.linalg.eigvalsh(symmetric)
    _, singular, _ = jnp.linalg.svd(matrix)
    waves = jnp.fft.ifft2(jnp.fft.fft2(matrix))
    assert all(jnp.isfinite(x).all() for x in (solved, factor, values, singular, jnp.abs(waves)))


@program
def attention_in_bfloat16():
    heads = [jax.random.normal(jax.random.key(i), (4, 256, 8, 64), jnp.bfloat16) for i in range(3)]

    @jax.jit
    def loss(query, key, value):
        return jax.nn.dot_product_attention(query, key, value, is_causal=True).astype(jnp.float32).sum()

    slopes = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
    for _ in range(5):
        out = slopes(*heads)
    assert all(jnp.isfinite(x).all() for x in out)


if __name__ == "__main__":
    sys.exit(main())
