#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs correct programs of many frameworks under gpumemtrace check, several at a time: none may be accused.

check_ecosystem.py --gpumemtrace PATH [--runs 3] [--jobs 12] [--limit SECONDS] [--results FILE --commit NAME]
                   [--option OPTION...] [--keep FOLDER] [LIBRARY[.PROGRAM]...]

A run passes if the program ends with 0, the check too, CUDA calls were seen, no event was lost, and there is no finding
of severity error. A program that fails without gpumemtrace as well is skipped with its last line: what it needs is not
installed. With --results each run that passed or failed is a line of FILE: commit, GPU, program, option, run, result.
What stands there for this commit already is not run again, so that short times with a GPU add up.
Reports of failed runs go to --keep.
Exit status: 0 nothing failed, 1 a run failed, 77 there is no GPU. Programs that --limit left out are counted as not run.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from check_framework import CHECK_FAILED, SKIPPED, in_words

PROGRAMS = pathlib.Path(__file__).resolve().parent / "ecosystem"
STARTED = time.monotonic()


def gpu_name():
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], check=False, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.split("\n")[0].strip() if done.returncode == 0 else ""


def programs_of(file):
    """The names behind @program, without the imports that a machine may lack."""
    lines = file.read_text().split("\n")
    return [lines[i + 1][4:].split("(")[0] for i, line in enumerate(lines) if line == "@program"]


def all_programs(wanted):
    for file in sorted(PROGRAMS.glob("*_programs.py")):
        library = file.name.removesuffix("_programs.py")
        for name in programs_of(file):
            if not wanted or library in wanted or f"{library}.{name}" in wanted:
                yield f"{library}.{name}", [sys.executable, str(file), name]


def problems_of(done, report):
    if done.returncode != 0:
        yield f"exit status {done.returncode}: {done.stderr[-600:]}"
    if not report:
        yield "no report"
        return
    if report["no_cuda_calls"]:
        yield "no CUDA call was seen"
    if report["lost_events"]:
        yield f"{report['lost_events']} events were lost"
    for finding in report["findings"]:
        if finding["severity"] == "error":
            yield in_words(finding)


def run_once(name, command, options):
    """Result and what stands behind it: passed (a summary), failed (the problems), skipped (the program's last line)."""

    def run(*words):
        return subprocess.run(
            words, check=False, cwd=folder, capture_output=True, text=True, errors="replace", timeout=options.timeout
        )

    with tempfile.TemporaryDirectory(prefix="ecosystem.", ignore_cleanup_errors=True) as folder:
        report = pathlib.Path(folder) / "report.json"
        form = ["--format", "json", "--output", str(report)]
        try:
            done = run(str(options.gpumemtrace), "check", *options.option, *form, *command)
            content = json.loads(report.read_text()) if report.exists() else {}
            if done.returncode not in (0, CHECK_FAILED):
                plain = run(*command)
                if plain.returncode != 0:
                    return "skipped", (plain.stderr.strip() or plain.stdout.strip()).split("\n")[-1]
        except subprocess.TimeoutExpired:
            return "failed", f"ran for over {options.timeout} s"
        problems = list(problems_of(done, content))
        if problems and options.keep and report.exists():
            options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(report, options.keep / f"{name}.json")
    if problems:
        return "failed", "; ".join(problems)
    kinds = collections.Counter(f"{finding['severity']} {finding['kind']}" for finding in content["findings"])
    found = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "no finding"
    return "passed", f"{content['totals']['launches']} launches, {found}"


def runs_to_make(options, gpu):
    done = set()
    if options.results and options.results.exists():
        rows = [line.split("\t") for line in options.results.read_text().splitlines()]
        done = {(row[2], row[3], row[4]) for row in rows if row[0] == options.commit and row[1] == gpu}
    for run in range(1, options.runs + 1):
        for name, command in all_programs(options.programs):
            if (name, " ".join(options.option), str(run)) not in done:
                yield name, command, run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--limit", type=float, default=500, help="seconds after which no run begins")
    parser.add_argument("--timeout", type=float, default=150, help="seconds for one run")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--option", action="append", default=[], help="of gpumemtrace, as --option=--guard")
    parser.add_argument("--keep", type=pathlib.Path, default=os.environ.get("OUT"), help="by default $OUT")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    gpu = gpu_name()
    if not gpu:
        print("skipped: no GPU")
        return SKIPPED
    count = collections.Counter()

    def run(what):
        name, command, number = what
        if time.monotonic() - STARTED > options.limit:
            count["not run"] += 1
            return
        begun = time.monotonic()
        result, words = run_once(name, command, options)
        count[result] += 1
        print(f"{result:8} {name} run {number}, {time.monotonic() - begun:.0f} s: {words}", flush=True)
        if options.results and result != "skipped":
            row = [options.commit, gpu, name, " ".join(options.option), str(number), result]
            with options.results.open("a") as file:
                file.write("\t".join(row) + "\n")

    # Twelve processes that each start as many threads as there are cores slow each other down.
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, runs_to_make(options, gpu)))
    print(", ".join(f"{count[word]} {word}" for word in ("passed", "failed", "skipped", "not run")), f"on {gpu}")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
