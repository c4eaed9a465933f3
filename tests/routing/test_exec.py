# SPDX-License-Identifier: Apache-2.0
"""Programs that start programs: one that comes up without us is noted for the command, and only such a one."""

import os
import shutil
import unittest

import interposed_case
from interposed_case import InterposedCase

WITH_ENVIRONMENT = ("execve", "execveat", "execvpe", "execle", "spawn", "spawnp", "vfork", "fork-execve")
OF_PROCESS = ("execv", "execvp", "execl", "execlp")


class Exec(InterposedCase):
    def start(self, way):
        self.setUp()
        return self.run_program("starts", way, self.binary("linked"), "sequence")

    def unhooked(self):
        return [line[2] for line in self.noted() if line[0] == "unhooked"]

    def test_kept(self):
        for call in WITH_ENVIRONMENT + OF_PROCESS:
            with self.subTest(call):
                result = self.start(call + "+")
                self.assertIn("alloc 0", result.stdout)
                self.assertEqual(self.unhooked(), [])
                self.assertEqual(len(self.traces()), 2, "the starter's and the program's")

    def test_taken_out(self):
        for call in WITH_ENVIRONMENT + OF_PROCESS:
            with self.subTest(call):
                result = self.start(call + "-")
                self.assertIn("alloc 0", result.stdout)
                self.assertEqual(self.unhooked(), [self.binary("linked")])
                self.assertEqual(len(self.traces()), 1)

    def test_shells(self):
        program = self.binary("linked")
        for call in ("system", "popen"):
            with self.subTest(call):
                self.assertIn("alloc 0", self.start(call + "+").stdout)
                self.assertEqual((self.unhooked(), len(self.traces())), ([], 2))
                self.assertIn("alloc 0", self.start(call + "-").stdout)
                self.assertEqual((self.unhooked(), len(self.traces())), ([program + " sequence"], 1))

    def test_the_same_program_and_pid_twice(self):
        self.run_program("starts", "execve+", self.binary("starts"), "missing+", "x")
        first, second = self.traces()
        self.assertEqual(first.info["pid"], second.info["pid"])
        self.assertEqual(
            {os.path.basename(second.path), os.path.basename(first.path)}
            - {os.path.basename(min(first.path, second.path, key=len)) + ".1"},
            {os.path.basename(min(first.path, second.path, key=len))},
        )

    def test_end_of_the_starter(self):
        self.start("execve+")
        first = next(trace for trace in self.traces() if trace.info["exe"].endswith("starts"))
        self.assertEqual([record["way"] for record in first.records if record.kind == "exit"], [3])

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file to another user")
    def test_programs_of_another_user(self):
        for call in ("execve+", "execvp+", "spawn+", "spawnp+"):
            with self.subTest(call):
                self.setUp()
                program = os.path.join(self.folder, "another")
                shutil.copy(self.binary("linked"), program)
                os.chown(program, 65534, -1)
                os.chmod(program, 0o4755)
                self.run_program("starts", call, program, "sequence", check=False)
                noted = [line[2] for line in self.noted() if line[0] == "privileged"]
                self.assertEqual(noted, ["set-user-id " + program])
                self.assertEqual(self.unhooked(), [])

    def test_failed_exec(self):
        self.start("missing+")
        trace = self.only_trace()
        self.assertEqual([record["way"] for record in trace.records if record.kind == "exit"][:2], [3, 4])
        self.assertEqual(trace.calls[-1].api, "cuMemFree_v2")

    def test_vfork_leaves_no_word_in_the_parent(self):
        self.start("vfork+")
        first = next(trace for trace in self.traces() if trace.info["exe"].endswith("starts"))
        self.assertEqual([record["way"] for record in first.records if record.kind == "exit"], [1])


if __name__ == "__main__":
    interposed_case.main()
