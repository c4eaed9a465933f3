# SPDX-License-Identifier: Apache-2.0
"""Programs that no library can be preloaded into: each gets one clear sentence and still runs."""

import os
import shutil
import struct
import unittest

from command_case import COMMAND, PROGRAM, STATIC_PROGRAM, CommandCase, flat


class ProgramCheck(CommandCase):
    def assert_refused(self, program, *expected):
        for command, status in (("run", 5), ("check", 5), ("record", 5)):
            result = self.run_command(command, "--device", "real", program, "exit", "5")
            self.assertEqual(result.returncode, status, result)
            for text in expected:
                self.assertIn(text, result.stderr)
        result = self.run_command("check", "--device", "real", program, "exit", "0")
        self.assertEqual(result.returncode, 23, result)
        shown = self.run_command("--device", "real", program, "environment", "LD_PRELOAD").stdout
        self.assertEqual(shown, "(unset)\n")

    def test_static(self):
        self.assert_refused(STATIC_PROGRAM, "is statically linked", "-static")

    def test_the_command_itself(self):
        self.assert_usage_error([COMMAND, PROGRAM], "is this command itself; write it once")
        self.assert_usage_error(["check", COMMAND, "check", PROGRAM], "is this command itself")

    def test_inside_a_tool_of_nvidia(self):
        """A program waits for ever in there, for a lock of ncu's or of compute-sanitizer's."""
        self.environment["NVIDIA-PROCESS-TRACKING-CONFIGURATION"] = "connection-name: /tmp/pipe"
        for command in ("run", "check", "record"):
            result = self.run_command(command, "--device", "real", PROGRAM, "exit", "5")
            self.assertEqual(result.returncode, 2, result)
            self.assertIn("nothing was run", result.stderr)
            self.assertIn("'gpumemtrace compute-sanitizer ./app'", flat(result.stderr))

    def test_set_user_id(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a file to another user")
        path = os.path.join(self.folder, "setuid")
        shutil.copy(PROGRAM, path)
        os.chmod(self.folder, 0o755)
        os.chown(path, 65534, -1)
        os.chmod(path, 0o4755)
        if os.statvfs(path).f_flag & os.ST_NOSUID:
            self.skipTest("the folder ignores set-user-id")
        self.assert_refused(path, "is a set-user-id program", "run a copy of it")

    def test_other_machine(self):
        path = os.path.join(self.folder, "foreign")
        header = bytearray(64)
        header[:7] = b"\x7fELF\x02\x01\x01"
        header[16:20] = struct.pack("<HH", 2, 183)  # an executable for 64-bit ARM
        if os.uname().machine == "aarch64":
            header[18:20] = struct.pack("<H", 62)
        with open(path, "wb") as file:
            file.write(header)
        os.chmod(path, 0o755)
        result = self.run_command("--device", "real", path)
        self.assertEqual(result.returncode, 126, result)
        self.assertIn("is built for", result.stderr)
        self.assertIn("another kind of machine", result.stderr)

    def test_damaged_headers(self):
        with open(PROGRAM, "rb") as file:
            good = file.read()
        path = os.path.join(self.folder, "damaged")
        for position in list(range(16, 64)) + list(range(64, 400, 8)):
            with open(path, "wb") as file:
                changed = good[:position] + b"\xff" + good[position + 1 :]
                file.write(changed if position % 2 else good[:position])
            os.chmod(path, 0o755)
            result = self.run_command("--device", "real", path)
            self.assertIn(result.returncode, (0, 125, 126, 127, -11, -7, -6, -4, 4, 1), result)
            self.assertNotIn("internal error", result.stderr)


if __name__ == "__main__":
    unittest.main()
