#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs, moves the install to a path with a space and checks that it stands on its own.

test_install.py --cmake CMAKE --build FOLDER --throwing PROGRAM [--sample PROGRAM] [--static]

Checked: what is there, that the command is static (--static) and THIRD_PARTY.md names what it contains, that no library needs a symbol newer than glibc 2.34 or
looks for others outside its own folder, that a sample (a shared runtime) is reported on from there with an empty
environment, and that a C++ program's unwinder is never ours. Needs readelf. Exit status: 0 all holds, 1 not.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIBRARY_OF_ARCHIVE = {
    "boost_program_options": "Boost.Program_options",
    "bz2": "bzip2",
    "dw": "elfutils",
    "elf": "elfutils",
    "lz4": "LZ4",
    "lzma": "liblzma",
    "sqlite3": "SQLite",
    "z": "zlib",
    "zstd": "zstd",
}
UNNAMED_LIBRARIES = ["JSON for Modern C++", "d3", "fmt", "glibc", "libgcc", "libstdc++", "libunwind"]
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29)}  # of distributions with GCC 11
PROBLEMS = []


def check(holds, sentence):
    if not holds:
        PROBLEMS.append(sentence)


def output(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def install(options, folder):
    """Installs into one folder and moves the result to another, so that no path of the first can be in use."""
    first, second = folder / "first", folder / "second" / "moved here"
    output(options.cmake, "--install", options.build, "--prefix", first, "--strip")
    second.parent.mkdir()
    first.rename(second)
    return second


def check_files(prefix, build):
    for name in (
        "bin/gpumemtrace",
        "lib/gpumemtrace/libgpumemtrace.so",
        "lib/gpumemtrace/libunwind.so.8",
        "lib/gpumemtrace/simulated/gpumemtrace-replay",
        "lib/gpumemtrace/simulated/libcuda.so.1",
        "lib/gpumemtrace/simulated/libcudart.so.12",
        "lib/gpumemtrace/simulated/libcudart.so.13",
        "include/gpumemtrace/device.h",
        "include/gpumemtrace/gtest.h",
        "include/gpumemtrace/pool.h",
        "lib/gpumemtrace/libgpumemtrace_checks.so",
        "lib/gpumemtrace/libgpumemtrace_host.so",
        "lib/gpumemtrace/gpumemtrace-ptxas",
        "include/gpumemtrace/trace/device_ring.h",
        "include/gpumemtrace/trace/packed_words.h",
        "include/gpumemtrace/trace/vocabulary.def",
        "include/gpumemtrace/trace/vocabulary.h",
        "include/gpumemtrace/trace/record_words.h",
        "include/gpumemtrace/trace/records.def",
        "lib/cmake/gpumemtrace/gpumemtrace-config.cmake",
        "share/bash-completion/completions/gpumemtrace",
        "share/doc/gpumemtrace/README.md",
        "share/doc/gpumemtrace/LICENSE",
        "share/man/man1/gpumemtrace.1",
    ):
        check((prefix / name).is_file(), f"{name} is missing")
    if (build / "interposer/libgpumemtrace_cupti.so").exists():  # needs CUPTI's headers
        for name in ("lib/gpumemtrace/libgpumemtrace_cupti.so", "lib/gpumemtrace/simulated/cupti/libcupti.so.13"):
            check((prefix / name).is_file(), f"{name} is missing")


def check_static(command):
    headers = output("readelf", "-lW", "-d", command)
    check("INTERP" not in headers and "NEEDED" not in headers, f"{command.name} is not static:\n{headers}")


def check_third_party(prefix, build):
    """Each archive of the command's link has its row, with a version and its licence's text."""
    text = (prefix / "share/doc/gpumemtrace/THIRD_PARTY.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \| [^|]+ \|$", text, re.M))
    linked = re.search(
        r"^build analyzer/gpumemtrace:.*?LINK_LIBRARIES = ([^\n]*)", (build / "build.ninja").read_text(), re.M | re.S
    )
    archives = re.findall(r"(?<!\S)/\S*/lib([\w+]+)\.a\b", linked[1])  # our own have relative paths
    check(len(archives) >= len(LIBRARY_OF_ARCHIVE), f"the command is linked with {archives}")
    for name in [LIBRARY_OF_ARCHIVE.get(archive, archive) for archive in archives] + UNNAMED_LIBRARIES:
        check(name in rows, f"THIRD_PARTY.md has no {name}")
        check(f"\n## {name}\n" in text, f"THIRD_PARTY.md has no text of the licence of {name}")
        if shutil.which("dpkg-query"):
            check(rows.get(name) != "unknown", f"THIRD_PARTY.md does not know the version of {name}")
    versions = output(prefix / "bin/gpumemtrace", "--version", "--verbose")
    check(re.search(r"(?m)^CUDA headers: \d+\.\d+$", versions), f"--version --verbose names no CUDA: {versions}")
    for name in ("elfutils", "SQLite", "libunwind", "zstd", "LZ4"):
        check(f"{name} {rows.get(name)}" in versions, f"--version --verbose has no {name}: {versions}")


