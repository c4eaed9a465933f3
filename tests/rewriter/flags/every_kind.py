#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each kind of mistake of kinds.cu in each way to compile and to launch, and how often --kernel-checks named all of it.

every_kind.py build FOLDER [--nvcc nvcc] [--cxx c++]
    compiles the programs and texts.
every_kind.py run FOLDER --gpumemtrace PATH [--device real] [--runs 20] [--jobs 4] [--ways WORD...]
    runs them: the default build as often as --runs says, all others once. With --ways, which chooses rows that have one
    of the words, each as often as --runs says. "two devices" needs two, and runs only if it is chosen. A run is
    right if each kernel is named with its kind of mistake, its line and how often it was made, and nothing else is.
    Prints a table, and what was not right. The status is 1 if a run was not right.

FOLDER can be taken to another machine, this script and kinds.* with it.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

from kinds import KINDS, SOURCE, WITHOUT_HEAP, found_in, wanted
from nvrtc import text_by_nvrtc

SECONDS = 90
SIMULATED = {"KERNEL_CHECKS": "1", "DEVICE_CHECKS": "none", "MEMORY": "256M", "GAPS": "0"}
PROGRAMS = {  # by the flags for nvcc
    "default": ["-lineinfo"],
    "static": ["-lineinfo", "-cudart", "static"],
    "debug": ["-G"],
    "unoptimised": ["-lineinfo", "-Xcicc", "-O0"],
    "fast": ["-lineinfo", "-O3", "--use_fast_math"],
    "several": ["-lineinfo", "-rdc=true"],
}
TEXTS = {"text": ["-lineinfo"], "text_debug": ["-G"]}
WAYS = [  # name, what is run, expected, how often a mistake is made
    ("default", ["default", "alone"], KINDS, 1),
    ("-cudart static", ["static", "alone"], KINDS, 1),
    ("-G", ["debug", "alone"], WITHOUT_HEAP, 1),
    ("-O0", ["unoptimised", "alone"], KINDS, 1),
    ("-O3 --use_fast_math", ["fast", "alone"], KINDS, 1),
    ("-rdc=true", ["several", "alone"], KINDS, 1),
    ("four streams", ["default", "streams"], KINDS, 1),
    ("four threads", ["default", "threads"], KINDS, 4),
    ("graph", ["default", "graph"], KINDS, 2),
    ("streams, static", ["static", "streams"], KINDS, 1),
    ("threads, static", ["static", "threads"], KINDS, 4),
    ("graph, static", ["static", "graph"], KINDS, 2),
    ("driver's interface", ["launches", "text.ptx"], KINDS, 1),
    ("driver's interface, -G", ["launches", "text_debug.ptx"], WITHOUT_HEAP, 1),
    ("NVRTC", ["launches", "nvrtc.ptx"], KINDS, 1),
    ("two devices", ["default", "devices"], WITHOUT_HEAP, 2),
    ("two devices, static", ["static", "devices"], WITHOUT_HEAP, 2),
]


def build(options):
    folder, here = options.folder, SOURCE.parent
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = [options.nvcc, "-std=c++17", "-arch=sm_90", "-ccbin", options.cxx, "-w"]
    for name, flags in PROGRAMS.items():
        runtime = [] if "-cudart" in flags else ["-cudart", "shared"]
        output = ["-Xlinker", "-s", here / "every_kind.cu", "-o", folder / name]
        subprocess.run([*nvcc, *runtime, *flags, *output], check=True)
    for name, flags in TEXTS.items():
        subprocess.run([*nvcc, "-ptx", *flags, SOURCE, "-o", folder / f"{name}.ptx"], check=True)
    subprocess.run([*nvcc, "-Xlinker", "-s", here / "launches.cpp", "-lcuda", "-o", folder / "launches"], check=True)
    text = text_by_nvrtc(options.nvcc, SOURCE)
    if text is not None:
        (folder / "nvrtc.ptx").write_bytes(text)
    return 0


def what_was_wrong(options, command, expected):
    environment = dict(os.environ)
    if options.device == "simulated":
        environment.update({f"GPUMEMTRACE_SIM_{name}": value for name, value in SIMULATED.items()})
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch, "report.json")
        check = [options.gpumemtrace, "check", "--kernel-checks", "--device", options.device, "--format", "json"]
        program = [options.folder / command[0], *(options.folder / a if "." in a else a for a in command[1:])]
        try:
            done = subprocess.run(
                [*check, "-o", report, *program], check=False, cwd=scratch, env=environment, capture_output=True,
                timeout=SECONDS,
            )  # fmt: skip
            found = found_in(report)
        except subprocess.TimeoutExpired:
            return "no end"
        except (OSError, ValueError):
            return f"no report, status {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}"
    wrong = [
        f"{kernel}: {found.get(kernel)}, wanted {what}"
        for kernel, what in expected.items()
        if found.get(kernel) != what
    ]
    wrong += [f"{kernel}: {what}, not wanted" for kernel, what in found.items() if kernel not in expected]
    if done.returncode != 23:
        wrong.append(f"status {done.returncode}")
    return "; ".join(wrong)


def run(options):
    words = options.ways or []
    ways = [way for way in WAYS if any(word in way[0] for word in words) or not (words or "devices" in way[0])]
    if options.device == "simulated":  # a static runtime finds no simulated driver here
        ways = [way for way in ways if "static" not in way[0]]
    ways = [way for way in ways if all((options.folder / word).exists() for word in way[1] if "." in word)]
    jobs = [way for way in ways for _ in range(options.runs if words or way[0] == "default" else 1)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda way: what_was_wrong(options, way[1], wanted(way[2], way[3])), jobs))
    print(f"{'way':24} {'mistakes':>8} {'runs':>5} {'right':>5}")
    for name, _, kinds, _ in ways:
        of_way = [outcome for way, outcome in zip(jobs, outcomes, strict=True) if way[0] == name]
        print(f"{name:24} {len(kinds):8} {len(of_way):5} {of_way.count(''):5}")
        for outcome in sorted(set(of_way) - {""}):
            print(f"    {of_way.count(outcome)} times {outcome}")
    return 0 if not any(outcomes) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in (("build", build), ("run", run)):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        command.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
        if name == "build":
            command.add_argument("--nvcc", default="nvcc")
            command.add_argument("--cxx", default="c++")
            continue
        command.add_argument("--gpumemtrace", type=lambda path: pathlib.Path(path).resolve(), required=True)
        command.add_argument("--device", choices=["real", "simulated"], default="real")
        command.add_argument("--runs", type=int, default=20)
        command.add_argument("--jobs", type=int, default=4)
        command.add_argument("--ways", nargs="+")
    options = parser.parse_args()
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
