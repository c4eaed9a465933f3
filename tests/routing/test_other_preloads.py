# SPDX-License-Identifier: Apache-2.0
"""Other tools' preloads stay in the chain; allocators, sanitizers and older runtimes run as they did."""

import ctypes.util
import glob
import os
import re
import subprocess
import sys

import interposed_case
from interposed_case import BINARIES, INTERPOSER, InterposedCase

ALLOC = "cuMemAlloc_v2"


class Wrappers(InterposedCase):
    def wrapped(self, wrapper, way, program, scene, as_often=True, **environment):
        library = os.path.join(BINARIES, f"lib{wrapper}.so")
        alone = self.run_program(
            program, scene, preload=False, env={**environment, "LD_PRELOAD": library, "WRAPPER": way}
        )
        both = self.run_program(
            program, scene, env={**environment, "LD_PRELOAD": f"{INTERPOSER} {library}", "WRAPPER": way}
        )
        self.assertEqual(both.stdout, alone.stdout)
        if as_often:
            self.assertEqual(both.stderr, alone.stderr, "the wrapper is called as often as without us")
        return self.only_trace()

    def test_linked_program(self):
        for way in ("next", "handle", "early"):
            with self.subTest(way):
                self.setUp()
                trace = self.wrapped("wrapper", way, "linked", "sequence")
                self.assertEqual([record.kind for record in trace.calls_of(ALLOC)], ["alloc"])

    def test_program_that_looks_up_by_name(self):
        """A wrapper without dlsym never hears of such a program, nor does it behind us: it may not even find the driver."""
        for way in ("handle", "early", "next"):
            with self.subTest(way):
                self.setUp()
                trace = self.wrapped("wrapper", way, "by_name", "dlsym")
                self.assertEqual(len(trace.calls_of(ALLOC)), 1)

    def test_wrapper_that_exports_dlsym(self):
        for program, scene, count in (("linked", "sequence", 1), ("by_name", "dlsym", 1), ("by_name", "global", 2)):
            with self.subTest(scene):
                self.setUp()
                trace = self.wrapped("wrapper_dlsym", "handle", program, scene)
                self.assertEqual(len(trace.calls_of(ALLOC)), count)

    def test_wrapper_of_the_runtime(self):
        if not os.path.exists(os.path.join(os.environ["GMT_SIMULATED"], "libcudart.so.13")):
            self.skipTest("the simulated device is not built")
        for way in ("next", "handle"):
            with self.subTest(way):
                self.setUp()
                trace = self.wrapped(
                    "wrapper",
                    way,
                    "runtime_calls_simulated",
                    "",
                    as_often=False,
                    LD_LIBRARY_PATH=os.environ["GMT_SIMULATED"],
                )
                self.assertEqual(
                    [(call.api, call.via) for call in trace.calls if call.kind == "alloc"],
                    [(ALLOC, "cudaMalloc"), ("cudaMalloc", "cudaMalloc"), (ALLOC, None)],
                )

    def test_wrapper_before_us(self):
        library = os.path.join(BINARIES, "libwrapper.so")
        both = self.run_program("linked", "sequence", env={"LD_PRELOAD": f"{library} {INTERPOSER}", "WRAPPER": "next"})
        self.assertIn("wrapper called 1", both.stderr)
        self.assertEqual(len(self.only_trace().calls_of(ALLOC)), 1)

    def test_wrapper_of_the_runtime_before_us(self):
        if not os.path.exists(os.path.join(os.environ["GMT_SIMULATED"], "libcudart.so.13")):
            self.skipTest("the simulated device is not built")
        library = os.path.join(BINARIES, "libwrapper.so")
        words = {"WRAPPER": "next", "LD_LIBRARY_PATH": os.environ["GMT_SIMULATED"]}
        alone = self.run_program("runtime_calls_simulated", "", preload=False, env={**words, "LD_PRELOAD": library})
        both = self.run_program("runtime_calls_simulated", "", env={**words, "LD_PRELOAD": f"{library} {INTERPOSER}"})
        self.assertEqual(both.stdout, alone.stdout)
        self.assertIn(("cudaMalloc", "cudaMalloc"), [(call.api, call.via) for call in self.only_trace().calls])


