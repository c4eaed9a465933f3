# SPDX-License-Identifier: Apache-2.0
"""Correct training of graph networks by PyTorch Geometric, on made-up graphs.

pyg_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import sys

import torch
import torch_geometric.nn as graphs
from program import main, program
from torch_geometric.data import Batch, Data
from torch_geometric.utils import add_self_loops, dropout_edge

CUDA = "cuda"


def graph(nodes=2000, edges=12000, features=32):
    return Data(
        x=torch.randn(nodes, features),
        edge_index=torch.randint(0, nodes, (2, edges)),
        y=torch.randint(0, 4, (nodes,)),
    )


def train(model, data, *, steps=15, targets=None):
    model, data = model.to(CUDA), data.to(CUDA)
    targets = data.y if targets is None else targets.to(CUDA)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        edges, _ = dropout_edge(data.edge_index, p=0.1)
        edges, _ = add_self_loops(edges, num_nodes=data.num_nodes)
        loss = torch.nn.functional.cross_entropy(model(data.x, edges, getattr(data, "batch", None)), targets)
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss), loss


class Nodes(torch.nn.Module):
    """Two layers of a kind."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x, edges, _):
        return self.second(torch.relu(self.first(x, edges)), edges)


class Pooled(torch.nn.Module):
    """One answer for each graph of a batch."""

    def __init__(self):
        super().__init__()
        layers = [torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)]
        self.convolution, self.norm = graphs.GINConv(torch.nn.Sequential(*layers)), graphs.BatchNorm(64)
        self.head = torch.nn.Linear(64, 4)

    def forward(self, x, edges, batch):
        return self.head(graphs.global_mean_pool(self.norm(self.convolution(x, edges)), batch))


@program
def gcn():
    train(Nodes(graphs.GCNConv(32, 64), graphs.GCNConv(64, 4)), graph())


@program
def gat():
    train(Nodes(graphs.GATv2Conv(32, 16, heads=4), graphs.GATv2Conv(64, 4)), graph())


@program
def sage():
    train(Nodes(graphs.SAGEConv(32, 64, aggr="max"), graphs.SAGEConv(64, 4)), graph())


@program
def gin_batches():
    batch = Batch.from_data_list([graph(40 + i, 160, 32) for i in range(32)])
    train(Pooled(), batch, targets=torch.randint(0, 4, (32,)))


if __name__ == "__main__":
    sys.exit(main())
