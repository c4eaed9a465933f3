# SPDX-License-Identifier: Apache-2.0
"""What scripts/check builds and runs for a name: a file, a finding's kind, a test, an executable of unit tests.

Exit status: 0 all passed, 1 something failed or was not built, 2 a name that means nothing."""

import argparse
import fnmatch
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

MOST_PROGRAMS = 8  # of a finding's kind
MOST_IN_PATTERN = 200  # names of tests: ctest's patterns have a largest size
ROOM_DEPTH = len(("tests", "unit", "analyzer", "heap"))
SOURCES = (".cpp", ".h", ".cu", ".cuh", ".def", ".S", ".inc")
# Tests of what has no unit tests of its own, by the beginning of a file's path; the longest that fits counts.
TESTS_OF = {
    "analyzer/command": ["command.*"],
    "analyzer/report/html": ["html.*"],
    "docs": ["report.documents", "report.*page*", "report.findings*"],
    "interposer/hooks": ["routing.*"],
    "interposer/calls": ["routing.*"],
    "interposer/recorders": ["routing.records*"],
    "python": ["python.*"],
    "simulated_cuda/driver": ["simulated.*"],
    "simulated_cuda/runtime": ["simulated.*"],
    "trace": ["routing.*", "report.format_page", "command.dump"],
    "trace/interposer_options.def": ["command.arguments", "command.environment"],
}  # fmt: skip
# These have unit tests, and a way through them that only a whole process goes.
TESTS_BESIDE_UNITS = ("analyzer/command", "interposer/hooks", "interposer/calls")
# Suites of these executables may need what ctest sets for them: a folder for their process's trace.
EXECUTABLES_WITH_TRACES = "tests/unit/interposer_"
# A run needs them, whatever else its test names.
PRODUCT = ["analyzer/all", "interposer/all", "simulated_cuda/all", "device_hooks/all"]


class Plan:
    """Ninja's targets, then unit tests by their executables and suites, then tests of ctest."""

    def __init__(self):
        self.targets, self.suites, self.tests = {}, {}, {}  # as sets that keep their order

    def add_target(self, target):
        self.targets[target] = None

    def add_suites(self, executable, suites):
        self.add_target(executable)
        self.suites.setdefault(executable, {}).update(dict.fromkeys(suites))

    def is_empty(self):
        return not (self.targets or self.suites or self.tests)


