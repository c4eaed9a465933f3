# SPDX-License-Identifier: Apache-2.0
"""Launches each kernel of access_patterns.ptx.xz with one warp, as access_patterns.cu does: play_patterns.py PTX."""

import lzma
import pathlib
import re
import struct
import sys

from gpumemtrace._device import Device

BYTES = 2048 * 16
SHARED_BYTES = 1088 * 16
LANES = 0x00FF00F3  # of load_some


def main(path):
    ptx = lzma.decompress(pathlib.Path(path).read_bytes())
    device = Device()
    memory = [device.allocate(BYTES) for _ in range(2)]
    for address in memory:
        device.fill(address, BYTES)
    kernels = [name.decode() for name in re.findall(rb"\.entry (\w+)\(", ptx)]
    module, _ = device.load(ptx, kernels[0])
    for name in kernels:
        function = device.kernel_of(module, name)
        values = [struct.pack("Q", address) for address in memory]
        if device.parameter_count(function) == len(values) + 1:
            values.append(struct.pack("I", LANES))
        device.launch(function, (1, 1, 1), 32, values, shared_bytes=SHARED_BYTES)
    device.unload(module)
    for address in memory:
        device.free(address)


if __name__ == "__main__":
    main(sys.argv[1])
