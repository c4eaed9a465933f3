# SPDX-License-Identifier: Apache-2.0
"""Launches of Triton's kernels, recorded by record.py, give the recorded results, and one mistake is named by its line."""

import sys
import unittest

from simulated_run import HERE, SimulatedRun


class Recorded(SimulatedRun):
    def test_recorded_launches(self):
        recordings = sorted((HERE / "recorded").glob("*.json.xz"))
        report, printed = self.run_program(sys.executable, "-B", HERE / "replay.py", *recordings)
        right = [line for line in printed if line.endswith(" is right")]
        self.assertEqual({line.partition(":")[0] for line in right}, {path.name for path in recordings})
        self.assert_one_read_past_the_end(report, HERE / "kernels.py", "past_the_end")


if __name__ == "__main__":
    unittest.main()
