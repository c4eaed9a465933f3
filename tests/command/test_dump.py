# SPDX-License-Identifier: Apache-2.0
"""`dump`: every event as one line, from a trace written here word by word."""

import os
import struct
import subprocess
import unittest

from command_case import COMMAND, CommandCase

NO_API = 0xFFFF
STACK, NAME, ALLOC, FREE, COPY, LAUNCH = 3, 4, 16, 17, 18, 20
ACCESS_FUNCTION, ACCESS_INSTRUCTION, ACCESS_WINDOWS = 40, 41, 42
KERNEL, DEVICE, MEMORY_INFO, RANGE, TEXT, LIFE, SYNC, USE = 8, 9, 10, 11, 12, 21, 22, 24


def slot(kind, order, api, words, *, slots=1, result=0, stack=0, via=NO_API, flags=0):
    head = kind | slots << 8 | api << 16 | flags << 32 | result << 48
    return struct.pack("<QQQIHH4Q", head, order, 1000 + order, stack, 1, via, *(words + [0] * 4)[:4])


def more(words):
    return struct.pack("<8Q", 1 | 1 << 8, *(words + [0] * 7)[:7])


class Dump(CommandCase):
    def setUp(self):
        super().setUp()
        self.trace = os.path.join(self.folder, "gpumemtrace.app.host.7")
        os.mkdir(self.trace)
        self.write(
            "info", "format=1.0\ntool=test\nrun=1\npid=7\nhost=host\nexe=/bin/app\nargc=1\narg.0=app\ndevice=real\n"
        )
        self.write("apis", "cuMemAlloc_v2\ncudaMalloc\ncuMemFree_v2\ncuLaunchKernel\ncuMemcpy2D_v2\n")
        self.write("modules", "")

    def write(self, name, text):
        with open(os.path.join(self.trace, name), "w", encoding="utf-8") as file:
            file.write(text)

    def write_log(self, *slots, log="t7-0.log"):
        header = b"GMTLOG1\n" + struct.pack("<IIIIQQ8Q", 1, 0, 7, 7, 1, 1, *[0] * 8)
        with open(os.path.join(self.trace, log), "wb") as file:
            file.write(header.ljust(4096, b"\0") + b"".join(slots))

    def test_what_instructions_did_to_memory(self):
        name = list(struct.unpack("<Q", b"step\0\0\0\0"))
        unknown = 2**64 - 1
        self.write_log(slot(NAME, 1, NO_API, [0x55, 4, *name]))
        self.write_log(
            slot(ACCESS_WINDOWS, 0, NO_API, [3, 27, 5, 4], slots=2),
            more([1, 90, 30, 7, 1000, 2, 6]),
            slot(TEXT, 0, NO_API, [9, 4, *name]),
            slot(ACCESS_FUNCTION, 0, NO_API, [1, 9, 0xABC, 12], slots=2),
            more([3, 90]),
            slot(ACCESS_INSTRUCTION, 0, NO_API, [1 | 0x120 << 32, 64, 2048, 256], slots=2),
            more([64, 8192, unknown, unknown, 0, 5]),
            log="access-0.log",
        )
        result = self.run_command("dump", self.trace)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(
            result.stdout.splitlines()[1:-1],
            [
                "access-0 windows trouble=busy code=27 opened=5 read=4 given-up=1 launches=90 launches-read=30 "
                "launches-given-up=7 open-ns=1000 graph-launches=2 unknown-graphs=0 graphs-in-windows=0 put-off=6 counters-trouble=none counters-code=0 counted=0 counted-lost=0 measuring-ns=0 elapsed-ns=0",
                'access-0 function number=1 name="step" identity=0xabc measured=12 lost=3 launches=90 '
                "measured-shared=12 plain-ns=0 longest-ns=0 too-costly=0",
                "access-0 instruction function=1 offset=0x120 executions=64 threads=2048 sectors=256 ideal-sectors=64 "
                "bytes=8192 wavefronts=- ideal-wavefronts=- shared-bytes=0 local-sectors=5",
            ],
        )

    def test_lines(self):
        name = list(struct.unpack("<Q", b"kernel\0\0"))
        self.write_log(
            slot(STACK, 0, NO_API, [1, 2, 0x1000, 0x2000]),
            slot(ALLOC, 1, 0, [0x7F0000000000, 1024, 1, 0], stack=1, via=1),
            slot(NAME, 2, NO_API, [0x55, 6, *name]),
            slot(LAUNCH, 3, 3, [0x55, 0, 8 | 2 << 32 | 1 << 48, 256 | 1 << 16 | 1 << 32]),
            slot(COPY, 4, 4, [0x7F0000000000, 0x10, 512, 0], slots=2),
            more([64, 32, 32, 16]),
            slot(FREE, 5, 2, [0x7F0000000000, 1, 0, 0], result=1),
        )
        result = self.run_command("dump", self.trace)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(
            result.stdout.splitlines(),
            [
                "stack 1: 0x1000 0x2000",
                "1 t7-0 cuMemAlloc_v2 (cudaMalloc) address=0x7f0000000000 bytes=1024 family=device stream=0x0 "
                "= 0 context=1 stack=1",
                "2 t7-0 name handle=0x55 kernel",
                "3 t7-0 cuLaunchKernel function=0x55:kernel stream=0x0 grid=8x2x1 block=256x1x1 = 0 context=1",
                "4 t7-0 cuMemcpy2D_v2 to=0x7f0000000000 from=0x10 bytes=512 stream=0x0 to-pitch=64 from-pitch=32 "
                "width=32 height=16 = 0 context=1",
                "5 t7-0 cuMemFree_v2 address=0x7f0000000000 by=free stream=0x0 bytes=0 "
                "= CUDA_ERROR_INVALID_VALUE (1) context=1",
                "end: 6 records, 0 lost, 0 torn slots, 0 damaged, 0 of unknown kinds",
            ],
        )

    def test_lines_of_version_1_1(self):
        text = list(struct.unpack("<2Q", b"a\nmade-up device"))
        ticks = (1500 | 3 << 11) << 48  # 12000
        self.write_log(
            slot(TEXT, 1, NO_API, [0x99, 16, *text]),
            slot(DEVICE, 2, NO_API, [0, 1 << 30, 512, 32], slots=2),
            more([512, 0, 0, 90, 1, 0x99, 7]),
            slot(KERNEL, 3, NO_API, [0x55, 2, 0 | 8 << 32, 8 | 4 << 32]),
            slot(LAUNCH, 4, 3, [0x55, 0, 1 | 1 << 32 | 1 << 48, 1 | 1 << 16 | 1 << 32], slots=2),
            more([0x7F0000000000 | 0 << 57, 0, 0x7F0000000100 | 127 << 57]),
            slot(RANGE, 5, NO_API, [1, 0, 0x99, 0]),
            slot(COPY, 6 | ticks, 4, [0x10, 0x20, 64, 0], flags=48),
            slot(MEMORY_INFO, 7, NO_API, [100, 200]),
            slot(USE, 8, 4, [0x1000, 64, 12, 0x77], flags=2, slots=2),
            more([32, 16, 2, 4]),
            slot(LIFE, 9, 4, [0x50, 7, 7, 4], slots=2),
            more([123]),
            slot(SYNC, 10, 4, [0, 0, 12]),
        )
        result = self.run_command("dump", self.trace)
        self.assertEqual(result.returncode, 0, result)
        lines = [line.replace(" context=1", "") for line in result.stdout.splitlines()]
        self.assertEqual(
            lines[:-1],
            [
                '1 t7-0 text id=0x99 "a?made-up device"',
                "2 t7-0 device device=0 bytes=1073741824 texture-alignment=512 texture-pitch=32 surface-alignment=512 "
                'capability=90 concurrent-managed=1 name="a?made-up device" largest-pitch=7',
                "3 t7-0 kernel handle=0x55 parameters=0:8,8:4",
                "4 t7-0 cuLaunchKernel function=0x55 stream=0x0 grid=1x1x1 block=1x1x1 #0=0x7f0000000000 "
                "#?=0x7f0000000100 = 0",
                '5 t7-0 range op=push domain=0 text="a?made-up device" id=0x0',
                "6 t7-0 cuMemcpy2D_v2 to=0x10 from=0x20 bytes=64 stream=0x0 = 0 batched ticks=12000",
                "7 t7-0 memory-info free=100 total=200",
                "8 t7-0 cuMemcpy2D_v2 address=0x1000 bytes=64 class=graph-node stream=0x77 pitch=32 width=16 height=2 "
                "element=4 = 0 writes",
                "9 t7-0 cuMemcpy2D_v2 handle=0x50 class=pool op=set extra=0x4 value=123 = 0",
                "10 t7-0 cuMemcpy2D_v2 stream=0x0 other=0x0 op=external-wait = 0",
            ],
        )

    def test_in_flight(self):
        self.write_log(slot(FREE, 1, 2, [0x10, 1, 0, 0], result=0xFFFF))
        self.assertIn("= in flight", self.run_command("dump", self.trace).stdout)

    def test_a_reader_that_has_gone_is_no_error(self):
        self.write_log(*(slot(FREE, i, 2, [i, 1, 0, 0]) for i in range(1, 50000)))
        with subprocess.Popen(
            [COMMAND, "dump", self.trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment
        ) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(30), 0)

    def test_wrong_use(self):
        self.assert_usage_error(["dump"], "dump takes one trace")
        result = self.run_command("dump", self.folder)
        self.assertEqual(result.returncode, 3, result)
        self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
