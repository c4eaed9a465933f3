# SPDX-License-Identifier: Apache-2.0
"""Correct programs of e3nn: e3nn_programs.py NAME. Exit status: 0 the program ran, 2 no such program."""

import sys

import torch
from e3nn import nn, o3
from program import main, program


@program
def convolution():
    """Points that pass messages to each other, trained."""
    hidden, harmonics = o3.Irreps("8x0e + 8x1o + 4x2e"), o3.Irreps.spherical_harmonics(2)
    product = o3.FullyConnectedTensorProduct(hidden, harmonics, hidden, shared_weights=False).cuda()
    weights = nn.FullyConnectedNet([16, 32, product.weight_numel], torch.nn.functional.silu).cuda()
    last = o3.Linear(hidden, "1x0e").cuda()
    optimizer = torch.optim.Adam([*weights.parameters(), *last.parameters()])
    points = torch.randn(64, 3, device="cuda")
    ends = torch.randint(0, 64, (2, 600), device="cuda")
    features = hidden.randn(64, -1).cuda()
    for _ in range(30):
        edges = points[ends[0]] - points[ends[1]]
        around = o3.spherical_harmonics(harmonics, edges, normalize=True, normalization="component")
        lengths = torch.exp(-((edges.norm(dim=1, keepdim=True) - torch.linspace(0, 3, 16, device="cuda")) ** 2))
        messages = product(features[ends[0]], around, weights(lengths))
        result = torch.zeros_like(features).index_add_(0, ends[1], messages)
        optimizer.zero_grad()
        last(result).square().mean().backward()
        optimizer.step()


@program
def rotations():
    irreps = o3.Irreps("2x0e + 2x1o + 1x2e")
    layer = torch.nn.Sequential(o3.Linear(irreps, irreps), nn.NormActivation(irreps, torch.sigmoid)).cuda()
    for seed in range(20):
        torch.manual_seed(seed)
        turn = irreps.D_from_matrix(o3.rand_matrix()).cuda()
        rows = irreps.randn(32, -1).cuda()
        assert torch.allclose(layer(rows @ turn.T), layer(rows) @ turn.T, atol=1e-4)


if __name__ == "__main__":
    sys.exit(main())
