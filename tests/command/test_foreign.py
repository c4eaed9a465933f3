# SPDX-License-Identifier: Apache-2.0
"""Traces that another user made: nothing is written through links, nothing is stored in them, and no file keeps the
reader waiting. The owner is changed where the test may do so (root)."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command_case import COMMAND, PROGRAM, CommandCase, flat

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
OTHER = 65534
SECRET = "what the reader keeps\n"


class Foreign(CommandCase):
    def setUp(self):
        super().setUp()
        self.base = pathlib.Path(self.folder)
        self.secret = self.base / "bashrc"
        self.secret.write_text(SECRET)

    def fixture(self, dump=False):
        """A trace with a core dump of a GPU, or one that a run of a sample left."""
        shutil.rmtree(self.base / "foreign", ignore_errors=True)
        if not dump:
            (whole,) = (FIXTURES / "first_steps.plain.static").glob("gpumemtrace.*")
            return pathlib.Path(shutil.copytree(whole, self.base / "foreign"))
        trace = self.base / "foreign"
        trace.mkdir()
        child = subprocess.Popen(["true"])
        child.wait()
        (trace / "info").write_text(
            f"format=1.5\nrun=1\npid={child.pid}\nhost={os.uname().nodename.split('.')[0]}\nexe=/bin/app\n"
            "argc=1\narg.0=app\ndevice=real\noption.core_dump=1\noption.keep_core_dump=0\ncore_dump=on\n"
        )
        (trace / "apis").write_text("cuInit\n")
        (trace / "complete").write_text("how=signalled\nstatus=0\nsignal=6\ncore=0\n")
        shutil.copy(FIXTURES / "core_dumps" / "misaligned.core", trace / "gpu-core.4711")
        return trace

    def planted(self, trace, *names):
        """Reports on the trace after links to the secret were made in it; $$ is the pid of the command."""
        links = "; ".join(f'ln -sf "{self.secret}" "{trace}/{name}"' for name in names)
        words = f'{links or ":"}; exec "{COMMAND}" report --format json "{trace}"'
        return subprocess.run(
            ["sh", "-c", words],
            check=False, text=True, timeout=60, env=self.environment, cwd=self.folder, capture_output=True,
        )  # fmt: skip

    def faults(self, done):
        return [f["kind"] for f in json.loads(done.stdout)["findings"] if f["fault"]]

    def temporary_names(self):
        for file in ("core-dump", "symbols", "code", "complete"):
            yield from (file + end for end in (".$$.tmp", ".new", ".$$.0.tmp", ".$$.1.tmp"))

    def test_no_link_of_a_temporary_name_is_followed(self):
        trace = self.fixture(dump=True)
        done = self.planted(trace, *self.temporary_names())
        self.assertEqual(self.secret.read_text(), SECRET)
        self.assertEqual(self.faults(done), ["kernel-misaligned"])
        self.assertTrue((trace / "core-dump").is_file() and not (trace / "core-dump").is_symlink())

    def test_a_link_of_the_files_own_name_is_replaced(self):
        trace = self.fixture(dump=True)
        done = self.planted(trace, "core-dump", "symbols", "code", "complete")
        self.assertEqual(self.secret.read_text(), SECRET)
        self.assertEqual(self.faults(done), ["kernel-misaligned"])
        self.assertFalse((trace / "core-dump").is_symlink())

    def test_nothing_is_stored_in_the_trace_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a folder away")
        for dump, kinds in ((True, ["kernel-misaligned"]), (False, None)):
            trace = self.fixture(dump)
            (trace / "symbols").unlink(missing_ok=True)
            for path in (trace, *trace.iterdir()):
                os.chown(path, OTHER, OTHER)
            before = sorted(os.listdir(trace))
            done = self.planted(trace)
            self.assertEqual(sorted(os.listdir(trace)), before)
            if kinds:
                self.assertEqual(self.faults(done), kinds)
                self.assertIn("the folder belongs to another user", flat(done.stderr))
                text = flat(self.run_command("report", str(trace)).stdout)
                self.assertIn("kernel-misaligned", text)
            for other in ("dump", "follow"):
                self.run_command(other, str(trace))
            self.assertEqual(sorted(os.listdir(trace)), before)

    def odd_files(self, trace, name):
        """Each kind of file that is none, in the place of one."""
        path = trace / name
        keep = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        for kind in ("pipe", "link", "zeros", "folder"):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
            if kind == "pipe":
                os.mkfifo(path)
            elif kind == "folder":
                path.mkdir()
            else:
                path.symlink_to(self.secret if kind == "link" else "/dev/zero")
            yield kind
        path.rmdir()
        path.write_bytes(keep)

    def test_no_file_keeps_the_reader_waiting(self):
        trace = self.fixture()
        names = sorted(os.listdir(trace)) + [
            "core-dump", "code", "gpu-core.1", "device-0.log", "device-0.ring", "access-1.log", "image-0", "t9-9.log"
        ]  # fmt: skip
        for name in dict.fromkeys(names):
            for kind in self.odd_files(trace, name):
                with self.subTest(name=name, kind=kind):
                    done = self.run_command("report", str(trace))
                    self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                    self.assertNotIn(SECRET.strip(), done.stdout + done.stderr)
                    if kind == "pipe":
                        for words in (["dump"], ["report", "--format", "html"]):
                            self.assertIn(self.run_command(*words, str(trace)).returncode, (0, 1, 3))
        self.assertEqual(self.secret.read_text(), SECRET)

    def test_the_log_of_a_thread_is_no_link(self):
        trace = self.fixture()
        for log in list(trace.glob("t*.log")):
            log.rename(self.base / log.name)
            log.symlink_to(self.base / log.name)
        self.assertIn("end: 0 records", self.run_command("dump", str(trace)).stdout)

    def test_how_a_program_ended_is_not_written_through_a_link(self):
        self.environment["FAKE_TRACE"] = "app"
        links = "".join(
            f'for t in gpumemtrace.*; do ln -sf "{self.secret}" "$t/{name}"; done; '
            for name in ("complete", "complete.new", "complete.$PPID.tmp", "complete.$PPID.0.tmp")
        )
        self.run_command("record", "--device", "real", "sh", "-c", f"{PROGRAM}; {links}")
        self.assertEqual(self.secret.read_text(), SECRET)
        endings = [path for path in self.base.glob("gpumemtrace.*/complete") if not path.is_symlink()]
        self.assertTrue(any(re.search("how=exited", path.read_text()) for path in endings))

    def test_files_that_the_user_names(self):
        trace = self.fixture()
        for word in ("base.json.new", "base.json.partial", "base.db.partial"):
            (self.base / word).symlink_to(self.secret)
        self.run_command("report", "--baseline", "base.json", "--update-baseline", str(trace))
        self.run_command("report", "--format", "sqlite=base.db", str(trace))
        self.assertEqual(self.secret.read_text(), SECRET)
        self.assertEqual((self.base / "base.db").read_bytes()[:13], b"SQLite format")
        self.assertGreater((self.base / "base.json").stat().st_size, 100)


if __name__ == "__main__":
    unittest.main()
