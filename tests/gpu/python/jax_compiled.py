# SPDX-License-Identifier: Apache-2.0
"""Kernels and graphs that XLA makes: jax_compiled.py WORD

Words: graphs (loops and branches as nodes of CUDA graphs, as far as XLA_FLAGS ask for it), donated (buffers that are
used again for the result), pallas (kernels that Triton compiles), again (parts computed a second time in the backward
pass), callbacks (calls back into Python). Nothing is wrong with any of them, so no report may have an error or a
warning. Exit status: 0, 77 without JAX or GPU.
"""
# run: graphs
# expect: clean
# run: graphs
# env: XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN,CUSTOM_CALL,CONDITIONAL,WHILE,DYNAMIC_SLICE_FUSION
# expect: clean
# run: graphs
# env: XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN,CUSTOM_CALL,CONDITIONAL,WHILE,DYNAMIC_SLICE_FUSION
# options: --guard
# expect: clean
# run: donated
# options: --guard=tensors
# expect: clean
# run: pallas
# options: --guard=tensors
# expect: clean
# run: again
# options: --guard=tensors
# expect: clean
# run: callbacks
# expect: clean

import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import numpy
from gpu_jax import jax
from jax import numpy as jnp

KEY = jax.random.PRNGKey(0)


@jax.jit
def newton(x, steps):
    def body(state):
        i, x = state
        return i + 1, jax.lax.cond(i % 2 == 0, lambda y: (y + 2 / y) / 2, lambda y: y * 1.0, x)

    return jax.lax.while_loop(lambda state: state[0] < steps, body, (0, x))[1]


@jax.jit
def recurrence(matrix, rows):
    return jax.lax.scan(lambda state, row: (jnp.tanh(matrix @ state + row), state.sum()), jnp.zeros(64), rows)


def graphs():
    for steps in (4, 20, 7):
        assert abs(float(newton(jnp.ones(100), steps)[0]) - 2**0.5) < 0.1
    for _ in range(3):
        state, sums = recurrence(jax.random.normal(KEY, (64, 64)) / 64, jnp.ones((30, 64)))
        assert bool(jnp.isfinite(state).all()) and sums.shape == (30,)


def donated():
    @functools.partial(jax.jit, donate_argnums=0)
    def step(weights, x):
        return jax.tree.map(lambda w: w - 1e-3 * (x.T @ (x @ w)), weights)

    weights = {"a": jnp.ones((128, 64)), "b": jnp.ones((128, 32))}
    for _ in range(5):
        weights = step(weights, jax.random.normal(KEY, (16, 128)))
    assert all(bool(jnp.isfinite(w).all()) for w in weights.values())


def pallas():
    from jax.experimental import pallas
    from jax.experimental.pallas import triton

    def add(x, y, out):
        out[...] = x[...] + y[...]

    spec = pallas.BlockSpec((128,), lambda i: (i,))
    call = pallas.pallas_call(
        add,
        out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32),
        grid=(8,),
        in_specs=[spec, spec],
        out_specs=spec,
        compiler_params=triton.CompilerParams(num_warps=4),
    )
    assert float(call(jnp.ones(1024), jnp.arange(1024.0)).sum()) == 1024 + 1023 * 512


def again():
    @jax.checkpoint
    def layer(w, x):
        return jnp.tanh(x @ w)

    def loss(ws, x):
        for w in ws:
            x = layer(w, x)
        return jnp.square(x).mean()

    ws = [jax.random.normal(KEY, (64, 64)) / 8 for _ in range(4)]
    slopes = jax.jit(jax.grad(loss))(ws, jnp.ones((32, 64)))
    assert all(bool(jnp.isfinite(slope).all()) for slope in slopes)


def callbacks():
    @jax.jit
    def sums(x):
        jax.debug.callback(lambda total: None, x.sum())
        return jax.pure_callback(numpy.cumsum, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    for _ in range(3):
        assert float(sums(jnp.ones(50))[-1]) == 50
    jax.effects_barrier()


WORDS = (graphs, donated, pallas, again, callbacks)

if __name__ == "__main__":
    next(word for word in WORDS if word.__name__ == sys.argv[1])()
