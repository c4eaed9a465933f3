#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the pages of docs/findings/ to the truth.

usage: check_findings.py sections GPUMEMTRACE FOLDER
       check_findings.py programs GPUMEMTRACE FOLDER [NVCC] [--only KIND]... [--update]

`sections`: every finding that the command knows or a source of the analyzer names has a section and every section a
finding, with the same severity and title, and `help FINDING` prints the section. `programs`: compiles the program of each section, runs it on the simulated
device and compares the report with the one in the section, call stacks included; addresses and times are masked, and
where lines are wrapped does not matter. With --update the reports are written into the pages instead, and a row into the
index beside FOLDER for a section that has none. With --only (a kind, or a pattern such as device-heap-*) other sections are
left alone. Without NVCC it is the one of GPUMEMTRACE's build.

Comments in a section: `<!-- gpu: REASON -->` its program needs a GPU and is only compiled; `<!-- environment: A=B -->`
and `<!-- options: --x -->` are for its run.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
import expectations  # noqa: E402

HEADS = "#include <cstdint>\n#include <cstdlib>\n#include <cuda_runtime.h>\n\n"
SECTION = re.compile(r"^## ([a-z-]+)\n\n(error|warning|note): ([^\n]*)\n(.*?)(?=^## |\Z)", re.M | re.S)
PROGRAM = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)
REPORT = re.compile(r"^```text\n(.*?)^```$", re.M | re.S)

DETECTORS = pathlib.Path(__file__).resolve().parents[2] / "analyzer" / "detectors"
KIND = re.compile(r'\bkind = (?:[^;]*\? )?"([a-z-]+)"')


def comment(body, key):
    found = re.search(rf"^<!-- {key}: (.*) -->$", body, re.M)
    return found[1] if found else ""


def detector_sources():
    return sorted(DETECTORS.rglob("*.cpp"))


def check_sections(command, sections):
    def output(*words):
        return subprocess.run([command, "help", *words], check=True, capture_output=True, text=True).stdout

    rows = re.findall(r"^([a-z-]+) +(error|warning|note) +(.*)$", output("findings"), re.M)
    known = {(kind, severity, title) for kind, severity, title in rows}
    written = {(kind, severity, title) for kind, severity, title, _ in sections}
    problems = [f"no section (or another severity or title): {row}" for row in sorted(known - written)]
    problems += [f"no such finding: {row}" for row in sorted(written - known)]
    named = {kind for source in detector_sources() for kind in KIND.findall(source.read_text(encoding="utf-8"))}
    problems += [
        f"no section for what a detector reports: {kind}"
        for kind in sorted(named - {kind for kind, _, _, _ in sections})
    ]
    for kind, _, _, body in sections:
        text = " ".join(output(kind).split())
        for part in ("**What it is.**", "**Why it matters.**", "**How to fix it.**"):
            if part not in body:
                problems.append(f"{kind}: no '{part}'")
            elif part.strip("*") not in text:
                problems.append(f"help {kind} does not print '{part}'")
        problems += [
            f"help {kind} does not print: {line}"
            for line in PROGRAM.search(body)[1].splitlines()
            if " ".join(line.split()) not in text
        ]
    return problems


def findings_of(report):
    """The findings of a text report, without what stands above and below them."""
    lines = report.splitlines()
    first = next((i for i, line in enumerate(lines) if re.match(r"(error|warning|note) +[a-z-]+", line)), len(lines))
    last = next(
        (i for i, line in enumerate(lines) if i > first and re.match(r"[a-z]+:|peak |not checked", line)), len(lines)
    )
    # Frames of the simulated device, which may have been built with debug information or without.
    lines = [line for line in lines[first:last] if "simulated_cuda/" not in line and "libcuda.so.1+0x" not in line]
    return "\n".join(lines).strip("\n") + "\n"


def comparable(report):
    """The report in words, with figures that no two runs share left out."""
    text = re.sub(r"0x[0-9a-f]+", "0x", " ".join(report.split()))
    return re.sub(r"[0-9.,]+ (?:ns|us|ms|s|[KMG]iB/s|GB/s|MB/s)\b", "N", text)


def build(nvcc, include, kind, body, folder):
    source = folder / f"{kind}.cu"
    text = PROGRAM.search(body)[1]
    source.write_text(text)
    # Without kernels a program is the host's alone, and compiled in a quarter of the time.
    language = "cu" if re.search("__global__|__device__|__managed__|<<<", text) else "c++"
    # C++17's mathematics are a quarter of the time that a kernel takes; our headers need C++17.
    standard = "c++17" if "gpumemtrace/" in text else "c++14"
    return subprocess.run(
        [
            nvcc,
            "-x",
            language,
            f"-std={standard}",
            "-g",
            "-lineinfo",
            "-cudart",
            "shared",
            "-arch",
            "compute_90",
            "-include",
            "heads.h",
            "-I",
            include,
            "-o",
            kind,
            source.name,
        ],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
    )


