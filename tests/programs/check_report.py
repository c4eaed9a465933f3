#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one test program under gpumemtrace and compares the report with what its source expects.

Called by CTest, once for every run, flavour and device; by hand to repeat one. Exit status: 0 the report is as
expected, 1 it is not, 2 wrong usage or an unreadable expectation, 77 skipped.

Expectations are comments in the source, one a line, each belonging to the `run:` line above it. A program in Python is
its own source and its comments begin with `#`:

    // run: double                  arguments of one run; "run:" alone = without arguments
    // exit: 0                      the program's exit status, or "signal 9"; default 0
    // device: any                  or gpu (needs kernels that run) or simulated; default any
    // devices: 2                   a real machine must have so many GPUs, or the run is skipped; default 1
    // env: NAME=value              set for this run; STAGED_...: see tests/simulated/staged_device.cpp
    // options: --policy "RULE"     of gpumemtrace; with "check" first, the command must fail if an error is expected
    // expect: error double-free count=1 api=cudaFree stacks="allocated here"@make_rows:LINE(alloc),"freed here"@main
    // expect: warning uncoalesced ratio=7.9..8.1 cause=far-apart line=LINE(read)
    // expect: clean                no finding of severity error or warning
    // expect: silent               no finding at all, notes included
    // not-checked: leak            the report must say that this was not checked
    // counted: add_one             this kernel must have every whole-kernel counter, and a believable bandwidth
    // processes: 2                 so many processes are in the report; default: not compared
    // unlike-late: why             --late changes what this run does
    // unlike-fenced: why           --guard changes what this run does, or all runs if it stands before the first one
    // or: the context dies         what follows (expect, not-checked) is another outcome of the same run; one must fit

Every run lists all its findings of severity error and warning: any other one is a failure. Notes that are not listed
are allowed. Keys that are left out (count, bytes, api, message, range, ratio, cause, line, tail-calls, stacks) are not
compared; message="text" looks for the text in the finding's message and advice, range="outer / inner" is the NVTX
ranges, ratio is what an access moved to what it had to move (one number: exact to two places), cause why. `tail-calls`
is how many frames of its stacks stand for what a tail call left out. `stacks` lists every labelled stack, in any order. `@name` is the function and `:12` or `:LINE(tag)` the line of the innermost frame that
lies in the program's own source; LINE(tag) is the line that ends in `// @tag`; `line=` is the same for any one stack.
A tag behind the word restricts a line to a flavour: `expect-static:`, `expect-shared-real:`; tags are shared, static,
simulated, real, O0, O2.

Calls into a static runtime are known by its symbols in the call stack, so api= holds there too. Versions of driver
functions (_v2, _ptsz) are not compared. Checked in every run, without being written down: how the program ended, that
leaks were checked unless listed under not-checked, that no event was lost, and, where silence or a ratio is expected of
--coalescing, that all accesses were measured.

expectations.py reads the grammar. What is here is one file because all comparisons are of the same run and report.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import expectations

SKIPPED = 77
TIMEOUT_SECONDS = 150
COUNTERS = ("read_bytes", "written_bytes", "nanoseconds", "share_of_peak_bandwidth", "l1_hit_rate", "l2_hit_rate")


def bare_function(name):
    """'void ns::drop<int>(float*) [clone .isra.0]' -> 'drop'."""
    name = re.sub(r"\s*\[clone [^\]]*\]", "", name or "")
    name = name.replace("(anonymous namespace)::", "")
    previous = None
    while previous != name:  # innermost template arguments first
        previous, name = name, re.sub(r"<[^<>]*>", "", name)
    name = name.split("(")[0].strip().split(" ")[-1]
    return re.sub(r"\.(constprop|isra|part|cold|lto_priv)\.?\d*", "", name.split("::")[-1])


def bare_api(name):
    return re.sub(r"(_v\d+|_ptsz|_ptds)+$", "", name or "")


def own_frame(stack, source):
    """The innermost frame in the program's own source; None without one."""
    for frame in stack.get("frames") or []:
        if os.path.basename(frame.get("file") or "") == source.name:
            return frame
    return None


def stack_difference(expected, stack, source):
    """Why `stack` is not the expected one; empty if it is."""
    frame = own_frame(stack, source)
    if expected.function is None and expected.line is None:
        return ""
    if frame is None:
        return f"'{expected.label}' has no frame in {source.name}"
    function, line = bare_function(frame.get("function")), frame.get("line")
    if expected.function and function != expected.function:
        return f"'{expected.label}' is in {function}(), not in {expected.function}()"
    if expected.line and line != expected.line:
        return f"'{expected.label}' is at line {line}, not {expected.line}"
    return ""


