# SPDX-License-Identifier: Apache-2.0
"""From launches to the report: what the collector left is found, scaled and reported, and what it could not do is reported too."""

import json
import subprocess

import interposed_case
from coalescing_case import COMMAND, CoalescingCase, refusing


class ReportTest(CoalescingCase):
    def report(self, *options):
        words = [COMMAND, "report", "--format", "json", "--coalescing-floor", "0", *options, self.only_trace().path]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_figures(self):
        self.play("launch a 100 launch b 1 sync", env={"GPUMEMTRACE_COALESCING_LAUNCHES": "2"})
        report = self.report()
        access = {finding["kind"]: finding["access"] for finding in report["findings"] if finding["access"]}
        self.assertEqual(set(access), {"uncoalesced", "bank-conflict", "local-spill"})
        global_, shared, local = (access[kind] for kind in ("uncoalesced", "bank-conflict", "local-spill"))
        measured = global_["measured_launches"]
        self.assertEqual((global_["kernel"], global_["offset"], global_["launches"]), ("a", "0x80", 100))
        self.assertGreaterEqual(measured, 2)
        self.assertEqual(
            (global_["actual"], global_["ideal"], global_["executions"]), (32 * measured, 16 * measured, 4 * measured)
        )
        self.assertEqual((global_["ratio"], global_["width"], global_["cause"]), (2, 4, "stride"))
        self.assertEqual(global_["wasted_bytes"], 16 * 32 * 100)  # of all launches
        self.assertEqual((shared["offset"], shared["ratio"]), ("0x100", 16))
        self.assertEqual((local["kernel"], local["actual"], local["ratio"]), ("b", 3, None))
        kernels = {kernel["kernel"]: kernel for kernel in report["processes"][0]["accesses"]["kernels"]}
        self.assertEqual(set(kernels), {"a", "b"})
        self.assertEqual((kernels["a"]["sectors_per_request"], kernels["a"]["efficiency"]), (8, 0.5))
        self.assertEqual((kernels["b"]["sectors_per_request"], kernels["b"]["efficiency"]), (3.5, 1))

    def test_trouble_is_told(self):
        self.play("launch a 3 sync", env=refusing("busy"))
        reasons = [entry["why"] for entry in self.report()["not_checked"] if entry["what"] == "memory accesses"]
        self.assertEqual(len(reasons), 1, reasons)
        self.assertIn("holds CUPTI in this process", reasons[0])


if __name__ == "__main__":
    interposed_case.main()
