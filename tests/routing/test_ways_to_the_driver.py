# SPDX-License-Identifier: Apache-2.0
"""Linked, dlsym, cuGetProcAddress, ctypes: one record a call, the same answers as without us."""

import os
import sys

import interposed_case
from interposed_case import BINARIES, InterposedCase

PLAIN = os.path.join(os.path.dirname(interposed_case.STANDIN), "standin_plain")
SPARSE = os.path.join(os.path.dirname(interposed_case.STANDIN), "standin_sparse")
ALLOC, FREE = "cuMemAlloc_v2", "cuMemFree_v2"


class WaysToTheDriver(InterposedCase):
    def play(self, program, *words, **more):
        """Runs it without and with us; both must say the same. Returns the trace."""
        if os.path.exists(self.log):
            os.unlink(self.log)
        without = self.run_program(program, *words, preload=False, **more)
        calls_without = self.driver_calls()
        if os.path.exists(self.log):
            os.unlink(self.log)
        with_us = self.run_program(program, *words, **more)
        self.assertEqual(with_us.stdout, without.stdout)
        added = [name for name in self.driver_calls() if name not in ("cuCtxGetCurrent", "cuCtxGetDevice")]
        expected = [name for name in calls_without if name not in ("cuCtxGetCurrent", "cuCtxGetDevice")]
        self.assertEqual(added, expected, "hooks may add only the two queries that stream capture allows")
        self.output = with_us.stdout
        return self.only_trace() if self.traces() else None

    def apis(self, trace):
        self.assertEqual(trace.torn, 0)
        self.assertEqual(trace.lost, {})
        return [record.api for record in trace.calls]

    def test_linked(self):
        trace = self.play("linked", "sequence")
        self.assertEqual(
            self.apis(trace), ["cuInit", "cuCtxCreate_v2", ALLOC, "cuMemsetD8_v2", "cuMemcpyHtoD_v2", FREE, FREE]
        )
        self.assertEqual([record.result for record in trace.calls], [0, 0, 0, 0, 0, 0, 1])
        alloc = trace.calls_of(ALLOC)[0]
        self.assertEqual((alloc.kind, alloc["bytes"], alloc.via), ("alloc", 4096, None))
        self.assertEqual([record["address"] for record in trace.calls_of(FREE)], [alloc["address"]] * 2)
        self.assertTrue(all(record.stack and trace.stack(record) for record in trace.calls))
        self.assertNotEqual(alloc.context, 0)

    def test_null_and_failing_arguments(self):
        trace = self.play("linked", "nulls")
        self.assertIn("out is 1234", self.output)
        self.assertEqual([record.result for record in trace.calls_of(ALLOC)], [1, 2])
        self.assertTrue(
            all(record["address"] == 0 for record in trace.calls_of(ALLOC)), "no address is read after a failure"
        )

    def test_stream_capture_adds_no_call(self):
        trace = self.play("linked", "capture")
        self.assertEqual(
            self.apis(trace)[2:],
            ["cuStreamBeginCapture_v2", "cuMemAllocAsync", "cuLaunchKernel", "cuMemFreeAsync", "cuStreamEndCapture"],
        )
        calls = self.driver_calls()
        inside = calls[calls.index("cuStreamBeginCapture_v2") :]
        self.assertEqual(inside.count("cuCtxGetCurrent"), 1, "at a kernel's first launch, for its ring")

    def test_calls_after_main(self):
        trace = self.play("linked", "after_main")
        self.assertIn("atexit free 0\nlate free 0\n", self.output)
        self.assertEqual(self.apis(trace)[2:], [ALLOC, ALLOC, FREE, FREE])
        kinds = [record.kind for record in trace.records if record.kind in ("exit", "free")]
        self.assertEqual(sorted(kinds), ["exit", "free", "free"])

    def test_first_question_to_a_linked_resolver(self):
        trace = self.play("linked", "asked")
        self.assertEqual(self.apis(trace), [ALLOC])

    def test_exceptions_of_the_program(self):
        trace = self.play("linked", "thrown")
        self.assertEqual(len(trace.calls_of(ALLOC)), 100)

    def test_driver_that_calls_its_own_exports(self):
        trace = self.play("linked", "managed", env={"LD_LIBRARY_PATH": PLAIN})
        self.assertEqual(self.driver_calls().count(ALLOC), 1, "the stand-in did call itself")
        self.assertEqual(self.apis(trace)[2:], ["cuMemAllocManaged", FREE])

    def test_driver_that_lacks_functions(self):
        trace = self.play("by_name", "dlsym", env={"LD_LIBRARY_PATH": SPARSE})
        self.assertEqual(self.apis(trace), [ALLOC, FREE])

    def test_no_driver(self):
        self.run_program("by_name", "probe", env={"LD_LIBRARY_PATH": "/nonexistent"})
        self.assertEqual(self.traces(), [])

    def test_dlsym(self):
        self.assertEqual(self.apis(self.play("by_name", "dlsym")), [ALLOC, FREE])

    def test_global_scope_and_own_handle(self):
        self.assertEqual(self.apis(self.play("by_name", "global")), [ALLOC, FREE] * 2)

    def test_probing_for_cuda(self):
        self.assertIsNone(self.play("by_name", "probe"))

    def test_proc_address(self):
        trace = self.play("by_name", "proc_address")
        self.assertEqual(self.apis(trace), [ALLOC, FREE] * 2 + ["cuMemAllocAsync_ptsz", "cuMemFreeAsync_ptsz"])
        self.assertEqual(trace.calls[-2]["stream"], 2, "the NULL stream of a per-thread form is stream 2")

    def test_odd_requests(self):
        for unknown in ("500", "null"):
            self.assertIsNone(self.play("by_name", "odd_requests", env={"STANDIN_UNKNOWN": unknown}))

    def test_driver_closed_and_opened_again(self):
        self.assertEqual(self.apis(self.play("by_name", "reload")), [ALLOC, FREE] * 3)

    def test_ctypes(self):
        script = (
            "import ctypes as c; d = c.CDLL('libcuda.so.1'); a = c.c_uint64(); d.cuInit(0)\n"
            "print(d.cuMemAlloc_v2(c.byref(a), c.c_size_t(777)), d.cuMemFree_v2(a), d.cuMemFree_v2(a))"
        )
        trace = self.play(sys.executable, "-c", script)
        self.assertEqual(self.apis(trace), ["cuInit", ALLOC, FREE, FREE])
        self.assertEqual(trace.calls[1]["bytes"], 777)