def stacks_difference(expected, finding, source):
    # What follows a colon are figures: "held here: 1.0 MiB in 1 block".
    stacks = [{**stack, "label": (stack.get("label") or "").split(":")[0]} for stack in finding.get("stacks") or []]
    wanted = sorted(stack.label for stack in expected)
    labels = sorted(stack.get("label") or "" for stack in stacks)
    if wanted != labels:
        return f"the stacks are {labels}, not {wanted}"
    for stack in expected:
        reasons = [stack_difference(stack, other, source) for other in stacks if other.get("label") == stack.label]
        if all(reasons):
            return reasons[0]
    return ""


def access_difference(expected, access):
    """The same of the figures that a finding about memory accesses has."""
    if expected.ratio and not expected.ratio[0] <= (access.get("ratio") or 0) <= expected.ratio[1]:
        return f"ratio is {access.get('ratio')}, not in {expected.ratio[0]:g}..{expected.ratio[1]:g}"
    if expected.cause and access.get("cause") != expected.cause:
        return f"cause is {access.get('cause')}, not {expected.cause}"
    return ""


def finding_difference(expected, finding, source):
    """Why `finding` is not the expected one; empty if it is."""
    for key in ("kind", "severity", "count", "bytes"):
        wanted = getattr(expected, key)
        if wanted is not None and finding.get(key) != wanted:
            return f"{key} is {finding.get(key)}, not {wanted}"
    if expected.api and bare_api(finding.get("api")) != bare_api(expected.api):
        return f"api is {finding.get('api')}, not {expected.api}"
    if expected.message:
        text = f"{finding.get('message')} {finding.get('advice')}"
        if expected.message.lower() not in text.lower():
            return f"the message does not contain '{expected.message}'"
    if expected.range is not None and (finding.get("range") or "") != expected.range:
        return f"range is {finding.get('range')}, not {expected.range}"
    tails = sum(bool(frame.get("tail_call")) for stack in finding.get("stacks") or [] for frame in stack["frames"])
    if expected.tail_calls is not None and tails != expected.tail_calls:
        return f"its stacks have {tails} tail calls, not {expected.tail_calls}"
    if reason := access_difference(expected, finding.get("access") or {}):
        return reason
    if expected.line:
        frames = [own_frame(stack, source) for stack in finding.get("stacks") or []]
        lines = [frame.get("line") for frame in frames if frame]
        if expected.line not in lines:
            return f"the lines are {lines}, not {expected.line}"
    return stacks_difference(expected.stacks, finding, source) if expected.stacks is not None else ""


def compare_findings(run, findings, source):
    """Pairs expectations with findings; returns the sentences of what does not fit."""
    left = list(findings)
    problems = []
    for expected in run.expectations:
        reasons = [(finding_difference(expected, finding, source), finding) for finding in left]
        if fitting := [finding for reason, finding in reasons if not reason]:
            left.remove(fitting[0])
            continue
        near = [reason for reason, finding in reasons if finding.get("kind") == expected.kind]
        problems.append(f"missing:    {expected}" + "".join(f"\n    nearest: {reason}" for reason in near))
    for finding in left:
        if run.silent or finding.get("severity") != "note":
            problems.append(f"unexpected: {describe(finding, source)}")
    return problems


def describe(finding, source):
    parts = [str(finding.get("severity")), str(finding.get("kind"))]
    parts += [f"{key}={finding[key]}" for key in ("count", "bytes", "api") if finding.get(key) is not None]
    text = " ".join(parts) + f"\n      {finding.get('message')}"
    for stack in finding.get("stacks") or []:
        frame = own_frame(stack, source) or next(iter(stack.get("frames") or []), {})
        text += f"\n      {stack.get('label')}: {bare_function(frame.get('function'))}() line {frame.get('line')}"
    return text


def needs_figures(run):
    """Whether a report without a finding about memory accesses only counts if all of them were measured."""
    return "--coalescing" in run.options and (run.silent or any(expected.ratio for expected in run.expectations))


def compare_checks(run, report, source):
    """What is wrong with a report where outcomes of a run may differ, as sentences."""
    problems = compare_findings(run, report.get("findings") or [], source)
    skipped = {entry.get("what"): entry.get("why") for entry in report.get("not_checked") or []}
    for what in run.not_checked:
        if what not in skipped:
            problems.append(f"not checked: '{what}' is missing from {sorted(skipped)}")
    if "leak" in skipped and "leak" not in run.not_checked:
        problems.append(f"not checked: leak, because {skipped['leak']}")
    return problems


