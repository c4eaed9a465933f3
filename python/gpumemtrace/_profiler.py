# SPDX-License-Identifier: Apache-2.0
"""Begin and end of the part of a run that a person wants to look at, as cudaProfilerStart and cudaProfilerStop."""

import ctypes

from gpumemtrace._process import is_traced


def start() -> None:
    """From here on `--record-range profiler` records launches and copies. As cudaProfilerStart, without a CUDA library."""
    _switch("cuProfilerStart")


def stop() -> None:
    """The end of it, as cudaProfilerStop."""
    _switch("cuProfilerStop")


def _switch(name: str) -> None:
    if is_traced():  # then the preloaded library has both, whether there is a driver or not
        getattr(ctypes.CDLL(None), name)()