class Checker:
    def __init__(self, root, build):
        self.root, self.build = root, build
        self.plan = Plan()
        self._executables = None
        self._tests = None

    # What the build folder knows.

    def executables(self):
        """Executables of unit tests by the sources that they are made of, both relative."""
        if self._executables is None:
            self._executables = {}
            commands = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
            for entry in commands:
                output = re.search(r" -o (\S+?)/CMakeFiles/([^/]+)\.dir/", entry["command"])
                path = pathlib.Path(entry["file"])
                if output and path.is_relative_to(self.root):
                    source = str(path.relative_to(self.root))
                    self._executables.setdefault(source, []).append(f"{output[1]}/{output[2]}")
        return self._executables

    def tests(self):
        if self._tests is None:
            shown = subprocess.run(
                ["ctest", "--test-dir", self.build, "--show-only=json-v1"], check=True, capture_output=True, text=True
            )
            self._tests = [t for t in json.loads(shown.stdout)["tests"] if "gpu" not in labels_of(t)]
        return self._tests

    # What names mean.

    def add(self, name):
        path = self.file_of(name)
        if path is not None:
            return self.add_file(path)
        return self.add_kind(name) or self.add_executable(name) or self.add_tests(name)

    def file_of(self, name):
        for base in (pathlib.Path.cwd(), self.root):
            path = (base / name).resolve()
            if path.is_file() and path.is_relative_to(self.root):
                return path.relative_to(self.root)
        return None

    def add_file(self, path):
        name = str(path)
        if name.startswith("tests/unit/"):
            return self.add_unit_test(path)
        if path.suffix == ".cu" and path.parts[0] in ("tests", "samples"):
            return self.add_tests(f"*.{path.stem}.*") or self.add_tests(f"*{path.stem}*")
        if path.parts[0] == "tests":
            return self.add_tests_that_name(path) or self.add_unit_test(path)
        found = self.add_units_of(path)
        for kind in self.kinds_in(path):
            found |= self.add_programs_of(kind)
        beginnings = [b for b in TESTS_OF if name.startswith(b)]
        if beginnings and (not found or name.startswith(TESTS_BESIDE_UNITS)):
            for pattern in TESTS_OF[max(beginnings, key=len)]:
                found |= self.add_tests(pattern)
        return found

    def add_suites(self, executable, suites):
        """By ctest where that has a test for them; all of the executable if none is named."""
        by_ctest = []
        if executable.startswith(EXECUTABLES_WITH_TRACES):
            names = {test["name"] for test in self.tests()}
            sources = [source for source, executables in self.executables().items() if executable in executables]
            all_suites = suites or [suite for source in sources for suite in suites_in(self.root / source)]
            by_ctest = [suite for suite in all_suites if suite in names]
        self.plan.add_target(executable)
        self.plan.tests.update(dict.fromkeys(by_ctest))
        rest = [suite for suite in suites if suite not in by_ctest]
        if rest or not by_ctest:
            self.plan.add_suites(executable, rest)

    def add_unit_test(self, path):
        """A source of tests; of a header those in its folder."""
        sources = [str(path)]
        if path.suffix == ".h":
            sources = [s for s in self.executables() if s.startswith(f"{path.parent}/") and s.endswith("_test.cpp")]
        for source in sources:
            suites = suites_in(self.root / source)
            for executable in self.executables().get(source, []):
                if suites:
                    self.add_suites(executable, suites)
                else:
                    self.plan.add_target(executable)
        return any(source in self.executables() for source in sources)

    def add_units_of(self, path):
        """The tests of the same name; else those of its folder, or elsewhere, that include its header or name its
        finding; else all of its folder, or of its room."""
        if path.suffix not in SOURCES:
            return False
        test = pathlib.Path("tests/unit") / path.parent / f"{path.stem}_test.cpp"
        if (self.root / test).exists():
            return self.add_unit_test(test)
        words = [f'"{path.with_suffix(".h")}"', *(f'"{kind}"' for kind in self.kinds_in(path))]
        units = [s for s in self.executables() if s.startswith("tests/unit/") and s.endswith("_test.cpp")]
        named = [s for s in units if any(word in read(self.root / s) for word in words)]
        named = [s for s in named if s.startswith(f"{test.parent}/")] or named
        folder = test.parent
        while not named and len(folder.parts) >= ROOM_DEPTH:
            named = [s for s in units if s.startswith(f"{folder}/")]
            folder = folder.parent
        for source in named:
            self.add_unit_test(pathlib.Path(source))
        return bool(named)

    def kinds_in(self, path):
        if path.parts[:2] != ("analyzer", "detectors"):
            return []
        return re.findall(r'^\s*\.id = "([a-z-]+)"', read(self.root / path), re.MULTILINE)

    def add_kind(self, name):
        for path in (self.root / "analyzer/detectors").rglob("*.cpp"):
            relative = path.relative_to(self.root)
            if name in self.kinds_in(relative):
                return self.add_file(relative)
        return False

    def add_programs_of(self, kind):
        """Programs that expect the finding: those that bear its name, then the smallest."""
        expects = re.compile(rf"^// expect\S*: (?:error|warning|note) {kind}\b", re.MULTILINE)
        programs = [p for p in (self.root / "tests/programs").glob("*.cu") if expects.search(read(p))]
        programs.sort(key=lambda p: (p.stem.replace("_", "-") != kind, p.stat().st_size))
        found = [self.add_tests(f"programs.{p.stem}.*") for p in programs[:MOST_PROGRAMS]]
        return any(found)

    def add_executable(self, name):
        for executables in self.executables().values():
            for executable in executables:
                if executable.startswith("tests/unit/") and executable.rsplit("/", 1)[-1] == name:
                    self.add_suites(executable, [])
                    return True
        return False

    def add_tests_that_name(self, path):
        whole = str(self.root / path)
        return self.add_chosen([t for t in self.tests() if whole in t.get("command", [])])

    def add_tests(self, pattern):
        found = self.add_chosen([t for t in self.tests() if fnmatch.fnmatch(t["name"], pattern)])
        return found or self.add_suites_like(pattern)

    def add_suites_like(self, pattern):
        """Tests of GoogleTest: ctest knows them only when they are built."""
        suite = pattern.split(".")[0]
        for source in self.executables():
            if source.startswith("tests/unit/") and suite in suites_in(self.root / source):
                for executable in self.executables()[source]:
                    self.add_suites(executable, [suite])
                return True
        return False

    def add_chosen(self, tests):
        for test in tests:
            self.plan.tests[test["name"]] = None
            self.add_targets_of(test)
        return bool(tests)

    def add_targets_of(self, test):
        values = [v for p in test["properties"] if p["name"] == "ENVIRONMENT" for v in p["value"]]
        words = test.get("command", []) + [v.partition("=")[2] for v in values]
        named = [w for w in words if w.startswith(f"{self.build}/") and not pathlib.Path(w).is_dir()]
        for word in named:
            self.plan.add_target(str(pathlib.Path(word).relative_to(self.build)))
        if "unit" in labels_of(test):
            return
        for target in PRODUCT:
            self.plan.add_target(target)
        folder = next(p["value"] for p in test["properties"] if p["name"] == "WORKING_DIRECTORY")
        # ctest shows no command of a test whose executable has not been built.
        if "command" not in test or not {"programs", "simulated", "guard"} & set(labels_of(test)):
            self.plan.add_target(f"{pathlib.Path(folder).relative_to(self.build)}/all")


