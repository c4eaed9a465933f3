# SPDX-License-Identifier: Apache-2.0
"""Core dumps of GPUs in a trace's folder: the command takes the facts from them, deletes them, and reports on them ever
after. The dumps are an H200's (tests/fixtures/core_dumps)."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from command_case import CommandCase, flat

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "core_dumps"


def ended_process():
    """The id of a process that is gone."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


class CoreDumps(CommandCase):
    def make_trace(self, dump, keep=0, state="on", asked="core_dump"):
        trace = pathlib.Path(self.folder) / "gpumemtrace.app.host.1"
        shutil.rmtree(trace, ignore_errors=True)
        trace.mkdir()
        (trace / "info").write_text(
            f"format=1.5\ntool=0.1.0\nrun=1\npid={ended_process()}\nhost={os.uname().nodename.split('.')[0]}\n"
            f"exe=/bin/app\nargc=1\narg.0=app\ndevice=real\noption.{asked}=1\noption.keep_core_dump={keep}\n"
            + (f"core_dump={state}\n" if state else "")
        )
        (trace / "apis").write_text("cuInit\n")
        (trace / "complete").write_text("how=signalled\nstatus=0\nsignal=6\ncore=0\n")
        if dump is not None:
            data = dump if isinstance(dump, bytes) else (FIXTURES / f"{dump}.core").read_bytes()
            (trace / "gpu-core.4711").write_bytes(data)
        return trace

    def report(self, trace):
        done = self.run_command("report", "--format", "json", str(trace))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def test_each_dump_is_named(self):
        expected = {
            "misaligned": ("kernel-misaligned", "misaligned(char*) writes 4 bytes at", "faults.cu", 9),
            "asserting": ("kernel-assert", "An assert in asserting(int) at faults.cu:10 failed", "faults.cu", 10),
            "trapping": ("kernel-fault", "trapping(int) stopped at faults.cu:11 by a trap", "faults.cu", 11),
            "sharedbad": ("kernel-out-of-bounds", "outside of the shared memory of its block", "faults.cu", 15),
            "overflowing": ("kernel-fault", "outside of the local memory of its thread", "faults.cu", 12),
            "twolines": ("kernel-out-of-bounds", "reads 4 bytes at 0x7f2b99e00000", "faults.cu", 17),
            "graph": ("kernel-out-of-bounds", "reads 4 bytes at 0x7f6b93e00000", "faults.cu", 17),
            "inlined": ("kernel-out-of-bounds", "reads 4 bytes at", "more_faults.cu", 7),
            "badatomic": ("kernel-out-of-bounds", "0x7f05d3e00000", "device_atomic_functions.hpp", 107),
        }
        for dump, (kind, words, file, line) in expected.items():
            with self.subTest(dump=dump):
                findings = [f for f in self.report(self.make_trace(dump))["findings"] if f["fault"]]
                self.assertEqual([f["kind"] for f in findings], [kind])
                self.assertIn(words, findings[0]["message"])
                frame = findings[0]["stacks"][0]["frames"][0]
                self.assertEqual((pathlib.Path(frame["file"]).name, frame["line"]), (file, line))
                self.assertEqual(findings[0]["fault"]["source"], "core dump")

    def test_the_dump_is_deleted_and_its_facts_stay(self):
        trace = self.make_trace("misaligned")
        first = self.report(trace)
        self.assertFalse((trace / "gpu-core.4711").exists())
        self.assertTrue((trace / "core-dump").exists())
        self.assertEqual(self.report(trace), first)

    def test_keep_core_dump(self):
        trace = self.make_trace("misaligned", keep=1)
        first = self.report(trace)
        self.assertTrue((trace / "gpu-core.4711").exists())
        self.assertEqual(self.report(trace), first)

    def test_what_cannot_be_read_is_not_checked(self):
        whole = (FIXTURES / "misaligned.core").read_bytes()
        for dump in (b"", b"no dump", whole[: len(whole) // 2]):
            text = flat(self.run_command("report", str(self.make_trace(dump))).stdout)
            self.assertIn("lines of kernel faults of a core dump of the GPU", text)

    def test_why_no_dump_was_asked_for(self):
        for state, words in {
            "program": "the program has settings of its own for core dumps",
            "debugger": "a debugger was attached",
            "no-room": "--max-trace leaves no room",
            "unknown-flags": "it is older than 12.5",
            "refused": "the driver refused",
        }.items():
            text = flat(self.run_command("report", str(self.make_trace(None, state=state))).stdout)
            self.assertIn(words, text)

    def test_the_fence_asks_too(self):
        findings = self.report(self.make_trace("misaligned", asked="guard"))["findings"]
        self.assertEqual([f["kind"] for f in findings if f["fault"]], ["kernel-misaligned"])
        text = flat(self.run_command("report", str(self.make_trace(None, state="refused", asked="guard"))).stdout)
        self.assertIn("lines of kernel faults", text)
        self.assertIn("the driver refused", text)

    def test_the_fence_says_nothing_of_a_process_without_a_context(self):
        for asked, said in (("core_dump", True), ("guard", False), ("guard_sample", False)):
            text = flat(self.run_command("report", str(self.make_trace(None, state="", asked=asked))).stdout)
            self.assertEqual("lines of kernel faults" in text, said, asked)

    def test_the_end_by_the_driver_is_explained(self):
        words = "The driver ended the program with SIGABRT (status 134)"
        self.assertIn(words, self.report(self.make_trace("misaligned"))["findings"][0]["advice"])
        (trace := self.make_trace("misaligned")).joinpath("complete").write_text("how=exited\nstatus=0\n")
        self.assertNotIn(words, self.report(trace)["findings"][0]["advice"])

    def test_a_link_is_left_alone(self):
        trace = self.make_trace(None)
        target = pathlib.Path(self.folder) / "elsewhere"
        shutil.copy(FIXTURES / "misaligned.core", target)
        (trace / "gpu-core.4711").symlink_to(target)
        self.run_command("report", str(trace))
        self.assertTrue(target.exists())
        self.assertFalse((trace / "core-dump").exists())


if __name__ == "__main__":
    unittest.main()
