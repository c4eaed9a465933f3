# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of the samples are the same in another run, in another folder and at another level of optimisation.

Runs on the simulated device.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
SAMPLES = pathlib.Path(os.environ["GMT_SAMPLES"])

# Each with a run that has findings.
RUNS = (
    ("deep_copy", "members"),
    ("first_steps", ""),
    ("fragmentation", "fragmented"),
    ("fragmentation", "too-large"),
    ("heap_mixed", "set"),
    ("host_register", "forgotten"),
    ("host_register", "twice"),
    ("managed", "leak"),
    ("pageable_pinned_zero_copy", "forgotten"),
    ("pageable_pinned_zero_copy", "wrong-free"),
    ("pitched_matrix", "flat"),
    ("pitched_matrix", "width"),
    ("pitched_matrix", "wrong-pitch"),
    ("pitched_volume", "swapped"),
    ("pool_loop", "use-after-free"),
    ("pool_loop", "other-stream"),
    ("row_pointers", "table-first"),
    ("static_global", "free"),
    ("texture_pitch", "flat"),
    ("threads_and_forks", "thread-leak"),
    ("threads_and_forks", "child-leak"),
)


class Fingerprints(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def findings(self, program, word):
        """(kind, fingerprint) of each."""
        subprocess.run(
            [COMMAND, "--device", "simulated", "--format", "json=r.json", program, *word.split()],
            cwd=self.folder,
            capture_output=True,
            timeout=120,
            check=False,
        )
        report = json.loads((pathlib.Path(self.folder) / "r.json").read_text(encoding="utf-8"))
        return sorted((f["kind"], f["fingerprint"]) for f in report["findings"])

    def test_another_level_of_optimisation(self):
        different, kinds = [], set()
        for sample, word in RUNS:
            slow = self.findings(SAMPLES / f"{sample}-O0-shared", word)
            fast = self.findings(SAMPLES / f"{sample}-O2-shared", word)
            self.assertTrue(slow, f"{sample} {word} has no findings")
            kinds |= {kind for kind, _ in slow}
            if slow != fast:
                different.append((sample, word, slow, fast))
        self.assertEqual(different, [])
        self.assertGreater(len(kinds), 6, kinds)

    def test_another_folder(self):
        copy = pathlib.Path(self.folder) / "another name"
        shutil.copy(SAMPLES / "first_steps-O2-shared", copy)
        there = self.findings(SAMPLES / "first_steps-O2-shared", "")
        self.assertEqual(self.findings(copy, ""), there)
        self.assertEqual(len({fingerprint for _, fingerprint in there}), len(there))


if __name__ == "__main__":
    unittest.main()
