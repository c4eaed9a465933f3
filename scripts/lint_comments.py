# SPDX-License-Identifier: Apache-2.0
"""Says where a comment names a file that is not there, and where a source's head begins with "see its header":
every reader knows that.

lint_comments.py [ROOT]: files under version control. Exit status: 0 nothing found, 1 something."""

import pathlib
import re
import subprocess
import sys

LANGUAGES = (".cpp", ".h", ".cu", ".cuh", ".py", ".def", ".cmake", ".js", ".S", "CMakeLists.txt")
ENDINGS = "cpp|h|cu|cuh|py|def|md|cmake|js"
COMMENT = re.compile(r"(?://|(?:^|\s)# |/\*|^\s*\*\s)(.*)")
FILE_NAME = re.compile(rf"(?<![\w./*-])((?:[\w.-]+/)*[A-Za-z0-9][\w-]*\.(?:{ENDINGS}))(?![\w/-])")
# Headers of CUDA, CUPTI and NVTX; sources of PyTorch; what Perfetto calls its trace processor.
FOREIGN = re.compile(
    r"(?:crt/|nvtx3/)?(?:\w+/)?(?:cuda\w*|cupti\w*|nvtx\w*|nvToolsExt\w*|driver_types|fatbinary_section|host_runtime)\.h"
    r"|torch/[\w/]+\.(?:py|cpp)|engine_bundle\.js"
)
# Names that stand for a user's files; what a build makes.
EXAMPLES = {"a.js", "b.js", "file.cu", "linear.py", "step.cu", "train.cu", "train.py", "THIRD_PARTY.md"}
EMPTY_HEAD = re.compile(r"(?://|#) See [\w/]+\.(?:h|cuh|cpp|def|py)\b")


def known_names(files):
    """Each file's path and all that its end can be called."""
    names = set()
    for file in files:
        parts = file.split("/")
        names.update("/".join(parts[at:]) for at in range(len(parts)))
    return names


def problems_of(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True)
    files = [file for file in listed.stdout.splitlines() if (root / file).is_file()]
    names = known_names(files)
    for file in files:
        if not file.endswith(LANGUAGES) or file.startswith("tests/fixtures/"):
            continue
        lines = (root / file).read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            comment = COMMENT.search(line)
            for name in FILE_NAME.findall(comment[1]) if comment else ():
                if name in names or FOREIGN.fullmatch(name) or name.rsplit("/", 1)[-1] in EXAMPLES:
                    continue
                # An installed header has another folder.
                if name.startswith("gpumemtrace/") and name.rsplit("/", 1)[-1] in names:
                    continue
                yield f"{file}:{number}: there is no {name}"
        if len(lines) > 1 and EMPTY_HEAD.match(lines[1]):
            yield f"{file}:2: begin with what the file does, or leave the line out"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = list(problems_of(root))
    for sentence in found:
        print(sentence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