def missing_counters(run, report):
    kernels = {}
    for process in report.get("processes") or []:
        for kernel in (process.get("accesses") or {}).get("kernels") or []:
            kernels[bare_function(kernel["kernel"])] = kernel.get("counters") or {}
    problems = []
    for name in run.counted:
        counters = kernels.get(name, {})
        lacking = [key for key in COUNTERS if counters.get(key) is None]
        if lacking:
            problems.append(f"counted: {name} has no {', '.join(lacking)}")
        elif not 0 < counters["share_of_peak_bandwidth"] <= 1:
            problems.append(f"counted: {name} took {counters['share_of_peak_bandwidth']} of the peak bandwidth")
    return problems


def compare_report(run, report, source):
    """All that is wrong with a report, as sentences."""
    outcomes = [compare_checks(outcome, report, source) for outcome in (run, *run.others)]
    problems = [] if [] in outcomes else [problem for outcome in outcomes for problem in outcome]
    ended = report.get("ended") or {}
    how, key = ("exited", "status") if run.exit_status >= 0 else ("signalled", "signal")
    if ended.get("how") != how or ended.get(key) != abs(run.exit_status):
        problems.append(f"ended: the report says {ended}, expected {how} with {key} {abs(run.exit_status)}")
    skipped = {entry.get("what"): entry.get("why") for entry in report.get("not_checked") or []}
    if needs_figures(run) and "memory accesses" in skipped and "memory accesses" not in run.not_checked:
        problems.append(f"not checked: memory accesses, because {skipped['memory accesses']}")
    problems += missing_counters(run, report)
    if report.get("lost_events"):
        problems.append(f"{report['lost_events']} events were lost")
    if run.processes is not None and len(report.get("processes") or []) != run.processes:
        problems.append(f"the report has {len(report.get('processes') or [])} processes, not {run.processes}")
    return problems


