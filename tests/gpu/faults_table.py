#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs whose kernels fault, many times each, and counts what the reports say of the faults.

faults_table.py --gpumemtrace PATH --samples FOLDER --binaries FOLDER --checks FOLDER
                [--torch SCRIPT --library PATH] [--also SOURCE BINARY] [--device real|simulated] [--only NAME...]

Each run of a sample under --guard that expects a finding of a kernel is repeated 20 times, runs of the script for
PyTorch and of other programs 5 times, several processes at once. What is right stands in the source; that of the script
is torch_rows.cu.
Columns of the table, each a count of runs:

    found     the report has an error about a kernel that it took from the GPU itself
    kind      it is of the expected kind
    line      its source line, innermost function included
    block     the memory: stacks of its allocation and free, and its size
    among     the same, or the memory is one of several that the launch was given
    launch    the call that launched the kernel, and no other one
    plain     what the program answers without gpumemtrace

$OUT, if set, gets faults_table.tar.gz: of each program the first run's trace with its core dump, and the reports of all
runs with something missing. Exit status: 0 every run has what it needs (found, line, among, launch), 1 not, 77 nothing
could run.
"""

import argparse
import concurrent.futures
import dataclasses
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

SKIPPED = 77
COLUMNS = ("found", "kind", "line", "block", "among", "launch")
NEEDED = ("found", "line", "among", "launch")
WHERE = ("accessed here", "failed here")
LAUNCHES = ("launched here", "graph launched here", "captured here", "node made here")
BLOCKS = ("allocated here", "freed here")
SAMPLES = (
    "stencil_halo",
    "off_by_one",
    "kept_buffer",
    "wrong_pitch",
    "missing_mask",
    "graph_fault",
    "device_assert",
)
STARTED = time.monotonic()


@dataclasses.dataclass
class Case:
    """One run of one program, repeated."""

    name: str
    source: pathlib.Path
    command: list
    run: object  # expectations.Run
    repeats: int
    jobs: int
    counts: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    done: int = 0
    ended: set = dataclasses.field(default_factory=set)
    plain: str = ""
    seconds: float = 0.0
    skipped: str = ""

    @property
    def expected(self):
        return next(e for e in self.run.expectations if e.kind.startswith("kernel-"))


def is_fault_run(run):
    guarded = any(option.startswith("--guard") for option in run.options)
    return guarded and any(expected.kind.startswith("kernel-") for expected in run.expectations)


def find_cases(options):
    flavour = {"shared", options.device, "O2"}
    cases = []
    for name in SAMPLES:
        source = options.samples / f"{name}.cu"
        binary = options.binaries / f"{name}-O2-shared"
        for run in expectations.parse_source(source.read_text(), flavour):
            if is_fault_run(run):
                command = [str(binary), *run.arguments]
                cases.append(
                    Case(f"{name} {' '.join(run.arguments)}", source, command, run, options.repeats, options.jobs)
                )
    for source, binary in options.also:
        for run in expectations.parse_source(source.read_text(), flavour):
            if is_fault_run(run):
                command = [str(binary), *run.arguments]
                name = f"{source.stem} {' '.join(run.arguments)}"
                cases.append(Case(name, source, command, run, options.torch_repeats, options.torch_jobs))
    if options.torch:
        source = options.torch.with_suffix(".cu")
        for run in expectations.parse_source(source.read_text(), flavour):
            if is_fault_run(run):
                command = [sys.executable, str(options.torch), str(options.library), *run.arguments]
                name = f"{options.torch.stem} {' '.join(run.arguments)}"
                cases.append(Case(name, source, command, run, options.torch_repeats, options.torch_jobs))
    return [case for case in cases if not options.only or any(word in case.name for word in options.only)]


def stacks_fit(case, finding, labels):
    """Whether the finding has exactly the expected stacks of these labels."""
    wanted = [stack for stack in case.expected.stacks if stack.label in labels]
    have = [stack for stack in finding["stacks"] if (stack.get("label") or "").split(":")[0] in labels]
    have = [{**stack, "label": stack["label"].split(":")[0]} for stack in have]
    if len(wanted) != len(have):
        return False
    for stack in wanted:
        fitting = [one for one in have if one["label"] == stack.label]
        if all(check_report.stack_difference(stack, one, case.source) for one in fitting):
            return False
    return True


def is_among(case, finding):
    """Whether the memory is listed as one of those that the launch was given."""
    if "its launch was given" not in finding["message"]:
        return False
    wanted = [stack for stack in case.expected.stacks if stack.label == "allocated here"]
    have = [stack for stack in finding["stacks"] if stack.get("label") == "allocated here"]
    return any(not check_report.stack_difference(want, one, case.source) for want in wanted for one in have)


def judge(case, report):
    """Which columns hold for a report: of the finding that has most."""
    best = dict.fromkeys(COLUMNS, False)
    for finding in report.get("findings") or []:
        source = (finding.get("fault") or {}).get("source")
        if finding["severity"] != "error" or source not in ("core dump", "simulated device"):
            continue
        text = f"{finding['message']} {finding['advice']}".lower()
        held = {
            "found": True,
            "kind": finding["kind"] == case.expected.kind,
            "line": stacks_fit(case, finding, WHERE),
            "block": stacks_fit(case, finding, BLOCKS) and (case.expected.message or "").lower() in text,
            "launch": stacks_fit(case, finding, LAUNCHES),
        }
        held["among"] = held["block"] or is_among(case, finding)
        if sum(held.values()) > sum(best.values()):
            best = held
    return best


class Table:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        out = os.environ.get("OUT")
        self.archive = tarfile.open(pathlib.Path(out) / "faults_table.tar.gz", "w:gz") if out else None

    def keep(self, folder, name):
        if self.archive:
            with self.lock:
                self.archive.add(folder, name)

    def keep_text(self, text, name):
        if self.archive:
            data = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            with self.lock:
                self.archive.addfile(entry, io.BytesIO(data))

    def run_plain(self, case):
        with tempfile.TemporaryDirectory(prefix="faults.") as folder:
            done = subprocess.run(
                case.command, check=False, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120
            )
        if done.returncode == SKIPPED:
            case.skipped = done.stdout.decode(errors="replace").strip()
        case.plain = "silent" if done.returncode == 0 else f"status {done.returncode}"

    def run_once(self, case, number):
        words = [word for word in case.run.options if word != "check"]
        with tempfile.TemporaryDirectory(prefix="faults.") as folder:
            report_path = pathlib.Path(folder) / "report.json"
            command = [str(self.options.gpumemtrace), *words, "--keep-core-dump", "--device", self.options.device]
            command += ["--format", "json", "--output", str(report_path), *case.command]
            began = time.monotonic()
            try:
                done = subprocess.run(
                    command, check=False, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=150
                )
                how = str(done.returncode)
            except subprocess.TimeoutExpired:
                how = "no end"
            seconds = time.monotonic() - began
            try:
                report = json.loads(report_path.read_text())
            except (OSError, ValueError):
                report = {}
            held = judge(case, report)
            label = f"{case.name.strip().replace(' ', '.')}.{number}"
            if number == 0:
                self.keep(folder, label)
            elif not all(held[column] for column in NEEDED):
                self.keep_text(json.dumps(report, indent=1), label + ".json")
        with self.lock:
            case.done += 1
            case.seconds += seconds
            case.ended.add(how)
            for column, value in held.items():
                case.counts[column] += value

    def run_all(self, cases):
        for case in cases:
            self.run_plain(case)
            if case.skipped:
                continue
            with concurrent.futures.ThreadPoolExecutor(case.jobs) as pool:
                for number in range(case.repeats):
                    pool.submit(self.run_unless_late, case, number)
        if self.archive:
            self.archive.close()

    def run_unless_late(self, case, number):
        if time.monotonic() - STARTED < self.options.deadline:
            self.run_once(case, number)


def print_table(cases):
    rows = [("program", "runs", *COLUMNS, "plain", "ended with", "s a run")]
    for case in cases:
        if case.skipped:
            rows.append((case.name, "0", *["-"] * len(COLUMNS), case.skipped, "", ""))
            continue
        counts = [str(case.counts[column]) for column in COLUMNS]
        mean = f"{case.seconds / max(1, case.done):.1f}"
        rows.append((case.name, str(case.done), *counts, case.plain, " ".join(sorted(case.ended)), mean))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip())


def main():
    options = OPTIONS
    if options.device == "real" and (reason := check_report.why_no_gpu(1)):
        print(f"skipped: {reason}")
        return SKIPPED
    cases = find_cases(options)
    table = Table(options)
    table.run_all(cases)
    print_table(cases)
    ran = [case for case in cases if not case.skipped]
    if not ran:
        return SKIPPED
    whole = all(case.done == case.repeats and all(case.counts[c] == case.done for c in NEEDED) for case in ran)
    print(
        f"{len(ran)} programs in {time.monotonic() - STARTED:.0f} s: {'all of it' if whole else 'something is missing'}"
    )
    return 0 if whole else 1


def parse_options():
    absolute = lambda path: pathlib.Path(path).absolute()  # noqa: E731
    parser = argparse.ArgumentParser(description="Counts what reports say of faults in kernels.")
    parser.add_argument("--gpumemtrace", required=True, type=absolute)
    parser.add_argument("--samples", required=True, type=absolute, help="the folder of their sources")
    parser.add_argument("--binaries", required=True, type=absolute, help="the folder of NAME-O2-shared")
    parser.add_argument("--checks", required=True, type=absolute, help="the folder of check_report.py")
    parser.add_argument("--torch", type=absolute, help="torch_rows.py; its .cu lies beside it")
    parser.add_argument("--library", type=absolute, help="what torch_rows.cu was built to")
    parser.add_argument("--also", nargs=2, action="append", default=[], type=absolute, metavar=("SOURCE", "BINARY"))
    parser.add_argument("--device", choices=("real", "simulated"), default="real")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--torch-repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--torch-jobs", type=int, default=3)
    parser.add_argument("--deadline", type=float, default=540, help="seconds after which no run begins")
    parser.add_argument("--only", nargs="+", default=[], help="programs whose name contains one of these")
    return parser.parse_args()


if __name__ == "__main__":
    OPTIONS = parse_options()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(OPTIONS.checks))
    import check_report
    import expectations

    sys.exit(main())
