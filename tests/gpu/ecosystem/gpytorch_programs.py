# SPDX-License-Identifier: Apache-2.0
"""Correct programs of GPyTorch and BoTorch: gpytorch_programs.py NAME. Exit status: 0 the program ran, 2 no such program."""

import sys

import gpytorch
import torch
from program import main, program


@program
def exact_process():
    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.MaternKernel()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 300, device="cuda")
    y = torch.sin(6 * x) + 0.1 * torch.randn_like(x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Model(x, y, likelihood).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(50):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        assert torch.isfinite(model(x + 0.01).variance).all()


@program
def optimization():
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf

    x = torch.rand(12, 2, dtype=torch.float64, device="cuda")
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64, device="cuda")
    for _ in range(3):
        y = -(x - 0.3).square().sum(dim=1, keepdim=True)
        model = SingleTaskGP(x, y)
        fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        best, _ = optimize_acqf(LogExpectedImprovement(model, y.max()), bounds, 1, num_restarts=3, raw_samples=16)
        x = torch.cat([x, best])


if __name__ == "__main__":
    sys.exit(main())
