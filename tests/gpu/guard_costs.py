#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the fence costs, beside compute-sanitizer memcheck: one table.

guard_costs.py --gpumemtrace PATH --program PATH [--torch SCRIPT]

PROGRAM is built from guard_costs.cu; SCRIPT is torch_step.py. Each is run as it is, under --guard and under
compute-sanitizer where there is one, the script also with each tensor fenced and with PyTorch's cache off. A figure in
brackets is the ratio to the run as it is (to the run without the cache, where each tensor is fenced). Exit status: 0,
1 if a run of ours failed, 77 if the program cannot run here.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
NO_CACHE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


def measure(command, timeout, environment=None):
    """What the command prints, by its first field: (number, unit); and how it ended."""
    with tempfile.TemporaryDirectory(prefix="costs.") as folder:
        try:
            done = subprocess.run(
                command,
                check=False,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired as error:
            return figures(error.stdout or b""), f"no end after {timeout} s"
    if done.returncode not in (0, SKIPPED):
        print(done.stdout[-500:], done.stderr[-2000:])
    return figures(done.stdout), done.returncode


def figures(text):
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    fields = [line.split("\t") for line in text.splitlines()]
    return {f[0]: (float(f[1]), f[2]) for f in fields if len(f) == 3}


def cell(value, base):
    if value is None:
        return "-"
    ratio = f" ({value[0] / base[0]:.2f}x)" if base and base[0] else ""
    return f"{value[0]:,.2f} {value[1]}{ratio}"


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{text:{width}}" for text, width in zip(row, widths)).rstrip())
    print()


def program_table(options, sanitizer):
    plain, status = measure([str(options.program)], 120)
    if not plain:
        return status
    fenced, ended = measure([str(options.gpumemtrace), "--guard", str(options.program)], 200)
    peer = measure([*sanitizer, str(options.program), "short"], 120)[0] if sanitizer else {}
    rows = [("", "plain", "--guard", "compute-sanitizer")]
    for name, value in plain.items():
        rows.append((name, cell(value, None), cell(fenced.get(name), value), cell(peer.get(name), value)))
    print_table(rows)
    return ended


def torch_table(options, sanitizer):
    script = [sys.executable, str(options.torch)]
    plain, status = measure(script, 120)
    if not plain:
        return status
    tool = str(options.gpumemtrace)
    name = "PyTorch step"
    uncached = measure(script, 120, NO_CACHE)[0].get(name)
    segments, first = measure([tool, "--guard", *script], 150)
    tensors, second = measure([tool, "--guard=tensors", *script], 200)
    peer = measure([*sanitizer, *script, "8"], 150)[0].get(name) if sanitizer else None
    base = plain[name]
    print_table(
        [
            ("", "plain", "segments fenced", "without its cache", "tensors fenced", "compute-sanitizer"),
            (
                name,
                cell(base, None),
                cell(segments.get(name), base),
                cell(uncached, base),
                cell(tensors.get(name), uncached),
                cell(peer, base),
            ),
        ]
    )
    return first or second


def main():
    parser = argparse.ArgumentParser(description="What the fence costs.")
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--torch", type=lambda path: pathlib.Path(path).absolute())
    options = parser.parse_args()
    peer = shutil.which("compute-sanitizer")
    sanitizer = [peer, "--tool", "memcheck"] if peer else []
    ended = program_table(options, sanitizer)
    if options.torch:
        torch_ended = torch_table(options, sanitizer)
        ended = ended or (torch_ended if torch_ended != SKIPPED else 0)
    return SKIPPED if ended == SKIPPED else 1 if ended else 0


if __name__ == "__main__":
    sys.exit(main())
