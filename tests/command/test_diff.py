# SPDX-License-Identifier: Apache-2.0
"""Two runs compared: traces and JSON reports."""

import json
import os
import pathlib
import unittest

from command_case import CommandCase

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
CLEAN = str(FIXTURES / "first_steps.clean.static")
PLAIN = str(FIXTURES / "first_steps.plain.static")
KINDS = ["copy-out-of-bounds", "double-free", "leak", "leak", "mismatched-free"]


class Diff(CommandCase):
    def json_report(self, trace, name, change=lambda report: None):
        report = json.loads(self.run_command("report", "--format", "json", trace).stdout)
        change(report)
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump(report, file)
        return name

    def rows(self, *words):
        result = self.run_command("diff", *words)
        rows = [line.split()[:3] for line in result.stdout.splitlines() if line.startswith(("new", "gone", "grown"))]
        return sorted((state, kind) for state, _, kind in rows), result

    def test_new_and_gone(self):
        rows, result = self.rows(CLEAN, PLAIN)
        self.assertEqual(rows, [("new", kind) for kind in KINDS])
        self.assertEqual(result.returncode, 1)
        self.assertIn("0 bytes -> 20.0 KiB", result.stdout)
        self.assertIn("+12.0 KiB   4.0 KiB -> 16.0 KiB   load_batch < train < main", result.stdout)
        self.assertTrue(result.stdout.endswith("findings: 5 new, 0 grown, 0 gone, 0 unchanged\n"))
        rows, result = self.rows(PLAIN, CLEAN)
        self.assertEqual(rows, [("gone", kind) for kind in KINDS])
        self.assertEqual(result.returncode, 0)

    def test_a_trace_and_its_report_are_the_same(self):
        self.json_report(PLAIN, "plain.json")
        for words in (("plain.json", PLAIN), (PLAIN, "plain.json"), ("plain.json", "plain.json")):
            rows, result = self.rows(*words)
            self.assertEqual((rows, result.returncode), ([], 0), words)
            self.assertIn("5 unchanged", result.stdout)

    def test_reports_of_the_first_release_have_no_fingerprints(self):
        def forget(report):
            for finding in report["findings"]:
                del finding["fingerprint"], finding["baseline"]

        rows, _ = self.rows(self.json_report(PLAIN, "old.json", forget), PLAIN)
        self.assertEqual(rows, [])

    def test_what_is_not_there(self):
        for words in (("nothing", PLAIN), (PLAIN, "nothing")):
            result = self.run_command("diff", "-o", "out", *words)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("there is no 'nothing'; diff takes a trace, a JSON report", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_growth_and_its_tolerance(self):
        def shrink(report):
            report["findings"][0]["bytes"] = report["findings"][0]["bytes"] * 100 // 108

        self.json_report(PLAIN, "before.json", shrink)
        rows, result = self.rows("before.json", PLAIN)
        self.assertEqual((rows, result.returncode), ([("grown", "leak")], 1))
        self.assertIn("14.8 KiB in 4 -> 16.0 KiB in 4", result.stdout)
        rows, result = self.rows("--baseline-tolerance", "10%", "before.json", PLAIN)
        self.assertEqual((rows, result.returncode), ([], 0))

    def test_memory_alone_can_be_worse(self):
        def less(report):
            report["processes"][0]["totals"]["peak_bytes"] -= 1

        self.json_report(PLAIN, "before.json", less)
        self.assertEqual(self.rows("before.json", PLAIN)[1].returncode, 1)
        self.assertEqual(self.rows("--baseline-tolerance=1", "before.json", PLAIN)[1].returncode, 0)

    def test_a_run_that_failed_is_worse(self):
        crash = {"reason": "program", "message": "the program was killed by SIGSEGV (Segmentation fault)"}
        later = {"reason": "of a later version", "message": "?"}

        def fail(report):
            report["conclusion"]["failures"] += [later, crash]

        def unrun(report):
            report["conclusion"]["failures"] += [{"reason": "unrun-kernels", "message": "1 of 3 launches did not run"}]

        self.json_report(PLAIN, "crashed.json", fail)
        rows, result = self.rows(PLAIN, "crashed.json")
        self.assertEqual((rows, result.returncode), ([], 1))
        self.assertIn("the run after: the program was killed by SIGSEGV (Segmentation fault)\n", result.stdout)
        self.assertTrue(result.stdout.endswith("unchanged; the run after failed\n"), result.stdout)
        rows, result = self.rows("crashed.json", PLAIN)
        self.assertEqual((rows, result.returncode), ([], 0))
        self.assertIn("the run before: the program was killed by SIGSEGV", result.stdout)
        self.assertEqual(self.rows("crashed.json", "crashed.json")[1].returncode, 0)
        self.json_report(PLAIN, "old.json", lambda report: report.pop("conclusion"))
        rows, result = self.rows("old.json", "crashed.json")  # which may have crashed as well
        self.assertEqual((rows, result.returncode), ([], 0))
        self.assertIn("the run after: the program was killed by SIGSEGV", result.stdout)
        self.json_report(PLAIN, "unrun.json", unrun)
        self.assertEqual(self.rows("crashed.json", "unrun.json")[1].returncode, 1)

    def test_output(self):
        result = self.run_command("diff", "--output", "diff.txt", CLEAN, PLAIN)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("SUMMARY", pathlib.Path(self.folder, "diff.txt").read_text(encoding="utf-8"))

    def test_wrong_words(self):
        self.assertEqual(self.run_command("diff", PLAIN).returncode, 2)
        with open(os.path.join(self.folder, "other.json"), "w", encoding="utf-8") as file:
            file.write('{"schema": 7}')
        result = self.run_command("diff", "other.json", PLAIN)
        self.assertEqual(result.returncode, 2)
        self.assertIn("'other.json' is neither a trace nor a JSON report", result.stderr)
        self.assertEqual(self.run_command("diff", "nowhere", PLAIN).returncode, 3)


if __name__ == "__main__":
    unittest.main()
