# SPDX-License-Identifier: Apache-2.0
"""What people do every day, from end to end on the simulated device: source lines that travel with a trace, clean runs
that leave nothing, a configuration file, the last calls, and what other tools read.

It is one file because it is one list of habits, each tried by itself."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

import yaml

COMMAND = os.environ["GMT_COMMAND"]
SAMPLES = pathlib.Path(os.environ["GMT_SAMPLES"])
FAULTY = SAMPLES / "first_steps-O2-shared"
CLEAN = SAMPLES / "row_pointers-O2-shared"
SOURCES = pathlib.Path(__file__).resolve().parents[2] / "samples"

# A program that dies behind its first calls, as its argument says.
DIES = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
context, address = ctypes.c_void_p(), ctypes.c_uint64()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096))
exec(sys.argv[1])
"""

# In the place of its death: two leaks of one line.
LEAKS = """
def take(bytes): cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(bytes))
take(512)
take(768)
"""


class Habits(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpumemtrace-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        kept = ("GPUMEMTRACE_", "COLUMNS", "FORCE_")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(kept)}

    def run_command(self, *words):
        return self.run_words(COMMAND, *words)

    def run_words(self, *words):
        return subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def traces(self):
        return sorted(self.folder.glob("gpumemtrace.*.*"))

    def test_source_lines_travel_with_the_trace(self):
        # The samples name their sources relative to the repository.
        (self.folder / "samples").mkdir()
        source = self.folder / "samples" / "first_steps.cu"
        shutil.copy(SOURCES / "first_steps.cu", source)
        here = self.run_command("--device", "simulated", FAULTY).stderr
        line = re.search(r"\n +\| CHECK\(cudaMalloc\(&batch.*\n( +\|) +\^~~~~~~~~~\n", here)
        self.assertTrue(line, here)
        source.unlink()
        (trace,) = self.traces()
        self.assertIn(line[0], self.run_command("report", trace).stdout)
        self.assertNotIn(" | CHECK(", self.run_command("report", "--no-source", trace).stdout)

    def test_a_clean_run_leaves_no_trace_where_that_is_asked_for(self):
        done = self.run_command("check", "--device", "simulated", "--discard-clean", CLEAN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("trace: removed, as nothing was found", done.stderr)
        self.assertEqual(self.traces(), [])
        self.run_command("check", "--device", "simulated", "--discard-clean", FAULTY)
        self.assertEqual(len(self.traces()), 1)
        self.run_command("check", "--device", "simulated", "--discard-clean", "--keep-trace", CLEAN)
        self.assertEqual(len(self.traces()), 2)
        listed = self.run_command("clean")
        self.assertEqual(listed.returncode, 0, listed)
        self.assertIn("2 traces, ", listed.stdout)
        self.assertIn("'gpumemtrace clean --remove'", listed.stdout)
        self.assertIn("0 traces", self.run_command("clean", "--remove", "--older-than", "3").stdout)
        (self.folder / "gpumemtrace.notes.txt").write_text("no trace")
        (self.folder / "gpumemtrace.other.host.1").mkdir()
        self.assertIn("removed 2 traces", self.run_command("clean", "--remove").stdout)
        left = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(left, ["gpumemtrace.notes.txt", "gpumemtrace.other.host.1"])

    def test_clean_removes_nothing_but_whole_traces(self):
        self.run_command("check", "--device", "simulated", CLEAN)
        (trace,) = self.traces()
        (self.folder / "target").mkdir()
        (self.folder / "target" / "kept").write_text("kept")
        link = self.folder / "gpumemtrace.link.host.2"
        link.symlink_to("target")
        shutil.copy(trace / "info", self.folder / "target")
        notes = self.folder / "gpumemtrace.notes"
        (notes / "src").mkdir(parents=True)
        (notes / "info").write_text("about our use of the tool\n")
        with_report = self.folder / "gpumemtrace.copy.host.3"
        shutil.copytree(trace, with_report)
        (with_report / "report.html").write_text("a report")
        done = self.run_command("clean", "--remove", ".", str(link) + "/")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("(stays: it is a link)", done.stdout)
        self.assertIn("(stays: its file 'info' is not a trace's)", done.stdout)
        self.assertIn("(stays: it holds 'report.html')", done.stdout)
        self.assertIn("removed 1 trace,", done.stdout)
        self.assertFalse(trace.exists())
        for path in (notes / "src", notes / "info", with_report / "info", self.folder / "target" / "kept"):
            self.assertTrue(path.exists(), path)

    @unittest.skipIf(os.geteuid() != 0, "only root makes files of another user")
    def test_a_configuration_of_another_user_is_passed_over(self):
        below = self.folder / "mine"
        below.mkdir()
        config = self.folder / "gpumemtrace.toml"
        config.write_text('format = ["json=report.json"]\n')

        def leaves_report(owner):
            os.chown(config, owner, owner)
            words = [COMMAND, "check", "--device", "simulated", CLEAN]
            done = subprocess.run(words, cwd=below, env=self.environment, capture_output=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return (self.folder / "report.json").exists()  # beside the file that asks for it

        self.assertFalse(leaves_report(65534))
        self.assertTrue(leaves_report(0))

    def test_options_of_a_file_and_of_the_environment(self):
        below = self.folder / "src" / "deep"
        below.mkdir(parents=True)
        (self.folder / "gpumemtrace.toml").write_text(
            '# for all of us\ndevice = "simulated"\nskip = ["leak", "mismatched-free"] # known\n'
            'suppressions = "known.supp"\n\n[check]\nerror-exitcode = 42\n'
        )
        (self.folder / "known.supp").write_text("copy-*:*\n")

        def kinds(*words):
            done = subprocess.run(
                [COMMAND, "check", *words, "--format", "json=r.json", FAULTY],
                cwd=below,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            report = json.loads((below / "r.json").read_text(encoding="utf-8"))
            return done.returncode, {finding["kind"] for finding in report["findings"]}

        self.assertEqual(kinds(), (42, {"double-free"}))
        self.environment["GPUMEMTRACE_OPTIONS"] = "--error-exitcode 43 --skip 'double-*' --once"
        self.assertEqual(kinds("--fail-on", "note"), (0, set()))
        self.environment["GPUMEMTRACE_OPTIONS"] = "--error-exitcode=43"
        self.assertEqual(kinds("--error-exitcode", "44")[0], 44)
        for text, why in (
            ("color = never\n", "gpumemtrace.toml:1: texts stand in quotes"),
            ('\ncolour = "never"\n', "gpumemtrace.toml:2: 'colour' is no option"),
            ('only = ["leak"\n', "gpumemtrace.toml:1: a list"),
            ("[chek]\n", "'chek' is no command"),
        ):
            (self.folder / "gpumemtrace.toml").write_text(text)
            done = self.run_command("check", FAULTY)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(why, done.stderr)

    def test_ctest_reads_the_lines_of_a_sanitizer(self):
        words = ("--tool", "memcheck", "--leak-check", "full", "--log-file", "log")
        self.run_command("--device", "simulated", *words, FAULTY)
        lines = (self.folder / "log").read_text(encoding="utf-8").splitlines()
        self.assertTrue(all(line.startswith("=========") for line in lines))
        self.assertEqual(sum(line.startswith("========= Leaked 16384 bytes at") for line in lines), 1)
        self.assertIn("========= Double free", lines)
        self.assertEqual(lines[-1], "========= ERROR SUMMARY: 5 errors")
        self.run_command("--device", "simulated", "--leak-check", "no", "--log-file", "log", FAULTY)
        self.assertNotIn("Leaked", (self.folder / "log").read_text(encoding="utf-8"))

    def test_an_end_by_a_signal_is_named_whatever_was_found(self):
        (self.folder / "dies.py").write_text(DIES)

        def flat(text):
            return " ".join(text.replace("&#40;", "(").replace("&#41;", ")").split())

        for death, child, whole in (
            ("ctypes.string_at(0)", "was killed by SIGSEGV (Segmentation fault)", -signal.SIGSEGV),
            ("os.kill(os.getpid(), 9)", "did not say that it ends", -signal.SIGKILL),
        ):
            forms = ["markdown", "sarif", "html", *(["junit", "github"] if "SIGSEGV" in child else [])]
            formats = [word for form in forms for word in ("--format", f"{form}={form}")]
            words = ("check", "--device", "simulated", *formats)
            script = f"{sys.executable} dies.py '{death}'; exit 0"
            done = self.run_command(*words, "sh", "-c", script)
            self.assertEqual(done.returncode, 0, done)  # the program's own
            for text in (done.stderr, *((self.folder / form).read_text() for form in forms)):
                self.assertRegex(flat(text), r"process \d+ \(python[\d.]*\) " + re.escape(child))
            done = self.run_command(
                "run",
                "--device",
                "simulated",
                "--quiet",
                "-o",
                "report",
                "--log-file=log",
                sys.executable,
                "dies.py",
                death,
            )
            self.assertEqual(done.returncode, whole, done)
            self.assertIn("the report is in 'report'", done.stderr)
            last = (self.folder / "log").read_text(encoding="utf-8").splitlines()[-1]
            self.assertRegex(last, r"ERROR SUMMARY: 0 errors; the program was killed by SIG(SEGV|KILL)")

    def test_a_crash_behind_the_last_words_is_the_end(self):
        """exit() has said its status when libraries are taken down, and threads of the program may still run."""
        for function, status, end in (
            ("strlen", 0, "killed by SIGSEGV"),
            ("abort", 0, "killed by SIGABRT"),
            ("raise", 8, "killed by SIGFPE"),
            ("labs", 0, "exit status 0"),
        ):
            # What is registered before the first CUDA call runs behind the tool's own handler.
            early = f"import ctypes\nlibc = ctypes.CDLL(None)\nlibc.on_exit(libc['{function}'], None)\n"
            (self.folder / "dies.py").write_text(early + DIES)
            script = f"{sys.executable} dies.py 'sys.exit({status})'; exit 0"
            done = self.run_command("check", "--device", "simulated", "-o", "report", "sh", "-c", script)
            leaks = function == "labs"  # as it was not killed
            self.assertEqual(done.returncode, 23 if leaks else 0, done)
            self.assertIn("ended: " + end, (self.folder / "report").read_text(), function)

    def test_a_line_that_two_findings_have_is_named_with_its_callers(self):
        (self.folder / "leaks.py").write_text(DIES.replace("exec(sys.argv[1])", LEAKS))
        words = ("check", "--device", "simulated", "--only", "leak", "--format", "markdown=m", "--source-root", ".")
        self.run_command(*words, sys.executable, "leaks.py")
        rows = re.findall(r"\| error \| leak \|[^|]*\| ([^|]*) \|", (self.folder / "m").read_text())
        line = 1 + DIES[: DIES.index("exec(")].count("\n")
        expected = {f"leaks.py:{line + 1}, called at leaks.py:{line + caller}" for caller in (2, 3)}
        self.assertEqual({row.replace("&#58;", ":") for row in rows}, {f"leaks.py:{line - 1}", *expected})

    def test_the_action_annotates_and_keeps_the_status(self):
        root = SOURCES.parent
        (step,) = yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
        inputs = {"GMT_RUN": f"'{FAULTY}'", "GMT_OPTIONS": "--device simulated", "GMT_COMMAND": COMMAND}
        self.assertEqual(set(inputs), set(step["env"]))
        self.environment |= {**inputs, "GITHUB_STEP_SUMMARY": str(self.folder / "summary")}
        done = self.run_words("bash", "-e", "-c", step["run"])
        self.assertEqual(done.returncode, 23, done)
        self.assertEqual(
            len(re.findall(r"^::error (?:file=[^:]*,line=\d+,)?title=", done.stdout, re.M)), 5, done.stdout
        )
        self.assertIn("## gpumemtrace", (self.folder / "summary").read_text(encoding="utf-8"))

    def test_the_problem_matcher_reads_lines_of_a_compiler(self):
        text = (SOURCES.parent / ".github" / "gpumemtrace-matcher.json").read_text(encoding="utf-8")
        (pattern,) = json.loads(text)["problemMatcher"][0]["pattern"]
        lines = self.run_command("--device", "simulated", "--format", "gcc", FAULTY).stderr
        found = re.findall(pattern["regexp"], lines, re.M)
        self.assertEqual(len(found), 5, lines)
        self.assertIn(("samples/first_steps.cu", "66", "error", "double-free"), [(*f[:3], f[4]) for f in found])

    def test_the_last_calls(self):
        self.run_command("record", "--device", "simulated", FAULTY)
        (trace,) = self.traces()
        done = self.run_command("last", trace)
        self.assertIn(", the last 10 of ", done.stdout)
        self.assertRegex(done.stdout, r"\n  cudaFree, 0x[0-9a-f]+ +samples/first_steps\.cu:66  release_all\s+= ")
        self.assertNotIn("may have run at the end", done.stdout)  # cudaFree has waited
        self.assertIn("SUMMARY: gpumemtrace: 5 errors", done.stdout)
        self.assertNotIn("cuda-gdb", done.stdout)
        newest = self.run_command("last")
        self.assertEqual(newest.stdout, done.stdout)
        (trace / "gpu-core.7").write_bytes(b"no dump")
        shown = self.run_command("last", trace).stdout
        self.assertIn(f"cuda-gdb '{FAULTY}' -ex 'target cudacore {trace}/gpu-core.7'", shown)
        self.assertIn(f"reading the newest trace, {trace.name}", newest.stderr)
        self.assertEqual(self.run_command("last", trace, trace).returncode, 2)

    def test_the_place_of_a_crash_and_the_calls_before_it(self):
        (self.folder / "dies.py").write_text(DIES)
        done = self.run_command("record", "--device", "simulated", sys.executable, "dies.py", "ctypes.string_at(0)")
        (trace,) = self.traces()
        self.assertIn(f"next: gpumemtrace last {trace.name}\n", done.stderr)
        done = self.run_command("last")
        self.assertRegex(done.stdout, r"^SIGSEGV: the program's own code read from 0x0+ here\n  \S")
        self.assertRegex(done.stdout, r"\n  cuMemAlloc, 4\.0 KiB +dies\.py:8  <module>\n")
        self.assertEqual(done.returncode, 1, done)  # without a finding: the program failed
        self.environment["COLUMNS"] = "40"
        narrow = self.run_command("last").stdout
        self.assertIn("\n  cuMemAlloc, 4.0 KiB\n      dies.py:8  <module>\n", narrow)

    def test_the_head_names_the_trace(self):
        lines = self.run_command("--device", "simulated", FAULTY).stderr.splitlines()
        (trace,) = self.traces()
        head = next(at for at, line in enumerate(lines) if line.startswith("gpumemtrace 0."))
        named = [at for at, line in enumerate(lines) if f"trace: {trace.name}" in line]
        self.assertEqual((len(named), named[0] - head < 3), (1, True), lines)

    def test_one_file_of_traces_is_read_as_they_are(self):
        self.environment["TMPDIR"] = str(self.folder / "tmp")
        (self.folder / "tmp").mkdir()
        for program in (FAULTY, CLEAN):
            self.run_command("record", "--device", "simulated", "--trace-dir", "made", program)
        first, second = sorted((self.folder / "made").iterdir(), key=lambda one: one.stat().st_mtime)
        plain = {one: self.run_command("report", "--format", "json", one).stdout for one in (first, second)}
        (first / "gpu-core.1").write_text("what the GPU held")
        done = self.run_command("pack", first, "-oone.tar.zst")
        self.assertIn("1 trace packed into one.tar.zst", done.stderr)
        self.assertEqual(self.run_command("pack", first, second).returncode, 0)
        both = self.folder / f"{first.name}.tar.zst"
        self.assertEqual(self.run_command("pack", first).returncode, 2)  # the file is there
        shutil.rmtree(self.folder / "made")
        packed = self.run_command("report", "--format", "json", "--format", "sqlite=r.db", "one.tar.zst")
        self.assertEqual(packed.returncode, 1, packed)
        self.assertEqual(packed.stdout.replace("one.tar.zst/", f"{first.parent}/"), plain[first])
        self.assertIn("2 processes", self.run_command("report", both).stdout)
        self.assertIn(", the last 10 of ", self.run_command("last", "one.tar.zst").stdout)
        self.assertIn("cuMemFree_v2", self.run_command("dump", "one.tar.zst").stdout)
        self.assertEqual(self.run_command("diff", "one.tar.zst", "one.tar.zst").returncode, 0)
        self.assertIn("holds 2 traces", self.run_command("dump", both).stderr)
        listed = subprocess.run(["tar", "--zstd", "-tf", both], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"{second.name}/info\n", listed)
        self.assertNotIn("gpu-core", listed)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_packed_files_of_others(self):
        self.environment["TMPDIR"] = str(self.folder / "tmp")
        (self.folder / "tmp").mkdir()

        def entry(name, size=0, kind=tarfile.REGTYPE):
            head = tarfile.TarInfo(name)
            head.size, head.type, head.linkname = size, kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            return head.tobuf(tarfile.USTAR_FORMAT) + b"0" * 512 * (0 < size < 512)

        def answer(tar, cut=None):
            bad = self.folder / "bad.tar.zst"
            bad.write_bytes(subprocess.run(["zstd", "-q"], input=tar, capture_output=True, check=True).stdout[:cut])
            done = self.run_command("report", bad)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done)
            return done.stderr

        info, end = entry("gpumemtrace.app.host.1/info", 5), bytes(1024)
        self.assertIn("it holds no trace", answer(end))
        self.assertIn("no tar archive", answer(b"x" * 600))
        self.assertIn("regular files", answer(info + entry("gpumemtrace.app.host.1/link", kind=tarfile.SYMTYPE) + end))
        self.assertIn("regular files", answer(info + entry("gpumemtrace.app.host.1/../info", 5) + end))
        self.assertIn("regular files", answer(entry("/etc/gpumemtrace.x/info", 5) + end))
        self.assertIn("more than traces", answer(info + entry("other/info", 5) + end))
        self.assertIn("File exists", answer(info + info + end))
        self.assertIn("which no trace does", answer(info + entry("gpumemtrace.app.host.1/t1-0.log", 3 << 30)))
        self.assertIn("ends too early", answer(info))
        self.assertIn("ends too early", answer(info + end, cut=20))
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        gone = self.folder / "tmp" / "gpumemtrace-unpacked.999999999.abcdef"  # of a command that was killed
        gone.mkdir()
        answer(info)
        self.assertFalse(gone.exists())

    def test_the_name_of_a_file_says_its_form(self):
        self.run_command("record", "--device", "simulated", FAULTY)
        for name, begin in (("r.html", "<!doctype html>"), ("r.json", "{"), ("r.md", "## "), ("r.txt", "gpumemtrace ")):
            for words in (("-o", name), (f"-o{name}",), (f"-o={name}",), ("--output", name)):
                self.run_command("report", *words)
                text = (self.folder / name).read_text(encoding="utf-8")
                self.assertTrue(text.startswith(begin), (words, text[:40]))
                (self.folder / name).unlink()
        self.run_command("report", "-o", "r.html", "--format", "json")
        self.assertTrue((self.folder / "r.html").read_text(encoding="utf-8").startswith("{"))
        done = self.run_command("report", "-only", "leak")  # a long option that lacks a dash
        self.assertEqual((done.returncode, self.traces()[0].parent), (1, self.folder), done.stderr)

    def test_bash_completes_commands_and_options(self):
        script = SOURCES.parent / "scripts" / "completion.bash"

        def completed(*words):
            quoted = " ".join(f"'{word}'" for word in (COMMAND, *words))
            text = f"source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _gpumemtrace; "
            done = self.environment | {"PATH": os.environ["PATH"]}
            out = subprocess.run(
                ["bash", "-c", text + "printf '%s\\n' \"${COMPREPLY[@]}\""],
                env=done,
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            return set(out.stdout.split())

        self.assertIn("record", completed("rec"))
        self.assertEqual(completed("check", "--fail"), {"--fail-on"})
        self.assertEqual(completed("dump", "--f"), {"--format"})
        self.assertEqual(completed("check", "--format", "js"), {"json"})
        self.assertEqual(completed("check", "--only", "double"), {"double-free"})
        self.assertEqual(completed("check", "./app", "--fail"), set())

    def test_a_dump_for_programs_has_functions_and_lines(self):
        self.run_command("record", "--device", "simulated", FAULTY)
        (trace,) = self.traces()
        lines = [json.loads(line) for line in self.run_command("dump", "--format", "jsonl", trace).stdout.splitlines()]
        calls = [line for line in lines if line.get("via") == "cudaFree"]
        self.assertEqual({line["call"] for line in calls}, {"cuMemFree_v2"})
        stacks = {line["stack"]: line["frames"] for line in lines if "frames" in line}
        own = [frame for frame in stacks[calls[-1]["stack"]] if frame.get("file") == "samples/first_steps.cu"]
        self.assertEqual((own[0]["function"], own[0]["line"] > 0), ("release_all", True))
        self.assertEqual((lines[-1]["end"], lines[-1]["lost"]), (True, 0))


if __name__ == "__main__":
    unittest.main()
