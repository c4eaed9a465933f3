# SPDX-License-Identifier: Apache-2.0
"""Five tests, of which one leaks."""

import device


def test_frees():
    device.free(device.leak(1000))


def test_needs_no_device():
    pass


def hold(size):
    return device.leak(size)


def test_leaks():
    hold(4096)


def test_frees_again():
    device.free(device.leak(1000))


def test_frees_two():
    for pointer in [device.leak(10), device.leak(20)]:
        device.free(pointer)
