# SPDX-License-Identifier: Apache-2.0
"""What keeps --coalescing from measuring is said in the trace, once, and the program runs as it would have."""

import os
import shutil

import interposed_case
from coalescing_case import CoalescingCase, refusing

SCRIPT = "launch a 3 sync launch b 1 sync copy"
CUPTI_BUSY, CUPTI_NOT_SUPPORTED, CUPTI_NOT_PERMITTED, CUPTI_UNKNOWN = 39, 27, 35, 999


class TroublesTest(CoalescingCase):
    def assert_trouble(self, trouble, result=0, env=None):
        self.play(SCRIPT, env=env)
        sums = self.sums()
        self.assertEqual((sums.windows["trouble"], sums.windows["code"]), (trouble, result))
        self.assertEqual((sums.windows["opened"], sums.instructions), (0, {}))
        calls = [record.api for record in self.only_trace().calls if record.kind in ("launch", "sync", "copy")]
        self.assertEqual(
            calls,
            ["cuLaunchKernel"] * 3 + ["cuCtxSynchronize", "cuLaunchKernel", "cuCtxSynchronize", "cuMemcpyDtoH_v2"],
        )

    def test_no_library(self):
        self.assert_trouble("no library", env={"GPUMEMTRACE_CUPTI": "/nonexistent/libcupti.so.13"})

    def test_library_that_lacks_functions(self):
        libc = "libc.so.6"
        self.assert_trouble("no library", env={"GPUMEMTRACE_CUPTI": libc})

    def test_other_profiler_holds_cupti(self):
        self.assert_trouble("busy", CUPTI_BUSY, refusing("busy"))

    def test_other_tools_are_set(self):
        for variable in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GPUMEMTRACE_NVTX_NEXT"):
            with self.subTest(variable=variable):
                self.setUp()
                self.assert_trouble("busy", env={variable: "/opt/nsys/libToolsInjection64.so"})

    def test_not_permitted(self):
        self.assert_trouble("not permitted", CUPTI_NOT_PERMITTED, refusing("not-permitted"))

    def test_not_supported(self):
        self.assert_trouble("not supported", CUPTI_NOT_SUPPORTED, refusing("not-supported"))

    def test_any_other_refusal(self):
        self.assert_trouble("error", CUPTI_UNKNOWN, refusing("error"))

    def test_trouble_does_not_wait_for_other_contexts(self):
        """A window is open in one that is busy until this thread lets it end: closing it would wait for ever."""
        result = self.play(
            "stream s launch a 1 block context stream t launch b 1 time unblock",
            env=refusing("error later"),
            timeout=20,
        )
        self.assertLess(int(result.stdout.split()[0]), 2000)
        self.assertEqual([sums.windows["trouble"] for sums in self.all_sums()], ["error", "error"])

    def test_a_window_that_trouble_elsewhere_left_open_is_closed_when_its_context_is_idle(self):
        """Left open for ever it would cost a later graph its kernels."""
        self.play(
            "stream s launch a 1 block context stream t launch b 1 unblock destroy sync",
            env=refusing("error later"),
            timeout=20,
        )
        busy, other = (sums.windows for sums in self.all_sums())
        self.assertEqual((busy["opened"], busy["given_up"]), (1, 1))
        self.assertEqual((busy["trouble"], other["trouble"]), ("error", "error"))

    def test_collector_is_not_installed(self):
        """The preload alone, as a user may have copied it."""
        alone = os.path.join(self.folder, "alone")
        os.mkdir(alone)
        for name in os.listdir(os.path.dirname(interposed_case.INTERPOSER)):
            if name.startswith(("libgpumemtrace.so", "libunwind", "libgpumemtrace-lzma")) and ".so" in name:
                shutil.copy(os.path.join(os.path.dirname(interposed_case.INTERPOSER), name), alone)
        self.play(SCRIPT, env={"LD_PRELOAD": os.path.join(alone, "libgpumemtrace.so")})
        self.assertIn("nocollector", [note[0] for note in self.noted()])


class OffTest(CoalescingCase):
    def test_nothing_is_loaded_without_the_option(self):
        self.play(SCRIPT, env={"GPUMEMTRACE_COALESCING": "0"})
        trace = self.only_trace()
        paths = [line[-1] for line in trace.modules() if line[0] == "+"]
        self.assertTrue(any("libgpumemtrace.so" in path for path in paths), paths)
        self.assertEqual([path for path in paths if "cupti" in path], [])
        self.assertEqual(self.all_sums(), [])

    def test_with_it_they_are(self):
        self.play(SCRIPT)
        paths = [line[-1] for line in self.only_trace().modules() if line[0] == "+"]
        self.assertTrue(any("libgpumemtrace_cupti" in path for path in paths), paths)


if __name__ == "__main__":
    interposed_case.main()