def run(command, kind, body, folder):
    environment = dict(pair.split("=", 1) for pair in shlex.split(comment(body, "environment")))
    words = [
        command,
        "--device",
        "simulated",
        "--tables",
        "none",
        "--no-source",  # the program stands above its report
        "--trace-dir",
        str(folder / f"{kind}.traces"),
        *shlex.split(comment(body, "options")),
        f"./{kind}",
    ]
    (folder / f"{kind}.traces").mkdir()
    environment = expectations.with_staged_device(environment, pathlib.Path(command).parents[1])
    done = subprocess.run(
        words, check=False, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    return findings_of(done.stderr)


def check_program(command, nvcc, section, folder):
    """Returns the report and what is wrong."""
    kind, _, _, body = section
    include = pathlib.Path(command).parents[1] / "include"  # of the build, or of an install
    compiled = build(nvcc, include, kind, body, folder)
    if compiled.returncode:
        return None, [f"{kind}: does not compile:\n{compiled.stderr}"]
    if comment(body, "gpu"):
        return None, []
    report = run(command, kind, body, folder)
    if not re.search(rf"^(error|warning|note) +{kind}\b", report, re.M):
        return report, [f"{kind}: not found, but:\n{report}"]
    written = REPORT.search(body)[1]
    if comparable(report) != comparable(written):
        return report, [f"{kind}: the report is\n{report}\nbut its section says\n{written}"]
    return report, []


def updated(text, sections, results):
    """The document with the reports that were made."""
    for (_, _, _, body), (report, _) in zip(sections, results):
        if report:
            new = REPORT.sub(lambda _, report=report: f"```text\n{report}```", body, count=1)
            text = text.replace(body, new)
    return text


def with_missing_rows(index, page, sections):
    """The index with a row for each section of a page; a new one stands behind the page's others."""
    for kind, severity, title, _ in sections:
        link = f"(findings/{page}#{kind})"
        if link not in index:
            row = f"| [`{kind}`]{link} | {severity} | {title[0].lower()}{title[1:]} |\n"
            *_, last = re.finditer(rf"^\| \[`[a-z-]+`\]\(findings/{re.escape(page)}#.*\n", index, re.M)
            index = index[: last.end()] + row + index[last.end() :]
    return index


def nvcc_of_build(command):
    cache = pathlib.Path(command).parents[1] / "CMakeCache.txt"
    found = re.search(r"^GMT_NVCC:\w+=(.+)$", cache.read_text(encoding="utf-8"), re.M) if cache.exists() else None
    return found[1] if found else None


def chosen_sections(sections, only):
    """Those that --only names; all without it. Ends the program if a word names none."""
    for pattern in only:
        if not fnmatch.filter([kind for kind, *_ in sections], pattern):
            sys.exit(f"check_findings: --only {pattern}: there is no such section")
    return [s for s in sections if not only or any(fnmatch.fnmatch(s[0], pattern) for pattern in only)]


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("sections", "programs"))
    parser.add_argument("command", type=os.path.abspath)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("nvcc", nargs="?")
    parser.add_argument("--only", action="append", default=[], metavar="KIND")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    options.nvcc = options.nvcc or nvcc_of_build(options.command)
    if options.mode == "programs" and not options.nvcc:
        parser.error("programs needs NVCC: this build has none")
    return options


def main():
    options = parse_options()
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(options.folder.glob("*.md"))}
    sections = [section for text in pages.values() for section in SECTION.findall(text)]
    if options.mode == "sections":
        problems = check_sections(options.command, sections)
    else:
        sections = chosen_sections(sections, options.only)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "heads.h").write_text("#pragma once\n" + HEADS)
            with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("GPUMEMTRACE_JOBS", os.cpu_count()))) as pool:
                results = list(pool.map(lambda s: check_program(options.command, options.nvcc, s, folder), sections))
        problems = [problem for _, found in results for problem in found]
        if options.update:
            index = options.folder.with_suffix(".md")
            rows = index.read_text(encoding="utf-8")
            for path, text in pages.items():
                path.write_text(updated(text, sections, results), encoding="utf-8")
                rows = with_missing_rows(rows, path.name, SECTION.findall(text))
            index.write_text(rows, encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(sections)} sections, {len(problems)} problems")
    return 1 if problems or not sections else 0


if __name__ == "__main__":
    sys.exit(main())
