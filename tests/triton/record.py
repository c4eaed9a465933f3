# SPDX-License-Identifier: Apache-2.0
"""Records the launches of kernels.py, so that tests can repeat them where no Triton is: recorded/CASE.json.xz.

    gpumemtrace --device simulated python3 -m gpumemtrace.simulated tests/triton/record.py [CASE]...

Needs Triton and NumPy. A case whose results are not NumPy's is not written. A recording holds, for each launch, the
PTX, the grid, the parameters, and the bytes of each array before and behind it. replay.py reads it.
"""

import base64
import ctypes
import hashlib
import json
import lzma
import pathlib
import sys

import kernels
import numpy as np
from gpumemtrace import triton
from gpumemtrace._device import Device

HERE = pathlib.Path(__file__).resolve().parent


def text_of(data):
    return base64.b64encode(data).decode()


class RecordingDevice(Device):
    def __init__(self):
        super().__init__()
        self.code, self.maps, self.launches = {}, {}, []
        self.arrays, self.pending = {}, {}

    def load(self, ptx, kernel):
        module, function = super().load(ptx, kernel)
        self.code[function.value] = (ptx.rstrip(b"\0").decode(), kernel)
        return module, function

    def to_device(self, address, host, size):
        super().to_device(address, host, size)
        self.arrays[address] = {"before": text_of(ctypes.string_at(host, size)), "after": None, "bytes": size}

    def fill(self, address, size):
        super().fill(address, size)
        self.arrays[address] = {"before": text_of(bytes(size)), "after": None, "bytes": size}

    def to_host(self, host, address, size):
        super().to_host(host, address, size)
        if address in self.arrays:
            self.arrays[address]["after"] = text_of(ctypes.string_at(host, size))

    def free(self, address):
        super().free(address)
        self.arrays.pop(address, None)

    def tensor_map(self, address, *words, **named):
        made = super().tensor_map(address, *words, **named)
        self.maps[made] = [address, *words, *named.values()]
        return made

    def launch(self, function, grid, threads, values, **named):
        ptx, kernel = self.code[function.value]
        blocks = list(self.arrays)
        self.launches.append(
            {
                "ptx": ptx,
                "kernel": kernel,
                "grid": list(grid),
                "threads": threads,
                "values": [self.described(value, blocks) for value in values],
                "arrays": [self.arrays[block] for block in blocks],
                **named,
            }
        )
        super().launch(function, grid, threads, values, **named)

    def described(self, value, blocks):
        if value in self.maps:
            address, *words = self.maps[value]
            return {"map": words, "array": blocks.index(address)}
        address = int.from_bytes(value, "little")
        for at, block in enumerate(blocks):
            if len(value) == 8 and block <= address < block + self.arrays[block]["bytes"]:
                return {"array": at, "offset": address - block}
        return {"bytes": value.hex()}


def main(names):
    device = RecordingDevice()
    triton._device = lambda: device
    source = pathlib.Path(kernels.__file__)
    for name in names or kernels.CASES:
        device.launches.clear()
        most = 0.0
        for got, want, apart in kernels.CASES[name]():
            difference = np.max(np.abs(np.asarray(got, np.float64) - want), initial=0)
            assert difference <= apart, f"{name}: apart by {difference}"
            most = max(most, apart)
        recording = {
            "launches": device.launches,
            "tolerance": most,
            "source": hashlib.sha256(source.read_bytes()).hexdigest(),
        }
        path = HERE / "recorded" / f"{name}.json.xz"
        path.write_bytes(lzma.compress(json.dumps(recording).encode(), preset=9))
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
