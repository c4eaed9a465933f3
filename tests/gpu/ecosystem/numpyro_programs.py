# SPDX-License-Identifier: Apache-2.0
"""Correct programs of NumPyro: numpyro_programs.py NAME. Exit status: 0 the program ran, 2 no such program."""

import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # twelve programs share a GPU

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from program import main, program


def regression(x, y=None):
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    numpyro.sample("y", dist.Normal(x @ weights, spread), obs=y)


def samples():
    x = jax.random.normal(jax.random.PRNGKey(0), (400, 3))
    return x, x @ jnp.array([1.0, -2.0, 0.5])


@program
def chains():
    sampler = MCMC(NUTS(regression), num_warmup=30, num_samples=30, progress_bar=False)
    sampler.run(jax.random.PRNGKey(1), *samples())
    assert jnp.isfinite(sampler.get_samples()["weights"]).all()


@program
def variational():
    inference = SVI(regression, AutoNormal(regression), numpyro.optim.Adam(0.01), Trace_ELBO())
    result = inference.run(jax.random.PRNGKey(1), 200, *samples(), progress_bar=False)
    assert jnp.isfinite(result.losses).all()


if __name__ == "__main__":
    sys.exit(main())