class Runtimes(InterposedCase):
    def play(self, *plugins):
        without = self.run_program("plugin_host", *plugins, preload=False)
        with_us = self.run_program("plugin_host", *plugins)
        self.assertEqual(with_us.stdout, without.stdout)
        return self.only_trace()

    def plugin(self, major):
        return os.path.join(BINARIES, f"libplugin_{major}.so")

    def check_via(self, trace, plugins, rounds):
        allocs = trace.calls_of(ALLOC)
        self.assertEqual(len(allocs), plugins * rounds)
        self.assertTrue(all(record.via == "cudaMalloc" for record in allocs), allocs)
        self.assertTrue(all(record.via == "cudaFree" for record in trace.calls_of(FREE)))
        refused = trace.calls_of("cudaMemcpy")
        self.assertEqual([(record.kind, record.result) for record in refused], [("copy", 21)] * plugins * rounds)
        self.assertEqual(trace.calls_of("cudaMalloc"), [], "a driver call followed: no record of its own")
        self.assertEqual([record.via for record in trace.calls_of("cuMemsetD8_v2")], [None] * plugins * rounds)

    def test_local_plugin(self):
        trace = self.play(self.plugin(13))
        self.check_via(trace, 1, 2)
        self.assertEqual(len(trace.calls_of("cudaMemPrefetchAsync")), 2)

    def test_two_majors(self):
        trace = self.play(self.plugin(12), self.plugin(13))
        self.check_via(trace, 2, 2)
        self.assertEqual([record["bytes"] for record in trace.calls_of(ALLOC)], [1012, 1013] * 2)
        self.assertEqual(len(trace.calls_of("cudaMemPrefetchAsync")), 2, "of runtime 13 only: 12 has another signature")
        self.assertEqual(len(trace.calls_of("cudaMemcpyBatchAsync")), 2)

    def test_two_majors_in_the_other_order(self):
        trace = self.play(self.plugin(13), self.plugin(12))
        self.check_via(trace, 2, 2)

    def test_two_majors_asked_by_handle(self):
        paths = [os.path.join(BINARIES, f"runtime_{major}", f"libcudart.so.{major}") for major in (12, 13)]
        without = self.run_program("by_name", "two_runtimes", *paths, preload=False)
        self.assertEqual(self.run_program("by_name", "two_runtimes", *paths).stdout, without.stdout)
        self.assertIn("runtime 13 cudaMalloc\nby handle 0\nruntime 12 cudaMalloc\nby scope 0\n", without.stdout)
        allocs = [(call.api, call.via, call["bytes"]) for call in self.only_trace().calls]
        self.assertEqual(allocs, [(ALLOC, "cudaMalloc", 1300), (ALLOC, "cudaMalloc", 1200)])

    def test_runtime_closed_and_opened_again(self):
        path = os.path.join(BINARIES, "runtime_13", "libcudart.so.13")
        without = self.run_program("by_name", "reload_runtime", path, preload=False)
        self.assertEqual(self.run_program("by_name", "reload_runtime", path).stdout, without.stdout)
        self.assertEqual([call.via for call in self.only_trace().calls], ["cudaMalloc"] * 4)

    def test_deepbind_runs(self):
        """RTLD_DEEPBIND goes past every preload: a known blind spot, but the program runs as it did."""
        plugin = "deep:" + self.plugin(13)
        without = self.run_program("plugin_host", plugin, preload=False)
        self.assertEqual(self.run_program("plugin_host", plugin).stdout, without.stdout)
        self.assertEqual(self.traces(), [])


if __name__ == "__main__":
    interposed_case.main()
