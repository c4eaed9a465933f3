# SPDX-License-Identifier: Apache-2.0
"""scripts/release makes no second release of one version. Nothing is built."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "scripts").mkdir()
        for name in ("scripts/release", "scripts/lib.sh"):
            shutil.copy(SOURCES / name, self.folder / name)
        (self.folder / "CMakeLists.txt").write_text("project(gpumemtrace VERSION 1.2.3 LANGUAGES CXX ASM)\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "First")

    def git(self, *words):
        whose = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", self.folder, *whose, *words], check=True)

    def refusal(self):
        result = subprocess.run([self.folder / "scripts/release"], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        return result.stderr

    def test_a_version_that_was_released_from_another_commit(self):
        self.git("tag", "v1.2.3")
        self.git("commit", "--quiet", "--allow-empty", "-m", "Second")
        self.assertEqual(
            self.refusal(),
            "release: version 1.2.3 was released from another commit (tag v1.2.3): raise the version in CMakeLists.txt\n",
        )

    def test_files_that_differ_from_the_commit(self):
        (self.folder / "CMakeLists.txt").write_text("project(gpumemtrace VERSION 1.2.4 LANGUAGES CXX ASM)\n")
        self.assertEqual(self.refusal(), "release: files differ from the commit:  M CMakeLists.txt\n")


if __name__ == "__main__":
    unittest.main()
