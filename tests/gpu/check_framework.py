#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program that uses a framework or library under gpumemtrace check: traced, unharmed, not accused.

check_framework.py --gpumemtrace PATH [--option OPTION...] PROGRAM

PROGRAM is a Python script or a binary. It is run three times: as it is; with "7", the exit status it is to return; and
with "leak", which makes it keep a block of 12,345 bytes of its own. Checked: the exit status is the program's own,
CUDA calls were seen, no event was lost, there is no finding of severity error, and whatever the library keeps is a
note that names its owner; but the planted leak is an error of exactly that size, names the script's line and makes the
check fail. With --option=--coalescing, some kernels of each process of a script were measured (NCCL's and such that only
copy have none).
Exit status: 0 all holds, 1 not, 77 the program skipped itself.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
CHECK_FAILED = 23
PLANTED_BYTES = 12345


def run(options, words, folder):
    report = folder / "report.json"
    program = [sys.executable, str(options.program)] if options.program.suffix == ".py" else [str(options.program)]
    command = [
        str(options.gpumemtrace),
        "check",
        *options.option,
        "--format",
        "json",
        "--output",
        str(report),
        *program,
        *words,
    ]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=options.timeout)
    return done, json.loads(report.read_text()) if report.exists() else {}


def in_words(finding):
    frames = [frame["function"] or frame["module"] for stack in finding["stacks"] for frame in stack["frames"]]
    return f"{finding['severity']} {finding['kind']}: {finding['message']} [{' < '.join(map(str, frames[:12]))}]"


def unnamed_line(program, finding):
    """A complaint if the stack of a leak lacks the script's line that asked for the block."""
    if program.suffix != ".py":
        return
    lines = program.read_text().split("\n")
    frames = [frame for stack in finding["stacks"] for frame in stack["frames"] if frame.get("language") == "python"]
    own = [frame for frame in frames if pathlib.Path(frame["file"]).name == program.name]
    if not own or lines[own[0]["line"] - 1].strip() not in ("finish()", "keep_a_block()"):
        yield "the leak's line of Python is missing: " + in_words(finding)


def problems_of(program, done, report, wanted, planted):
    found = []
    if done.returncode != wanted:
        found.append(f"exit status {done.returncode}, not {wanted}: {done.stderr[-2000:]}")
    if not report:
        return found + ["no report: " + done.stderr[-2000:]]
    totals = report["totals"]
    if report["no_cuda_calls"] or not totals["events"]:
        found.append("no CUDA call was seen")
    if not totals["allocations"] or not totals["launches"] + totals["copies"]:  # NCCL on one GPU only copies
        found.append(f"{totals['allocations']} allocations, {totals['launches']} launches, {totals['copies']} copies")
    if report["lost_events"]:
        found.append(f"{report['lost_events']} events were lost")
    leaks = 0
    for finding in report["findings"]:
        if finding["severity"] == "error" and finding["kind"] == "leak" and finding["bytes"] == PLANTED_BYTES:
            leaks += 1
            found.extend(unnamed_line(program, finding))
        elif finding["severity"] == "error":
            found.append(in_words(finding))
        elif finding["kind"] == "leak" and " holds it: " not in finding["message"]:
            found.append("kept without an owner: " + in_words(finding))
    if leaks != planted:
        found.append(f"{leaks} leaks of {PLANTED_BYTES} bytes were reported, not {planted}")
    return found


def unmeasured(report):
    """Processes that launched many kernels of which next to none was measured."""
    for process in report.get("processes", []):
        kernels = (process["accesses"] or {"kernels": []})["kernels"]
        measured = sum(kernel["measured_launches"] != 0 for kernel in kernels)
        if process["totals"]["launches"] >= 100 and measured < 3:
            yield f"pid {process['pid']}: {measured} kernels measured of {len(kernels)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--timeout", type=int, default=100)
    parser.add_argument("--option", action="append", default=[], help="of gpumemtrace, as --option=--coalescing")
    parser.add_argument("program", type=lambda path: pathlib.Path(path).absolute())
    options = parser.parse_args()
    failed = False
    for words, wanted, planted in (([], 0, 0), (["7"], 7, 0), (["leak"], CHECK_FAILED, 1)):
        with tempfile.TemporaryDirectory(prefix="check_framework.") as folder:
            done, report = run(options, words, pathlib.Path(folder))
        if done.returncode == SKIPPED:
            print(done.stdout.strip())
            return SKIPPED
        problems = problems_of(options.program, done, report, wanted, planted)
        if "--coalescing" in options.option and options.program.suffix == ".py":
            problems.extend(unmeasured(report))
        failed = failed or bool(problems)
        totals = report.get("totals", {})
        print(
            " ".join([options.program.name, *words])
            + ": "
            + (
                "; ".join(problems)
                if problems
                else f"as expected, {totals.get('events')} events, {totals.get('launches')} launches, "
                f"{totals.get('live_blocks')} blocks kept"
            )
        )
        for finding in report.get("findings", []):
            if finding["severity"] != "error":
                print("  " + in_words(finding)[:400])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
