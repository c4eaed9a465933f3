# SPDX-License-Identifier: Apache-2.0
"""Memory of fixtures of wider scope is no test's leak; what a test adds to it is."""

import device
import pytest


@pytest.fixture(scope="session")
def of_session():
    yield device.leak(11)


@pytest.fixture(scope="module")
def of_module(of_session):
    pointers = [device.leak(22)]
    yield pointers
    for pointer in pointers:
        device.free(pointer)


@pytest.fixture(scope="class", autouse=True)
def of_class():
    device.leak(33)


@pytest.fixture
def of_test():
    pointer = device.leak(44)
    yield pointer
    device.free(pointer)


def setup_module():
    device.leak(55)


def test_uses_them(of_module, of_test):
    pass


def test_uses_them_again(of_module, of_test):
    pass


def test_adds_to_them(of_module):
    of_module.append(device.leak(66))


class TestOfClass:
    def test_method(self, of_test):
        pass
