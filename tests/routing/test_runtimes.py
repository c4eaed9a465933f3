# SPDX-License-Identifier: Apache-2.0
"""The vendor's static and shared runtimes, and the simulated pair: the same answers, one record a call."""

import os

import interposed_case
from interposed_case import BINARIES, InterposedCase

SIMULATED = os.environ["GMT_SIMULATED"]


class VendorRuntimes(InterposedCase):
    """Against the stand-in they give up while they start; what they ask the driver before is seen all the same."""

    def check(self, program):
        path = os.path.join(BINARIES, program)
        if not os.path.exists(path):
            self.skipTest(f"no {program}: this toolkit does not have the library")
        without = self.run_program(program, preload=False)
        calls = self.driver_calls()
        os.unlink(self.log)
        with_us = self.run_program(program)
        self.assertEqual(with_us.stdout, without.stdout)
        self.assertEqual(self.driver_calls(), calls)
        self.assertEqual(len(self.only_trace().calls_of("cuInit")), calls.count("cuInit"))
        self.assertGreater(calls.count("cuInit"), 0)

    def test_static(self):
        self.check("runtime_calls_static")

    def test_shared(self):
        self.check("runtime_calls_shared")


class SimulatedRuntime(InterposedCase):
    def test_calls(self):
        if not os.path.exists(os.path.join(SIMULATED, "libcudart.so.13")):
            self.skipTest("the simulated device is not built")
        environment = {"LD_LIBRARY_PATH": SIMULATED}
        without = self.run_program("runtime_calls_simulated", preload=False, env=environment)
        with_us = self.run_program("runtime_calls_simulated", env=environment)
        self.assertEqual(with_us.stdout, without.stdout)
        self.assertIn("malloc 0\ncopy 0\nset 0\nfree 0\nnothing 0\n", without.stdout)
        trace = self.only_trace()
        via = [(call.api, call.via) for call in trace.calls if call.kind in ("alloc", "free", "copy", "set")]
        self.assertEqual(
            via,
            [
                ("cuMemAlloc_v2", "cudaMalloc"),
                ("cuMemcpyHtoD_v2", "cudaMemcpy"),
                ("cuMemsetD8_v2", "cudaMemset"),
                ("cuMemFree_v2", "cudaFree"),
                ("cudaMalloc", "cudaMalloc"),
                ("cuMemAlloc_v2", None),
                ("cuMemFree_v2", "cudaFree"),
            ],
        )


if __name__ == "__main__":
    interposed_case.main()
