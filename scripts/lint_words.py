# SPDX-License-Identifier: Apache-2.0
"""Which words comments and names have: those of the field, none of the project's own for them, none that say nothing.

lint_words.py [unittest's arguments]. Exit status: 0 nothing found, 1 something."""

import glob
import os
import re
import unittest

from lint_rules import SOURCES, files, text_of


class Words(unittest.TestCase):
    """Plain words, of the field: not those that only their author understands; and no claims of who uses a file."""

    PRIVATE = re.compile(
        r"\b(?i:nobody|somebody|whoever|mishaps?|doubts?|told|born|reborn|bury|buried|patience|judge?ments?)\b"
        r"|^\s*(?://|#) (?:.*[.;:] )?(?:Used|Called|Included) by\b"
    )
    FOLDERS = (
        "interposer",
        "ptx",
        "rewriter",
        "simulated_cuda",
        "device_hooks",
        "trace",
        "samples",
        "scripts",
        "tests",
    )
    # A run that is named so, as its fixture is; this list; the time of a process.
    EXCEPT = (
        "tests/programs/device_heap_strange.cu",
        "scripts/lint_words.py",
        "tests/command/fake_interposer.cpp",
    )

    def test_no_private_words(self):
        found = []
        for folder in self.FOLDERS:
            for path in glob.glob(os.path.join(SOURCES, folder, "**"), recursive=True):
                name = os.path.relpath(path, SOURCES)
                if name.startswith(("tests/unit/analyzer/", "tests/fixtures/")) or name in self.EXCEPT:
                    continue
                if not name.endswith((".h", ".cpp", ".cu", ".S", ".def", ".py", ".cmake", "CMakeLists.txt", ".sh")):
                    continue
                for number, line in enumerate(text_of(name).splitlines(), 1):
                    found += [f"{name}:{number}: {word.group(0)}" for word in self.PRIVATE.finditer(line)]
        self.assertEqual(found, [])

    # Of the analyzer and its unit tests, not what a sentence for users says.
    VAGUE = set(
        "nobody somebody whoever mishap mishaps doubt doubts doubtful reborn born bear bears bore bury buried patience "
        "family families place places tell tells telling told foretold touch touches touched untouched "
        "judge judges judged unjudged judging judgement judgements judgment judgments".split()
    )
    STRING = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(//[^\n]*)', re.DOTALL)

    def vague_words(self, text, comments=True):
        """(line, word) of each in comments and identifiers: in touches_only, WhatIsTold and kTold, too."""

        def left(match):
            return (comments and match.group(2)) or "\n" * match.group(0).count("\n")

        text = self.STRING.sub(left, text)
        for number, line in enumerate(text.splitlines(), 1):
            for word in re.findall(r"[A-Z]?[a-z]+", line):
                if word.lower() in self.VAGUE:
                    yield number, word

    def test_no_vague_words_in_the_analyzer(self):
        paths = files("analyzer", "tests/unit/analyzer")
        self.assertGreater(len(paths), 300)
        found = [f"{path}:{number}: {word}" for path in paths for number, word in self.vague_words(text_of(path))]
        self.assertEqual(found, [], "which: device, slot, call site, source line, address; reported, checked, used")

    def test_no_vague_names_in_other_folders(self):
        """Of identifiers alone: a sentence may have the driver's place."""
        found = []
        for folder in self.FOLDERS:
            for path in glob.glob(os.path.join(SOURCES, folder, "**"), recursive=True):
                name = os.path.relpath(path, SOURCES)
                if name.startswith("tests/fixtures/") or not name.endswith((".h", ".cpp", ".cu", ".def")):
                    continue
                found += [f"{name}:{number}: {word}" for number, word in self.vague_words(text_of(name), False)]
        self.assertEqual(found, [], "which: location, slot, index, address; reported, checked, used")

    def test_vague_words_are_found(self):
        text = (
            'int judge_it; // "nobody", in place\nTEST(A, IsTold) { say("told \\" place"); } // told\nR"(\ntouch)";\n'
        )
        self.assertEqual(
            list(self.vague_words(text)),
            [(1, "judge"), (1, "nobody"), (1, "place"), (2, "Told"), (2, "told")],
        )
        self.assertEqual(list(self.vague_words(text, comments=False)), [(1, "judge"), (2, "Told")])


if __name__ == "__main__":
    unittest.main()
