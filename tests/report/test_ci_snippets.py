# SPDX-License-Identifier: Apache-2.0
"""The snippets of docs/ci.md: YAML is read, and each command of gpumemtrace in them is run.

The command runs a shell in place of the snippet's program, so no CUDA call is seen: what counts is that all options are
taken and all files that the snippet goes on with are written.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import yaml

COMMAND = os.environ["GMT_COMMAND"]
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "ci.md"
PROGRAM = re.compile(r" (?:ctest --test-dir build|\./build/app|\./app|\$<TARGET_FILE:app>\)?)(?:\s+#.*)?$")


def snippets():
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def strings_of(value):
    """All strings of a document."""
    if isinstance(value, str):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from strings_of(child)


def commands(language, text):
    if language == "yaml":
        return [line for each in strings_of(yaml.safe_load(text)) for line in each.splitlines()]
    if language == "groovy":
        return re.findall(r"sh '(.*)'", text)
    if language == "cmake":
        text = text.replace("${GPUMEMTRACE}", "gpumemtrace").replace("${CMAKE_BINARY_DIR}/", "")
        return re.findall(r"COMMAND (.*)", text)
    return text.splitlines()


class Snippets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        (pathlib.Path(self.folder) / "ci").mkdir()

    def run_line(self, line):
        cut = PROGRAM.sub("", line)
        self.assertNotEqual(cut, line, "which program?")
        words = shlex.split(cut)
        baseline = words[words.index("--baseline") + 1] if "--baseline" in words else None
        if baseline and "--update-baseline" not in words:
            (pathlib.Path(self.folder) / baseline).write_text(
                '{"gpumemtrace_baseline": 1, "memory": {"peak_bytes": 0, "live_bytes": 0}, "findings": []}'
            )
        words = [word for word in words[1:] if word not in ("--device", "simulated")]
        done = subprocess.run(
            [COMMAND, words[0], "--device", "real", *words[1:], "true"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "GPUMEMTRACE_LIBDIR": os.environ["GMT_LIBDIR"]},
        )
        self.assertEqual(done.returncode, 23, f"{line}\n{done.stderr}")  # no CUDA call was seen
        self.assertIn("no CUDA call was seen", done.stderr)
        return {match[1] for match in (re.match(r"--format=?(?:\w+)=(.*)", f"--format={w}") for w in words) if match}

    def test_commands(self):
        ran = 0
        for language, text in snippets():
            written = set()
            for line in commands(language, text):
                if line.startswith("gpumemtrace check"):
                    written |= self.run_line(line)
                    ran += 1
            for name in written:
                self.assertGreater((pathlib.Path(self.folder) / name).stat().st_size, 0, name)
            used = re.findall(r"(?:codequality:|junit:|sarif_file:|cat|pattern:|junit) '?([\w.]+)", text)
            self.assertLessEqual(set(used), written, f"a file that nothing writes:\n{text}")
        self.assertGreaterEqual(ran, 7)


if __name__ == "__main__":
    unittest.main()
