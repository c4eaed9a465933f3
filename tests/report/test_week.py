# SPDX-License-Identifier: Apache-2.0
"""The trace of a program that makes a thousand calls a second for a week, in compressed time: report_fold_calls writes,
packs and folds its records without waiting. The trace stays under 2 GiB, its report under 1 GiB and one minute. In CI it
is a part of the week with the same part of the 2 GiB; with GMT_LONG_TESTS=1 it is the week."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
FOLD_CALLS = os.environ["GMT_FOLD_CALLS"]
WEEK = 7 * 24 * 3600 * 1000  # calls
CALLS = int(os.environ.get("GMT_CALLS", WEEK if os.environ.get("GMT_LONG_TESTS") == "1" else 2_000_000))
LIMIT = int(os.environ.get("GMT_LIMIT", max((2 << 30) * CALLS // WEEK, 8 << 20)))


class Week(unittest.TestCase):
    def test_a_week(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, folder, True)
        print(
            subprocess.run(
                [FOLD_CALLS, str(CALLS), folder, str(LIMIT)], check=True, capture_output=True, text=True
            ).stdout
        )
        (trace,) = folder.glob("gpumemtrace.*")
        files = list(trace.iterdir())
        size = sum(path.stat().st_size for path in files)
        words = ["/usr/bin/time", "-f", "%e %U %S %M", COMMAND, "report", "--format", "json=r.json", trace]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        waited, user, system, kilobytes = map(float, done.stderr.split("\n")[-2].split())
        print(f"{len(files)} files, {size / 2**20:.1f} MiB of {LIMIT / 2**20:.0f}; report: {waited:.2f} s, ", end="")
        print(f"{user + system:.2f} s of a core, {kilobytes / 1024:.0f} MiB")
        report = json.loads((folder / "r.json").read_text())
        (why,) = [one["why"] for one in report["not_checked"] if one["what"] == "calls that were folded"]
        print(why)
        (process,) = report["processes"]
        self.assertEqual(process["lost"], {})
        found = sorted(one["kind"] for one in report["findings"] if one["severity"] == "error")
        self.assertEqual(found, ["copy-out-of-bounds", "double-free", "leak", "leak"])
        self.assertGreaterEqual(process["totals"]["events"], CALLS)
        self.assertLess(size, LIMIT)
        self.assertLess(kilobytes, 1 << 20)
        self.assertLess(user + system, 60)


if __name__ == "__main__":
    unittest.main()
