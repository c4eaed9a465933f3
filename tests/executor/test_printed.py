#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ptx/print prints is compiled by ptxas to the same code as the text that was read.

test_printed.py PTXAS PRINT_PTX [unittest's arguments]

Compared are all sections of the cubins but the assembler's own copy of the text and its lines. Texts with inserted
instructions need only be compiled. With GMT_LONG_TESTS=1 the largest texts take part, too, and instructions are inserted
into all of them.
"""

import concurrent.futures
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PTXAS, PRINT_PTX = sys.argv[1:3]
LONG = os.environ.get("GMT_LONG_TESTS") == "1"
LARGE = re.compile("cub_sort|cub_device|thrust_")
INSERTED = re.compile(r"\.sm_90\.")
# Texts that only nvlink completes.
SEPARABLE = re.compile("separable")
# Inputs of the fuzzers that ptxas refuses as they are.
REFUSED = {"declared_kernel.ptx", "lines.ptx"}


def sections(cubin):
    """Header fields that matter and bytes by name, without those that hold the PTX or its lines."""
    offset = struct.unpack_from("<Q", cubin, 40)[0]
    count, names_index = struct.unpack_from("<HH", cubin, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + 64 * i) for i in range(count)]

    def content(header):
        without_bytes = header[1] == 8
        return b"" if without_bytes else cubin[header[4] : header[4] + header[5]]

    names = content(headers[names_index])
    found = {}
    for header in headers:
        name = names[header[0] : names.index(b"\0", header[0])].decode()
        if "nv_debug" not in name:
            found[name] = (header[1], header[2], header[5], header[7], content(header))
    if re.search(rb"nv_debug_ptx_txt\.\d", names):  # a section whose name has a hash of the text
        for table in (".shstrtab", ".strtab", ".symtab"):
            del found[table]
    return found


def compiled(folder, kind, name):
    """Sections, or what ptxas says. The path is the same for all kinds, for names that are made of it."""
    path = folder / kind
    text = (path / name).read_text(encoding="utf-8", errors="replace")
    target = re.search(r"^\s*\.target\s+(sm_\w+)", text, re.MULTILINE)
    cubin = path / f"{name}.cubin"
    command = [PTXAS, f"-arch={target.group(1)}", name, "-o", cubin]
    if SEPARABLE.search(name):
        command.append("-c")
    done = subprocess.run(command, cwd=path, check=False, capture_output=True, text=True)
    return sections(cubin.read_bytes()) if done.returncode == 0 else done.stdout + done.stderr


def what_is_wrong(folder, name):
    """A sentence; empty if nothing is."""
    kinds = ["original", "printed"]
    if LONG or INSERTED.search(name):
        kinds.append("inserted")
    made = {kind: compiled(folder, kind, name) for kind in kinds}
    for kind, result in made.items():
        if isinstance(result, str):
            return f"{name}, {kind}: {result}"
    original, printed = made["original"], made["printed"]
    names = [section for section in {**original, **printed} if original.get(section) != printed.get(section)]
    return f"{name}: sections that differ: {', '.join(names)}" if names else ""


class Printed(unittest.TestCase):
    def test_same_code(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            subprocess.run([PRINT_PTX, folder], check=True)
            names = sorted(path.name for path in (folder / "original").iterdir())
            names = [name for name in names if name not in REFUSED and (LONG or not LARGE.search(name))]
            self.assertGreater(len(names), 110)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                wrong = [line for line in pool.map(lambda name: what_is_wrong(folder, name), names) if line]
        self.assertEqual(wrong, [])
        print(f"{len(names)} texts")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
