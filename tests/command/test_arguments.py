# SPDX-License-Identifier: Apache-2.0
"""The command line: which words are options, what a wrong one is answered with, and help."""

import glob
import os
import re
import shutil
import unittest

from command_case import LIBDIR, PROGRAM, CommandCase, flat


class Arguments(CommandCase):
    def test_no_words(self):
        self.assert_usage_error([], "no program to run", "gpumemtrace ./app")

    def test_first_word_that_is_no_command_is_the_program(self):
        self.assertEqual(self.run_command(PROGRAM, "exit", "3").returncode, 3)
        self.assertEqual(self.run_command("run", PROGRAM, "exit", "3").returncode, 3)
        self.assertEqual(self.run_command("--color", "never", PROGRAM, "exit", "3").returncode, 3)

    def test_everything_behind_the_program_is_its_own(self):
        for words in (
            ["echo", "--format", "no", "--", "-x"],
            ["--", "echo", "--format", "no", "--", "-x"],
            ["run", "--limit=3", "--", "echo", "--format", "no", "--", "-x"],
        ):
            self.assertEqual(self.run_command(*words).stdout, "--format no -- -x\n")

    def test_switches_take_their_value_with_or_without_an_equals_sign(self):
        for words, given in (
            (["--launch-arguments", "0"], "0"),
            (["--launch-arguments=0"], "0"),
            (["--coalescing", "1", "--launch-arguments"], "1"),
            (["--launch-arguments", "--"], "1"),
        ):
            result = self.run_command(
                "record", "--device", "real", *words, PROGRAM, "environment", "GPUMEMTRACE_LAUNCH_ARGUMENTS"
            )
            self.assertEqual((result.returncode, result.stdout), (0, given + "\n"), result)
        self.assert_usage_error(["--launch-arguments", "0"], "no program to run")

    def test_nearest_option(self):
        self.assert_usage_error(["--formt", "json", "true"], "'--formt'", "'--format'")
        self.assert_usage_error(["check", "--fail-no=error", "true"], "'--fail-no'", "'--fail-on'")
        self.assert_usage_error(["--zzzzzzzz", "true"], "unknown option '--zzzzzzzz'", "gpumemtrace help run")

    def test_no_guessing_of_prefixes(self):
        self.assert_usage_error(["--lim", "3", "true"], "unknown option '--lim'")

    def test_option_of_another_command(self):
        self.assert_usage_error(["report", "--device", "real"], "takes no option '--device'", "run, check, record")
        self.assert_usage_error(["run", "--error-exitcode", "3", "true"], "it belongs to: check")

    def test_values(self):
        self.assert_usage_error(["--format", "xml", "true"], "'xml'", "--format", "text")
        self.assert_usage_error(["--device", "cpu", "true"], "auto, real or simulated")
        self.assert_usage_error(["check", "--fail-on", "bad", "true"], "note, warning or error")
        self.assert_usage_error(["check", "--error-exitcode", "256", "true"], "from 1 to 255")
        self.assert_usage_error(["--min-bytes", "-1", "true"], "a size such as")
        self.assert_usage_error(["--max-trace", "99999999999G", "true"], "a size such as")
        self.assert_usage_error(["--max-trace", "1", "true"], "'1' is no value of option '--max-trace'", "1M or more")
        self.assert_usage_error(["--limit", "", "true"], "'--limit' needs a value")
        self.assert_usage_error(["report", "--from", "soon"], "'soon'", "--from", "1.5s, 200ms, 12us or 7ns")
        self.assert_usage_error(["report", "--from", "2s", "--to", "2000ms"], "--to", "behind that of '--from'")
        self.assert_usage_error(["--perfetto-size", "x", "true"], "--perfetto-size", "a size such as")
        self.assert_usage_error(["--limit=", "true"], "'--limit' needs a value")
        self.assert_usage_error(["--output"], "'--output' needs a value: --output FILE")
        self.assert_usage_error(["--print-suppressions=yes", "true"], "takes no value")

    def test_sizes_out_of_range(self):
        for size in ("0", "1", "255K", "1025M", "2G"):
            self.assert_usage_error(["--device-ring-size", size, "true"], f"'{size}' is no value", "from 256K to 1G")
        for size, bytes_ in (("256K", "262144"), ("1G", "1073741824")):
            result = self.run_command(
                "record",
                "--device",
                "real",
                "--device-ring-size",
                size,
                PROGRAM,
                "environment",
                "GPUMEMTRACE_DEVICE_RING_SIZE",
            )
            self.assertEqual(result.stdout, bytes_ + "\n", result)
        self.assert_usage_error(["--stack-depth", "129", "true"], "from 0 to 128")

    def test_kernels_on_the_simulated_device(self):
        """Its options reach it by the environment, and go with no other device."""
        libdir = os.path.join(self.folder, "libdir")
        shutil.copytree(LIBDIR, libdir)
        os.mkdir(os.path.join(libdir, "simulated"))
        shutil.copy(os.path.join(libdir, "libgpumemtrace.so"), os.path.join(libdir, "simulated", "libcuda.so.1"))
        self.environment["GPUMEMTRACE_LIBDIR"] = libdir
        for option, value, variable, expected in (
            ("--kernel-time", "500ms", "GPUMEMTRACE_SIM_KERNEL_TIME", "0.500000"),
            ("--kernel-time", "2m", "GPUMEMTRACE_SIM_KERNEL_TIME", "120.000000"),
            ("--run-time", "1.5h", "GPUMEMTRACE_SIM_RUN_TIME", "5400.000000"),
            ("--kernel-launches", "3", "GPUMEMTRACE_SIM_KERNEL_LAUNCHES", "3"),
            ("--kernel-launches", "all", "GPUMEMTRACE_SIM_KERNEL_LAUNCHES", "0"),
            ("--device-checks", "none", "GPUMEMTRACE_SIM_DEVICE_CHECKS", "none"),
            ("--device-threads", "4", "GPUMEMTRACE_SIM_DEVICE_THREADS", "4"),
            ("--device-seed", "7", "GPUMEMTRACE_SIM_DEVICE_SEED", "7"),
            ("--races-schedules", "5", "GPUMEMTRACE_SIM_RACES_SCHEDULES", "5"),
            ("--late", "20ms", "GPUMEMTRACE_SIM_LATE", "0.020000"),
            ("--after-fault", "continue", "GPUMEMTRACE_SIM_AFTER_FAULT", "continue"),
            ("--device-checks", "full", "GPUMEMTRACE_SIM_DEVICE_CHECKS", "full"),
        ):
            words = ("record", "--device", "simulated", option, value, PROGRAM, "environment", variable)
            result = self.run_command(*words)
            self.assertEqual(result.stdout, expected + "\n", result)
            self.assert_usage_error([option, value, "true"], "'--device simulated'")
        simulated = ["--device", "simulated"]
        self.assert_usage_error([*simulated, "--kernel-time", "10x", "true"], "a time such as 10s")
        self.assert_usage_error([*simulated, "--kernel-time", "-1", "true"], "a time such as 10s")
        self.assert_usage_error([*simulated, "--kernel-launches", "0", "true"], "a number from 1")
        self.assert_usage_error([*simulated, "--device-threads", "0", "true"], "a number from 1 to 1024")
        self.assert_usage_error([*simulated, "--after-fault", "die", "true"], "stop or continue")
        self.assert_usage_error([*simulated, "--device-seed", "-1", "true"], "a number from 0 to")
        self.assert_usage_error([*simulated, "--races-schedules", "0", "true"], "a number from 1 to 1000")
        self.assert_usage_error([*simulated, "--device-checks", "some", "true"], "none, default or full")
        self.assert_usage_error(["--require-kernels", "true"], "it belongs to: check")

    def test_folders_where_files_belong(self):
        fixture = os.path.join(os.path.dirname(__file__), "..", "fixtures", "first_steps.clean.static")
        (trace,) = glob.glob(os.path.join(fixture, "gpumemtrace.*"))
        folder = os.path.join(self.folder, "folder")
        os.mkdir(folder)
        for command in ("run", "check"):
            for option in ("--policy-file", "--suppressions", "--output"):
                self.assert_usage_error([command, option, folder, "touch", "ran"], folder, "Is a directory")
        for option in ("--policy-file", "--suppressions", "--output"):
            self.assert_usage_error(["report", option, folder, trace], folder, "Is a directory")
        self.assertEqual(os.listdir(self.folder), ["folder"])

    def test_policies(self):
        self.assert_usage_error(
            ["--policy", "no-direct-maloc", "true"],
            "'no-direct-maloc' is no policy",
            "did you mean 'no-direct-malloc'?",
        )
        self.assert_usage_error(["--policy", "zzz", "true"], "the rules are no-direct-malloc [after MARK], no-alloc-in")
        self.assert_usage_error(["--policy", "no-alloc-in", "true"], "it is written no-alloc-in RANGE")
        self.assert_usage_error(["--policy", "no-direct-malloc before x", "true"], "no-direct-malloc [after MARK]")
        self.assert_usage_error(["--policy", "no-alloc-during-capture now", "true"], "it is written")
        self.assert_usage_error(["check", "--policy", "max-device-bytes 2X", "true"], "a size such as")
        self.assert_usage_error(["--policy", "max-allocations 1K", "true"], "takes a number")
        self.assert_usage_error(["--kernel", "a(", "true"], "a POSIX extended regular expression (Unmatched ( or \\()")
        for wrong in ("20..10", "..", "0..3", "a..b"):
            self.assert_usage_error(["--launches", wrong, "true"], "10..20, 10.., ..20 or 15")
        self.assert_usage_error(["--processes", "bin/app", "true"], "without their folders")
        self.assert_usage_error(["--only-kernels", "scale,/a(/", "true"], "names of kernels, or expressions that are")
        self.assert_usage_error(["--skip-kernels", " , ", "true"], "names of kernels, separated by commas")
        self.assert_usage_error(["--coalescing-launches=some", "true"], "takes auto, all or a number from 1 on")
        self.assert_usage_error(["--coalescing-launches=0", "true"], "takes auto, all or a number from 1 on")
        self.assert_usage_error(["--coalescing-range=" + "x" * 256, "true"], "takes at most 255 bytes")
        self.assert_usage_error(
            ["--policy-file", "missing", "true"], "cannot read the policies in 'missing': No such file or directory"
        )
        self.assert_usage_error(["--group-by", "thread", "true"], "stack or range")
        with open(os.path.join(self.folder, "rules"), "w", encoding="utf-8") as file:
            file.write("# a comment\n\n  max-allocations\t 5 \nno-aloc-in x\n")
        self.assert_usage_error(["--policy-file", "rules", "true"], "rules:4: ", "'no-alloc-in'")

    def test_policies_are_for_reports(self):
        self.assert_usage_error(["record", "--policy", "max-allocations 1", "true"], "--policy")
        self.assertIn("no-alloc-in", flat(self.run_command("help", "policy").stdout))

    def test_policies_of_files_and_of_the_command_line_all_hold(self):
        rules = os.path.join(self.folder, "rules")
        with open(rules, "w", encoding="utf-8") as file:
            file.write("# limits\n\n  max-allocations\t 2 \r\nmax-device-bytes 1G\n")
        trace = os.path.join(os.path.dirname(__file__), "..", "fixtures", "first_steps.clean.static")
        kept = self.run_command("report", "--policy", "max-device-bytes 1G", trace)
        self.assertEqual(kept.returncode, 0, kept)
        broken = self.run_command("report", "--policy-file", rules, "--policy", "no-direct-malloc", trace)
        self.assertEqual(broken.returncode, 1, broken)
        for text in ("rule 'max-allocations 2'", "breaks the rule 'no-direct-malloc'"):
            self.assertIn(text, flat(broken.stdout))
        self.assertNotIn("rule 'max-device-bytes", flat(broken.stdout))

    def test_wrong_suppression_file_is_found_before_the_run(self):
        result = self.run_command("--suppressions", "missing.supp", "touch", "ran")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("missing.supp", result.stderr)
        self.assertEqual(self.run_command("ls").stdout, "")

    def test_kinds_of_findings(self):
        self.assert_usage_error(
            ["--only", "leek", "true"],
            "'leek' of option '--only' is no kind of finding",
            "did you mean 'leak'?",
            "gpumemtrace help findings",
        )
        self.assert_usage_error(["report", "--skip", "pich-*"], "'pich-*' of option '--skip'")
        trace = os.path.join(os.path.dirname(__file__), "..", "fixtures", "first_steps.plain.static")
        for kind in ("leak", "*", "device-*", "uncoalesced", "bank-conflict"):
            self.assertIn(self.run_command("report", "--only", kind, trace).returncode, (0, 1), kind)
        with open(os.path.join(self.folder, "known.supp"), "w", encoding="utf-8") as file:
            file.write("# a comment\nleak:main\nlek:*\n")
        for words in (["report", "--suppressions", "known.supp", trace], ["--suppressions", "known.supp", "true"]):
            result = self.run_command(*words)
            self.assertEqual(result.returncode, 2, result)
            self.assertIn("known.supp:3: 'lek' in \"lek:*\" is no kind of finding", result.stderr)
            self.assertIn("gpumemtrace help findings", result.stderr)

    def test_formats_that_diff_writes(self):
        for words in (["--format", "json"], ["--format", "html=page.html", "--format", "json=x.json"]):
            self.assert_usage_error(["diff", *words, "-o", "out", "a", "b"], "--format", "takes text or html")
        self.assertIn("text or html", flat(self.run_command("help", "diff").stdout))
        self.assertNotIn("sarif", self.run_command("help", "diff").stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_check_of_nothing(self):
        for words in (["--only", "leak", "--skip", "leak"], ["--only", "*-free", "--skip", "*"]):
            self.assert_usage_error([*words, "touch", "ran"], "no kind of finding is left")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_database_is_a_file(self):
        self.assert_usage_error(["--format", "sqlite", "touch", "ran"], "--format sqlite=FILE", "--output")
        self.assertEqual(os.listdir(self.folder), [])

    def test_options_that_do_nothing_say_so(self):
        for option, value, missing in (
            ("--kernel", "scale", "'--coalescing' or '--counters'"),
            ("--coalescing-range", "step", "'--coalescing' or '--counters'"),
            ("--coalescing-floor", "1M", "'--coalescing' or '--counters'"),
            ("--keep-core-dump", "1", "'--core-dump' or '--guard'"),
            ("--guard-min", "1M", "'--guard'"),
            ("--baseline-tolerance", "5%", "'--baseline'"),
            ("--perfetto-size", "1M", "'--format perfetto' or '--format pftrace'"),
            ("--only-kernels", "scale", "'--kernel-checks' or '--device simulated'"),
            ("--range", "step", "'--kernel-checks' or '--device simulated'"),
        ):
            result = self.run_command("--device", "real", option, value, PROGRAM, "exit", "3")
            self.assertEqual(result.returncode, 3, result)
            self.assertIn(f"gpumemtrace: '{option}' does nothing without {missing}\n", result.stderr)
        result = self.run_command("--device", "real", "--kernel-checks", "--skip-kernels", "scale", PROGRAM)
        self.assertNotIn("does nothing", result.stderr)
        for words in (["--coalescing"], ["--counters"], ["--coalescing=on"]):
            result = self.run_command("record", "--device", "real", *words, "--kernel", "scale", PROGRAM)
            self.assertNotIn("does nothing", result.stderr)
        self.environment["GPUMEMTRACE_COALESCING"] = "1"
        result = self.run_command("record", "--device", "real", "--kernel", "scale", PROGRAM)
        self.assertNotIn("does nothing", result.stderr)
        result = self.run_command("--device", "real", "--coalescing=0", "--kernel", "scale", PROGRAM)
        self.assertIn("does nothing", result.stderr)

    def test_source_root(self):
        trace = os.path.join(os.path.dirname(__file__), "..", "fixtures", "first_steps.clean.static")
        with open(os.path.join(self.folder, "file"), "w", encoding="utf-8") as file:
            file.write("")
        for root in ("nosuch", "file", "./a/b"):
            words = ["report", "--format", "sarif", "--source-root", root, trace]
            self.assert_usage_error(words, f"'{root}' is no value of option '--source-root'", "a folder")
        for root in (".", self.folder, "/of/another/machine"):
            self.assertEqual(
                self.run_command("report", "--format", "sarif", "--source-root", root, trace).returncode, 0
            )

    def test_no_program(self):
        for command in ("run", "check", "record"):
            self.assert_usage_error([command], "no program to run")
        self.assert_usage_error(["check", "--color", "never"], "no program to run")


class Help(CommandCase):
    def assert_help(self, words, *expected):
        result = self.run_command(*words)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stderr, "")
        for text in expected:
            self.assertIn(text, result.stdout)

    def test_overview(self):
        for words in (["help"], ["--help"], ["-h"]):
            self.assert_help(words, "gpumemtrace ./app", "check", "record", "report", "dump")

    def test_commands(self):
        for command in ("run", "check", "record", "report", "diff", "top", "dump", "help"):
            self.assert_help(["help", command], "gpumemtrace " + command, "Examples")
            self.assert_help([command, "--help"], "gpumemtrace " + command, "Examples")

    def test_interposer_options_come_from_the_table(self):
        self.assert_help(
            ["help", "options"],
            "--stack-depth, GPUMEMTRACE_STACK_DEPTH",
            "GPUMEMTRACE_MAX_TRACE",
            "(default 2G)",
            "NO_COLOR",
            "--fail-on",
        )
        self.assert_help(["help", "record"], "--max-trace", "--stack-depth")

    def test_findings(self):
        self.assert_help(["help", "findings"], "double-free")
        table = self.run_command("help", "findings").stdout.partition("\n\n")[0]
        columns = {re.match(r"\S+ +", line).end() for line in table.splitlines()}
        self.assertEqual(len(columns), 1, table)

    def test_one_topic(self):
        self.assert_usage_error(
            ["help", "leak", "extra"], "help takes one word, and 'extra' is one more", "'gpumemtrace help leak'"
        )
        self.assert_help(["--help", "check"], "gpumemtrace check")
        self.assert_usage_error(["--version", "extra"], "'--version' stands alone")
        self.assert_usage_error(["--version", "--verbose", "extra"], "'extra' is one word more")
        verbose = self.run_command("--version", "--verbose")
        self.assertEqual(verbose.returncode, 0)
        lines = r"^gpumemtrace \d+\.\d+\.\d+\ncommit: .+\ncompiler: .+\nCUDA headers: .+\ncontains[: ].*\n$"
        self.assertRegex(verbose.stdout, lines)

    def test_findings_say_what_rules_are_compared_with(self):
        self.assert_help(
            ["help", "leak"], "  leak:GLOB\n", "  leak:INNER < CALLER < ITS_CALLER\n", "--print-suppressions"
        )
        text = flat(self.run_command("help", "leak").stdout)
        self.assertIn(
            "a whole function name, with or without parameters, or a source or object file, of any frame", text
        )

    def test_unknown_topic(self):
        self.assert_usage_error(["help", "recrod"], "did you mean 'gpumemtrace help record'")

    def test_version(self):
        self.assertRegex(self.run_command("--version").stdout, r"^gpumemtrace \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
