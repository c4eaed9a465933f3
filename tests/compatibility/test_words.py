# SPDX-License-Identifier: Apache-2.0
"""What users hold of an earlier release is still there.

These are options, kinds of findings, variables, keys of the report, columns of `dump`, rules, the format on disk.
release_<version>/ has the words of a release, one a line for each subject, as words.py wrote them with that release's
command. Additions are fine. No list is ever changed, but for a word that was never anybody's to use.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

import words

COMMAND = os.environ["GMT_COMMAND"]
SCHEMA = os.environ["GMT_SCHEMA"]
SIMULATED = os.environ.get("GMT_SIMULATED")
HERE = pathlib.Path(__file__).resolve().parent
RELEASES = sorted(HERE.glob("release_*"))


def held(release, subject):
    return (release / f"{subject}.txt").read_text(encoding="utf-8").splitlines()


class Words(unittest.TestCase):
    maxDiff = None

    def test_no_word_is_gone(self):
        now = words.all_words(COMMAND, SCHEMA)
        self.assertTrue(RELEASES)
        for release in RELEASES:
            for subject, present in now.items():
                with self.subTest(release=release.name, subject=subject):
                    before = set(held(release, subject))
                    self.assertTrue(before)
                    self.assertEqual(sorted(before - present), [], f"words of {subject} that are gone")

    def test_the_dump_of_every_record(self):
        """Each word in the place of a record has the name and the value that it had."""
        now = {line.split(" ")[0]: line.split(" ") for line in words.made_up_dump(COMMAND).splitlines()}
        for release in RELEASES:
            for line in held(release, "dump_of_made_up_trace"):
                if line.startswith("end:"):
                    continue
                present = iter(now.get(line.split(" ")[0], []))
                missing = [word for word in line.split(" ") if word not in present]  # in this order
                self.assertEqual(missing, [], f"was: {line}")

    def report(self, *options):
        fixture = words.FIXTURES / "first_steps.plain.static"
        return subprocess.run(
            [COMMAND, "report", *options, fixture], capture_output=True, text=True, timeout=60, check=False
        )

    def test_rules_are_read(self):
        for release in RELEASES:
            for rule in held(release, "policies"):
                self.assertEqual(self.report("--policy", rule).returncode, 1, rule)
            for rule in held(release, "suppressions"):
                with tempfile.NamedTemporaryFile("w", suffix=".supp") as file:
                    file.write(rule + "\n")
                    file.flush()
                    self.assertEqual(self.report("--suppressions", file.name).returncode, 1, rule)
        self.assertEqual(self.report("--policy", "no-such-rule").returncode, 2)

    def test_rules_do_what_they_did(self):
        broken = self.report("--policy", "max-allocations 1", "--only", "policy").stdout
        self.assertIn("(rule 'max-allocations 1')", " ".join(broken.split()))
        with tempfile.NamedTemporaryFile("w", suffix=".supp") as file:
            file.write("leak:load_batch\n*:release_all\nleak:main\ncopy-*:first_steps.cu\n")
            file.flush()
            result = self.report("--suppressions", file.name)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("leak:load_batch", self.report("--print-suppressions").stdout)

    def test_variables_of_the_simulated_device(self):
        if not SIMULATED:
            self.skipTest("the simulated device is not built")
        content = b"".join(path.read_bytes() for path in pathlib.Path(SIMULATED).rglob("lib*.so*") if path.is_file())
        for release in RELEASES:
            gone = [name for name in held(release, "simulated_environment") if name.encode() not in content]
            self.assertEqual(gone, [])


if __name__ == "__main__":
    unittest.main()
