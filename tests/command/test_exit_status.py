# SPDX-License-Identifier: Apache-2.0
"""The status that the command returns, and the program's own streams."""

import os
import signal
import unittest

from command_case import PROGRAM, CommandCase, flat


class ExitStatus(CommandCase):
    def test_the_programs_own(self):
        for command in ("run", "check", "record"):
            for status in (1, 7, 23, 255):
                self.assertEqual(self.run_command(command, PROGRAM, "exit", str(status)).returncode, status)
        self.assertEqual(self.run_command("run", PROGRAM).returncode, 0)
        self.assertEqual(self.run_command("record", PROGRAM).returncode, 0)

    def test_dies_by_the_programs_signal(self):
        for command in ("run", "check", "record"):
            for number in (
                signal.SIGTERM,
                signal.SIGKILL,
                signal.SIGSEGV,
                signal.SIGABRT,
                signal.SIGINT,
                signal.SIGPIPE,
            ):
                result = self.run_command(command, PROGRAM, "signal", str(int(number)))
                self.assertEqual(result.returncode, -number, result)

    def test_not_found(self):
        for word in ("no-such-program", "./no-such-program", "/nowhere/program"):
            result = self.run_command(word)
            self.assertEqual(result.returncode, 127, result)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertIn(word, result.stderr)

    def test_hints(self):
        self.assertIn("'gpumemtrace check'", self.run_command("chek", "true").stderr)
        self.assertIn("comes first", self.run_command("--color", "never", "check", "true").stderr)
        os.symlink(PROGRAM, os.path.join(self.folder, "app"))
        self.assertIn("did you mean './app'?", self.run_command("app").stderr)

    def test_not_executable(self):
        path = os.path.join(self.folder, "data")
        with open(path, "w", encoding="utf-8") as file:
            file.write("data\n")
        for word in ("./data", self.folder):
            result = self.run_command(word)
            self.assertEqual(result.returncode, 126, result)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("is a directory", self.run_command(self.folder).stderr)
        self.assertIn("chmod +x", self.run_command("./data").stderr)

    def script(self, first_line):
        path = os.path.join(self.folder, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(first_line + "exit $1\n")
        os.chmod(path, 0o755)

    def test_scripts(self):
        self.script("#!/bin/sh\n")
        self.assertEqual(self.run_command("./script", "5").returncode, 5)
        self.script("")  # as shells do
        self.assertEqual(self.run_command("./script", "6").returncode, 6)
        self.script("#!/nowhere/sh\n")
        result = self.run_command("./script", "6")
        self.assertEqual(result.returncode, 126)
        self.assertIn("interpreter", result.stderr)

    def test_path_search(self):
        os.mkdir(os.path.join(self.folder, "bin"))
        os.symlink(PROGRAM, os.path.join(self.folder, "bin", "found"))
        self.environment["PATH"] = "/nowhere:" + os.path.join(self.folder, "bin")
        self.assertEqual(self.run_command("found", "exit", "4").returncode, 4)

    def test_streams_are_the_programs_own(self):
        result = self.run_command("sh", "-c", "cat; echo problem >&2", input="some\ntext\n")
        self.assertEqual(result.stdout, "some\ntext\n")
        self.assertIn("problem\n", result.stderr)

    def test_argv0_is_as_written(self):
        os.symlink("/bin/sh", os.path.join(self.folder, "mysh"))
        self.assertEqual(self.run_command("./mysh", "-c", "echo $0").stdout, "./mysh\n")


class Check(CommandCase):
    def test_no_driver_fails(self):
        result = self.run_command("check", PROGRAM)
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")
        self.assertEqual(result.returncode, 23)
        self.assertIn("no NVIDIA driver", result.stderr)
        self.assertIn("--device simulated", result.stderr)

    def test_no_cuda_call_fails(self):
        result = self.run_command("check", "--device", "real", "--error-exitcode", "99", PROGRAM)
        self.assertEqual(result.returncode, 99, result)
        self.assertIn("no CUDA call was seen", flat(result.stderr))

    def test_no_cuda_call_does_not_change_run(self):
        result = self.run_command("run", "--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("no CUDA call was seen", flat(result.stderr))

    def test_a_process_without_trace_fails(self):
        self.environment["FAKE_NOTE"] = "nodir disk full"
        result = self.run_command("check", "--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 23, result)
        self.assertIn("disk full; name another folder with --trace-dir", flat(result.stderr))

    def test_a_limit_of_file_sizes_is_no_matter_of_the_folder(self):
        self.environment["FAKE_NOTE"] = "nodir trace: File too large"
        result = self.run_command("check", "--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 23, result)
        self.assertIn("File too large; raise its limit of file sizes (ulimit -f)", flat(result.stderr))
        self.assertNotIn("--trace-dir", result.stderr)

    def test_a_thread_without_log_fails(self):
        self.environment["FAKE_TRACE"] = "app"
        self.environment["FAKE_NOTE"] = "nolog disk full"
        result = self.run_command("check", "--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 23, result)
        self.assertIn("calls of a thread were not recorded: disk full", flat(result.stderr))

    def test_the_trace_limit_is_named_and_the_program_not_blamed(self):
        self.environment["FAKE_TRACE"] = "app"
        self.environment["FAKE_NOTE"] = "nolog no log for a thread: Disk quota exceeded"
        for command in ("check", "run"):
            text = flat(self.run_command(command, "--device", "real", PROGRAM).stderr)
            self.assertIn("the trace has reached its size limit (--max-trace)", text)
            self.assertNotIn("Disk quota", text)
            self.assertNotIn("the program made none", text)

    def test_no_driver_leaves_the_program_untouched(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a driver")
        self.assertEqual(self.run_command(PROGRAM, "environment", "LD_PRELOAD").stdout, "(unset)\n")


if __name__ == "__main__":
    unittest.main()
