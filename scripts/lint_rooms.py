# SPDX-License-Identifier: Apache-2.0
"""How the tree is cut: no folder and no header is so small that it belongs to its neighbour, no source is long without a
reason in its head, tests compile no source of the product, and ELF is read by hand only where libelf cannot be.

lint_rooms.py [unittest's arguments]. Exit status: 0 nothing found, 1 something."""

import collections
import os
import re
import unittest

from lint_rules import SOURCES, files, includes_of, text_of

ROOMS = ("analyzer", "device_hooks", "interposer", "ptx", "ptxas", "python", "rewriter", "scripts", "simulated_cuda")
FEWEST_FILES = 4
SHORTEST_HEADER = 25  # lines
LONGEST_SOURCE = 350  # lines
SOURCE_ENDINGS = (".cpp", ".h", ".cu", ".cuh", ".S", ".js", ".py")
# Short headers without a source of their own that one file includes, and why they are not part of it.
SHORT_HEADERS = {
    "device_hooks/include/gpumemtrace/device_rename.h": "programs include it again behind an #undef of theirs",
}
# Who reads the structures of ELF without libelf, and why.
ELF_BY_HAND = {
    "analyzer/symbols/elf_image.h": "libelf takes three times the size of a file that is nothing but sections",
    "analyzer/symbols/elf_image.cpp": "as its header",
    "analyzer/symbols/elf_file.cpp": "by ElfImage: walks symbols of gigabytes once, in the pages that are mapped",
    "analyzer/device_code/cubin.cpp": "by ElfImage, as cubins come from programs and may be damaged",
    "analyzer/core_dump/dump_tables.cpp": "by SectionHeaders: libelf shows none of a table that is cut off",
    "analyzer/command/run/elf_facts.cpp": "by ElfImage: programs of other machines, and files that are cut",
    "interposer/coalescing/collector/sampling/code_bound.cpp": "runs in the user's process, without allocation",
    "interposer/coalescing/collector/sampling/images.cpp": "as code_bound.cpp; the image's size is what its headers say",
    "interposer/kernel_checks/library/register_limits.cpp": "runs in the user's process, which may have a libelf",
    "simulated_cuda/driver/code/cubin.cpp": "libcuda.so.1 has to bring no library that a program could have, too",
    "simulated_cuda/runtime/redirect/redirect.cpp": "runs before the program's constructors, by mapped files alone",
    "simulated_cuda/runtime/redirect/symbol_file.h": "as redirect.cpp",
    "simulated_cuda/runtime/redirect/symbol_file.cpp": "as redirect.cpp",
}


def explained_folders():
    """The rows of architecture.md's table: folder and reason."""
    _, _, section = text_of("docs/architecture.md").partition("\n## Small folders\n")
    rows = re.findall(r"^\| `([\w/]+)/` \| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)
    return dict(rows)


def small_folders():
    """Of the rooms: those that hold few files, with their subfolders."""
    for room in ROOMS:
        for folder, folders, names in os.walk(os.path.join(SOURCES, room)):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            below = sum(len(inside) for at, _, inside in os.walk(folder) if "__pycache__" not in at)
            if names and below < FEWEST_FILES:
                yield os.path.relpath(folder, SOURCES)


class Rooms(unittest.TestCase):
    def test_small_folders_have_a_reason(self):
        self.assertEqual(
            sorted(small_folders()),
            sorted(explained_folders()),
            "join a small folder with its neighbour, or say in architecture.md, Small folders, why not",
        )

    def test_short_headers_are_part_of_who_includes_them(self):
        users = collections.defaultdict(set)
        paths = files(*ROOMS, "trace")
        for path in paths:
            for name in includes_of(path):
                for root in ("", os.path.dirname(path), "device_hooks/include"):
                    users[os.path.join(root, name)].add(path)
        found = []
        for path in paths:
            is_short = path.endswith((".h", ".cuh")) and text_of(path).count("\n") < SHORTEST_HEADER
            # A source of its own is behind the header, however short: the header is its interface.
            has_source = any(os.path.splitext(path)[0] + end in paths for end in (".cpp", ".cu", ".S"))
            if is_short and not has_source and len(users[path]) == 1:
                found.append(path)
        self.assertEqual(sorted(found), sorted(SHORT_HEADERS), "move it into the one file that includes it")

    def test_long_sources_say_why_they_are_one(self):
        found = []
        for room in (*ROOMS, "samples", "tests", "trace"):
            for folder, _, names in os.walk(os.path.join(SOURCES, room)):
                for path in (os.path.relpath(os.path.join(folder, name), SOURCES) for name in names):
                    if path.endswith(SOURCE_ENDINGS) and text_of(path).count("\n") > LONGEST_SOURCE:
                        head = re.split(
                            r"^(?:#include|#pragma|import|from) ", text_of(path), maxsplit=1, flags=re.MULTILINE
                        )[0]
                        if not re.search(r"\bone(?:\s|//)+file\b", head):
                            found.append(path)
        self.assertEqual(sorted(found), [], "split it by subject, or say in its head why it is one file")

    def test_elf_is_read_by_hand_where_libelf_cannot_be(self):
        by_hand = [path for path in files(*ROOMS, "trace") if re.search(r"\bElf(32|64)_\w", text_of(path))]
        self.assertEqual(by_hand, sorted(ELF_BY_HAND), "libelf is linked into the command: use it, or say why not")

    def test_tests_link_the_products_own_objects(self):
        """Not a list of its sources, which the next file would be missing in."""
        source = re.compile(rf"\b(?:{'|'.join(ROOMS)}|trace)/[\w/.]*\w\.(?:cpp|S)\b")
        found = []
        for folder, _, names in os.walk(os.path.join(SOURCES, "tests")):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), SOURCES)
                if name != "CMakeLists.txt" and not name.endswith(".cmake"):
                    continue
                for number, line in enumerate(text_of(path).splitlines(), 1):
                    of_product = [
                        match for match in source.findall(line) if os.path.exists(os.path.join(SOURCES, match))
                    ]
                    found += [f"{path}:{number}: {match}" for match in of_product]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
