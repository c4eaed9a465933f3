# SPDX-License-Identifier: Apache-2.0
"""What tests of Python's kernels share: a run on the simulated device, and its report."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent / "python"


class SimulatedRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def run_program(self, *words, timeout=300):
        """The report on a program that ends well, and the lines that it printed."""
        report = os.path.join(self.folder, "report.json")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUMEMTRACE_", "PYTHON"))}
        result = subprocess.run(
            [COMMAND, "--device", "simulated", "--trace-dir", self.folder, "--format", "json", "--output", report]
            + list(map(str, words)),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**kept, "PYTHONPATH": str(PACKAGE), "XDG_CACHE_HOME": self.folder},
        )
        self.assertEqual(result.returncode, 0, f"{words}: {result.stdout}{result.stderr}")
        return json.loads(pathlib.Path(report).read_text()), result.stdout.splitlines()

    def assert_one_read_past_the_end(self, report, source, kernel):
        """The one finding is the line of `source` that says "mistake", in `kernel`."""
        self.assertEqual([finding["kind"] for finding in report["findings"]], ["kernel-out-of-bounds"])
        self.assertEqual([entry for entry in report["not_checked"] if entry["what"].startswith("kernel")], [])
        accessed = report["findings"][0]["stacks"][0]["frames"][0]
        lines = source.read_text().splitlines()
        mistake = next(number for number, line in enumerate(lines, 1) if "# mistake" in line)
        self.assertEqual((pathlib.Path(accessed["file"]).name, accessed["line"]), (source.name, mistake))
        self.assertIn(kernel, accessed["function"])