def labels_of(test):
    return next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), [])


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def suites_in(path):
    return re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)", read(path), re.MULTILINE)


def changed_files(root):
    def lines_of(*words):
        return subprocess.run(
            ["git", "-C", root, *words], check=True, capture_output=True, text=True
        ).stdout.splitlines()

    changed = lines_of("diff", "--name-only", "HEAD") + lines_of("ls-files", "--others", "--exclude-standard")
    return [f for f in changed if f] or [f for f in lines_of("show", "--name-only", "--format=", "HEAD") if f]


def find_new_files(build):
    """Lets cmake run again if a source has come or gone: else the folder would know no test of it."""
    done = subprocess.run(["ninja", "-C", build, "build.ninja"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode == 0


def known_targets(build, targets):
    """Those that ninja knows; a test may name folders and files that a test before it makes."""
    shown = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True)
    known = {line.rsplit(":", 1)[0] for line in shown.stdout.split("\n")}
    return [target for target in targets if target in known]


def timed(what, words, **options):
    begun = time.monotonic()
    status = subprocess.run(words, check=False, **options).returncode
    print(f"== {what}: {time.monotonic() - begun:.1f} s{'' if status == 0 else ', FAILED'}", flush=True)
    return status == 0


def run(plan, build, jobs):
    begun = time.monotonic()
    if plan.targets and not timed("built", ["ninja", "-C", build, "-j", str(jobs), "--quiet", *plan.targets]):
        return 1
    good = True
    for executable, suites in plan.suites.items():
        words = [build / executable, "--gtest_brief=1"]
        if suites:
            words.append("--gtest_filter=" + ":".join(f"{suite}.*:*/{suite}.*" for suite in suites))
        good &= timed(executable.rsplit("/", 1)[-1], words, cwd=build / executable.rsplit("/", 1)[0])
    tests = list(plan.tests)
    for first in range(0, len(tests), MOST_IN_PATTERN):
        some = tests[first : first + MOST_IN_PATTERN]
        names = "|".join(re.escape(name) for name in some)
        words = ["ctest", "--test-dir", build, "-j", str(jobs), "--output-on-failure", "-R", f"^({names})$"]
        good &= timed(f"{len(some)} tests", words)
    print(f"== all: {time.monotonic() - begun:.1f} s")
    return 0 if good else 1


def show(plan):
    if plan.targets:
        print("build:", shlex.join(plan.targets))
    for executable, suites in plan.suites.items():
        print("run:  ", executable, " ".join(suites) or "(all of it)")
    for test in plan.tests:
        print("ctest:", test)


def main():
    parser = argparse.ArgumentParser(prog="check", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", required=True, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="only say what it would build and run")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    if not find_new_files(options.build):
        return 1
    checker = Checker(options.root.resolve(), options.build.resolve())
    plan = checker.plan
    for name in options.names or changed_files(checker.root):
        if checker.add(name):
            continue
        if options.names:
            print(f"check: '{name}' is no file with tests, no finding, no test: see ctest --test-dir {options.build} -N",
                  file=sys.stderr)  # fmt: skip
            return 2
        print(f"no test is known for {name}")
    if plan.is_empty():
        print("nothing to check: name a file, a finding or a test")
        return 0
    plan.targets = known_targets(options.build, plan.targets)
    if options.list:
        show(plan)
        return 0
    return run(plan, options.build, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
