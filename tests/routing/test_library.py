# SPDX-License-Identifier: Apache-2.0
"""What libgpumemtrace.so needs, brings and leaves alone."""

import os
import re
import subprocess

import interposed_case
from interposed_case import INTERPOSER, InterposedCase

NEWEST_GLIBC = (2, 34)


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class Library(InterposedCase):
    def test_needs_only_libc(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", INTERPOSER)))
        self.assertLessEqual(needed, {"libc.so.6", "ld-linux-x86-64.so.2"})

    def test_no_newer_glibc(self):
        versions = {
            tuple(map(int, version.split(".")))
            for version in re.findall(r"GLIBC_([0-9.]+)", output_of("readelf", "-VW", INTERPOSER))
        }
        self.assertLessEqual(max(versions), NEWEST_GLIBC)

    def test_no_unwinder_and_no_cxx_runtime(self):
        symbols = output_of("nm", "-D", INTERPOSER)
        self.assertNotRegex(symbols, r"_Unwind_|__cxa_throw|__gxx_personality|\b_Zn[wa]|\b_Zd[la]")

    def test_no_static_constructors(self):
        sizes = dict(re.findall(r"\((INIT_ARRAYSZ|FINI_ARRAYSZ)\)\s+(\d+)", output_of("readelf", "-dW", INTERPOSER)))
        self.assertLessEqual(int(sizes.get("INIT_ARRAYSZ", 0)), 8, "crtstuff's own")
        self.assertLessEqual(int(sizes.get("FINI_ARRAYSZ", 0)), 8)
        self.assertNotRegex(output_of("nm", INTERPOSER), r"_GLOBAL__sub_I|__cxa_guard")

    def test_stays_loaded_and_is_bound_at_once(self):
        dynamic = output_of("readelf", "-dW", INTERPOSER)
        self.assertRegex(dynamic, r"NODELETE")
        self.assertRegex(dynamic, r"NOW")

    def test_initial_exec_storage_is_small(self):
        """It comes out of the loader's reserve, which other libraries need too."""
        self.assertIn("STATIC_TLS", output_of("readelf", "-dW", INTERPOSER))
        self.assertNotIn("__tls_get_addr", output_of("nm", "-D", INTERPOSER))
        size = re.search(
            r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x\w+)", output_of("readelf", "-lW", INTERPOSER), re.MULTILINE
        )
        self.assertLessEqual(int(size.group(1), 16), 512)

    def test_exceptions_stay_with_the_programs_unwinder(self):
        result = self.run_program("linked", "thrown", env={"LD_DEBUG": "bindings"})
        bindings = re.findall(r"binding file (\S+) \[0\] to (\S+) \[0\]: normal symbol `(_Unwind_\w+)'", result.stderr)
        by_program = [
            (file, to, symbol)
            for file, to, symbol in bindings
            if "libunwind" not in file and "libgpumemtrace" not in file
        ]
        self.assertIn("_Unwind_RaiseException", {symbol for _, _, symbol in by_program})
        self.assertEqual({os.path.basename(to) for _, to, _ in by_program}, {"libgcc_s.so.1"})

    def test_values_of_variables_are_those_of_options(self):
        good = {"MAX_TRACE": "2G", "PYTHON_FRAMES": "off", "DEVICE_RING_FULL": "wait", "GUARD_MIN": "4KiB"}
        bad = {"STACK_DEPTH": "abc", "LAUNCH_ARGUMENTS": "perhaps", "GUARD_LIMIT": "-1"}
        environment = {f"GPUMEMTRACE_{name}": text for name, text in {**good, **bad}.items()}
        self.run_program("linked", "sequence", env=environment)
        info = self.only_trace().info
        values = {"max_trace": 2 << 30, "python_frames": 0, "device_ring_full": 1, "guard_min": 4096}
        defaults = {"stack_depth": 32, "launch_arguments": 1, "guard_limit": 0}
        for name, value in {**values, **defaults}.items():
            self.assertEqual(info["option." + name], str(value), name)
        noted = sorted(line[2] for line in self.noted() if line[0] == "badvalue")
        self.assertEqual(noted, sorted(f"GPUMEMTRACE_{name}={text}" for name, text in bad.items()))
        self.setUp()
        result = self.run_program("linked", "sequence", env={**environment, "GPUMEMTRACE_NOTES": ""})
        for name, text in bad.items():
            self.assertIn(f"gpumemtrace: GPUMEMTRACE_{name}={text} is no value", result.stderr)

    def test_no_descriptor_is_kept(self):
        script = (
            "import ctypes as c, os; d = c.CDLL('libcuda.so.1'); a = c.c_uint64(); before = os.listdir('/proc/self/fd')\n"
            "for i in range(3000): d.cuMemAlloc_v2(c.byref(a), c.c_size_t(16)); d.cuMemFree_v2(a)\n"
            "print(os.listdir('/proc/self/fd') == before)"
        )
        self.assertEqual(self.run_program("/usr/bin/env", "python3", "-c", script).stdout, "True\n")


if __name__ == "__main__":
    interposed_case.main()
