#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a fuzzer of libFuzzer for some seconds and fails if it found something, if the code under test was built without
instrumentation, or if no input reached code that its corpus had not reached.

GMT_FUZZ_SECONDS sets the time, and GMT_FUZZ_KEEP a folder in which the corpus stays and grows from run to run."""

import argparse
import base64
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

FEWEST_COUNTERS = 2000  # what a fuzzer has if nothing else is said; an entry without the code behind it has some ten
MOST_MEGABYTES = 2048  # with the address sanitizer; a report may take half
SLOWEST_INPUT_SECONDS = 20
MOST_SECONDS = 100  # beside other work the seeds alone of some fuzzers take ten
TIMED_OUT = 70  # libFuzzer's status; it goes by the clock
DEFAULT_SECONDS = "60" if os.environ.get("GMT_LONG_TESTS") == "1" else "2"


def problems_of(log, status, fewest_counters=FEWEST_COUNTERS):
    """What is wrong with a run, in sentences."""
    problems = []
    counters = sum(map(int, re.findall(r"Loaded \d+ modules\s+\((\d+) inline 8-bit counters\)", log)))
    if counters < fewest_counters:
        problems.append(f"the code under test is not instrumented: {counters} counters (-fsanitize=fuzzer-no-link)")
    begin = re.search(r"INITED\s+cov: (\d+)", log)
    coverage = [int(cov) for cov in re.findall(r"\bcov: (\d+)", log)]
    if begin is None:
        problems.append("it did not begin")
    elif max(coverage) <= int(begin[1]):
        problems.append(f"no input reached anything new: cov: {begin[1]}")
    if status != 0:
        problems.append(f"it ended with {status}")
    return problems


def summary_of(log):
    begin = re.search(r"INITED\s+cov: (\d+)", log)
    coverage = [int(cov) for cov in re.findall(r"\bcov: (\d+)", log)]
    runs = re.search(r"stat::number_of_executed_units:\s+(\d+)", log) or re.search(r"Done (\d+) runs", log)
    return (
        f"{runs[1] if runs else '?'} inputs, cov: {begin[1] if begin else '?'} at the beginning, "
        f"{max(coverage, default=0)} at the end"
    )


def run(options, folder):
    own = pathlib.Path(os.environ["GMT_FUZZ_KEEP"]) / options.fuzzer.name if "GMT_FUZZ_KEEP" in os.environ else None
    own = own or folder / "corpus"
    seeds = folder / "seeds"
    found = pathlib.Path.cwd() / "found"
    for path in (own, seeds, found):
        path.mkdir(parents=True, exist_ok=True)
    if options.seeds:
        subprocess.run([*options.seeds.split(), seeds], check=True, stdout=subprocess.DEVNULL)
    if options.seed:
        subprocess.run([*options.seed.split(), seeds / "seed"], check=True, stdout=subprocess.DEVNULL)
    words = [
        options.fuzzer, f"-max_total_time={options.seconds}", "-print_final_stats=1", f"-timeout={SLOWEST_INPUT_SECONDS}",
        f"-rss_limit_mb={MOST_MEGABYTES}", f"-artifact_prefix={found}/{options.fuzzer.name}-",
    ]  # fmt: skip
    if options.dictionary:
        words.append(f"-dict={options.dictionary}")
    if options.longest:
        words.append(f"-max_len={options.longest}")
    environment = {**os.environ, "TMPDIR": str(folder)}  # not a disk, if there is shared memory
    return subprocess.run(
        [*words, own, seeds, *options.corpus], check=False, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip


def artifacts_of(log):
    return re.findall(r"Test unit written to (\S+)", log)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_slow(fuzzer, artifact):
    """Whether the input that took too long by the clock does so by the processor's time: the machine may be busy."""
    begin = processor_seconds()
    done = subprocess.run([fuzzer, "-timeout=600", artifact], check=False, capture_output=True)
    return done.returncode != 0 or processor_seconds() - begin > SLOWEST_INPUT_SECONDS


def failed_by_the_clock(options, done):
    """Whether a run that has problems shows only that the machine is busy."""
    if done.returncode == TIMED_OUT:
        return not any(is_slow(options.fuzzer, artifact) for artifact in artifacts_of(done.stdout))
    return done.returncode == 0  # the seeds alone took that long


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fuzzer", type=pathlib.Path)
    parser.add_argument("corpus", nargs="*", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("GMT_FUZZ_SECONDS", DEFAULT_SECONDS)))
    parser.add_argument("--fewest-counters", type=int, default=FEWEST_COUNTERS, help="of the code under test")
    parser.add_argument("--dictionary", type=pathlib.Path)
    parser.add_argument("--longest", type=int, help="bytes of an input")
    parser.add_argument("--seeds", help="a command that writes inputs into the folder that it gets")
    parser.add_argument("--seed", help="a command that writes one input into the file that it gets")
    options = parser.parse_intermixed_args()
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-fuzz-", dir=shared) as folder:
        done = run(options, pathlib.Path(folder))
        problems = problems_of(done.stdout, done.returncode, options.fewest_counters)
        while problems and options.seconds < MOST_SECONDS and failed_by_the_clock(options, done):
            options.seconds *= 4
            done = run(options, pathlib.Path(folder))
            problems = problems_of(done.stdout, done.returncode, options.fewest_counters)
    print(f"{options.fuzzer.name}: {summary_of(done.stdout)}")
    if not problems:
        return 0
    print("\n".join(done.stdout.splitlines()[-60:]))
    for artifact in artifacts_of(done.stdout):
        data = pathlib.Path(artifact).read_bytes()
        if len(data) < 4096:
            print("base64 of", artifact, base64.b64encode(data).decode())
    for problem in problems:
        print(f"{options.fuzzer.name}: {problem}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
