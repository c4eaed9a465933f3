# SPDX-License-Identifier: Apache-2.0
"""The follower is killed in the first test. The tests behind it are checked as ever."""

import device
import followers


def test_loses_its_follower():
    followers.kill()


def test_leaks_behind_it():
    device.leak(4096)


def test_frees_behind_it():
    device.free(device.leak(1000))