class Allocators(InterposedCase):
    def test_jemalloc(self):
        name = next(
            (path for path in glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib64/libjemalloc.so.2")),
            ctypes.util.find_library("jemalloc"),
        )
        if name is None:
            self.skipTest("no jemalloc on this machine")
        plain = self.run_program("linked", "thrown", preload=False, env={"LD_PRELOAD": name})
        for order in (f"{INTERPOSER} {name}", f"{name} {INTERPOSER}"):
            self.setUp()
            both = self.run_program("linked", "thrown", env={"LD_PRELOAD": order})
            self.assertEqual(both.stdout, plain.stdout)
            self.assertEqual(len(self.only_trace().calls_of(ALLOC)), 100)

    def test_address_sanitizer(self):
        runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
        runtime = os.path.realpath(runtime.stdout.strip()) if runtime.returncode == 0 else ""
        if not os.path.exists(runtime):
            self.skipTest("no ASan runtime of this compiler")
        options = {"ASAN_OPTIONS": "detect_leaks=0"}
        plain = self.run_program("linked_asan", "thrown", preload=False, env=options)
        both = self.run_program("linked_asan", "thrown", env={**options, "LD_PRELOAD": f"{runtime} {INTERPOSER}"})
        self.assertEqual(both.stdout, plain.stdout)
        self.assertEqual(both.stderr, plain.stderr)
        self.assertEqual(len(self.only_trace().calls_of(ALLOC)), 100)


class OlderRuntime(InterposedCase):
    SCRIPT = (
        "import ctypes as c, sys; r = c.CDLL(sys.argv[1]); p = c.c_void_p()\n"
        "print(r.cudaMalloc(c.byref(p), c.c_size_t(4096)), r.cudaFree(p),"
        " r.cudaMemPrefetchAsync(p, c.c_size_t(16), 0, None), r.cudaDeviceSynchronize())"
    )

    def wheel(self):
        folder = os.path.join(BINARIES, "cuda12")
        found = glob.glob(os.path.join(folder, "nvidia", "cuda_runtime", "lib", "libcudart.so.12"))
        if not found:
            command = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--target",
                folder,
                "nvidia-cuda-runtime-cu12",
            ]
            try:
                subprocess.run(command, capture_output=True, timeout=90, check=True)
            except (subprocess.SubprocessError, OSError) as error:
                self.skipTest(f"the wheel nvidia-cuda-runtime-cu12 could not be installed: {error}")
            found = glob.glob(os.path.join(folder, "nvidia", "cuda_runtime", "lib", "libcudart.so.12"))
        return found[0]

    def test_cuda_12_wheel(self):
        runtime = self.wheel()
        plain = self.run_program(sys.executable, "-c", self.SCRIPT, runtime, preload=False)
        both = self.run_program(sys.executable, "-c", self.SCRIPT, runtime)
        self.assertEqual(both.stdout, plain.stdout)
        self.assertIn("cuInit", self.driver_calls(), "the runtime reached the driver")

    def prototypes(self, header):
        """name -> parameter types, of a runtime's header."""
        with open(header, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.DOTALL)
        found = {}
        for name, parameters in re.findall(r"CUDARTAPI\s+(\w+)\s*\(([^;{]*?)\)\s*;", text):
            plain = re.sub(r"__dv\([^)]*\)", "", parameters)
            types = [re.sub(r"\b\w+$", "", " ".join(one.split())) for one in plain.split(",")]
            found.setdefault(name, set()).add(tuple(types))
        return found

    def test_rows_whose_signature_changed(self):
        """Exactly the runtime rows whose parameters are not those of 12 are marked as 13's own (RT13)."""
        older = self.prototypes(
            os.path.join(os.path.dirname(os.path.dirname(self.wheel())), "include", "cuda_runtime_api.h")
        )
        newer = self.prototypes(os.path.join(os.environ["GMT_CUDA_INCLUDE"], "cuda_runtime_api.h"))
        with open(os.path.join(os.environ["GMT_SOURCES"], "trace", "cuda_api.def"), encoding="utf-8") as file:
            rows = re.findall(r"^(RT|RT13)\((\w+), (\w+)", file.read(), re.MULTILINE)
        changed = {
            symbol
            for _, symbol, declared in rows
            if declared in older and declared in newer and older[declared] != newer[declared]
        }
        self.assertEqual({symbol for macro, symbol, _ in rows if macro == "RT13"}, changed)
        self.assertGreater(len(changed), 4)


if __name__ == "__main__":
    interposed_case.main()
