#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program of a framework under gpumemtrace and checks that it is traced, unharmed and not accused.

check_framework.py --gpumemtrace PATH SCRIPT [ARGUMENT...]

The program is run with the arguments, and once more with exit status 7 asked for. Checked: its exit status is its own,
CUDA calls were seen, no event was lost, and there is no finding of severity error: what a framework keeps in its own
caches is no leak. Exit status: 0 all holds, 1 not, 77 the program skipped itself.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(options, arguments, folder):
    report = folder / "report.json"
    command = [str(options.gpumemtrace), "--format", "json", "--output", str(report), sys.executable,
               str(options.script), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=options.timeout)
    return done, json.loads(report.read_text()) if report.exists() else {}


def problems_of(done, report, wanted):
    found = []
    if done.returncode != wanted:
        found.append(f"exit status {done.returncode}, not {wanted}: {done.stderr[-2000:]}")
    if not report:
        return found + ["no report: " + done.stderr[-2000:]]
    totals = report["totals"]
    if report["no_cuda_calls"] or not totals["events"]:
        found.append("no CUDA call was seen")
    if not totals["allocations"] or not totals["launches"]:
        found.append(f"{totals['allocations']} allocations and {totals['launches']} launches were seen")
    if report["lost_events"]:
        found.append(f"{report['lost_events']} events were lost")
    for finding in report["findings"]:
        if finding["severity"] == "error":
            frames = [frame["function"] or frame["module"] for stack in finding["stacks"] for frame in stack["frames"]]
            found.append(f"error {finding['kind']}: {finding['message']} [{' < '.join(map(str, frames[:12]))}]")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--timeout", type=int, default=100)
    parser.add_argument("script", type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    failed = False
    for arguments, wanted in ((options.arguments, 0), ([*options.arguments, "7"], 7)):
        with tempfile.TemporaryDirectory(prefix="check_framework.") as folder:
            done, report = run(options, arguments, pathlib.Path(folder))
        if done.returncode == SKIPPED:
            print(done.stdout.strip())
            return SKIPPED
        problems = problems_of(done, report, wanted)
        failed = failed or bool(problems)
        totals = report.get("totals", {})
        print(f"{options.script.name} {' '.join(arguments)}: " + ("; ".join(problems) if problems else
              f"as expected, {totals.get('events')} events, {totals.get('launches')} launches, "
              f"{totals.get('live_blocks')} blocks kept"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
