# SPDX-License-Identifier: Apache-2.0
"""Tests that leave tensors behind or do not: test_plugin.py knows which of them have to fail."""

import os
import sys

import pytest

sys.path.append(os.path.join(os.environ["GMT_PROGRAMS"], "site-packages"))

from standin import Tensor  # noqa: E402
from torch.nn.modules.module import Module  # noqa: E402

KEPT = []


class Layer(Module):
    def forward(self):
        KEPT.append(Tensor(4096))


class Model(Module):
    def __init__(self):
        self.head = Layer()

    def forward(self):
        self.head()


@pytest.mark.gpumemtrace(max_growth="1K")
def test_keeps_too_much():
    KEPT.append(Tensor(8192))


@pytest.mark.gpumemtrace(max_growth="16K")
def test_keeps_what_it_may():
    KEPT.append(Tensor(8192))


@pytest.mark.gpumemtrace(max_growth=0)
def test_keeps_nothing():
    Tensor(8192)


def test_keeps_and_says_so():
    Model()()


@pytest.mark.gpumemtrace(max_peak="1M")
def test_holds_too_much():
    Tensor(3 << 19)
