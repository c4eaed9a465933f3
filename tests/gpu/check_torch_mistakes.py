#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of MISTAKES and RIGHT under gpumemtrace, several at a time.

check_torch_mistakes.py --gpumemtrace PATH [--jobs N] [--keep FOLDER] [NAME...]

Each mistake must be found as the kind, and with the line, that its comment "found: KIND" says, and as nothing else. Its
correct twin and the correct programs must have no finding. The traces stay in FOLDER. Exit status: 0 all holds, 1 not,
77 without PyTorch or GPU.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
MISTAKES = ("torch_mistakes.py", "torch_habits.py")
RIGHT = ("torch_correct.py", "torch_right.py")


def expected(program):
    """Kind and number of line by name of the mistake, and the options that show it."""
    lines = (HERE / program).read_text().split("\n")
    found, name, own = {}, None, []
    at_line = None  # of a mistake that stands before the function that makes it
    for number, line in enumerate(lines, 1):
        if start := re.match(r"def (\w+)\(\):(?:  # options: (.*))?$", line):
            name, own = start[1], (start[2] or "").split()
            if at_line is not None:
                found[name], at_line = (*at_line, own), None
        if re.match(r"class \w+", line):
            name = None
        if comment := re.search(r"# found: ([\w-]+)$", line):
            if name is None:
                at_line = comment[1], number
            else:
                found[name] = comment[1], number, own
    return found


def run(options, words, own, folder):
    report = folder / "report.json"
    command = [str(options.gpumemtrace), *own, "--trace-dir", str(folder), "--format", "json=" + str(report)]
    command += ["--format", f"text={folder / 'report.txt'}", sys.executable, "-B", str(HERE / words[0]), *words[1:]]
    began = time.monotonic()
    try:
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return SKIPPED + 1, f"did not end in {options.timeout} s", {}, options.timeout
    content = json.loads(report.read_text()) if report.exists() else {}
    return done.returncode, done.stdout[-300:] + done.stderr[-1500:], content, time.monotonic() - began


def lines_of(finding):
    frames = [frame for stack in finding["stacks"] for frame in stack["frames"] if frame.get("language") == "python"]
    return {frame["line"] for frame in frames if pathlib.Path(frame["file"]).name in MISTAKES}


def problems_of(report, wanted):
    findings = report.get("findings", [])
    for finding in findings:
        if wanted is None or finding["kind"] != wanted[0]:
            yield f"not asked for: {finding['severity']} {finding['kind']}: {finding['message'][:300]}"
        elif wanted[1] not in lines_of(finding):
            yield f"line {wanted[1]} is missing, {sorted(lines_of(finding))}: {finding['message'][:300]}"
    if wanted is not None and not any(finding["kind"] == wanted[0] for finding in findings):
        yield f"not found: {wanted[0]} of line {wanted[1]}"


def check(options, words, wanted, own, parent):
    folder = parent / "-".join(words).replace(".py", "")
    folder.mkdir(parents=True)
    status, output, report, seconds = run(options, words, own, folder)
    problems = [f"exit status {status}: {output}"] if status not in (0, SKIPPED) else list(problems_of(report, wanted))
    if not report and not problems and status == 0:
        problems = ["no report"]
    gaps = [entry["what"] for entry in report.get("not_checked", [])]
    return words, status, problems, gaps, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--timeout", type=int, default=150)
    parser.add_argument("--keep", type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    runs = []
    for program in RIGHT:
        names = subprocess.run([sys.executable, "-B", HERE / program], check=False, capture_output=True, text=True)
        if names.returncode == SKIPPED:
            print(names.stdout.strip())
            return SKIPPED
        runs += [((program, name), None, []) for name in names.stdout.split()]
    runs.sort(key=lambda each: "compiled" not in each[0][1])  # what takes longest begins first
    for program in MISTAKES:
        for name, (*wanted, own) in expected(program).items():
            runs += [((program, name), wanted, own), ((program, name, "correct"), None, own)]
    if options.names:
        runs = [each for each in runs if each[0][1] in options.names]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="check_torch_mistakes.") as temporary:
        parent = options.keep or pathlib.Path(temporary)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            started = [pool.submit(check, options, *each, parent) for each in runs]
            for each in concurrent.futures.as_completed(started):
                words, status, problems, gaps, seconds = each.result()
                failed += bool(problems)
                said = "; ".join(problems) or ("skipped" if status == SKIPPED else "as expected")
                print(
                    f"{' '.join(words)}: {seconds:.0f} s: {said}" + (f" [not checked: {gaps}]" if gaps else ""),
                    flush=True,
                )
    print(f"{len(runs) - failed} of {len(runs)} as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
