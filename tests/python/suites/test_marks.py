# SPDX-License-Identifier: Apache-2.0
"""What marks allow, limit and skip."""

import device
import pytest


def hold_for_a_while(size):
    device.free(device.leak(size))


@pytest.mark.gpumemtrace(max_peak="1MiB")
def test_under_its_limit():
    hold_for_a_while(1 << 20)
    hold_for_a_while(1 << 20)


@pytest.mark.gpumemtrace(max_peak="1MiB")
def test_over_its_limit():
    pointer = device.leak(1 << 19)
    hold_for_a_while((1 << 19) + 256)
    device.free(pointer)


@pytest.fixture(scope="module")
def large():
    pointer = device.leak(1 << 22)
    yield pointer
    device.free(pointer)


@pytest.mark.gpumemtrace(max_peak="1MiB")
def test_limit_counts_its_own_memory(large):
    hold_for_a_while(1 << 20)


@pytest.mark.gpumemtrace(allow=["leak"])
def test_may_leak():
    device.leak(100)


@pytest.mark.gpumemtrace(allow="double-*")
def test_may_free_twice_but_not_leak():
    pointer = device.leak(100)
    device.free(pointer)
    device.released.cudaFree(pointer)
    device.leak(200)


@pytest.mark.gpumemtrace(skip=True)
def test_is_not_checked():
    device.leak(300)


@pytest.mark.gpumemtrace(allow=["leak"])
class TestOfClass:
    @pytest.mark.gpumemtrace(max_peak=64)
    def test_marks_add_up(self):
        device.leak(65)
