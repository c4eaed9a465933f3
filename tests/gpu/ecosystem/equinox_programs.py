# SPDX-License-Identifier: Apache-2.0
"""Correct programs of Equinox and Diffrax: equinox_programs.py NAME. Exit status: 0 the program ran, 2 no such program."""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # twelve programs share a GPU

import diffrax
import equinox
import jax
import jax.numpy as jnp
import optax
from program import main, program


def train(model, loss_of, steps):
    optimizer = optax.adam(1e-3)
    state = optimizer.init(equinox.filter(model, equinox.is_inexact_array))

    @equinox.filter_jit
    def step(model, state):
        loss, slope = equinox.filter_value_and_grad(loss_of)(model)
        change, state = optimizer.update(slope, state, model)
        return equinox.apply_updates(model, change), state, loss

    for _ in range(steps):
        model, state, loss = step(model, state)
    assert jnp.isfinite(loss)


@program
def perceptron():
    x = jax.random.normal(jax.random.PRNGKey(0), (256, 8))
    model = equinox.nn.MLP(8, 1, 64, 2, key=jax.random.PRNGKey(1))
    train(model, lambda model: jnp.mean((jax.vmap(model)(x)[:, 0] - x.sum(1)) ** 2), 50)


@program
def learned_equation():
    """The derivative is a network, the gradient goes through the solver."""
    begins = jax.random.normal(jax.random.PRNGKey(0), (32, 4))
    slope = equinox.nn.MLP(4, 4, 32, 2, key=jax.random.PRNGKey(1))

    def loss_of(slope):
        def ends(y):
            term = diffrax.ODETerm(lambda t, y, args: slope(y))
            steps = diffrax.PIDController(rtol=1e-3, atol=1e-4)
            return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.05, y, stepsize_controller=steps).ys[-1]

        return jnp.mean((jax.vmap(ends)(begins) + begins) ** 2)

    train(slope, loss_of, 10)


@program
def noisy_equation():
    def path(key):
        noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (), key)
        drift = diffrax.ODETerm(lambda t, y, args: -y)
        spread = diffrax.ControlTerm(lambda t, y, args: 0.1, noise)
        return diffrax.diffeqsolve(diffrax.MultiTerm(drift, spread), diffrax.Euler(), 0.0, 1.0, 0.02, 1.0).ys[-1]

    ends = jax.jit(jax.vmap(path))(jax.random.split(jax.random.PRNGKey(0), 500))
    assert jnp.isfinite(ends).all()


if __name__ == "__main__":
    sys.exit(main())
