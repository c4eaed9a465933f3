# SPDX-License-Identifier: Apache-2.0
"""Repeats recorded launches of Triton's kernels: replay.py RECORDING...

Each array behind a launch is compared with the recorded one, as 32-bit floats and as 16-bit ones: where a recording
allows for a difference, one of the two has to be within it. Prints a line for each launch that is right.
"""

import base64
import concurrent.futures
import ctypes
import json
import lzma
import math
import pathlib
import struct
import sys
import types

from gpumemtrace._arguments import Loan
from gpumemtrace._command import GpumemtraceError
from gpumemtrace._device import Device


class Storage:
    """Bytes of the host, as the storage of a PyTorch tensor has them."""

    device = types.SimpleNamespace(type="cpu")

    def __init__(self, data):
        self.memory = (ctypes.c_char * len(data)).from_buffer_copy(data)
        self.address = ctypes.addressof(self.memory)

    def untyped_storage(self):
        return self

    def nbytes(self):
        return len(self.memory)

    def data_ptr(self):
        return self.address


class Part(Storage):
    """As an array of NumPy and a tensor have it that were made of the same memory."""

    def __init__(self, whole, first, size):
        self.memory = (ctypes.c_char * size).from_buffer(whole.memory, first)
        self.address = ctypes.addressof(self.memory)


def check_shared_memory(device):
    whole = Storage(bytes(64))
    part = Part(whole, 16, 8)
    with Loan(device) as loan:
        begin = loan.lend(whole).data_ptr()
        assert loan.lend(part).data_ptr() == begin + 16, "a part lies in the whole"
    try:
        with Loan(device) as loan:
            loan.lend(part)
            loan.lend(whole)
    except GpumemtraceError:
        return
    raise AssertionError("a block that is too small was lent")


def parameter(device, loan, described, arrays):
    if "bytes" in described:
        return bytes.fromhex(described["bytes"])
    address = loan.lend(arrays[described["array"]]).data_ptr()
    if "map" in described:
        *words, fills_nan = described["map"]
        return device.tensor_map(address, *words, fills_nan=fills_nan)
    return struct.pack("Q", address + described["offset"])


def are_near(got, want, form, most):
    if len(got) % struct.calcsize(form):
        return False
    pairs = zip(struct.iter_unpack(form, got), struct.iter_unpack(form, want), strict=True)
    return all(a == b or math.isfinite(a) and math.isfinite(b) and abs(a - b) <= most for (a,), (b,) in pairs)


def repeat(device, launch, tolerance):
    named = {name: launch[name] for name in ("shared_bytes", "cluster", "cooperative", "programmatic")}
    arrays = [Storage(base64.b64decode(array["before"])) for array in launch["arrays"]]
    module, function = device.load(launch["ptx"].encode(), launch["kernel"])
    with Loan(device) as loan:
        values = [parameter(device, loan, described, arrays) for described in launch["values"]]
        device.launch(function, launch["grid"], launch["threads"], values, **named)
    device.unload(module)
    for at, (array, recorded) in enumerate(zip(arrays, launch["arrays"], strict=True)):
        if recorded["after"] is None:
            continue
        got, want = bytes(array.memory), base64.b64decode(recorded["after"])
        near = got == want or are_near(got, want, "f", tolerance) or are_near(got, want, "e", tolerance)
        assert near, f"{launch['kernel']}: array {at} is not what was recorded"


def main(paths):
    device = Device()
    check_shared_memory(device)
    threads = concurrent.futures.ThreadPoolExecutor(1)  # a program may launch from any thread
    for path in map(pathlib.Path, paths):
        recording = json.loads(lzma.decompress(path.read_bytes()))
        for launch in recording["launches"]:
            threads.submit(repeat, device, launch, recording["tolerance"]).result()
            print(f"{path.name}: {launch['kernel']} is right", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
