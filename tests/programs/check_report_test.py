#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the checker itself: reports made up by hand must pass or fail as they should, and the expectations of every
sample and test program must be readable in every flavour. Needs neither a GPU nor gpumemtrace."""

import argparse
import copy
import itertools
import json
import os
import pathlib
import stat
import tempfile
import unittest

import check_report
import expectations

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path("/src/rows.cu")
TEXT = """\
// run: double
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@make:LINE(a),"freed again here"@main
// run: quiet
// exit: signal 9
// expect: silent
// not-checked: leak
// run: width
// expect-shared: warning api-error
// expect-static: clean
// run: read
// expect: warning uncoalesced ratio=7.9..8 cause=stride line=LINE(a)
// run: tile
// options: --coalescing
// expect: warning bank-conflict ratio=32 line=10
// run: either
// expect: clean
// or: it is noticed
// expect: error double-free
// not-checked: leak
// run: counted
// expect: clean
// counted: add
cudaMalloc(&p, 4); // @a
"""
TAGGED_LINE = 1 + TEXT.splitlines().index("cudaMalloc(&p, 4); // @a")


def frame(function, line, file="/src/rows.cu"):
    return {"function": function, "file": file, "line": line, "module": "rows", "address": 1}


def double_free():
    runtime = frame("cudaMalloc<float>(float**, unsigned long)", 700, "/usr/include/cuda_runtime.h")
    return {
        "kind": "double-free",
        "severity": "error",
        "count": 1,
        "bytes": 4,
        "api": "cudaFree",
        "message": "freed twice",
        "advice": "free once",
        "stacks": [
            {"label": "freed again here", "frames": [frame("main", 30)]},
            {
                "label": "allocated here",
                "frames": [runtime, frame("(anonymous namespace)::make<int>(int)", TAGGED_LINE)],
            },
        ],
    }


def uncoalesced(ratio, line, kind="uncoalesced", cause="stride"):
    return {
        "kind": kind,
        "severity": "warning",
        "access": {"ratio": ratio, "cause": cause},
        "stacks": [{"label": "accessed here", "frames": [frame("place(int)", 3, "/src/place.h"), frame("copy", line)]}],
    }


def report(findings, ended=None, not_checked=()):
    return {
        "schema": 1,
        "findings": findings,
        "ended": ended or {"how": "exited", "status": 0},
        "not_checked": list(not_checked),
        "lost_events": 0,
        "processes": [{}],
    }


def problems(index, made_up, link="shared"):
    run = expectations.parse_source(TEXT, {link, "simulated", "O2"})[index]
    return check_report.compare_report(run, made_up, SOURCE)


class Comparison(unittest.TestCase):
    def test_expected_finding_passes(self):
        self.assertEqual(problems(0, report([double_free()])), [])

    def test_every_difference_is_found(self):
        def changed(change):
            finding = copy.deepcopy(double_free())
            change(finding)
            return problems(0, report([finding]))

        self.assertTrue(changed(lambda f: f.update(kind="leak")))
        self.assertTrue(changed(lambda f: f.update(severity="warning")))
        self.assertTrue(changed(lambda f: f.update(count=2)))
        self.assertTrue(changed(lambda f: f.update(api="cudaFreeHost")))
        self.assertTrue(changed(lambda f: f["stacks"].pop()))
        self.assertTrue(changed(lambda f: f["stacks"][1]["frames"][1].update(line=TAGGED_LINE + 1)))
        self.assertTrue(changed(lambda f: f["stacks"][0]["frames"][0].update(function="other()")))
        self.assertTrue(changed(lambda f: f["stacks"][0].update(frames=[])))

    def test_what_the_fence_changes_is_said_for_a_run_or_for_all(self):
        text = "// unlike-fenced: all of it\n// run: a\n// expect: clean\n"
        self.assertEqual(expectations.parse_source(text, {"real"})[0].unlike_fenced, "all of it")
        text = "// run: a\n// unlike-fenced-real: this\n// expect: clean\n// run: b\n// expect: clean\n"
        for flavour, why in (("real", "this"), ("simulated", "")):
            runs = expectations.parse_source(text, {flavour})
            self.assertEqual([run.unlike_fenced for run in runs], [why, ""])

    def test_what_late_work_changes_is_said_for_a_run(self):
        text = "// run: a\n// unlike-late: this\n// expect: clean\n// run: b\n// expect: clean\n"
        runs = expectations.parse_source(text, {"simulated"})
        self.assertEqual([run.unlike_late for run in runs], ["this", ""])

    def test_missing_and_additional_findings_fail(self):
        self.assertEqual(len(problems(0, report([]))), 1)
        self.assertEqual(len(problems(0, report([double_free(), double_free()]))), 1)

    def test_notes_are_allowed_unless_silence_is_expected(self):
        note = {"kind": "churn", "severity": "note"}
        killed = {"how": "signalled", "signal": 9}
        skipped = [{"what": "leak", "why": "killed"}]
        self.assertEqual(problems(0, report([double_free(), note])), [])
        self.assertEqual(problems(1, report([], killed, skipped)), [])
        self.assertEqual(len(problems(1, report([note], killed, skipped))), 1)

    def test_end_and_unchecked_leaks_are_compared(self):
        self.assertEqual(len(problems(1, report([]))), 2)
        self.assertEqual(len(problems(0, report([double_free()], None, [{"what": "leak", "why": "lost"}]))), 1)

    def test_one_of_several_outcomes_must_fit(self):
        unchecked = [{"what": "leak", "why": "it died"}]
        self.assertEqual(problems(5, report([])), [])
        self.assertEqual(problems(5, report([double_free()], not_checked=unchecked)), [])
        self.assertEqual(len(problems(5, report([double_free()]))), 2)  # one for each outcome
        self.assertEqual(len(problems(5, report([], not_checked=unchecked))), 2)

    def test_whole_kernel_counters(self):
        def counted(**changes):
            made_up = report([])
            counters = {**dict.fromkeys(check_report.COUNTERS, 1.0), "share_of_peak_bandwidth": 0.9, **changes}
            made_up["processes"] = [{"accesses": {"kernels": [{"kernel": "add(float*)", "counters": counters}]}}]
            return problems(6, made_up)

        self.assertEqual(counted(), [])
        self.assertEqual(counted(l2_hit_rate=None), ["counted: add has no l2_hit_rate"])
        self.assertEqual(len(counted(share_of_peak_bandwidth=1.2)), 1)
        self.assertEqual(len(problems(6, report([]))), 1)

    def test_flavours_differ(self):
        error = {"kind": "api-error", "severity": "warning"}
        self.assertEqual(problems(2, report([error]), "shared"), [])
        self.assertEqual(problems(2, report([]), "static"), [])
        self.assertEqual(len(problems(2, report([error]), "static")), 1)

    def test_ratio_and_line_are_compared(self):
        self.assertEqual(problems(3, report([uncoalesced(7.95, TAGGED_LINE)])), [])
        self.assertEqual(problems(4, report([uncoalesced(31.999, 10, "bank-conflict")])), [])
        for index, finding in (
            (3, uncoalesced(8.1, TAGGED_LINE)),
            (3, uncoalesced(7.95, 3)),
            (3, uncoalesced(7.95, TAGGED_LINE, cause="scattered")),
            (3, {"kind": "uncoalesced", "severity": "warning"}),
            (4, uncoalesced(31.9, 10, "bank-conflict")),
        ):
            self.assertEqual(len(problems(index, report([finding]))), 2, msg=finding)

    def test_figures_must_be_complete(self):
        skipped = [{"what": "memory accesses", "why": "CUPTI was not found"}]
        self.assertEqual(len(problems(4, report([uncoalesced(32, 10, "bank-conflict")], None, skipped))), 1)
        self.assertEqual(problems(3, report([uncoalesced(8, TAGGED_LINE)], None, skipped)), [])

    def test_names(self):
        self.assertEqual(check_report.bare_function("void a::b<std::vector<int> >(int) [clone .isra.0]"), "b")
        self.assertEqual(check_report.bare_function("take.constprop.0"), "take")
        self.assertEqual(check_report.bare_api("cuMemAlloc_v2"), "cuMemAlloc")


class Grammar(unittest.TestCase):
    def test_mistakes_are_named(self):
        for line in (
            "expect: fatal leak",
            "expect: error leak bites=3",
            'expect: error leak stacks="seen here"',
            'expect: error leak stacks="freed here"@f:LINE(nowhere)',
            "exit: soon",
            "expect-arm: clean",
            "expect: note uncoalesced ratio=wide",
            "expect: note uncoalesced ratio=3..2",
            "expect: note uncoalesced line=LINE(nowhere)",
            "device: tpu",
            "devices: two",
            "exit: 0",
        ):
            with self.assertRaises(expectations.GrammarError, msg=line):
                expectations.parse_source(f"// run:\n// {line}\n", {"shared"})

    def test_devices_are_counted(self):
        (run,) = expectations.parse_source("// run:\n// devices: 100\n// expect: clean\n", {"shared"})
        self.assertEqual(run.devices, 100)
        options = argparse.Namespace(device="real", link="shared")
        self.assertTrue(check_report.why_skipped(run, options).startswith("no GPU: "))

    def test_all_sources_are_readable(self):
        sources = [
            path
            for folder in (HERE, HERE.parent.parent / "samples")
            for path in folder.glob("*.c*")
            if path.suffix in (".cu", ".cpp")
        ]
        self.assertGreater(len(sources), 20)
        for path, *flavour in itertools.product(sources, ("shared", "static"), ("simulated", "real"), ("O0", "O2")):
            with self.subTest(path=path.name, flavour=flavour):
                self.assertTrue(expectations.parse_source(path.read_text(), set(flavour)))


class WholeRun(unittest.TestCase):
    """With a stand-in for gpumemtrace that writes a given report."""

    def check(self, made_up, status=0, seed=0, expected="expect: clean"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            source, tool, binary = folder / "rows.cu", folder / "tool", folder / "rows-O2-shared"
            source.write_text(f"// run: one two\n// env: COLOUR=blue\n// {expected}\n")
            tool.write_text(
                '#!/bin/sh\nfor out; do [ "$before" != --output ] || break; before=$out; done\n'
                f'[ "$*" = "{f"--device-seed {seed} " if seed else ""}--device simulated --format json --output $out '
                f'{binary} one two" ] || exit 9\n'
                '[ "$COLOUR" = blue ] || exit 8\n'
                f"cat > \"$out\" <<'END'\n{json.dumps(made_up)}\nEND\nexit {status}\n"
            )
            os.chmod(tool, stat.S_IRWXU)
            options = argparse.Namespace(
                gpumemtrace=tool,
                device="simulated",
                link="shared",
                source=source,
                binary=binary,
                artifacts=folder / "kept",
                guard=False,
                guard_exclude=None,
                late=False,
                seed=seed,
                seeds=seed,
            )
            run = expectations.parse_source(source.read_text(), {"shared", "simulated"})[0]
            result = check_report.check_run(0, run, options)
            return result, (folder / "kept" / "0" / "out.json").exists()

    def test_good_run_leaves_nothing(self):
        self.assertEqual(self.check(report([])), (0, False))

    def test_bad_run_is_kept(self):
        self.assertEqual(self.check(report([double_free()])), (1, True))

    def test_right_runs_have_other_orders(self):
        self.assertEqual(self.check(report([]), seed=2), (0, False))
        expected = "expect: error double-free"
        self.assertEqual(self.check(report([double_free()]), seed=2, expected=expected), (check_report.SKIPPED, False))

    def test_status_is_compared(self):
        self.assertEqual(self.check(report([]), status=5), (1, True))


if __name__ == "__main__":
    unittest.main(buffer=True)
