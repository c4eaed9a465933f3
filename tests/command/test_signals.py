# SPDX-License-Identifier: Apache-2.0
"""Signals: those sent to the command reach the program, the terminal's reach it once, job control works."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
import unittest

from command_case import COMMAND, PROGRAM, CommandCase


def read_until(descriptor, text, seconds=20):
    got = b""
    end = time.monotonic() + seconds
    while text not in got:
        if time.monotonic() > end:
            raise AssertionError(f"waited for {text!r}, got {got!r}")
        try:
            chunk = os.read(descriptor, 4096)
        except OSError:
            chunk = b""
        if not chunk:
            raise AssertionError(f"waited for {text!r}, got {got!r} and the end")
        got += chunk
    return got


class Forwarded(CommandCase):
    def start(self, *words):
        process = subprocess.Popen(
            [COMMAND, "record", "--device", "real", PROGRAM, *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def test_each_arrives_once(self):
        numbers = [
            signal.SIGTERM,
            signal.SIGINT,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGUSR1,
            signal.SIGWINCH,
            signal.SIGALRM,
            signal.SIGRTMIN + 3,
        ]
        process = self.start("count", *(str(int(number)) for number in numbers))
        output = process.stdout.fileno()
        read_until(output, b"ready\n")
        for number in numbers:
            process.send_signal(number)
            got = read_until(output, b"\n")
            self.assertEqual(got, b"signal %d\n" % number)
        process.send_signal(signal.SIGUSR2)
        rest, _ = process.communicate(timeout=20)
        self.assertEqual(rest, b"signal %d\n" % signal.SIGUSR2)
        self.assertEqual(process.returncode, 0)

    def test_default_action_ends_both(self):
        process = self.start("count", "10")
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), -signal.SIGTERM)

    def test_a_repeat_does_not_end_the_report(self):
        """timeout(1) signals its child and its group; how far apart the two arrive is chance."""
        for gap in (0, 0.002, 0.01, 0.03):
            with self.subTest(gap):
                report = os.path.join(self.folder, f"report-{gap}.json")
                process = subprocess.Popen(
                    [COMMAND, "--device", "real", "--format", "json", "--output", report, PROGRAM, "count", "10"],
                    cwd=self.folder,
                    env=self.environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                self.addCleanup(process.stdout.close)
                read_until(process.stdout.fileno(), b"ready\n")
                process.send_signal(signal.SIGTERM)
                time.sleep(gap)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                self.assertEqual(process.wait(20), -signal.SIGTERM)
                with open(report, encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["processes"][0]["ended"]["signal"], signal.SIGTERM)

    def test_ignored_signals_stay_ignored(self):
        script = 'trap "" HUP CHLD; exec "$0" record --device real sh -c "kill -HUP \\$\\$; exit 4"'
        process = subprocess.run(
            ["sh", "-c", script, COMMAND],
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=self.environment,
            timeout=30,
            check=False,
        )
        self.assertEqual(process.returncode, 4)

    def test_mask_is_the_callers(self):
        show = "import signal; print(sorted(int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
        result = self.run_command("record", "--device", "real", sys.executable, "-c", show)
        self.assertEqual(result.stdout, "[]\n")


class Terminal(CommandCase):
    def start(self, *words):
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(COMMAND, [COMMAND, "record", "--device", "real", *words], self.environment)
        self.addCleanup(os.close, master)
        return pid, master

    def test_interrupt_reaches_the_program_once(self):
        pid, master = self.start(PROGRAM, "count", "2")
        read_until(master, b"ready")
        os.write(master, b"\x03")
        read_until(master, b"signal 2")
        time.sleep(0.3)
        os.kill(pid, signal.SIGUSR2)
        rest = read_until(master, b"signal %d" % signal.SIGUSR2)
        self.assertNotIn(b"signal 2\r", rest)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_interrupt_ends_both(self):
        pid, master = self.start(PROGRAM, "count", "10")
        read_until(master, b"ready")
        os.write(master, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGINT)

    def test_stop_and_continue_under_a_shell(self):
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            line = f"set -m; {COMMAND} record --device real {PROGRAM} count 10; echo stopped $?; fg"
            os.execve("/bin/bash", ["bash", "--norc", "-c", line], self.environment)
        self.addCleanup(os.close, master)
        read_until(master, b"ready")
        os.write(master, b"\x1a")
        read_until(master, b"stopped 148")  # 128 + SIGTSTP
        time.sleep(0.3)
        os.write(master, b"\x03")
        # The shell sees its foreground job die of the interrupt, and dies of it as well.
        self.assertIn(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (-signal.SIGINT, 128 + signal.SIGINT))


if __name__ == "__main__":
    unittest.main()
