# SPDX-License-Identifier: Apache-2.0
"""The checks of this folder find what they are for."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_findings

HERE = pathlib.Path(__file__).resolve().parent
REPORT = """error    double-free
  cudaFree of 0x7f00 took 3.5 ms.
    freed here   double-free.cu:7  main
                 double-free.cu:9  other
  Remove one of the calls.
"""


class Findings(unittest.TestCase):
    def test_addresses_times_and_wrapping_are_not_compared(self):
        other = REPORT.replace("0x7f00", "0x55aa10").replace("3.5 ms", "1,234 us").replace(" took", "\n  took")
        self.assertEqual(check_findings.comparable(REPORT), check_findings.comparable(other))

    def test_call_stacks_are_compared(self):
        for change in (("cu:7", "cu:8"), ("other", "another"), ("freed here", "allocated here")):
            self.assertNotEqual(check_findings.comparable(REPORT), check_findings.comparable(REPORT.replace(*change)))

    def test_only_chooses_sections(self):
        sections = [(kind, "error", "", "") for kind in ("leak", "device-heap-leak", "device-heap-double-free")]
        self.assertEqual(check_findings.chosen_sections(sections, []), sections)
        self.assertEqual(check_findings.chosen_sections(sections, ["leak"]), sections[:1])
        self.assertEqual(check_findings.chosen_sections(sections, ["device-*"]), sections[1:])
        with self.assertRaises(SystemExit):
            check_findings.chosen_sections(sections, ["leek"])

    def test_detectors_in_subfolders_are_searched(self):
        self.assertGreater(len(check_findings.detector_sources()), 30)

    def test_update_writes_the_sections_that_ran(self):
        body = "text\n```text\nold\n```\n"
        document = "## a\n" + body + "## b\n" + body.replace("old", "other")
        changed = check_findings.updated(document, [("a", "error", "", body)], [("new\n", [])])
        self.assertEqual(changed, document.replace("old", "new"))

    def test_update_adds_the_rows_that_the_index_lacks(self):
        index = "| [`leak`](findings/a.md#leak) | error | words |\n| [`hang`](findings/b.md#hang) | error | words |\n"
        sections = [("leak", "error", "Never freed", ""), ("new", "note", "Freed late", "")]
        changed = check_findings.with_missing_rows(index, "a.md", sections)
        first, last = index.splitlines(keepends=True)
        self.assertEqual(changed, first + "| [`new`](findings/a.md#new) | note | freed late |\n" + last)
        self.assertEqual(check_findings.with_missing_rows(changed, "a.md", sections), changed)

    def test_nvcc_is_that_of_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder, "analyzer", "gpumemtrace")
            self.assertIsNone(check_findings.nvcc_of_build(command))
            pathlib.Path(folder, "CMakeCache.txt").write_text("GMT_NVCC:FILEPATH=/cuda/bin/nvcc\n")
            self.assertEqual(check_findings.nvcc_of_build(command), "/cuda/bin/nvcc")


class Schema(unittest.TestCase):
    def test_a_missing_module_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "jsonschema.py").write_text("raise ImportError\n")
            done = subprocess.run(
                [sys.executable, "-B", HERE / "check_schema.py", "/bin/true", "."],
                check=False,
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONPATH": folder},
            )
        self.assertEqual(done.returncode, 1)
        self.assertIn("python3-jsonschema", done.stderr)


if __name__ == "__main__":
    unittest.main()
