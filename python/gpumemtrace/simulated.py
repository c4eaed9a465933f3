# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program whose kernels are compiled by Triton or Numba on the simulated device.

    gpumemtrace --device simulated python3 -m gpumemtrace.simulated program.py [WORD]...
    gpumemtrace --device simulated python3 -m gpumemtrace.simulated -m pytest tests/

A program may do the same itself, before it imports Numba and before its first launch of Triton's:

    import gpumemtrace.simulated
    gpumemtrace.simulated.prepare()
"""

import ctypes
import importlib.util
import pathlib
import runpy
import sys

from gpumemtrace._command import GpumemtraceError
from gpumemtrace._device import is_simulated

USAGE = "usage: gpumemtrace --device simulated python3 -m gpumemtrace.simulated PROGRAM.py|-m MODULE [WORD]..."


def prepare() -> None:
    """Lets Triton and Numba give their PTX to the simulated device, if they are installed."""
    if not is_simulated():
        raise GpumemtraceError("there is no simulated device: start the program as gpumemtrace --device simulated ...")
    # NVIDIA's linker makes machine code. Where its name is taken, Numba asks the driver to link, which takes PTX.
    for version in (12, 13):
        ctypes.CDLL(f"no-nvjitlink-{version}.so")
    if importlib.util.find_spec("triton") is not None:
        from gpumemtrace import triton

        triton.activate()


def main(words: list[str]) -> None:
    is_module = words[:1] == ["-m"]
    if len(words) <= is_module:
        sys.exit(USAGE)
    try:
        prepare()
    except GpumemtraceError as error:
        sys.exit(f"gpumemtrace: {error}")
    sys.argv = words[is_module:]
    if is_module:
        sys.path[0] = str(pathlib.Path.cwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(pathlib.Path(words[0]).resolve().parent)
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
