#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures launches of programs and replays them on the processor: is memory as the GPU left it, bit by bit?

check_capture.py --gpumemtrace PATH --sources FOLDER... [--device real] [--jobs 8] [--launches 1,4] BINARY...

Binaries and their runs are those of compare_kernel_checks.py. Of each run the launches of these numbers, counted over
all its kernels, are captured. A line for each launch that differs, with what the replay says of it, and a table: equal,
different or ended with an error, with and without a reason, not replayed, no launch of that number. Exit status: 0 whatever
differs; 2 a binary is not there.
"""

import argparse
import collections
import concurrent.futures
import glob
import os
import pathlib
import re
import subprocess
import tempfile

import compare_kernel_checks as programs

SECONDS = 40


def run(command, folder, environment=None):
    try:
        done = subprocess.run(
            command, check=False, cwd=folder, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=SECONDS, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, "", f"it did not end in {SECONDS} s"
    return done.returncode, done.stdout, done.stderr


def result_of(options, binary, case, number):
    """One word, and what the command said."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(options.gpumemtrace), "record", "--device", options.device, "--capture", f"*:{number}"]
        _, _, said = run([*command, str(binary), *case.arguments], folder, case.environment)
        files = glob.glob(os.path.join(folder, "*.capture"))
        if not files:
            why = [line for line in said.splitlines() if "--capture" in line]
            is_missing = why and ("launched" in why[0] or "graphs" in why[0])
            return ("no launch" if is_missing else "not captured"), (why or said.splitlines()[-1:] or [""])[0]
        size = os.stat(files[0]).st_size
        _, out, report = run([str(options.gpumemtrace), "replay", "--device-threads", "1", files[0]], folder)
        kernel = (re.search(r"launch \d+ of (\S+?),", out) or ["", "?"])[1]
        lines = [line.removeprefix("replay: ") for line in out.splitlines()[1:]]
        found = sorted(set(re.findall(r"^(?:error|warning)\S* ?\[?([a-z-]+)", report, re.MULTILINE)))
        text = f"{kernel}: {' | '.join(lines)} {found or ''} {size} bytes"
        if "the output equals" in out:
            return "equal", text
        if "the kernel ended with" in out:
            return ("error with a reason" if "the kernel uses" in out or found else "ended with an error"), text
        if "no output of the GPU" in out:
            return "error on the GPU", text
        if "differs" in out:
            return ("different with a reason" if "the kernel uses" in out or found else "different"), text
        why = [line for line in report.splitlines() if line.startswith("gpumemtrace")]
        return "not replayed", text + " " + " | ".join(why)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", type=pathlib.Path, required=True)
    parser.add_argument("--sources", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--device", default="real")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--launches", default="1,4")
    parser.add_argument("binaries", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    for binary in options.binaries:
        if not binary.exists():
            parser.error(f"there is no {binary}")
    tasks = [
        (binary.resolve(), case, number)
        for binary in options.binaries
        for case in programs.runs_of(binary, options.sources, options.device)
        if programs.is_comparable(case, options.device)
        for number in options.launches.split(",")
    ]
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda task: result_of(options, *task), tasks)
        for (binary, case, number), (word, text) in zip(tasks, results, strict=True):
            counts[word] += 1
            if word not in ("equal", "no launch"):
                print(f"{word}: {binary.name} {' '.join(case.arguments)} :{number} {text}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.most_common()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
