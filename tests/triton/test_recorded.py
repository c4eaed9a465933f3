# SPDX-License-Identifier: Apache-2.0
"""Launches of Triton's kernels, recorded by record.py, give the recorded results, and one mistake is named by its line."""

import os
import pathlib
import subprocess
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

    @unittest.skipUnless(os.environ["GMT_PTXAS"], "it is not built")
    def test_lines_of_inline_assembly(self):
        """LLVM counts lines on inside of it: the first one is the source's."""
        begin = ".version 9.0\n.loc 1 5 1\n// begin inline asm\n\t.loc 1 6 9\n\tmov.u32 %r1, 0;\n"
        end = "\tld.global.b32 {%r1}, [%rd1];\n// end inline asm\n.loc 1 7 1\n.loc 1 8 1\nret;"
        source, made = (pathlib.Path(self.folder) / name for name in ("a.ptx", "a.o"))
        source.write_text(begin + "\t.loc 1 7 9\n" + end)
        subprocess.run([os.environ["GMT_PTXAS"], source, "-o", made], check=True)
        self.assertEqual(made.read_bytes(), (begin + end).encode() + b"\0")


if __name__ == "__main__":
    unittest.main()
