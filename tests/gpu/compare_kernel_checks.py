#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs plain and with --kernel-checks under gpumemtrace, and says where the two runs differ.

compare_kernel_checks.py --gpumemtrace PATH --sources FOLDER... [--device real] [--jobs 8] [--checks init]
    BINARY...

A binary is NAME-O2-shared or NAME-shared; its runs are those of NAME.cu or NAME.cpp in a folder of sources, in the
grammar of tests/programs/expectations.py, and one without arguments where there is no source. Compared are status, output
without addresses and times, and the number of findings of each kind and severity. Runs that measure, fence, or need the
simulated device or several GPUs are left out.
Each difference is a line; the last line counts. Exit status: 0 all was run, whatever differs; 2 a binary is not there.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
import expectations  # noqa: E402

SECONDS = 60
VARYING = re.compile(rb"0x[0-9a-f]+|\d+\.\d+")
LEFT_OUT = ("--coalescing", "--counters", "--guard", "--kernel-checks")


def runs_of(binary, folders, device):
    name = re.sub(r"(-O\d)?-(shared|static)$", "", binary.name)
    for folder in folders:
        for source in (folder / f"{name}.cu", folder / f"{name}.cpp"):
            if source.exists():
                flavour = {device, *re.findall(r"O\d|shared|static", binary.name)}
                return expectations.parse_source(source.read_text(), flavour)
    return [expectations.Run([], 0)]


def is_comparable(run, device):
    wanted = {"any": True, "simulated": device == "simulated"}.get(run.device, device == "real")
    return wanted and run.devices == 1 and not any(option.startswith(LEFT_OUT) for option in run.options)


def observed(options, binary, run, more):
    """Status, output and findings of one run; the findings are None where there is no report."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [
            str(options.gpumemtrace), "run", "--device", options.device, *more, "--format", "json", "-o", str(report),
            str(binary), *run.arguments,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, check=False, cwd=folder, env={**os.environ, **run.environment}, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=SECONDS,
            )  # fmt: skip
            findings = json.loads(report.read_text())["findings"]
        except subprocess.TimeoutExpired:
            return "no end", b"", None
        except (OSError, ValueError):
            return done.returncode, VARYING.sub(b"*", done.stdout), None
    kinds = collections.Counter(f"{finding['severity']} {finding['kind']}" for finding in findings)
    return done.returncode, VARYING.sub(b"*", done.stdout), kinds


def differences(plain, checked):
    if plain[0] != checked[0]:
        yield f"status {plain[0]}, with checks {checked[0]}"
    if plain[1] != checked[1]:
        yield "output"
    if plain[2] is None or checked[2] is None:
        yield "no report"
        return
    for kind in sorted(set(plain[2]) | set(checked[2])):
        if plain[2][kind] != checked[2][kind]:
            yield f"{kind}: {plain[2][kind]}, with checks {checked[2][kind]}"


def compare(options, binary, run):
    plain = observed(options, binary, run, [])
    return list(differences(plain, observed(options, binary, run, [f"--kernel-checks={options.checks}"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="+", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--gpumemtrace", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--sources", nargs="+", type=pathlib.Path, default=[])
    parser.add_argument("--device", choices=["real", "simulated"], default="real")
    parser.add_argument("--checks", default="memory", help="words of --kernel-checks")
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_intermixed_args()
    missing = [str(binary) for binary in options.binaries if not binary.exists()]
    if missing:
        print(f"not there: {', '.join(missing)}", file=sys.stderr)
        return 2
    jobs = [
        (binary, run)
        for binary in options.binaries
        for run in runs_of(binary, options.sources, options.device)
        if is_comparable(run, options.device)
    ]
    different = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (binary, run), found in zip(jobs, pool.map(lambda job: compare(options, *job), jobs), strict=True):
            if found:
                different += 1
                print(f"{binary.name} {' '.join(run.arguments)}: {'; '.join(found)}", flush=True)
    print(f"{len(jobs)} runs, {len(jobs) - different} equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
