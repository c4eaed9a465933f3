# SPDX-License-Identifier: Apache-2.0
"""Numbers in a trace that another user wrote: none of them takes a report more than a gigabyte or half a minute, and what
is left out is counted (docs/traces.md)."""

import json
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import time
import unittest
import zlib

from command_case import COMMAND, CommandCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trace_schema import RECORDS  # noqa: E402

GIGABYTE = 1 << 30
SECONDS = 60  # with the address sanitizer, on a busy machine
NUMBERS = {what: number.number for what, number in RECORDS.items()}


def record(kind, words, order=0, stack=0, context=1, api=0, result=0):
    """The slots of a record."""
    words = list(words)
    slots = 1 + max(0, len(words) - 4 + 6) // 7
    words += [0] * (4 + 7 * (slots - 1) - len(words))
    head = NUMBERS[kind] | slots << 8 | api << 16 | result << 48
    data = struct.pack("<QQQIHH4Q", head, order, order + 1, stack, context, 0xFFFF, *words[:4])
    for i in range(slots - 1):
        data += struct.pack("<8Q", 1, *words[4 + 7 * i : 11 + 7 * i])
    return data


class Limits(CommandCase):
    def make_trace(self, records, modules="", name="gpumemtrace.app.host.1"):
        trace = pathlib.Path(self.folder) / name
        shutil.rmtree(trace, ignore_errors=True)
        trace.mkdir()
        (trace / "info").write_text(
            "format=1.5\ntool=test\nrun=1\npid=1\nhost=h\nexe=/bin/app\nargc=1\narg.0=app\ndevice=real\n"
            "tsc=1\nmonotonic_ns=1\nrealtime_ns=1\nstack_depth=32\n"
        )
        (trace / "apis").write_text("cuMemAlloc_v2\ncuMemFree_v2\n")
        (trace / "modules").write_text(modules)
        (trace / "complete").write_text(
            "how=exited\nstatus=0\nsignal=0\ncore=0\ntsc=9000000000\nmonotonic_ns=9000000000\n"
        )
        header = b"GMTLOG1\n" + struct.pack("<IIIIQQ", 1, 5, 1, 1, 1, 1)
        with open(trace / "t1-0.0.log", "wb") as log:
            log.write(header.ljust(4096, b"\0"))
            for data in records:
                log.write(data)
            log.write(record("exit", [1, 0]))
        return trace

    def measured(self, *words):
        """The output, and the bytes of memory that it took."""
        output = pathlib.Path(self.folder) / "output"
        begun = time.monotonic()
        with open(output, "wb") as file:
            child = subprocess.Popen([COMMAND, *words], stdout=file, stderr=subprocess.DEVNULL, env=self.environment)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(child.returncode, (0, 1), words)
        if "sanitize" not in os.environ.get("GMT_BUILD", ""):
            self.assertLess(usage.ru_maxrss * 1024, GIGABYTE, words)
        self.assertLess(time.monotonic() - begun, SECONDS, words)
        return output.read_text(errors="replace")

    def report(self, trace):
        return json.loads(self.measured("report", "--format", "json", str(trace)))

    def not_checked(self, report):
        return " | ".join(f"{entry['what']}: {entry['why']}" for entry in report["not_checked"])

    def allocation(self, order, stack=0, context=1):
        return record("alloc", [0x7F0000000000 + 512 * order, 256, 1, 0], order=order, stack=stack, context=context)

    def test_ordinals_of_devices(self):
        for ordinal in (70_000, 1 << 26, (1 << 31) - 2, (1 << 32) + 5, 1 << 63, (1 << 64) - 2):
            with self.subTest(ordinal=ordinal):
                trace = self.make_trace(
                    [
                        record("context", [0xC1, ordinal, 1], context=1),
                        record("device", [ordinal, 1 << 34, 512, 32, 512, 0, 0, 0, 0]),
                        record("life", [ordinal, 2, 4, 0xC1], order=1),
                        *(self.allocation(order) for order in range(2, 50)),
                    ]
                )
                for form in ("json", "html", "text"):
                    self.measured("report", "--format", form, str(trace))
                self.assertIn("damaged", self.not_checked(self.report(trace)))

    def test_object_files(self):
        begin = 0x7F0000000000
        lines = [
            f"+\t{i:x}\t{begin + i * 4096:x}\t{begin + i * 4096 + 4095:x}\t0\tab\t/lib/lib{i}.so\n"
            for i in range(80_000)
        ]
        gone = [f"-\t{100_000 + i:x}\t{begin + i * 4096:x}\n" for i in range(80_000)]
        stacks = [record("stack", [i + 1, 3, begin + i * 4096 + 9, begin + 17, begin + 33]) for i in range(2000)]
        calls = [self.allocation(i + 1, stack=i + 1) for i in range(2000)]
        trace = self.make_trace(stacks + calls, "".join(lines + gone))
        report = self.report(trace)
        self.assertIn("71808 object files of 80000", self.not_checked(report).replace(",", ""))

    def test_call_stacks(self):
        chance = random.Random(1)
        count = 131_072
        addresses = [0x400000 + 16 * i for i in range(256)]

        def records():
            for i in range(1, count + 1):
                inner = [addresses[i & 0xFF], addresses[i >> 8 & 0xFF], addresses[i >> 16]]
                yield record("stack", [i, 24, *inner, *chance.choices(addresses, k=13), *addresses[:8]])
                yield self.allocation(i, stack=i)

        trace = self.make_trace(records(), "+\t1\t400000\t500000\t400000\tab\t/bin/app\n")
        report = self.report(trace)
        said = self.not_checked(report)
        self.assertIn("98304 call stacks are known by the outermost frames alone", said.replace(",", ""))
        self.assertIn("not listed: a report has 8192 findings", said)
        leaked = sum(f["bytes"] for f in report["findings"] if f["kind"] == "leak")
        self.assertGreater(leaked, 256 * 8000)
        self.assertEqual(report["totals"]["allocations"], count)
        page = self.measured("report", "--format", "html", str(trace))
        self.assertLess(len(page), 30 << 20)
        self.measured("report", "--tables", "all", str(trace))
        self.assertEqual({f["severity"] for f in report["findings"] if f["kind"] == "leak"}, {"error"})
        with open(trace / "modules", "a") as modules:  # whose frames may be among those that are gone
            modules.write("+\t1\t600000\t700000\t600000\tac\t/venv/torch/lib/libc10_cuda.so\n")
        excused = [f for f in self.report(trace)["findings"] if "caching allocator may hold it" in f["message"]]
        self.assertEqual({f["severity"] for f in excused}, {"note"})

    def test_text_files(self):
        trace = self.make_trace([self.allocation(i) for i in range(1, 9)])
        with open(trace / "info", "a") as info:
            for i in range(1_500_000):
                info.write(f"option.{i}=1\n")
        with open(trace / "core-dump", "w") as dumps:
            dumps.write("dump\t1\t-\t-\nfault\t1\twarp\t1\t-\t-\t-\t-\t-\t1\t1\t1\t1\t1\n" * 400_000)
        (trace / "complete").write_text("how=exited\n" * 3_000_000)
        with open(trace / "symbols", "w") as symbols:
            for i in range(2_000_000):
                symbols.write(f"{i:x}\t1\t0\t1\tf\tg\th\t0\n")
        self.assertIn("of the trace's file core-dump", self.not_checked(self.report(trace)))

    def test_names_cannot_steer_a_terminal(self):
        bad = b"\x1b[2J\x1b]0;owned\x07\r\x7f"
        words = [0xF00, len(bad), *struct.unpack("<2Q", bad.ljust(16, b"\0"))]
        trace = self.make_trace(
            [record("name", words), record("launch", [0xF00, 0, 1, 1], order=1), self.allocation(2)],
            "+\t1\t400000\t500000\t400000\tab\t/bin/" + bad.decode("latin1") + "\n",
            name="gumptrace\x1b[31m",
        )
        with open(trace / "info", "ab") as info:
            info.write(b"exe=/bin/" + bad + b"\narg.0=" + bad + b"\nhost=" + bad + b"\n")
        for words in (["dump"], ["report"], ["report", "--tables", "all"], ["follow"], ["top", "--once"]):
            done = self.run_command(*words, str(trace))
            for sign in ("\x1b", "\x07", "\r", "\x7f"):
                self.assertNotIn(sign, done.stdout + done.stderr, words)

    def test_many_live_blocks(self):
        """What all of them change would not fit: the report is on the first of them."""
        one = bytearray(self.allocation(1))

        def records():
            for i in range(1, 14_000_000 + 1):
                struct.pack_into("<QQ", one, 8, i, i + 1)
                struct.pack_into("<Q", one, 32, 0x7F0000000000 + 512 * i)
                yield one

        free = shutil.disk_usage(self.folder).free
        if os.environ.get("GMT_LONG_TESTS") != "1" or free < 3 * GIGABYTE:
            self.skipTest("a gigabyte of trace: GMT_LONG_TESTS=1 runs it")
        report = self.report(self.make_trace(records()))
        self.assertIn("are left out: what all of them change would take more than", self.not_checked(report))
        self.assertFalse([f for f in report["findings"] if f["severity"] == "error"])


