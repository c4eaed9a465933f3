# SPDX-License-Identifier: Apache-2.0
"""Says what is wrong with a CUDA program's memory.

Run a program under the command: `gpumemtrace python3 train.py`, or `python3 -m gpumemtrace python3 train.py`. The
program itself needs nothing of this package. What it can use:

    with gpumemtrace.range("epoch 3"):      an NVTX range: reports say in which range memory was allocated
        ...
    gpumemtrace.start(), gpumemtrace.stop() begin and end of what `--record-range profiler` records
    gpumemtrace.snapshot()                  blocks that are alive in this process, by call stack
    gpumemtrace.is_traced()                 whether this process runs under the command
    gpumemtrace.trace_folder()              where its trace is
    gpumemtrace.Report(folder)              findings and totals of a trace, on any machine
"""

from gpumemtrace._command import GpumemtraceError, command_path
from gpumemtrace._process import is_traced, trace_folder
from gpumemtrace._profiler import start, stop
from gpumemtrace._ranges import range  # noqa: A004 (the name of NVTX's concept)
from gpumemtrace._report import Finding, Frame, Report, Stack
from gpumemtrace._snapshot import LiveBlocks, LiveTensors, Snapshot, snapshot

__all__ = [
    "Finding",
    "Frame",
    "GpumemtraceError",
    "LiveBlocks",
    "LiveTensors",
    "Report",
    "Snapshot",
    "Stack",
    "command_path",
    "is_traced",
    "range",
    "snapshot",
    "start",
    "stop",
    "trace_folder",
]
