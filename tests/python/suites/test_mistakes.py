# SPDX-License-Identifier: Apache-2.0
"""Tests in which something is wrong, and tests that follow them."""

import device
import pytest


def test_double_free():
    pointer = device.leak(512)
    device.free(pointer)
    device.released.cudaFree(pointer)


def test_after_it():
    device.free(device.leak(100))


@pytest.fixture(scope="module")
def later():
    return None


def test_double_frees_of_one_line(request):
    pointer = device.leak(512)
    for i in range(3):
        device.released.cudaFree(pointer)
        if i == 1:
            request.getfixturevalue("later")


@pytest.fixture
def kept():
    return device.leak(2000)


def test_fixture_leaks(kept):
    pass


def test_fails_and_leaks():
    device.leak(300)
    raise AssertionError("its own words")


@pytest.mark.xfail(reason="known")
def test_known_leak():
    device.leak(400)


@pytest.mark.xfail(reason="known", strict=True)
def test_known_leak_strict():
    device.leak(500)


def test_skipped():
    pytest.skip("no reason")


class Cycle:
    def __init__(self):
        self.pointer, self.me = device.leak(600), self

    def __del__(self):
        device.free(self.pointer)


def test_garbage_is_no_leak():
    Cycle()
