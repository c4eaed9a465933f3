# SPDX-License-Identifier: Apache-2.0
"""--coalescing on the simulated device: the figures of each line are those that CUPTI counted on an H100.

The kernels are those of access_patterns.cu, as PTX. A line is a kernel's line, operation and space, as in h100.tsv.
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from trace_files import Log

COMMAND = os.environ["GMT_COMMAND"]
HERE = pathlib.Path(__file__).resolve().parent
FIGURES = slice("executions", "ideal_wavefronts")
LEAST_EQUAL = 0.99
MOST_OTHERS = 0  # without a known cause


def cause_of_difference(kernel, operation):
    """Why an instruction of PTX is not what ptxas makes of it, or None."""
    if operation == "atomic" and "ILi2E" in kernel:
        return "all lanes use one element: ptxas lets one of them do it for all"
    if operation == "copy" and "float4" in kernel and "Li1E" in kernel:
        return "cp.async.cg of every second 16 bytes: a GPU takes a turn for each"
    return None


def recorded():
    rows = {}
    for line in (HERE / "h100.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kernel, number, operation, space, *figures = line.split("\t")
            operation = operation.replace("reduction", "atomic")  # as ptxas makes of one whose result nothing uses
            rows[kernel, int(number), operation, space] = tuple(map(int, figures))
    return rows


def code_of(trace):
    """By function and offset: its first line, operation and space."""
    code, function, offset = {}, None, None
    for line in (trace / "code").read_text(encoding="utf-8").splitlines():
        word, *fields = line.split("\t")
        if word == "function":
            function = fields[1]
        elif word == "access":
            offset = int(fields[0], 16)
            code[function, offset] = [0, fields[1], fields[2]]
        elif code[function, offset][0] == 0:
            code[function, offset][0] = int(fields[0])
    return code


def counted(trace):
    """Sums by line, as recorded() has them."""
    code, texts, names = code_of(trace), {}, {}
    rows = collections.defaultdict(lambda: [0] * 6)
    for record in Log(str(trace / "access-0.log"), []).records[1:]:
        if record.kind == "text":
            texts[record["id"]] = record.text
        elif record.kind == "access-function":
            names[record["number"]] = texts[record["name"]]
        elif record.kind == "access-instruction":
            function, offset = names[record["location"] & 0xFFFFFFFF], record["location"] >> 32
            line, operation, space = code[function, offset]
            figures = record["executions":"ideal_wavefronts"]
            figures = figures[:4] + figures[5:]  # without the bytes
            if space == "generic":
                space = "shared" if figures[4] else "global"
            row = rows[function, line, operation.replace("reduction", "atomic"), space]
            for at, figure in enumerate(figures):
                row[at] += figure
    return {key: tuple(row) for key, row in rows.items()}


class Simulated(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "PYTHON"))}
        self.environment = {**kept, "PYTHONPATH": str(HERE.parent.parent / "python")}

    def play(self, *options):
        report = self.folder / "report.json"
        words = ["--device", "simulated", "--trace-dir", self.folder, "--format", "json", "--output", report]
        program = [sys.executable, "-B", HERE / "play_patterns.py", HERE / "access_patterns.ptx.xz"]
        done = subprocess.run(
            [COMMAND, *map(str, [*words, *options, *program])],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env=self.environment,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (trace,) = self.folder.glob("gpumemtrace.*")
        return json.loads(report.read_text(encoding="utf-8")), trace

    def test_figures_are_those_of_a_gpu(self):
        report, trace = self.play("--coalescing", "--coalescing-floor", "0")
        here, there = counted(trace), recorded()
        equal = sum(here.get(key) == figures for key, figures in there.items())
        others = [
            f"{key}: {here.get(key)} instead of {figures}"
            for key, figures in there.items()
            if here.get(key) != figures and cause_of_difference(key[0], key[2]) is None
        ]
        self.assertGreaterEqual(equal / len(there), LEAST_EQUAL, "\n".join(others))
        self.assertLessEqual(len(others), MOST_OTHERS, "\n".join(others))
        kinds = {finding["kind"] for finding in report["findings"]}
        self.assertLessEqual({"uncoalesced", "bank-conflict"}, kinds)
        self.assertEqual([entry for entry in report["not_checked"] if entry["what"] == "memory accesses"], [])

    def test_hardware_counters_are_said_to_be_missing(self):
        report, _ = self.play("--counters")
        missing = [entry["why"] for entry in report["not_checked"] if entry["what"] == "whole-kernel counters"]
        self.assertEqual(len(missing), 1, report["not_checked"])


if __name__ == "__main__":
    unittest.main()
