# SPDX-License-Identifier: Apache-2.0
"""What the program and its children find in their environment, and where traces are put.

It is one file because it is one list: a test for each thing that a child is given."""

import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from command_case import COMMAND, LIBDIR, PROGRAM, CommandCase, flat

INTERPOSER = os.path.join(os.path.realpath(LIBDIR), "libgpumemtrace.so")


class Environment(CommandCase):
    def seen(self, name, *options):
        result = self.run_command("run", "--device", "real", *options, PROGRAM, "environment", name)
        self.assertEqual(result.returncode, 0, result)
        return result.stdout.rstrip("\n")

    def test_preload(self):
        self.assertEqual(self.seen("LD_PRELOAD"), INTERPOSER)

    def test_existing_preload_is_kept_behind(self):
        self.environment["LD_PRELOAD"] = "libm.so.6 libdl.so.2:librt.so.1"
        self.assertEqual(self.seen("LD_PRELOAD"), INTERPOSER + ":libm.so.6:libdl.so.2:librt.so.1")

    def test_nested_preload_is_not_doubled(self):
        self.environment["LD_PRELOAD"] = INTERPOSER + ":libm.so.6"
        self.assertEqual(self.seen("LD_PRELOAD"), INTERPOSER + ":libm.so.6")

    def test_sanitizer_in_existing_preload_goes_first(self):
        # Not libasan.so: the command has a sanitizer of its own in some builds, which refuses another of that name.
        fake = os.path.join(self.folder, "libtsan.so.2")
        shutil.copy(INTERPOSER, fake)
        self.environment["LD_PRELOAD"] = "libm.so.6:" + fake
        self.assertEqual(self.seen("LD_PRELOAD"), fake + ":" + INTERPOSER + ":libm.so.6")

    def test_nvtx_goes_to_us_and_on_to_what_was_there(self):
        self.assertEqual(self.seen("NVTX_INJECTION64_PATH"), INTERPOSER)
        self.assertEqual(self.seen("GPUMEMTRACE_NVTX_NEXT"), "(unset)")
        self.environment["NVTX_INJECTION64_PATH"] = "/opt/profiler/libtool.so"
        self.assertEqual(self.seen("NVTX_INJECTION64_PATH"), INTERPOSER)
        self.assertEqual(self.seen("GPUMEMTRACE_NVTX_NEXT"), "/opt/profiler/libtool.so")

    def test_nested_nvtx_is_not_its_own_next(self):
        self.environment["NVTX_INJECTION64_PATH"] = INTERPOSER
        self.assertEqual(self.seen("GPUMEMTRACE_NVTX_NEXT"), "(unset)")

    def test_run_id_is_unique(self):
        first, second = self.seen("GPUMEMTRACE_RUN"), self.seen("GPUMEMTRACE_RUN")
        self.assertRegex(first, "^[0-9a-f]{16}$")
        self.assertNotEqual(first, second)

    def test_device(self):
        self.assertEqual(self.seen("GPUMEMTRACE_DEVICE"), "real")

    def test_directory_is_absolute(self):
        here = os.path.realpath(self.folder)
        self.assertEqual(self.seen("GPUMEMTRACE_DIR"), here)
        self.assertEqual(self.seen("GPUMEMTRACE_DIR", "--trace-dir", "a/b"), here + "/a/b")

    def test_interposer_options_are_plain_numbers(self):
        self.assertEqual(self.seen("GPUMEMTRACE_MAX_TRACE", "--max-trace", "3M"), str(3 << 20))
        self.assertEqual(self.seen("GPUMEMTRACE_MAX_TRACE", "--max-trace=1GiB"), str(1 << 30))
        self.assertEqual(self.seen("GPUMEMTRACE_STACK_DEPTH", "--stack-depth", "12"), "12")
        self.assertEqual(self.seen("GPUMEMTRACE_STACK_DEPTH"), "(unset)")
        self.assertEqual(self.seen("GPUMEMTRACE_DEVICE_RING_FULL", "--device-ring-full=wait"), "1")
        self.assertEqual(self.seen("GPUMEMTRACE_DEVICE_RING_FULL", "--device-ring-full", "drop"), "0")

    def test_texts_are_passed_as_they_are(self):
        self.assertEqual(self.seen("GPUMEMTRACE_COALESCING", "--coalescing"), "1")
        self.assertEqual(self.seen("GPUMEMTRACE_KERNEL", "--kernel", "^_Z(4copy|5scale)Pf$"), "^_Z(4copy|5scale)Pf$")
        self.assertEqual(self.seen("GPUMEMTRACE_COALESCING_RANGE", "--coalescing-range=train step"), "train step")
        for launches in ("auto", "all", "12"):
            self.assertEqual(self.seen("GPUMEMTRACE_COALESCING_LAUNCHES", "--coalescing-launches", launches), launches)

    def test_interposer_options_of_the_environment_stay(self):
        self.environment["GPUMEMTRACE_STACK_DEPTH"] = "7"
        self.assertEqual(self.seen("GPUMEMTRACE_STACK_DEPTH"), "7")
        self.assertEqual(self.seen("GPUMEMTRACE_STACK_DEPTH", "--stack-depth=9"), "9")

    def test_variables_take_what_options_take(self):
        for variable, text, value in (
            ("MAX_TRACE", "2G", str(2 << 30)),
            ("MAX_TRACE", "3MiB", str(3 << 20)),
            ("PYTHON_FRAMES", "on", "1"),
            ("PYTHON_FRAMES", "false", "0"),
            ("LAUNCH_ARGUMENTS", "off", "0"),
            ("DEVICE_RING_FULL", "wait", "1"),
            ("DEVICE_RING_FULL", "0", "0"),
            ("GUARD_ALIGN", "16", "2"),
        ):
            self.environment["GPUMEMTRACE_" + variable] = text
            self.assertEqual(self.seen("GPUMEMTRACE_" + variable), value, (variable, text))
            del self.environment["GPUMEMTRACE_" + variable]

    def test_wrong_values_of_variables_are_refused(self):
        for variable, text, allowed in (
            ("MAX_TRACE", "2X", "a size such as"),
            ("MAX_TRACE", "abc", "a size such as"),
            ("MAX_TRACE", "2", "a size of 1M or more"),
            ("STACK_DEPTH", "abc", "a number from 0 to 128"),
            ("STACK_DEPTH", "129", "a number from 0 to 128"),
            ("STACK_DEPTH", "-1", "a number from 0 to 128"),
            ("PYTHON_FRAMES", "maybe", "0 or 1, off or on"),
            ("DEVICE_RING_FULL", "stop", "drop or wait"),
            ("KERNEL", "a(", "a POSIX extended regular expression"),
        ):
            name = "GPUMEMTRACE_" + variable
            self.environment[name] = text
            self.assert_usage_error(
                ["--device", "real", "touch", "ran"], f"'{text}' is no value of the variable {name}; it takes {allowed}"
            )
            self.assertEqual(os.listdir(self.folder), [])
            self.assertEqual(self.run_command("help").returncode, 0)
            del self.environment[name]
        self.environment["GPUMEMTRACE_STACK_DEPTH"] = "abc"
        self.assertEqual(self.seen("GPUMEMTRACE_STACK_DEPTH", "--stack-depth", "9"), "9")

    def test_wrong_values_inside_the_program_become_remarks(self):
        self.environment["FAKE_NOTE"] = "badvalue GPUMEMTRACE_STACK_DEPTH=abc"
        text = flat(self.run_command("--device", "real", PROGRAM).stderr)
        self.assertIn("GPUMEMTRACE_STACK_DEPTH=abc in the environment of process", text)
        self.assertIn("is no value of this variable", text)

    def test_programs_of_another_user_are_named(self):
        self.environment["FAKE_NOTE"] = "privileged set-user-id /usr/bin/sudo"
        text = flat(self.run_command("--device", "real", PROGRAM).stderr)
        self.assertIn(
            "'/usr/bin/sudo' was started without the checker (it is a set-user-id program, and the kernel allows "
            "no preload there)",
            text,
        )

    def test_notes_file_is_there_and_goes(self):
        script = "echo $GPUMEMTRACE_NOTES; test -w $GPUMEMTRACE_NOTES"
        result = self.run_command("--device", "real", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result)
        self.assertFalse(os.path.exists(result.stdout.strip()))

    def test_notes_file_of_a_killed_command_goes_with_the_next_run(self):
        self.environment["TMPDIR"] = self.folder
        script = "echo started; exec sleep 5"
        killed = subprocess.Popen(
            [COMMAND, "record", "--device", "real", "sh", "-c", script],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        killed.stdout.readline()
        of_killed = glob.glob(os.path.join(self.folder, "gpumemtrace-notes.*"))
        self.assertEqual(len(of_killed), 1)
        self.run_command("--device", "real", PROGRAM)
        self.assertTrue(os.path.exists(of_killed[0]), "its command lives")
        killed.kill()
        killed.wait()
        killed.stdout.close()
        self.run_command("--device", "real", PROGRAM)
        self.assertEqual(glob.glob(os.path.join(self.folder, "gpumemtrace-notes.*")), [])

    def test_notes_become_remarks(self):
        self.environment["FAKE_NOTE"] = "unhooked /usr/bin/env"
        result = self.run_command("--device", "real", PROGRAM)
        self.assertIn("'/usr/bin/env' was started without the checker", flat(result.stderr))

    def test_collector_that_is_not_there(self):
        self.environment["FAKE_NOTE"] = "nocollector /opt/libgpumemtrace_cupti.so"
        result = self.run_command("--device", "real", PROGRAM)
        self.assertRegex(flat(result.stderr), "coalescing.*'/opt/libgpumemtrace_cupti.so' could not be loaded")

    def test_without_proc(self):
        """A command that cannot find itself says so, and does not call for a new installation."""
        script = 'mount -t tmpfs none /proc && exec "$@"'
        words = ["unshare", "-m", "sh", "-c", script, "sh"]
        if os.geteuid() != 0 or not shutil.which("unshare") or subprocess.run([*words, "true"], check=False).returncode:
            self.skipTest("needs the right to mount")
        del self.environment["GPUMEMTRACE_LIBDIR"]
        alone = shutil.copy(COMMAND, self.folder)

        if "Sanitizer" in self.run_words(*words, alone, "--version").stderr:
            self.skipTest("the sanitizer that the command is built with needs /proc")
        result = self.run_words(*words, alone, "--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 125, result)
        self.assertIn("was not found, since /proc is not there", result.stderr)
        self.assertNotIn("reinstall", result.stderr)

    def test_missing_library(self):
        self.environment["GPUMEMTRACE_LIBDIR"] = self.folder
        result = self.run_command("--device", "real", PROGRAM)
        self.assertEqual(result.returncode, 125)
        self.assertIn("libgpumemtrace.so is not where it was installed", result.stderr)

    def install_in(self, name):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder + "/simulated")
        for library in ("libgpumemtrace.so", "simulated/libcuda.so.1", "simulated/libcudart.so.13"):
            shutil.copy(INTERPOSER, os.path.join(folder, library))
        self.environment["GPUMEMTRACE_LIBDIR"] = folder
        return os.path.realpath(folder)

    def test_library_path_that_preload_cannot_carry(self):
        folder = self.install_in("with space: and $")
        links = self.environment["TMPDIR"] = os.path.join(self.folder, "temporary")
        os.mkdir(links)
        self.environment.pop("XDG_RUNTIME_DIR", None)
        words = ("--device", "simulated", PROGRAM, "environment", "LD_PRELOAD", "environment", "LD_LIBRARY_PATH")
        for _ in range(2):  # the second run finds the links of the first
            result = self.run_command(*words)
            self.assertEqual(result.returncode, 0, result.stderr)
            preload, path = result.stdout.splitlines()[:2]
            first = preload.split("=")[-1].split(":")[0]
            self.assertNotIn(" ", preload)
            self.assertTrue(first.startswith(links), first)
            self.assertEqual(os.path.realpath(first), folder + "/libgpumemtrace.so")
            self.assertEqual(os.path.realpath(path.split("=")[-1].split(":")[0]), folder + "/simulated")
        (own,) = os.listdir(links)
        self.assertEqual(len(os.listdir(os.path.join(links, own))), 2)
        self.assertEqual(os.stat(os.path.join(links, own)).st_mode & 0o777, 0o700)

    def test_links_that_others_could_change_are_not_used(self):
        folder = self.install_in("with space")
        links = self.environment["TMPDIR"] = os.path.join(self.folder, "temporary")
        self.environment.pop("XDG_RUNTIME_DIR", None)
        os.mkdir(links)
        os.mkdir(os.path.join(links, f"gpumemtrace-links-{os.geteuid()}"))
        os.chmod(os.path.join(links, f"gpumemtrace-links-{os.geteuid()}"), 0o777)
        result = self.run_command("--device", "real", PROGRAM, "environment", "LD_PRELOAD")
        self.assertEqual(result.returncode, 0, result.stderr)
        first = result.stdout.splitlines()[0].split("=")[-1].split(":")[0]
        self.assertTrue(first.startswith("/tmp/gpumemtrace-links-"), first)
        self.assertEqual(os.path.realpath(first), folder + "/libgpumemtrace.so")
        os.unlink(os.path.dirname(first))

    def test_simulated_device(self):
        folder = os.path.join(self.folder, "libdir")
        os.makedirs(folder + "/simulated")
        for name in ("libgpumemtrace.so", "simulated/libcuda.so.1", "simulated/libcudart.so.13"):
            shutil.copy(INTERPOSER, os.path.join(folder, name))
        folder = os.path.realpath(folder)
        self.environment["GPUMEMTRACE_LIBDIR"] = folder
        self.environment["LD_LIBRARY_PATH"] = "/mine"
        result = self.run_command(
            "--device",
            "simulated",
            PROGRAM,
            "environment",
            "LD_PRELOAD",
            "environment",
            "LD_LIBRARY_PATH",
            "environment",
            "GPUMEMTRACE_DEVICE",
        )
        simulated = folder + "/simulated"
        self.assertEqual(
            result.stdout.splitlines(),
            [
                f"{folder}/libgpumemtrace.so:{simulated}/libcudart.so.13:{simulated}/libcuda.so.1",
                f"{simulated}:/mine",
                "simulated",
            ],
        )

    def test_the_simulated_device_needs_no_fence(self):
        folder = os.path.join(self.folder, "libdir")
        os.makedirs(folder + "/simulated")
        for name in ("libgpumemtrace.so", "simulated/libcuda.so.1", "simulated/libcudart.so.13"):
            shutil.copy(INTERPOSER, os.path.join(folder, name))
        self.environment["GPUMEMTRACE_LIBDIR"] = folder
        names = ("GPUMEMTRACE_GUARD", "PYTORCH_NO_CUDA_MEMORY_CACHING")
        asked = [word for name in names for word in ("environment", name)]
        for options, variables, seen in (
            (["--guard"], {}, ["0", ""]),
            (["--guard=tensors"], {}, ["0", "1"]),
            ([], {"GPUMEMTRACE_GUARD": "on"}, ["0", ""]),
            (["--guard"], {"GPUMEMTRACE_SIM_GUARD": "1"}, ["1", ""]),  # as tests of the fence do
            ([], {}, ["", ""]),
        ):
            with self.subTest(options=options, variables=variables):
                before = dict(self.environment)
                self.environment.update(variables)
                result = self.run_command("--device", "simulated", *options, PROGRAM, *asked)
                self.environment = before
                self.assertEqual([line.replace("(unset)", "") for line in result.stdout.splitlines()], seen)
                left_out = "--guard is left out: the simulated device checks every access" in result.stderr
                self.assertEqual(left_out, seen[0] == "0", result.stderr)

    def test_compilers_of_python_keep_ptx(self):
        folder = os.path.join(self.folder, "libdir")
        os.makedirs(folder)
        os.makedirs(folder + "/simulated")
        for name in ("libgpumemtrace.so", "simulated/libcuda.so.1", "simulated/libcudart.so.13"):
            shutil.copy(INTERPOSER, os.path.join(folder, name))
        ptxas = os.path.join(folder, "gpumemtrace-ptxas")
        pathlib.Path(ptxas).touch(0o755)
        self.environment["GPUMEMTRACE_LIBDIR"] = folder
        self.environment["HOME"] = "/home/me"
        self.environment.pop("XDG_CACHE_HOME", None)
        names = (
            "TRITON_PTXAS_PATH",
            "TRITON_CACHE_DIR",
            "TORCHINDUCTOR_CACHE_DIR",
            "CUPY_COMPILE_WITH_PTX",
            "CUPY_CACHE_DIR",
        )
        asked = [word for name in names for word in ("environment", name)]
        here = "/home/me/.cache/gpumemtrace"
        triton, cupy = [ptxas, f"{here}/triton", f"{here}/inductor"], ["1", f"{here}/cupy"]
        for options, variables, seen in (
            ([], {}, [""] * 5),
            (["--kernel-checks=off"], {}, [""] * 5),
            (["--device", "simulated"], {}, triton + cupy),
            (["--kernel-checks"], {}, triton + cupy),
            (["--kernel-checks-sample"], {}, triton + cupy),
            ([], {"GPUMEMTRACE_KERNEL_CHECKS": "memory"}, triton + cupy),
            (
                ["--kernel-checks"],
                {"XDG_CACHE_HOME": "/c"},
                [ptxas, *(f"/c/gpumemtrace/{n}" for n in ("triton", "inductor")), "1", "/c/gpumemtrace/cupy"],
            ),
            (["--kernel-checks"], {"TRITON_PTXAS_PATH": "/mine"}, ["/mine", "", "", *cupy]),
            (["--kernel-checks"], {"CUPY_COMPILE_WITH_PTX": "0"}, [*triton, "0", ""]),
            (["--kernel-checks"], {"TRITON_CACHE_DIR": "/t"}, [ptxas, "/t/gpumemtrace", f"{here}/inductor", *cupy]),
        ):
            with self.subTest(options=options, variables=variables):
                before = dict(self.environment)
                self.environment.update(variables)
                result = self.run_command("--device", "real", *options, PROGRAM, *asked)
                self.environment = before
                self.assertEqual([line.replace("(unset)", "") for line in result.stdout.splitlines()], seen)

    def test_checks_of_tensors_turn_caches_off(self):
        for options, variables, seen in (
            (["--kernel-checks=tensors"], {}, ["1", "platform", "cuda_malloc_async"]),
            ([], {"GPUMEMTRACE_KERNEL_CHECKS": "tensors"}, ["1", "platform", "cuda_malloc_async"]),
            (["--kernel-checks=tensors,libraries"], {}, ["1", "platform", "cuda_malloc_async"]),
            (["--kernel-checks=libraries"], {}, ["(unset)"] * 3),
            (
                ["--kernel-checks=tensors"],
                {"PYTORCH_NO_CUDA_MEMORY_CACHING": "0"},
                ["0", "platform", "cuda_malloc_async"],
            ),
            (["--kernel-checks"], {}, ["(unset)"] * 3),
        ):
            with self.subTest(options=options, variables=variables):
                before = dict(self.environment)
                self.environment.update(variables)
                names = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "XLA_PYTHON_CLIENT_ALLOCATOR", "TF_GPU_ALLOCATOR")
                asked = [word for name in names for word in ("environment", name)]
                result = self.run_command("--device", "real", *options, PROGRAM, *asked)
                self.environment = before
                self.assertEqual(result.stdout.splitlines(), seen)

    def test_what_excludes_patched_code_is_refused(self):
        for options, variables, other in (
            (["--kernel-checks=libraries", "--coalescing"], {}, "--coalescing: both patch"),
            (["--kernel-checks=libraries"], {"GPUMEMTRACE_COUNTERS": "1"}, "--counters: both patch"),
            (
                ["--kernel-checks=tensors,libraries", "--kernel-checks-sample"],
                {},
                "--kernel-checks-sample: patched code",
            ),
        ):
            with self.subTest(options=options, variables=variables):
                before = dict(self.environment)
                self.environment.update(variables)
                result = self.run_command("--device", "real", *options, PROGRAM, "environment", "HOME")
                self.environment = before
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(f"--kernel-checks=libraries cannot be used with {other}", result.stderr)

    def test_kernels_are_checked_where_calls_are_recorded(self):
        self.assertEqual(self.seen("GPUMEMTRACE_RANGE", "--record-range=step"), "step")
        self.assertEqual(self.seen("GPUMEMTRACE_RANGE", "--record-range=step", "--range=part"), "part")
        self.assertEqual(self.seen("GPUMEMTRACE_RANGE", "--range=part"), "part")

    def test_what_leaves_kernels_unchecked_is_refused_with_init(self):
        for options, variables, other in (
            (["--kernel-checks=init", "--only-kernels=a"], {}, "--only-kernels"),
            (["--kernel-checks=memory,heap,init"], {"GPUMEMTRACE_SKIP_KERNELS": "a"}, "--skip-kernels"),
            (["--kernel-checks=tensors,init", "--checked-launches=3"], {}, "--checked-launches"),
            (["--kernel-checks=init", "--launches=3"], {}, "--launches"),
            (["--kernel-checks=init", "--range=step"], {}, "--range"),
            (["--kernel-checks=init", "--kernel-checks-sample"], {}, "--kernel-checks-sample"),
        ):
            with self.subTest(options=options, variables=variables):
                before = dict(self.environment)
                self.environment.update(variables)
                result = self.run_command("--device", "real", *options, PROGRAM, "environment", "HOME")
                self.environment = before
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(f"--kernel-checks=init cannot be used with {other}: kernels", result.stderr)

    def test_simulated_device_is_not_installed(self):
        result = self.run_command("--device", "simulated", PROGRAM)
        self.assertEqual(result.returncode, 125)
        self.assertIn("simulated device", result.stderr)


class TraceDirectory(CommandCase):
    def test_unusable(self):
        result = self.run_command("--device", "real", "--trace-dir", "/proc/nowhere", PROGRAM)
        self.assertEqual(result.returncode, 125)
        self.assertIn("cannot make traces in '/proc/nowhere'", result.stderr)

    def test_unwritable_current_directory(self):
        other = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, other, True)
        self.environment["TMPDIR"] = other
        result = self.run_command("--device", "real", PROGRAM, "environment", "GPUMEMTRACE_DIR", cwd="/proc")
        self.assertEqual(result.stdout.strip(), os.path.realpath(other))
        self.assertIn("the current directory is not writable", result.stderr)


if __name__ == "__main__":
    unittest.main()
