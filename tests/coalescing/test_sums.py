# SPDX-License-Identifier: Apache-2.0
"""The figures that --coalescing leaves: exact for the launches it says, whatever the way to launch and to end."""

import glob
import os
import pathlib
import resource
import struct
import subprocess

import interposed_case
from coalescing_case import COMMAND, CUPTI, FIGURES, METRICS, UNKNOWN, CoalescingCase, refusing


class SumsTest(CoalescingCase):
    def test_first_launches_are_measured(self):
        self.play("launch a 1 launch b 1 sync launch a 1 sync")
        sums = self.sums()
        self.assertEqual(sums.windows["trouble"], None)
        self.assertEqual(sums.functions["a"]["measured"], 2)
        self.assertEqual(sums.functions["b"]["measured"], 1)
        self.assertNotEqual(sums.functions["a"]["identity"], sums.functions["b"]["identity"])
        self.assert_exact(sums)
        self.assertEqual(sums.context, 1)

    def test_all_launches(self):
        self.play(
            "launch a 100 copy launch b 70 sync launch a 30 stream s launch b 5 sync-stream",
            env={"GPUMEMTRACE_COALESCING_LAUNCHES": "all"},
        )
        sums = self.sums()
        self.assertEqual(
            {name: (f["measured"], f["launches"]) for name, f in sums.functions.items()},
            {"a": (130, 130), "b": (75, 75)},
        )
        self.assert_exact(sums)

    def test_a_kernel_without_figures(self):
        self.play("launch c 3 sync")
        sums = self.sums()
        self.assertEqual(sums.functions["c"]["launches"], 3)
        self.assertEqual(sums.functions["c"]["measured"], sums.windows["launches_read"])
        self.assertEqual(sums.instructions, {})

    def test_metric_that_the_chip_does_not_have(self):
        self.play("launch b 1 sync", env=refusing("without smsp__sass_data_bytes_mem_global"))
        figures = list(FIGURES["b", 0x10])
        figures[4] = UNKNOWN
        self.assertEqual(self.sums().instructions, {("b", 0x10): tuple(figures)})

    def test_contexts_have_their_own(self):
        self.play("launch a 1 sync context launch a 2 launch b 1 sync")
        first, second = self.all_sums()
        self.assertEqual((first.context, second.context), (1, 2))
        for sums, a in ((first, 1), (second, 2)):
            self.assertEqual(sums.functions["a"]["launches"], a)
            self.assertEqual(sums.functions["a"]["measured"], a)
            self.assert_exact(sums)

    def test_devices(self):
        self.play("launch a 1 sync device 1 context launch a 2 launch b 1 sync", env={"GPUMEMTRACE_SIM_DEVICES": "2"})
        for sums, a in zip(self.all_sums(), (1, 2), strict=True):
            self.assertIsNone(sums.windows["trouble"])
            self.assertEqual(sums.functions["a"]["measured"], a)
            self.assert_exact(sums)

    def test_a_kernel_that_cupti_passes_over(self):
        self.play("launch a 1 launch b 1 sync launch a 1 sync", env=refusing("skips a"))
        sums = self.sums()
        self.assertEqual([sums.functions["a"][word] for word in ("measured", "lost", "launches")], [0, 0, 2])
        self.assertEqual([sums.functions["b"][word] for word in ("measured", "lost", "launches")], [1, 0, 1])
        self.assert_exact(sums)

    def test_cupti_cannot_patch_all_functions_at_once(self):
        self.play("launch a 1 launch b 1 sync launch a 1 sync", env=refusing("patches-at-launch"))
        sums = self.sums()
        self.assertEqual((sums.windows["trouble"], sums.functions["a"]["measured"]), (None, 2))
        self.assert_exact(sums)

    def test_threads(self):
        self.play("threads 8 a 200 sync launch a 1 sync", env={"GPUMEMTRACE_COALESCING_LAUNCHES": "all"})
        sums = self.sums()
        self.assertEqual(sums.functions["a"]["launches"], 1601)
        self.assertEqual(sums.windows["launches"], 1601)
        self.assertGreater(sums.functions["a"]["measured"], 0)
        self.assert_exact(sums)

    def test_killed(self):
        self.play("launch a 2 sync launch b 1 sync launch a 40 kill", check=False)
        sums = self.sums()
        self.assertGreaterEqual(sums.functions["a"]["measured"], 2)
        self.assertEqual(sums.functions["b"]["measured"], 1)
        self.assertEqual(sums.functions["a"]["launches"], 42)
        self.assert_exact(sums)

    def test_a_child_makes_its_own(self):
        self.play("fork launch a 1 sync")
        self.assert_exact(self.sums())

    def test_file_size_limit(self):
        """What has no room is left out and counted; the program does not notice."""
        with open(self.metrics, "w", encoding="utf-8") as file:
            file.writelines(f"a {16 * i:#x} {METRICS[2]}=1\n" for i in range(30000))

        def limit():
            return resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

        result = self.play("launch a 1 sync", env={"GPUMEMTRACE_SIM_MEMORY": "1M"}, preexec_fn=limit)
        self.assertEqual(result.stderr, "")
        sums = self.sums()
        self.assertGreater(len(sums.instructions), 15000)
        self.assertEqual({figures[2] for figures in sums.instructions.values()}, {1})
        self.assertEqual(len(sums.instructions) + sums.lost["space"], 30000)

    def test_trace_limit(self):
        with open(self.metrics, "w", encoding="utf-8") as file:
            file.writelines(f"a {16 * i:#x} {METRICS[2]}=1\n" for i in range(30000))
        self.play("launch a 1 sync", env={"GPUMEMTRACE_MAX_TRACE": "1000000"})
        sums = self.sums()
        self.assertGreater(len(sums.instructions), 2000)
        self.assertEqual(len(sums.instructions) + sums.lost["limit"], 30000)

    def test_nothing_of_cupti_is_recorded(self):
        """Its calls reach the driver, but they are none of the program's."""
        self.play("launch a 1 sync")
        trace = self.only_trace()
        self.assertEqual([r.api for r in trace.calls if r.api in ("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")], [])
        self.assertEqual(len(trace.calls_of("cuCtxSynchronize")), 1)

    def test_options_of_the_command(self):
        environment = self.environment(
            preload=False,
            GPUMEMTRACE_CUPTI=CUPTI,
            GPUMEMTRACE_SIM_METRICS=self.metrics,
            GPUMEMTRACE_SIM_MEMORY="256M",
        )
        result = subprocess.run(
            [
                COMMAND,
                "record",
                "--device",
                "simulated",
                "--trace-dir",
                self.folder,
                "--coalescing",
                "--coalescing-launches",
                "3",
                "--kernel",
                "^a$",
                self.binary("coalescing_player"),
                *"launch a 9 sync launch b 1 sync".split(),
            ],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        trace = self.only_trace()
        self.assertEqual(trace.info["option.coalescing_launches"], "3")
        self.assertEqual(trace.info["option.kernel"], "^a$")
        sums = self.sums()
        self.assertGreaterEqual(sums.functions["a"]["measured"], 3)
        self.assertEqual(sums.functions["b"]["measured"], 0)
        self.assert_exact(sums)


def elf_with_kernel(name, padding):
    """A cubin as far as the simulated driver looks: a symbol table with one entry point."""
    names = b"\0" + name.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 1, 0, 16)
    body = names + bytes(-len(names) % 8) + symbols + bytes(padding)
    table = 64 + len(body)
    sections = [
        struct.pack("<IIQQQQIIQQ", *([0] * 10)),
        struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), 0, 0, 1, 0),
        struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, table - len(symbols) - padding, len(symbols), 1, 1, 8, 24),
    ]
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01" + bytes(9), 2, 190, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 1
    )
    return header + body + b"".join(sections)


class ImagesTest(CoalescingCase):
    def images(self):
        found = sorted(glob.glob(os.path.join(self.only_trace().path, "image-*")))
        return [(os.path.basename(path), pathlib.Path(path).read_bytes()) for path in found]

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_code_from_memory_is_saved_once(self):
        one, two = elf_with_kernel("k", 1000), elf_with_kernel("k", 2000)
        fat = (
            struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 + len(one))
            + struct.pack("<HHIQ", 2, 0x101, 64, len(one))
            + bytes(48)
            + one
        )
        paths = [self.write(f"code{i}", data + b"behind") for i, data in enumerate((one, one, two, fat))]
        self.play(" ".join(f"image {path}" for path in paths))
        self.assertEqual(
            self.images()[1:], [("image-1", one), ("image-2", two), ("image-3", fat)]
        )  # behind the program's own

    def test_not_without_the_option(self):
        path = self.write("code", elf_with_kernel("k", 10))
        self.play(f"image {path}", env={"GPUMEMTRACE_COALESCING": "0"})
        self.assertEqual(self.images(), [])


if __name__ == "__main__":
    interposed_case.main()
