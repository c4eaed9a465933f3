#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptxas compiles what the rewriter writes, and every kernel has its checked form.

test_compiled.py PTXAS REWRITE_PTX FOLDER [unittest's arguments]

FOLDER has packed PTX of several compilers. Where nvlink is beside ptxas, what it makes is looked at, too. With
GMT_LONG_TESTS=1 all of it takes part.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PTXAS, REWRITE_PTX, FOLDER = sys.argv[1:4]
LONG = os.environ.get("GMT_LONG_TESTS") == "1"
LARGE = re.compile("cub_|thrust_|grid_sync|cooperative|libcudacxx")
SHORT = re.compile(r"\.(sm_90|clang|O0|G|nvrtc_12\.4)\.")
# Checks as they are by default, by calls, and by calls without copies of the code.
KINDS = ((), ("--inline", "0"), ("--inline", "0", "--copied", "0"))
# Unpacked, of a text; larger ones take a second each.
SHORT_BYTES = 130_000


def what_is_wrong(folder, packed, options):
    """A sentence; empty if nothing is, and null for a text that is left out.

    `options` are those of the rewriter that say which functions have which kind of checks.
    """
    text = subprocess.run(["zstd", "-dcq", packed], check=True, capture_output=True).stdout
    if not LONG and len(text) > SHORT_BYTES:
        return None
    name = packed.name.removesuffix(".zst")
    given, written = folder / name, folder / f"checked.{name}"
    given.write_bytes(text)
    done = subprocess.run([REWRITE_PTX, *options, given, written], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return f"{name}: {done.stderr}"
    result = written.read_bytes()
    kernels = len(re.findall(rb"\.entry\s+__gmt_checked_", result))
    if kernels == 0 or kernels != len(re.findall(rb"\.entry\s", text)):
        return f"{name}: {kernels} kernels are checked"
    target = re.search(r"^\s*\.target\s+(sm_\w+)", text.decode(), re.MULTILINE).group(1)
    # As --kernel-checks has it compiled: to be linked. Whole programs as large as cub_sort are refused (C7600).
    command = [PTXAS, "-c", f"-arch={target}", written, "-o", f"{written}.cubin"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{name}: {(done.stdout + done.stderr)[:2000]}"


class Compiled(unittest.TestCase):
    def test_ptxas_takes_it(self):
        texts = sorted(pathlib.Path(FOLDER).glob("*.ptx.zst"))
        texts = [path for path in texts if LONG or (SHORT.search(path.name) and not LARGE.search(path.name))]
        with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(
                pool.map(
                    lambda each: what_is_wrong(pathlib.Path(temporary), each[1], KINDS[each[0] % 3]),
                    enumerate(texts),
                )
            )
        self.assertEqual([line for line in found if line], [])
        compiled = sum(line == "" for line in found)
        self.assertGreater(compiled, 30)
        print(f"{compiled} texts")

    def test_linked_kernels_have_no_more_shared_memory_than_they_declare(self):
        nvlink = pathlib.Path(PTXAS).resolve().parent / "nvlink"
        if not nvlink.exists():
            self.skipTest("there is no nvlink")
        kernels = [[4096, 2048, 4096, 4096], [8192, 4096, 8192, 8192], [8192, 4096, 8192, 8192, 8192]]
        text = ".version 8.0\n.target sm_90\n.address_size 64\n"
        for k, arrays in enumerate(kernels):
            for i, size in enumerate(arrays):
                text += f".weak .shared .align 4 .b8 array{k}_{i}[{size}];\n"
        for k, arrays in enumerate(kernels):
            text += f".visible .entry k{k}(.param .u64 p) {{\n.reg .b32 %r<9>; .reg .b64 %d<5>;\n"
            text += "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2;\n"
            for i in range(len(arrays)):
                text += f"mov.u32 %r2, array{k}_{i}; add.u32 %r2, %r2, %r1; ld.global.u32 %r3, [%d1+{4 * i}];\n"
                text += "st.shared.u32 [%r2], %r3; bar.sync 0; xor.b32 %r2, %r2, 4; ld.shared.u32 %r3, [%r2];\n"
                text += f"st.global.u32 [%d1+{4 * i}], %r3;\n"
            text += "ret;\n}\n"
        with tempfile.TemporaryDirectory() as temporary:
            given, written, object_file, linked = (
                f"{temporary}/{name}" for name in ("in.ptx", "out.ptx", "code.o", "linked")
            )
            pathlib.Path(given).write_text(text)
            for kind in KINDS:
                subprocess.run([REWRITE_PTX, *kind, given, written], check=True, capture_output=True)
                subprocess.run([PTXAS, "-c", "-arch=sm_90", written, "-o", object_file], check=True)
                command = [nvlink, "-v", "-arch=sm_90", object_file, "-o", linked]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                of_kernel = r"Function properties for '(\w+)':\n.* (\d+) bytes smem"
                bytes_of = {name: int(size) for name, size in re.findall(of_kernel, done.stdout + done.stderr)}
                for k, arrays in enumerate(kernels):
                    for name in (f"k{k}", f"__gmt_checked_k{k}"):
                        # The system has 1,024 bytes more in front.
                        self.assertLessEqual(bytes_of[name], sum(arrays) + 1024 + 64, name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
