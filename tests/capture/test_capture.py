# SPDX-License-Identifier: Apache-2.0
"""Launches are captured on the simulated device and replayed: output, findings, and each way in which it cannot be.
GMT_COMMAND is the command, GMT_PROGRAM the program launches.cu. GMT_DEVICE is where launches are captured, `simulated`
or `real`: a replay is always on the processor."""

import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND, PROGRAM = os.environ["GMT_COMMAND"], os.environ["GMT_PROGRAM"]
CHANGE = os.environ.get("GMT_CHANGE")  # capture_fuzz_driver
DEVICE = os.environ.get("GMT_DEVICE", "simulated")


class Capture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gmt-capture-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_command(self, *words):
        done = subprocess.run(
            [COMMAND, *words], cwd=self.folder, capture_output=True, text=True, check=False, timeout=100
        )
        return done.returncode, done.stdout, done.stderr

    def assert_says(self, text, said):
        """Lines of reports are broken at some hundred columns."""
        self.assertIn(text, " ".join(said.split()))

    def capture(self, kernel, scene, *options):
        """What the command said, and the files that it made."""
        _, _, said = self.run_command("--device", DEVICE, "--capture", kernel, *options, PROGRAM, scene)
        return said, sorted(glob.glob(os.path.join(self.folder, "*.capture")))

    def replay(self, file, *options):
        return self.run_command("replay", *options, file)

    def replay_as_captured(self, kernel, scene):
        said, files = self.capture(kernel, scene)
        self.assertEqual(len(files), 1, said)
        self.assert_says("'gpumemtrace replay", said)
        self.assertNotIn("uninitialized-read", said)
        self.assertEqual(os.stat(files[0]).st_mode & 0o777, 0o600)
        status, out, report = self.replay(files[0])
        self.assertIn("the output equals the GPU's", out, report)
        self.assertGreater(int(re.search(r"changed (\d+)", out).group(1)), 0, out)
        self.assertEqual(status, 0, report)
        return files[0]

    def test_the_launch_of_a_number(self):
        said, files = self.capture("scale:2", "scale")
        self.assertEqual(len(files), 1, said)
        os.environ["GPUMEMTRACE_CAPTURE"] = "scale"  # a replay captures nothing
        self.addCleanup(os.environ.pop, "GPUMEMTRACE_CAPTURE")
        self.assertIn(".scale.2.", files[0])
        status, out, report = self.replay(files[0])
        self.assertIn("launch 2 of ", out)
        self.assertNotIn("captured", report)
        self.assertIn("the output equals the GPU's", out)
        self.assertEqual(status, 0, report)

    def test_memory_behind_pointers(self):
        self.replay_as_captured("walk", "walk")

    def test_variables_of_the_module(self):
        self.replay_as_captured("variables:2", "variables")

    def test_shared_memory_and_seeds(self):
        file = self.replay_as_captured("shared_sum", "shared")
        for seed in ("1", "2"):
            status, out, report = self.replay(file, "--device-seed", seed, "--device-threads", "1")
            self.assertIn("the output equals the GPU's", out)
            self.assertEqual(status, 0, report)

    def test_textures_and_surfaces(self):
        file = self.replay_as_captured("filter", "textures")
        _, out, _ = self.replay(file)
        changed = int(re.search(r"changed (\d+)", out).group(1))
        self.assertGreater(changed, 64 * 4, "the surface counts, too")

    def test_textures_that_the_limit_leaves_out(self):
        said, files = self.capture("filter", "textures", "--capture-limit", "1000")
        self.assert_says("1 texture or surface was left out", said)
        _, out, _ = self.replay(files[0])
        self.assertIn("textures or surfaces that the capture does not hold", out)

    @unittest.skipUnless(CHANGE and DEVICE == "simulated", "the simulated device's form of a map is compared")
    def test_tensor_maps_are_made_anew(self):
        for kernel in ("copy_map", "copy_map_in_memory"):
            _, files = self.capture(kernel, "map")
            self.assertEqual(len(files), 1)
            self.assertEqual(subprocess.run([CHANGE, "blank", files[0]], check=False).returncode, 0)
            status, out, report = self.replay(files[0])
            self.assertIn("the output equals the GPU's", out)
            self.assertEqual(status, 0, report)
            os.remove(files[0])

    @unittest.skipUnless(CHANGE, "the file is changed by capture_fuzz_driver")
    def test_addresses_that_libraries_take(self):
        """Without randomisation all libraries lie in the last GiB below 0x7ffff8000000, each time."""
        libc = ctypes.CDLL(None, use_errno=True)
        no_randomisation, ask = 0x0040000, 0xFFFFFFFF
        usual = libc.personality(ask)
        self.addCleanup(libc.personality, usual)
        if libc.personality(usual | no_randomisation) < 0:
            self.skipTest("personality() is not allowed here")
        _, files = self.capture("scale", "scale")
        shown = subprocess.run(["cat", "/proc/self/maps"], capture_output=True, text=True, check=True).stdout
        libraries = [int(line.split("-")[0], 16) for line in shown.splitlines() if "libc.so" in line]
        added = [CHANGE, "add", files[0], hex(libraries[0]), str(1 << 20)]
        self.assertEqual(subprocess.run(added, check=False).returncode, 0)
        status, out, report = self.replay(files[0])
        self.assertIn("the output equals the GPU's", out, report)
        self.assertEqual(status, 0, report)

    def test_one_block_alone(self):
        """The other blocks leave their sums as they were."""
        _, files = self.capture("shared_sum", "shared")
        status, out, report = self.replay(files[0], "--block", "2")
        self.assertIn("block 2 ran alone", out)
        self.assertEqual(status, 0, report)
        status, _, report = self.replay(files[0], "--block", "4")
        self.assertEqual(status, 2)
        self.assertIn("is no block of the grid, which has 4,1,1 blocks", report)

    def test_a_mistake_is_named(self):
        said, files = self.capture("past_the_end", "past")
        self.assertEqual(len(files), 1, said)
        status, _, report = self.replay(files[0], "--format", "json")
        self.assertEqual(status, 23)
        findings = [one for one in json.loads(report[report.index("{") :])["findings"] if one["severity"] == "error"]
        self.assertEqual([one["kind"] for one in findings], ["kernel-out-of-bounds"])
        lines = [frame.get("file", "") for stack in findings[0]["stacks"] for frame in stack["frames"]]
        self.assertTrue(any(line.endswith("launches.cu") for line in lines), lines)

    def test_a_kernel_that_ends_its_context(self):
        said, files = self.capture("through_null", "null")
        self.assertEqual(len(files), 1, said)
        self.assert_says("it ended with CUDA's error 700", said)
        status, out, report = self.replay(files[0])
        self.assertIn("ended with CUDA_ERROR_ILLEGAL_ADDRESS here; on the GPU with CUDA_ERROR_ILLEGAL_ADDRESS", out)
        self.assertEqual(status, 1, report)
        self.assertIn("kernel-out-of-bounds", report)

    def program_runs(self, *words):
        """What is said; the program itself notices nothing."""
        status, _, said = self.run_command("--device", DEVICE, *words)
        self.assertEqual(status, 0, said)
        return said, sorted(glob.glob(os.path.join(self.folder, "*.capture*")))

    def test_work_that_waits_for_what_comes_behind_the_launch(self):
        said, files = self.program_runs("--capture", "scale:2", "--capture-wait", "1", PROGRAM, "waits")
        self.assertEqual(files, [])
        self.assert_says("work from before the launch had not ended after 1 s (--capture-wait)", said)

    @unittest.skipUnless(DEVICE == "real", "the simulated device runs a kernel in its launch")
    def test_a_kernel_that_waits_for_what_comes_behind_its_launch(self):
        said, files = self.program_runs("--capture", "poll", "--capture-wait", "1", PROGRAM, "polls")
        self.assertEqual(len(files), 1, said)
        self.assert_says("it had not ended after 1 s (--capture-wait): its results are not there", said)
        _, out, _ = self.replay(files[0], "--kernel-time", "1s")
        self.assertNotIn("equals the GPU's", out)

    def test_a_launch_beside_a_captured_stream(self):
        said, files = self.program_runs("--capture", "scale:2", PROGRAM, "beside")
        self.assertEqual(files, [])
        self.assert_says("a stream was being captured into a graph at the time", said)

    def test_a_process_that_is_killed_in_the_launch(self):
        said, files = self.capture("count_up", "killed")
        self.assertEqual(len(files), 1, said)
        self.assert_says("it had not ended when its process did; it holds the program's data", said)

    def test_a_handle_that_another_kernel_gets(self):
        said, files = self.program_runs("--capture", "second_one", PROGRAM, "reloaded")
        self.assertEqual(len(files), 1, said)
        self.assertIn(".second_one.1.", files[0])

    def test_a_link_in_the_place_of_the_file(self):
        victim = os.path.join(self.folder, "victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("mine")
        link = f'ln -s victim "gpumemtrace.scale.1.$$.capture.part"; exec "{PROGRAM}" scale'
        said, files = self.program_runs("--capture", "scale", "sh", "-c", link)
        self.assertEqual(len(files), 1, said)
        self.assertFalse(os.path.islink(files[0]))
        with open(victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    @unittest.skipUnless(DEVICE == "simulated", "a GPU's driver writes files of its own")
    def test_no_room(self):
        """A larger file than the process may write would end it with SIGXFSZ."""
        said, files = self.program_runs("--capture", "scale", "sh", "-c", f'ulimit -f 4096; exec "{PROGRAM}" noise')
        self.assertEqual(files, [])
        self.assert_says("cannot be written: it is larger than this process may make files", said)

    def test_no_such_launch(self):
        said, files = self.capture("nothing", "scale")
        self.assertEqual(files, [])
        self.assert_says("no kernel of this name was launched; launched were: scale(float*, int, float)", said)
        said, files = self.capture("scale:4", "scale")
        self.assertEqual(files, [])
        self.assert_says("it was launched 3 times", said)
        said, files = self.capture("scale", "graph")
        self.assertEqual(files, [])
        self.assert_says("1 launches became nodes of graphs", said)

    def test_the_limit(self):
        said, files = self.capture("shared_sum", "shared", "--capture-limit", "2048")
        self.assert_says("1 block of memory with 4096 bytes were left out (--capture-limit)", said)
        _, out, _ = self.replay(files[0])
        self.assertIn("1 more blocks with 4096 bytes were left out", out)
        self.assertIn("differs from the GPU's", out)
        self.assertIn("the kernel uses memory that was left out of the capture", out)

    def test_a_finding_of_kernel_checks_names_the_option(self):
        checks = {"GPUMEMTRACE_SIM_KERNEL_CHECKS": "1", "GPUMEMTRACE_SIM_DEVICE_CHECKS": "none"}
        os.environ.update(checks)
        self.addCleanup(lambda: [os.environ.pop(name) for name in checks])
        _, _, said = self.run_command("--device", DEVICE, "--kernel-checks", PROGRAM, "past")
        self.assert_says("'gpumemtrace --capture past_the_end:N PROGRAM'", said)

    def test_damaged_files(self):
        _, files = self.capture("scale", "scale")
        with open(files[0], "rb") as file:
            whole = file.read()
        for damaged, why in (
            (whole[:-10], "it is cut off"),
            (b"ELF" + whole, "it is no capture of gpumemtrace"),
            (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "its data is damaged"),
        ):
            path = os.path.join(self.folder, "damaged")
            with open(path, "wb") as file:
                file.write(damaged)
            status, _, said = self.replay(path)
            self.assertEqual(status, 3)
            self.assertIn(why, said)
        for path, why in (
            ("not-there", "No such file"),
            ("/dev/zero", "it is no file"),
            (self.folder, "it is no file"),
        ):
            status, _, said = self.replay(path)
            self.assertEqual(status, 3)
            self.assertIn(why, said)

    @unittest.skipUnless(CHANGE, "the file is changed")
    def test_launches_that_cannot_be(self):
        _, files = self.capture("scale", "scale")
        for word, why in (("grid", "does not take the launch"), ("arguments", "arguments of another size")):
            changed = shutil.copy(files[0], os.path.join(self.folder, word))
            self.assertEqual(subprocess.run([CHANGE, word, changed], check=False).returncode, 0)
            status, _, said = self.replay(changed)
            self.assertEqual(status, 4, said)
            self.assertIn(why, said)

    def test_options(self):
        for words, why in (
            (("--capture", "scale:0", PROGRAM), "from 1 on"),
            (("replay",), "takes one file"),
            (("--device", "real", "--capture", "scale", "--kernel-checks", PROGRAM), "cannot be used with"),
        ):
            status, _, said = self.run_command(*words)
            self.assert_says(why, said)
            self.assertEqual(status, 2)


if __name__ == "__main__":
    unittest.main()
