# SPDX-License-Identifier: Apache-2.0
"""Only what is new fails: --baseline, --update-baseline, --baseline-tolerance, the rule max-growth."""

import json
import os
import pathlib
import unittest

from command_case import PROGRAM, CommandCase, flat

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "first_steps.plain.static"


class Baseline(CommandCase):
    def report(self, *words):
        return self.run_command("report", *words, str(FIXTURE))

    def make(self):
        result = self.report("--baseline", "base.json", "--update-baseline")
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.read()

    def read(self):
        with open(os.path.join(self.folder, "base.json"), encoding="utf-8") as file:
            return json.load(file)

    def write(self, baseline):
        with open(os.path.join(self.folder, "base.json"), "w", encoding="utf-8") as file:
            json.dump(baseline, file)

    def states(self, *words):
        result = self.report("--baseline", "base.json", "--format", "json", *words)
        return [(f["kind"], f["baseline"]) for f in json.loads(result.stdout)["findings"]], result.returncode

    def test_the_file_is_sorted_with_a_finding_a_line(self):
        baseline = self.make()
        self.assertEqual(baseline["gpumemtrace_baseline"], 1)
        keys = [(f["kind"], f["in"], f["fingerprint"]) for f in baseline["findings"]]
        self.assertEqual(keys, sorted(keys))
        self.assertGreater(len(keys), 3)
        text = pathlib.Path(self.folder, "base.json").read_text(encoding="utf-8")
        self.assertEqual(text.count("\n"), len(keys) + 4)
        before = text
        self.make()
        self.assertEqual(pathlib.Path(self.folder, "base.json").read_text(encoding="utf-8"), before)

    def test_what_is_known_neither_fails_nor_shows(self):
        count = len(self.make()["findings"])
        result = self.report("--baseline", "base.json")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn(f"{count} findings not shown: in the baseline", result.stdout)
        self.assertNotIn("double-free", result.stdout)
        self.assertTrue(result.stdout.splitlines()[-1].endswith(f"no errors; {count} in the baseline"))
        self.assertEqual({state for _, state in self.states()[0]}, {"known"})

    def test_without_a_baseline_no_finding_has_a_state(self):
        result = self.report("--format", "json")
        self.assertEqual({f["baseline"] for f in json.loads(result.stdout)["findings"]}, {None})

    def test_what_is_new_fails(self):
        baseline = self.make()
        gone = [f for f in baseline["findings"] if f["kind"] == "double-free"]
        baseline["findings"] = [f for f in baseline["findings"] if f["kind"] != "double-free"]
        self.assertEqual(len(gone), 1)
        self.write(baseline)
        states, status = self.states()
        self.assertEqual(status, 1)
        self.assertEqual([kind for kind, state in states if state != "known"], ["double-free"])
        text = self.report("--baseline", "base.json").stdout
        self.assertIn("error    double-free", text)
        self.assertNotIn("error    leak", text)
        junit = self.report("--baseline", "base.json", "--format", "junit").stdout
        self.assertEqual(junit.count("<failure "), 1)
        sarif = json.loads(self.report("--baseline", "base.json", "--format", "sarif").stdout)
        by_state = [r["baselineState"] for r in sarif["runs"][0]["results"]]
        self.assertEqual(sorted(set(by_state)), ["new", "unchanged"])

    def test_what_has_grown_fails_beyond_the_tolerance(self):
        baseline = self.make()
        leak = max((f for f in baseline["findings"] if f["kind"] == "leak"), key=lambda f: f["bytes"])
        leak["bytes"] = leak["bytes"] * 100 // 108
        self.write(baseline)
        self.assertEqual([state for _, state in self.states()[0] if state != "known"], ["grown"])
        self.assertEqual(self.states()[1], 1)
        self.assertEqual(self.states("--baseline-tolerance", "5%")[1], 1)
        self.assertEqual(self.states("--baseline-tolerance", "10%")[1], 0)

    def test_what_is_gone_is_said(self):
        baseline = self.make()
        baseline["findings"].append(
            {**baseline["findings"][0], "fingerprint": "1-0000000000000000", "in": "old < main"}
        )
        self.write(baseline)
        result = self.report("--baseline", "base.json")
        self.assertEqual(result.returncode, 0)
        self.assertIn("1 finding of the baseline is not in this report:", flat(result.stdout))
        self.assertIn("in old < main", flat(result.stdout))
        self.make()
        self.assertNotIn("of the baseline", self.report("--baseline", "base.json").stdout)

    def test_max_growth(self):
        baseline = self.make()
        self.assertEqual(self.report("--baseline", "base.json", "--policy", "max-growth 0%").returncode, 0)
        baseline["memory"]["peak_bytes"] = baseline["memory"]["peak_bytes"] * 100 // 103
        self.write(baseline)
        self.assertEqual(self.report("--baseline", "base.json", "--policy", "max-growth 5%").returncode, 0)
        result = self.report("--baseline", "base.json", "--policy", "max-growth 2%")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error    policy", result.stdout)
        self.assertIn("the peak of device memory is", flat(result.stdout))
        self.assertIn("breaks the rule 'max-growth 2%'", flat(result.stdout))
        self.assertIn("held here", result.stdout)
        baseline["memory"] = {"peak_bytes": 1 << 40, "live_bytes": 1}
        self.write(baseline)
        result = self.report("--baseline", "base.json", "--policy", "max-growth 2%")
        self.assertIn("memory that is alive at the end is", flat(result.stdout))

    def test_wrong_files(self):
        for text in (
            "",
            "{}",
            "[]",
            '{"gpumemtrace_baseline": 2}',
            '{"gpumemtrace_baseline": 1, "memory": {}}',
            "int main() {}",
        ):
            with open(os.path.join(self.folder, "base.json"), "w", encoding="utf-8") as file:
                file.write(text)
            result = self.report("--baseline", "base.json")
            self.assertEqual(result.returncode, 2, text)
            self.assertIn("is no baseline", result.stderr)
            if not text:
                continue
            self.assertEqual(self.report("--baseline", "base.json", "--update-baseline").returncode, 2)
            self.assertEqual(pathlib.Path(self.folder, "base.json").read_text(encoding="utf-8"), text)

    def test_another_version_of_fingerprints_is_refused(self):
        baseline = self.make()
        baseline["findings"][0]["fingerprint"] = "9-0000000000000000"
        self.write(baseline)
        result = self.report("--baseline", "base.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("not of version 1 or 2", result.stderr)

    def test_wrong_words(self):
        self.assert_usage_error(["check", "--update-baseline", "true"], "--baseline FILE")
        self.assert_usage_error(["check", "--baseline", "nowhere.json", "true"], "nowhere.json", "--update-baseline")
        self.assert_usage_error(["check", "--policy", "max-growth 5%", "true"], "max-growth", "--baseline FILE")
        self.assert_usage_error(["check", "--policy", "max-growth much", "true"], "percent")
        self.assert_usage_error(["check", "--baseline-tolerance", "-5", "true"], "percent")
        self.assert_usage_error(
            ["check", "--baseline", "/nowhere/b.json", "--update-baseline", "true"], "/nowhere/b.json"
        )

    def test_a_run_that_was_not_checked_updates_nothing(self):
        words = ["check", "--device", "real", "--baseline", "base.json", "--update-baseline"]
        result = self.run_command(*words, "true")
        self.assertEqual(result.returncode, 23, result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "base.json")))
        self.environment["FAKE_TRACE"] = "app"
        self.run_command(*words, PROGRAM)


if __name__ == "__main__":
    unittest.main()