class DebugData(CommandCase):
    """Debug data of a program, compressed a thousand to one."""

    def program_with(self, section, raw):
        """A program whose section says that it unpacks to so many bytes, and does."""
        cc = shutil.which("cc") or shutil.which("gcc")
        if cc is None:
            self.skipTest("no compiler")
        base = pathlib.Path(self.folder)
        (base / "p.c").write_text("int main(void) { return 0; }\n")
        program = base / "program"
        subprocess.run([cc, "-g", base / "p.c", "-o", program], check=True)
        packer = zlib.compressobj(9)
        packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(raw >> 20)) + packer.flush()
        data = bytearray(program.read_bytes())
        (headers,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<3H", data, 58)
        (texts,) = struct.unpack_from("<Q", data, headers + names * size + 24)
        changed = 0
        for at in range(headers, headers + count * size, size):
            name = texts + struct.unpack_from("<I", data, at)[0]
            if bytes(data[name:]).split(b"\0", 1)[0] != section.encode():
                continue
            (flags,) = struct.unpack_from("<Q", data, at + 8)
            struct.pack_into("<Q", data, at + 8, flags | 0x800)  # SHF_COMPRESSED
            struct.pack_into("<QQ", data, at + 24, len(data), 24 + len(packed))
            changed += 1
        self.assertEqual(changed, 1)
        program.write_bytes(bytes(data) + struct.pack("<IIQQ", 1, 0, raw, 1) + packed)  # zlib
        return program

    def test_compressed_sections(self):
        program = self.program_with(".debug_str", 700 << 20)
        limits = Limits("test_ordinals_of_devices")
        limits.setUp()
        self.addCleanup(limits.doCleanups)
        stack = record("stack", [1, 2, 0x401005, 0x401009])
        trace = limits.make_trace(
            [stack, limits.allocation(1, stack=1)], f"+\t1\t400000\t500000\t400000\t-\t{program}\n"
        )
        report = limits.report(trace)
        self.assertIn("its debug data would take too much memory", limits.not_checked(report))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()
