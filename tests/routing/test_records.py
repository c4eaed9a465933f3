# SPDX-License-Identifier: Apache-2.0
"""What the records of rarer calls say: played on the simulated device, read back from the trace word for word."""

import os

import interposed_case
from interposed_case import InterposedCase

SIMULATED = os.environ["GMT_SIMULATED"]


def text_of(record):
    """The string of a kText record."""
    return b"".join(word.to_bytes(8, "little") for word in record.a[2:])[:record.a[1]].decode()


class Records(InterposedCase):
    def play(self, scene, program="records", **more):
        """The scene's trace; the program must have said the same without us."""
        if not os.path.exists(os.path.join(SIMULATED, "libcuda.so.1")):
            self.skipTest("the simulated device is not built")
        environment = {"LD_LIBRARY_PATH": SIMULATED, **more}
        without = self.run_program(program, scene, preload=False, env=environment)
        with_us = self.run_program(program, scene, env=environment)
        self.assertEqual(with_us.stdout, without.stdout)
        self.said = dict(line.rsplit(" ", 1) for line in without.stdout.splitlines())
        self.trace = self.only_trace()
        self.assertEqual((self.trace.torn, self.trace.lost), (0, {}))

    def kind(self, kind):
        return [record for record in self.trace.records if record.kind == kind]

    def only(self, api):
        found = self.trace.calls_of(api)
        self.assertEqual(len(found), 1, found)
        return found[0]


class Facts(Records):
    def test_device_durations_and_free_memory(self):
        self.play("facts")
        (device,) = self.kind("device")
        (name,) = [text for text in self.kind("text") if text.a[0] == device.a[9]]
        self.assertIn("imulated", text_of(name))
        self.assertEqual(device.a[0], 0)
        self.assertEqual(device.a[2:5], [512, 32, 512])
        self.assertGreater(device.a[1], 1 << 30)
        self.assertGreater(device.a[7], 30)
        for api in ("cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuStreamSynchronize", "cuMemFree_v2"):
            self.assertGreater(self.only(api).ticks, 0, api)
        self.assertEqual(self.only("cuStreamCreate").ticks, 0)
        self.assertEqual(self.only("cuStreamCreate").context, self.kind("context")[0].context)
        fitted, failed = self.trace.calls_of("cuMemAlloc_v2")
        self.assertGreater(fitted.ticks, 0)
        self.assertEqual(failed.result, 2)
        (info,) = self.kind("memory-info")
        self.assertGreaterEqual(info.order, failed.order)
        self.assertEqual(info.a[1], device.a[1])
        self.assertLessEqual(info.a[0], info.a[1])
        self.assertEqual(info.context, fitted.context)


if __name__ == "__main__":
    interposed_case.main()
