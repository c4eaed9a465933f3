# SPDX-License-Identifier: Apache-2.0
"""A process looks at itself, and a process that was forked from it does so, too."""

import os

import device
import followers
import gpumemtrace


def hold(size):
    return device.leak(size)


def sizes():
    return sorted(one.bytes for one in gpumemtrace.snapshot().blocks)


assert gpumemtrace.snapshot().blocks == []
assert gpumemtrace.trace_folder() is None  # looking makes no CUDA call
first = hold(1000)
second = [hold(2000), hold(2000)]
now = gpumemtrace.snapshot()
assert (now.live_bytes, now.peak_bytes) == (5000, 5000), now
assert [(one.bytes, one.blocks) for one in now.blocks] == [(4000, 2), (1000, 1)], now.blocks
assert all(one.family == "device memory" and one.device == 0 for one in now.blocks), now.blocks
names = [frame.function for frame in now.blocks[-1].stack.frames]
assert names[:3] == ["leak", "hold", "<module>"], names
lines = [hold(10) for _ in range(3)]
(three,) = [one for one in gpumemtrace.snapshot().blocks if one.blocks == 3]
assert three.bytes == 30, three
device.free(first)
assert 1000 not in sizes()
assert gpumemtrace.snapshot().peak_bytes == 5030

child = os.fork()
if child == 0:
    status = 1
    try:
        assert sizes() == []
        status = 0
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
device.free(second[0])
followers.kill()
assert sizes() == [30, 2000], sizes()
print("all is as it should be")