def why_no_gpu(wanted):
    """Empty if this machine has so many usable GPUs."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "libcuda.so.1 is missing"
    if wanted == 1 and os.path.exists("/dev/nvidia0"):
        return ""  # to ask the driver takes half a second
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "the driver finds no device"
    return "" if count.value >= wanted else f"there are {count.value}, not {wanted}"


def why_skipped(run, options):
    if options.device == "simulated" and run.device == "gpu":
        return "this run needs kernels that are executed"
    if options.device == "real" and run.device == "simulated":
        return "this run needs the simulated device"
    if options.device == "real" and (reason := why_no_gpu(run.devices)):
        return f"no GPU: {reason}"
    if options.guard and not options.guard_exclude and run.unlike_fenced:
        return f"unlike under the fence: {run.unlike_fenced}"
    if options.late and run.unlike_late:
        return f"unlike where work runs late: {run.unlike_late}"
    if options.seed and run.expectations:
        return "which of its mistakes are seen may depend on the order"
    if options.seed and "--device-seed" in run.options:
        return "it has an order of its own"
    return ""


def run_program(run, options, folder):
    """Returns the problems found, after leaving everything worth looking at in `folder`; None if the program lacked
    something here and skipped itself."""
    report_path = folder / "out.json"
    checks = run.options[:1] == ["check"]
    guarded = ["--guard"] if options.guard and not any(o.startswith("--guard") for o in run.options) else []
    if options.guard_exclude:
        guarded.append(f"--guard-exclude={options.guard_exclude}")
    late = ["--late", "10s"] if options.late and "--late" not in run.options else []
    command = [
        str(options.gpumemtrace),
        *run.options,
        *guarded,
        *late,
        *(["--device-seed", str(options.seed)] if options.seed else []),
        "--device",
        options.device,
        "--format",
        "json",
        "--output",
        str(report_path),
        *([sys.executable, "-B"] if options.binary.suffix == ".py" else []),
        str(options.binary),
        *run.arguments,
    ]
    (folder / "command").write_text(shlex.join(command) + "\n")
    environment = expectations.with_staged_device(run.environment, options.gpumemtrace.parents[1])
    if options.device == "simulated":
        environment = {"XDG_CACHE_HOME": str(folder / "cache"), **environment}
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=folder,
            # What the fence does is the same on the simulated device, where the command leaves it out by itself.
            env={**os.environ, "GPUMEMTRACE_SIM_GUARD": "1", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return [f"no end after {TIMEOUT_SECONDS} s"]
    (folder / "stdout").write_bytes(done.stdout)
    (folder / "stderr").write_bytes(done.stderr)
    if options.device == "real" and done.returncode == SKIPPED and done.stdout.startswith(b"skipped:"):
        return None
    problems = []
    # A tool that cannot die by the program's signal itself answers as a shell does.
    statuses = [run.exit_status] if run.exit_status >= 0 else [run.exit_status, 128 - run.exit_status]
    if checks and run.exit_status == 0 and any(expected.severity == "error" for expected in run.expectations):
        statuses = [23]
    if done.returncode not in statuses:
        problems.append(f"exit status {done.returncode}, expected {statuses[0]}")
    try:
        report = json.loads(report_path.read_text())
    except (OSError, ValueError) as error:
        problems.append(f"no readable report: {error}")
    else:
        if report.get("schema") != 1:
            problems.append(f"schema {report.get('schema')}, expected 1")
        problems += compare_report(run, report, options.source)
    if problems and done.stderr:
        problems.append("stderr:\n" + done.stderr.decode(errors="replace")[-3000:])
    return problems


def parse_options():
    parser = argparse.ArgumentParser(description="Compares the report of a test program with its expectations.")
    parser.add_argument("--gpumemtrace", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--device", required=True, choices=("simulated", "real"))
    parser.add_argument("--link", required=True, choices=("shared", "static"))
    parser.add_argument("--source", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--binary", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--guard", action="store_true", help="each run under --guard, with the same expectations")
    parser.add_argument("--guard-exclude", metavar="NAMES", help="with --guard: what allocates these stays plain")
    parser.add_argument("--late", action="store_true", help="each run under --late, with the same expectations")
    parser.add_argument(
        "--seeds", type=int, default=0, metavar="N", help="each right run in the orders of seeds 1 to N"
    )
    parser.add_argument("--run", type=int, help="index of the run in the source, from 0; default: all")
    parser.add_argument("--artifacts", type=pathlib.Path, help="where the folder of a failed run is kept")
    return parser.parse_args()


def check_run(index, run, options):
    """Returns 0, 1 or 77 and says why."""
    title = " ".join([options.binary.name, *run.arguments, *([f"seed {options.seed}"] if options.seed else [])])
    if reason := why_skipped(run, options):
        print(f"skipped: {title}: {reason}")
        return SKIPPED
    folder = pathlib.Path(tempfile.mkdtemp(prefix="check_report."))
    problems = run_program(run, options, folder)
    if problems is None:
        print(f"{title}: {(folder / 'stdout').read_text().strip()}")
        shutil.rmtree(folder)
        return SKIPPED
    if not problems:
        shutil.rmtree(folder)
        print(f"as expected: {title}")
        return 0
    if options.artifacts:
        kept = options.artifacts.absolute() / str(index)
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder = pathlib.Path(shutil.move(folder, kept))
    print(f"NOT as expected: {title}   ({options.source}:{run.source_line})")
    for problem in problems:
        print(f"  {problem}")
    print(f"  kept: {folder}")
    again = [
        sys.executable,
        os.path.abspath(__file__),
        "--gpumemtrace",
        options.gpumemtrace,
        "--device",
        options.device,
        "--link",
        options.link,
        "--source",
        options.source,
        "--binary",
        options.binary,
        "--run",
        index,
        *(["--seeds", options.seeds] if options.seeds else []),
    ]
    print(f"  again: {shlex.join(map(str, again))}")
    return 1


def main():
    options = parse_options()
    level = re.search(r"-(O[02])-", options.binary.name)
    # On the simulated device a static runtime is redirected to the shared one's functions.
    link = "shared" if options.device == "simulated" else options.link
    flavour = {link, options.device} | ({level[1]} if level else set())
    if options.binary.name.endswith("-clang"):  # which inlines fewer of the host's functions than GCC
        flavour = flavour - {"O2"} | {"O0"}
    try:
        runs = expectations.parse_source(options.source.read_text(), flavour)
    except (OSError, expectations.GrammarError) as error:
        print(f"{options.source}: {error}")
        return 2
    if options.run is not None and not 0 <= options.run < len(runs):
        print(f"{options.source}: there is no run {options.run}, only {len(runs)} runs")
        return 2
    chosen = range(len(runs)) if options.run is None else [options.run]
    results = []
    for seed in range(1, options.seeds + 1) if options.seeds else [0]:
        options.seed = seed
        results += [check_run(index, runs[index], options) for index in chosen]
    return 1 if 1 in results else 0 if 0 in results else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
