# SPDX-License-Identifier: Apache-2.0
"""Traces that lost a part: what the report says of it, and that it is never taken for clean."""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import time
import unittest

from command_case import CommandCase, flat

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
END_IS_MISSING = "the end of the log is missing"


class Damage(CommandCase):
    def copy(self, name="first_steps.plain.static"):
        (trace,) = (FIXTURES / name).glob("gpumemtrace.*")
        return self.copy_of(trace)

    def copy_of(self, trace):
        copy = pathlib.Path(self.folder) / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(trace, copy)
        for path in [copy, *copy.iterdir()]:
            path.chmod(0o755)
        return copy

    def log_of(self, copy):
        (log,) = copy.glob("t*.log")
        return log

    def report(self, copy, *words):
        return self.run_command("report", *words, str(copy))

    def test_whole(self):
        for name in (
            "first_steps.plain.static",
            "first_steps.clean.static",
            "killed.kill.static",
            "killed.abort.static",
            "killed.plain.static",
            "killed.illegal.static",
        ):
            self.assertNotIn(END_IS_MISSING, flat(self.report(self.copy(name)).stdout), name)
        for trace in FIXTURES.glob("threads_and_forks.*/gpumemtrace.*"):
            self.assertNotIn(END_IS_MISSING, flat(self.report(trace).stdout), trace)

    def test_no_log(self):
        copy = self.copy()
        self.log_of(copy).unlink()
        result = self.report(copy)
        self.assertEqual(result.returncode, 3, result)
        self.assertIn("nothing was checked", result.stderr)
        self.assertEqual(self.report(copy, "--format", "json", "--output", "report.json").returncode, 3)

    def test_a_packed_log_of_nothing(self):
        """Frames of zeros, 50 bytes for a MiB each: 40 GiB in 2 MB, which is read no further than a log can be."""
        copy = self.copy()
        log = self.log_of(copy)
        zeros = bytes(16384 * 64)
        frame = subprocess.run(["zstd", "-q", "-c"], input=zeros, capture_output=True, check=True).stdout
        packed = struct.pack("<II", 16384, len(frame)) + frame
        log.with_name(log.name + ".zst").write_bytes(log.read_bytes()[:4096] + packed * 40_000 + bytes(8))
        log.unlink()
        began = time.monotonic()
        result = self.report(copy)
        self.assertLess(time.monotonic() - began, 10)
        self.assertIn("damaged", flat(result.stdout))

    def as_of_1_5(self, trace):
        """Since that version orders without a record have a reason; nothing else changed for these traces."""
        copy = self.copy_of(trace)
        info = (copy / "info").read_text()
        (copy / "info").write_text(re.sub(r"^format=1\.\d+$", "format=1.5", info, flags=re.MULTILINE))
        return copy

    def test_nothing_is_missing_from_whole_traces(self):
        for trace in sorted(FIXTURES.glob("*/gpumemtrace.*")):
            result = self.report(self.as_of_1_5(trace), "--no-symbols")
            self.assertIn(result.returncode, (0, 1), (trace, result))
            self.assertNotIn("missing", result.stderr, trace)
            self.assertNotIn("missing from the trace", flat(result.stdout), trace)

    def with_threads(self):
        return self.as_of_1_5(
            max(
                (FIXTURES / "threads_and_forks.clean.static").glob("gpumemtrace.*"),
                key=lambda trace: len(list(trace.glob("t*.log"))),
            )
        )

    def test_a_threads_log_is_gone(self):
        copy = self.with_threads()
        self.assertEqual(self.report(copy).returncode, 0)
        logs = sorted(copy.glob("t*.log"))
        self.assertGreater(len(logs), 7)
        for log in logs:
            kept = log.rename(copy / "elsewhere")
            result = self.report(copy)
            self.assertIn(result.returncode, (1, 3), (log, result))  # 1: a leak, whose free is gone
            text = flat(result.stdout)
            self.assertIn("mistakes in calls there were not seen", text)
            if log.name.split("-")[1] != "0.0.log":  # main's holds hardly a call of its own, and is known by its number
                self.assertRegex(text, r"\d+ records are missing from the trace")
                self.assertRegex(text, r"\d+ events lost \(missing from the trace \d+\)")
            if result.returncode == 3:
                self.assertIn("is not complete", result.stderr)
            kept.rename(log)

    def test_check_does_not_call_it_clean(self):
        copy = self.with_threads()
        script = (
            f"cp -r {copy} gpumemtrace.app.host.1; cd gpumemtrace.app.host.1;"
            "sed -i s/^run=.*/run=$GPUMEMTRACE_RUN/ info; $1"
        )
        for action, status in (("true", 0), ("rm t*-3.0.log", 23)):
            shutil.rmtree(pathlib.Path(self.folder) / "gpumemtrace.app.host.1", ignore_errors=True)
            result = self.run_command(
                "check", "--only", "double-free", "--device", "real", "sh", "-c", script, "sh", action
            )
            self.assertEqual(result.returncode, status, result)
            self.assertEqual("the check fails: process" in flat(result.stderr), status != 0, result)

    def test_nothing_is_packed_of_no_trace(self):
        result = self.run_command("pack", "nothing")
        self.assertEqual((result.returncode, result.stderr), (3, "gpumemtrace: no such trace: nothing\n"))

    def test_useless_logs(self):
        for content in (b"", b"\0" * 4096, bytes(range(256)) * 64):
            copy = self.copy()
            self.log_of(copy).write_bytes(content)
            result = self.report(copy)
            self.assertEqual(result.returncode, 3, result)
            self.assertIn("nothing was checked", result.stderr)

    def test_a_program_without_calls_did_not_pass(self):
        copy = self.copy()
        log = self.log_of(copy).read_bytes()
        is_exit = [at for at in range(4096, len(log), 64) if log[at] == 6]  # Kind::kExit, with the whole head
        self.assertEqual(len(is_exit), 1)
        self.log_of(copy).write_bytes(log[:4096] + log[is_exit[0] : is_exit[0] + 64])
        result = self.report(copy)
        self.assertEqual((result.returncode, result.stderr), (1, ""), result)
        self.assertIn("no CUDA call was seen", flat(result.stdout))

    def test_cut_between_records(self):
        copy = self.copy()
        os.truncate(self.log_of(copy), 7232)
        result = self.report(copy, "--only", "leak")
        text = flat(result.stdout)
        self.assertIn(f"{END_IS_MISSING}: {self.log_of(copy).name} ends where records may follow", text)
        self.assertIn("blocks may have been freed there", text)
        self.assertIn("mistakes in calls there were not seen", text)
        self.assertNotIn("never freed", text)
        self.assertEqual(result.returncode, 3, result)
        self.assertIn("is not complete", result.stderr)
        page = self.report(copy, "--only", "leak", "--format", "markdown").stdout
        self.assertIn("**Failed**", page)

    def test_an_end_that_no_record_says(self):
        """As of a program that leaves by the system call alone: the log has room left, and nothing is missing."""
        copy = self.copy()
        os.truncate(self.log_of(copy), 7232)
        os.truncate(self.log_of(copy), 65536)
        result = self.report(copy, "--only", "leak")
        text = flat(result.stdout)
        self.assertIn(f"{END_IS_MISSING} (the process exited, and no record says so)", text)
        self.assertIn("a block listed as leaked may have been freed there", text)
        self.assertIn("never freed", text)
        self.assertEqual(result.returncode, 1, result)

    def test_cut_in_the_header(self):
        for size in (64, 3936, 4095):
            copy = self.copy()
            os.truncate(self.log_of(copy), size)
            result = self.report(copy)
            self.assertEqual(result.returncode, 3, result)
            self.assertIn("could not be read: it is shorter than its header", flat(result.stdout))

    def test_names(self):
        for content in (None, b"", b"\x1b[31m\x07\xff\n" * 300):
            copy = self.copy()
            if content is None:
                (copy / "apis").unlink()
            else:
                (copy / "apis").write_bytes(content)
            text = self.report(copy).stdout
            self.assertIn("names", flat(text.split("not checked:")[1]))
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f]")
        copy = self.copy()
        apis = (copy / "apis").read_text().splitlines()
        (copy / "apis").write_text("\n".join(apis[:10]) + "\n")
        self.assertIn("the trace's file 'apis' is missing or damaged", flat(self.report(copy).stdout))
        for content in (b"", b"\x1b[31m\x07\xff\n" * 300):
            copy = self.copy()
            (copy / "modules").write_bytes(content)
            text = self.report(copy, "--no-symbols").stdout
            self.assertIn("the trace's file 'modules' is missing or damaged", flat(text))
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f]")


if __name__ == "__main__":
    unittest.main()