def check_library(library):
    versions = output("readelf", "-VW", library)
    for name, version in sorted(set(re.findall(r"\b(GLIBC|GLIBCXX)_([0-9.]+)", versions))):
        check(tuple(map(int, version.split("."))) <= NEWEST[name], f"{library.name} needs {name}_{version}")
    dynamic = output("readelf", "-dW", library)
    paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    check(all(path == "$ORIGIN" for path in paths), f"{library.name} looks for libraries in {paths}")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if library.name in ("libgpumemtrace.so", "libgpumemtrace_cupti.so", "libgpumemtrace_host.so"):
        check(needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}, f"{library.name} needs {sorted(needed)}")
    if library.name == "libgpumemtrace_checks.so":  # the C++ library is linked in
        check("libstdc++.so.6" not in needed, f"{library.name} needs {sorted(needed)}")


def run(prefix, program, folder, **environment):
    """LD_PRELOAD cannot carry a space: the command makes links to its libraries in $TMPDIR."""
    folder.mkdir()
    links = folder.parent / "links"
    links.mkdir(exist_ok=True)
    return subprocess.run(
        [prefix / "bin/gpumemtrace", "--device", "simulated", program],
        check=False,
        cwd=folder,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(links), **environment},
        capture_output=True,
        text=True,
    )


def check_sample(prefix, sample, folder):
    done = run(prefix, sample, folder / "sample")
    check(done.returncode == 0, f"{sample.name} ended with {done.returncode}: {done.stderr[-1500:]}")
    for words in ("double-free", "leak", "release_all", "first_steps.cu:"):
        check(words in done.stderr.lower(), f"the report of {sample.name} has no '{words}':\n{done.stderr[-3000:]}")


def check_unwinder(prefix, program, folder):
    """LD_DEBUG tells for every symbol which library it was bound to."""
    done = run(
        prefix,
        program,
        folder / "throwing",
        LD_DEBUG="bindings",
        LD_DEBUG_OUTPUT=str(folder / "bindings"),
        LD_BIND_NOW="1",
    )
    check(
        done.returncode == 0 and "caught" in done.stdout,
        f"{program.name} ended with {done.returncode}: {done.stdout} {done.stderr[-1500:]}",
    )
    lines = [line for file in folder.glob("bindings.*") for line in file.read_text(errors="replace").splitlines()]
    ours = (str(prefix / "lib/gpumemtrace"), str(folder / "links"))
    check(
        any(one in line for line in lines for one in ours),
        "the loader's log does not name our libraries: nothing was tested",
    )
    check(any("_Unwind_" in line for line in lines), "the loader's log has no _Unwind_ symbol: nothing was tested")
    for line in lines:
        bound = re.search(r"binding file (.+?) \[\d+\] to (.+?) \[\d+\].*symbol `(_Unwind_\w+)'", line)
        if bound and bound[2].startswith(ours) and not bound[1].startswith(ours):
            check(False, f"{bound[3]} of {bound[1]} is bound to {bound[2]}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--cmake", "--build", "--throwing", "--sample"):
        parser.add_argument(name, required=name != "--sample", type=pathlib.Path)
    parser.add_argument("--static", action="store_true")
    options = parser.parse_args()
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="test_install.") as temporary:
        folder = pathlib.Path(temporary).resolve()
        prefix = install(options, folder)
        check_files(prefix, options.build)
        if options.static:
            check_static(prefix / "bin/gpumemtrace")
            check_third_party(prefix, options.build)
        for library in sorted((prefix / "lib").rglob("*.so*")):
            check_library(library)
        if options.sample:
            check_sample(prefix, options.sample, folder)
        check_unwinder(prefix, options.throwing, folder)
    for problem in PROBLEMS:
        print(problem)
    print(f"{len(PROBLEMS)} problems" if PROBLEMS else "the moved install stands on its own")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())
