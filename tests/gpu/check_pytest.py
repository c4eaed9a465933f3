#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pytest --gpumemtrace on a real GPU: of five tests the one that leaks fails, with its line, and no other one.

check_pytest.py --gpumemtrace PATH --package FOLDER SUITE

FOLDER holds the Python package. SUITE is a file of tests; the test whose line ends in `# @leak` must fail. Exit status:
0 all holds, 1 not, 77 without a driver, pytest or what the suite needs.
"""

import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SKIPPED = 77
PLUGIN = "gpumemtrace.pytest_plugin"


def run(options, folder, *words):
    """{test: the text of its failure, or None} of a run of the suite."""
    outcome = pathlib.Path(folder) / "junit.xml"
    command = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN, "--gpumemtrace"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(options.package), os.environ.get("PYTHONPATH")])),
        "GPUMEMTRACE_COMMAND": str(options.gpumemtrace),
    }
    done = subprocess.run(
        [*command, f"--junit-xml={outcome}", *words, str(options.suite)],
        check=False,
        capture_output=True,
        text=True,
        timeout=150,
        cwd=folder,
        env=environment,
    )
    print(done.stdout[-6000:], done.stderr[-2000:])
    if "this machine has no driver of CUDA" in done.stderr:
        print("skipped: no driver")
        sys.exit(SKIPPED)
    if not outcome.exists():
        sys.exit(f"check_pytest: no results, exit status {done.returncode}")
    tests = {}
    for case in xml.etree.ElementTree.parse(outcome).iter("testcase"):
        if case.find("skipped") is not None:
            sys.exit(SKIPPED)
        failures = [*case.iter("failure"), *case.iter("error")]
        tests[case.get("name")] = "".join(failure.text for failure in failures) if failures else None
    return tests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--package", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("suite", type=lambda path: pathlib.Path(path).absolute())
    options = parser.parse_args()
    if importlib.util.find_spec("pytest") is None:
        print("skipped: no pytest")
        return SKIPPED
    lines = options.suite.read_text().split("\n")
    number = next(i for i, line in enumerate(lines, 1) if line.endswith("# @leak"))
    with tempfile.TemporaryDirectory(prefix="check_pytest.") as folder:
        whole = run(options, folder)
    with tempfile.TemporaryDirectory(prefix="check_pytest.") as folder:
        twin = run(options, folder, "-k", "not leaks")
    problems = []
    failed = [name for name, text in whole.items() if text is not None]
    if len(whole) != 5 or failed != ["test_leaks"]:
        problems.append(f"of {sorted(whole)} these failed: {failed}")
    elif f"{options.suite.name}:{number}" not in whole["test_leaks"] or "12.1 KiB" not in whole["test_leaks"]:
        problems.append(f"the failure does not name line {number} and 12.1 KiB: {whole['test_leaks']}")
    if len(twin) != 4 or any(text is not None for text in twin.values()):
        problems.append(f"without the leaking test: {twin}")
    print("; ".join(problems) or "as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
