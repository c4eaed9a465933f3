# SPDX-License-Identifier: Apache-2.0
"""Keeps a block of raw memory in the middle of what JAX does: jax_lines.py callback|traced [clean]

Words: callback (a function of Python that a compiled function calls while it runs), traced (while it is traced). With
`clean` the same is done and the block is freed. Exit status: 0, 77 without JAX or GPU.
"""
# run: callback
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(callback)
# run: callback clean
# expect: clean
# run: traced
# expect: error leak count=1 bytes=12345 stacks="allocated here":LINE(traced)
# run: traced clean
# expect: clean

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_jax import jax
from jax import numpy as jnp
from jax.experimental import io_callback
from planted_leak import keep_a_block


def used(free):
    if "clean" in sys.argv:
        assert free() == 0


def called(value):
    used(keep_a_block())  # @callback
    return value


@jax.jit
def with_callback(values):
    shape = jax.ShapeDtypeStruct(values.shape, values.dtype)
    return io_callback(called, shape, jnp.sin(values)) + 1


@jax.jit
def traced(values):
    used(keep_a_block())  # @traced
    return jnp.cos(values)


if __name__ == "__main__":
    values = jnp.ones((64, 64))
    answers = (with_callback if sys.argv[1] == "callback" else traced)(values)
    assert bool(jnp.isfinite(answers).all())
