# SPDX-License-Identifier: Apache-2.0
"""Reports on programs of tests/gpu that ran on an H100 with PyTorch 2.11: recordings/ has their traces, whose logs are
packed. Lines are those of the recorded versions, which the traces have."""

import json
import os
import pathlib
import subprocess
import unittest

COMMAND = os.environ["GMT_COMMAND"]
RECORDINGS = pathlib.Path(__file__).resolve().parent / "recordings"


class Recordings(unittest.TestCase):
    def report(self, name):
        (trace,) = (RECORDINGS / name).iterdir()
        words = [COMMAND, "report", "--format", "json", str(trace)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        report = json.loads(done.stdout)
        self.assertEqual(report["lost_events"], 0)
        return report

    def only_finding(self, name):
        (finding,) = self.report(name)["findings"]
        return finding

    def test_a_race_of_two_copies(self):
        finding = self.only_finding("copied_without_a_wait")
        self.assertEqual((finding["kind"], finding["severity"]), ("stream-race", "error"))
        self.assertRegex(
            finding["message"],
            r"^cudaMemcpyAsync on the default stream reads the 16.0 MiB block of a tensor made at torch_mistakes.py:296, "
            r"which cudaMemcpyAsync on stream 0x\w+ writes, and nothing orders the two",
        )

    def test_a_tensor_of_the_default_stream(self):
        finding = self.only_finding("side_stream")
        self.assertEqual((finding["kind"], finding["severity"]), ("stream-race", "warning"))
        self.assertIn("The 4.0 MiB block of a tensor made at torch_mistakes.py:261", finding["message"])

    def test_each_graph_keeps_more_than_the_one_before(self):
        finding = self.only_finding("a_graph_for_each_shape")
        self.assertEqual(finding["kind"], "growth")
        self.assertIn("torch_mistakes.py:251", finding["message"])

    def test_a_graph_of_autograd_that_is_kept(self):
        finding = self.only_finding("hidden_state_with_graph")
        self.assertEqual(finding["kind"], "growth")
        self.assertRegex(finding["message"], r"^Each of 1[56]\d steps leaves 8\d\d\.\d KiB behind")
        self.assertIn("torch_mistakes.py:127", finding["message"])

    def test_out_of_memory(self):
        finding = self.only_finding("too_much_held")
        self.assertEqual(finding["kind"], "out-of-memory")
        self.assertEqual(finding["held"]["holders"][0]["bytes"], 1 << 30)

    def test_a_graph_that_trains(self):
        report = self.report("captured_steps")
        self.assertEqual(report["findings"], [])
        self.assertEqual([entry["what"] for entry in report["not_checked"]], ["copies to and from tensors"])


if __name__ == "__main__":
    unittest.main()
