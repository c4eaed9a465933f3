#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the reports for other tools with readers that are not ours.

usage: check_formats.py REPORT_WRITE_JSON

Runs the program that writes made-up reports in every format. SARIF goes through the object model of python3-sarif-python-om,
JUnit's XML through xmllint and python3-junitparser, Markdown through cmark-gfm, folded stacks through flamegraph.pl.
It is one file because the reports are written once for all readers.
"""

import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import junitparser
import sarif_om

FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"  # of libdevel-nytprof-perl
FOLDERS = re.compile(r"/(?:home|src|usr|opt|lib)/")
REPORTS = {}

# Which class of the object model stands below which property.
CLASSES = {
    "tool": "Tool",
    "driver": "ToolComponent",
    "rules": "ReportingDescriptor",
    "defaultConfiguration": "ReportingConfiguration",
    "invocations": "Invocation",
    "toolExecutionNotifications": "Notification",
    "results": "Result",
    "locations": "Location",
    "relatedLocations": "Location",
    "location": "Location",
    "physicalLocation": "PhysicalLocation",
    "logicalLocations": "LogicalLocation",
    "artifactLocation": "ArtifactLocation",
    "region": "Region",
    "stacks": "Stack",
    "frames": "StackFrame",
    "message": "Message",
    "shortDescription": "MultiformatMessageString",
    "fullDescription": "MultiformatMessageString",
    "help": "MultiformatMessageString",
    "runs": "Run",
}
FREE_FORM = {"properties", "partialFingerprints", "originalUriBaseIds"}


def beside_findings(name):
    """Why the run failed, but for its findings."""
    failures = json.loads(REPORTS[name, "json"])["conclusion"]["failures"]
    return [failure["reason"] for failure in failures if failure["reason"] != "findings"]


def build(name, value):
    """The object of the model: an unknown property or a missing one is an error."""
    if isinstance(value, list):
        return [build(name, each) for each in value]
    if not isinstance(value, dict) or name in FREE_FORM:
        return value
    model = getattr(sarif_om, CLASSES[name])
    words = {a.metadata["schema_property_name"]: a.name for a in model.__attrs_attrs__}
    return model(**{words[key]: build(key, child) for key, child in value.items()})


def all_of(format_id):
    found = {name: text for (name, kind), text in REPORTS.items() if kind == format_id and name != "too_many"}
    assert len(found) >= 10, format_id
    return found


class Sarif(unittest.TestCase):
    def runs(self):
        for name, text in all_of("sarif").items():
            log = json.loads(text)
            self.assertEqual(set(log), {"$schema", "version", "runs"})
            self.assertEqual(log["version"], "2.1.0")
            (run,) = log["runs"]
            yield name, run

    def test_the_object_model_takes_it(self):
        for name, run in self.runs():
            with self.subTest(name):
                model = build("runs", run)
                findings = json.loads(REPORTS[name, "json"])["findings"]
                self.assertEqual(len(model.results), len(findings))
                for result, finding in zip(model.results, findings):
                    self.assertEqual(result.rule_id, finding["kind"])
                    self.assertEqual(model.tool.driver.rules[result.rule_index].id, finding["kind"])
                    self.assertEqual(result.level, finding["severity"])
                    self.assertTrue(result.message.text)
                    self.assertTrue(model.tool.driver.rules[result.rule_index].help.text)

    def locations(self, result):
        yield from result["locations"]
        yield from result.get("relatedLocations", [])
        for stack in result.get("stacks", []):
            yield from (frame["location"] for frame in stack["frames"])

    def test_locations_are_relative(self):
        for name, run in self.runs():
            for result in run["results"]:
                self.assertEqual(len(result["locations"]), 1)
                self.assertIn("physicalLocation", result["locations"][0])
                for location in self.locations(result):
                    if "physicalLocation" not in location:
                        continue
                    uri = location["physicalLocation"]["artifactLocation"]["uri"]
                    self.assertRegex(uri, r"^(?:[\w.~/-]|%[0-9A-F]{2})+$", name)
                    path = urllib.parse.unquote(uri, errors="replace")
                    self.assertFalse(path.startswith("/") or ".." in path.split("/"), path)
                    self.assertGreaterEqual(location["physicalLocation"]["region"]["startLine"], 1)

    def test_no_folder_of_the_machine_leaves(self):
        for name, run in self.runs():
            del run["tool"]
            self.assertEqual(FOLDERS.findall(json.dumps(run)), [], name)

    def test_the_first_frame_in_the_sources_is_the_location(self):
        (run,) = json.loads(REPORTS["rooted", "sarif"])["runs"]
        where = run["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual(where["artifactLocation"], {"uri": "train.cu", "uriBaseId": "SRCROOT"})
        self.assertEqual(where["region"], {"startLine": 85})
        related = [
            (r["id"], r["message"]["text"], r["physicalLocation"]["region"]["startLine"])
            for r in run["results"][0]["relatedLocations"]
        ]
        self.assertEqual(related, [(1, "freed again here", 85), (2, "first freed here", 71), (3, "allocated here", 40)])

    def test_a_thread_of_a_kernel_is_named_everywhere(self):
        thread = "thread (31, 0, 0) of block (0, 1, 0)"
        for name in ("sarif", "gitlab", "junit", "markdown", "gcc", "github"):
            text = REPORTS["kernels", name].decode().replace("&#40;", "(").replace("&#41;", ")")
            self.assertIn(thread, text, name)

    def test_a_program_makes_no_links(self):
        (run,) = json.loads(REPORTS["hostile", "sarif"])["runs"]
        for result in run["results"]:
            self.assertNotIn("](", result["message"]["text"])

    def test_what_is_too_much_is_counted(self):
        (run,) = json.loads(REPORTS["too_many", "sarif"])["runs"]
        self.assertEqual(len(run["results"]), 5000)
        notes = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
        self.assertTrue(any(note.startswith("1,000 more findings") for note in notes), notes)
        prints = {result["partialFingerprints"]["gpumemtrace/v1"] for result in run["results"]}
        self.assertEqual(len(prints), 5000)


class Gitlab(unittest.TestCase):
    def test_issues(self):
        for name, text in all_of("gitlab").items():
            issues = json.loads(text)
            findings = json.loads(REPORTS[name, "json"])["findings"]
            expected = [f["kind"] for f in findings] + beside_findings(name)
            self.assertEqual([i["check_name"] for i in issues], expected, name)
            self.assertEqual(len({i["fingerprint"] for i in issues}), len(issues))
            for issue in issues:
                self.assertIn(issue["severity"], ("info", "minor", "major", "critical", "blocker"))
                self.assertTrue(issue["description"])
                self.assertFalse(issue["location"]["path"].startswith("/"))
                self.assertGreaterEqual(issue["location"]["lines"]["begin"], 1)
                self.assertEqual(FOLDERS.findall(json.dumps(issue)), [], name)


class Conclusion(unittest.TestCase):
    def test_every_format_says_that_the_program_crashed(self):
        (run,) = json.loads(REPORTS["crashed", "sarif"])["runs"]
        invocation = run["invocations"][0]
        self.assertFalse(invocation["executionSuccessful"])
        self.assertEqual((invocation["exitSignalNumber"], invocation["exitSignalName"]), (6, "SIGABRT"))
        killed = "the program was killed by SIGABRT"
        notes = [n for n in invocation["toolExecutionNotifications"] if n["level"] == "error"]
        self.assertIn(killed, notes[0]["message"]["text"])
        cases = [case for suite in junitparser.JUnitXml.fromstring(REPORTS["crashed", "junit"]) for case in suite]
        self.assertEqual(
            [(c.classname, c.name) for c in cases], [("gpumemtrace.run", "the program ends with status 0")]
        )
        self.assertIsInstance(cases[0].result[0], junitparser.Failure)
        (issue,) = json.loads(REPORTS["crashed", "gitlab"])
        self.assertEqual((issue["check_name"], issue["severity"]), ("program", "blocker"))
        markdown = REPORTS["crashed", "markdown"].decode()
        self.assertIn("**Failed**", markdown)
        self.assertNotIn("Passed", markdown)
        self.assertIn(killed, markdown)
        self.assertIn(killed, json.loads(REPORTS["crashed", "perfetto"])["otherData"]["conclusion"])
        self.assertFalse(json.loads(REPORTS["crashed", "json"])["conclusion"]["passed"])
        last = REPORTS["crashed", "text"].decode().splitlines()[-1]
        self.assertTrue(last.endswith("; killed by SIGABRT (Aborted)"), last)

    def test_passed_stands_only_where_the_run_passed(self):
        for name, text in all_of("markdown").items():
            passed = json.loads(REPORTS[name, "json"])["conclusion"]["passed"]
            self.assertEqual("**Passed**" in text.decode(), passed, name)
            self.assertEqual("**Failed**" in text.decode(), not passed, name)


class Junit(unittest.TestCase):
    def test_cases(self):
        for name, text in all_of("junit").items():
            subprocess.run(["xmllint", "--noout", "-"], input=text, check=True)
            suites = list(junitparser.JUnitXml.fromstring(text))
            findings = json.loads(REPORTS[name, "json"])["findings"]
            cases = [case for suite in suites for case in suite]
            kinds = [c.classname.removeprefix("gpumemtrace.") for c in cases]
            self.assertEqual(
                sorted(k for k in kinds if k not in ("memory", "not-checked", "run")),
                sorted(f["kind"] for f in findings),
                name,
            )
            failed = [c for c in cases if any(isinstance(r, junitparser.Failure) for r in c.result)]
            ends = [reason for reason in beside_findings(name) if reason in ("program", "run-time")]
            self.assertEqual(len(failed), sum(f["severity"] == "error" for f in findings) + len(ends), name)
            errors = [c for c in cases if any(isinstance(r, junitparser.Error) for r in c.result)]
            self.assertEqual(len(errors), len(beside_findings(name)) - len(ends), name)
            for suite in suites:
                before = (suite.tests, suite.failures, suite.errors, suite.skipped)
                suite.update_statistics()
                self.assertEqual((suite.tests, suite.failures, suite.errors, suite.skipped), before)
            self.assertEqual(FOLDERS.findall(text.decode()), [], name)

    def test_a_clean_run_passes_and_an_unseen_one_is_an_error(self):
        clean = [case for suite in junitparser.JUnitXml.fromstring(REPORTS["clean", "junit"]) for case in suite]
        self.assertEqual([(c.name, c.result) for c in clean], [("no findings", [])])
        unseen = junitparser.JUnitXml.fromstring(REPORTS["nothing_seen", "junit"])
        self.assertEqual(unseen.errors, 1)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.cells, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for key, value in attrs if key in ("href", "src")]

    def handle_data(self, data):
        self.text += data


class Markdown(unittest.TestCase):
    ALLOWED = set("h2 p strong table thead tbody tr th td details summary pre code ul li".split())

    def test_pages(self):
        words = ["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough"]
        for name, text in all_of("markdown").items():
            self.assertLess(len(text), 65_536, name)
            text.decode("utf-8")
            page = Page(subprocess.run(words, input=text, capture_output=True, check=True).stdout.decode())
            self.assertEqual(set(page.tags) - self.ALLOWED, set(), name)
            self.assertEqual(page.links, [], name)
            shown = json.loads(REPORTS[name, "json"])["findings"][:50]
            rows = page.tags.count("tr") - page.tags.count("table")
            if name != "many":
                self.assertEqual(rows, len(shown), name)
                self.assertEqual(page.tags.count("details"), len(shown), name)
            self.assertEqual(page.tags.count("td"), rows * 5, name)
            self.assertEqual(FOLDERS.findall(page.text), [], name)

    def test_what_is_too_much_is_counted(self):
        text = REPORTS["many", "markdown"].decode()
        rows = text.count("\n| error |")
        self.assertGreater(rows, 10)
        self.assertIn(f"\n{300 - rows} more findings not shown here.", text)

    def test_mentions(self):
        self.assertNotIn("@", REPORTS["hostile", "markdown"].decode().partition("<details>")[0])


class Folded(unittest.TestCase):
    def test_a_flame_graph_is_made_of_it(self):
        for name in ("tables", "hostile"):
            text = REPORTS[name, "folded"]
            done = subprocess.run(["perl", FLAMEGRAPH], input=text, capture_output=True, check=True)
            self.assertIn(b"</svg>", done.stdout)
            self.assertEqual(done.stderr, b"", name)

    def test_lines(self):
        self.assertEqual(
            REPORTS["tables", "folded"].decode(),
            "train;(no call stack was recorded) 4096\ntrain;main;step() 1073741824\n",
        )
        (line,) = REPORTS["hostile", "folded"].decode().splitlines()
        self.assertEqual(line.count(";"), 2)
        self.assertTrue(line.endswith(" 4096"))
        self.assertEqual(REPORTS["clean", "folded"], b"")


class Perfetto(unittest.TestCase):
    """What the description of the format asks of each event; tests/html/test_trace_viewer.py has its own reader."""

    FIELDS = {
        "M": {"tid", "args"},
        "C": {"ts", "args"},
        "X": {"tid", "ts", "dur", "cat"},
        "i": {"tid", "ts", "s", "cat", "args"},
        "b": {"tid", "ts", "cat", "id2"},
        "e": {"tid", "ts", "cat", "id2"},
    }

    def events(self, name):
        return json.loads(REPORTS[name, "perfetto"])["traceEvents"]

    def test_events(self):
        for name in all_of("perfetto"):
            for event in self.events(name):
                wanted = self.FIELDS[event["ph"]] | {"ph", "pid", "name"}
                self.assertEqual(set(event) - {"args"}, wanted - {"args"}, name)
                self.assertIsInstance(event["name"], str)
                self.assertGreaterEqual(event.get("ts", 0), 0)
                if event["ph"] == "C":
                    self.assertEqual(set(event["args"]), {"bytes"})
        self.assertEqual(self.events("nothing_seen"), [])

    def test_every_kind_of_event(self):
        events = self.events("timelines")
        (first, second) = sorted({event["pid"] for event in events})
        self.assertEqual(first, 4711)
        mine = [event for event in events if event["pid"] == first]
        calls = [e for e in mine if e.get("cat") == "cuda"]
        self.assertEqual(
            [(e["name"], e["tid"], e["ts"], e.get("dur"), e.get("args")) for e in calls],
            [
                ("cudaMalloc", 1, 0, 1, {"bytes": 4096}),
                ("load", 2, 1.5, 0.2, {"kernel": "scale(float*)"}),
                ("cudaMalloc", 1, 2.5, 0.005, {"result": "cudaErrorMemoryAllocation (2)"}),
                ("load", 1, 40, None, {"result": "did not return"}),
            ],
        )
        counters = [(e["name"], e["ts"], e["args"]["bytes"]) for e in mine if e["ph"] == "C"]
        self.assertEqual(
            counters,
            [
                ("device 0: device memory", 0, 0),
                ("device 0: device memory", 1, 4096),
                ("unknown device: managed memory", 0, 0),
                ("unknown device: managed memory", 2, 1 << 20),
                ("unknown device: managed memory", 2.2, 0),
            ],
        )
        findings = json.loads(REPORTS["timelines", "json"])["findings"]
        instants = [e for e in mine if e["ph"] == "i" and e["cat"] == "finding"]
        self.assertEqual([e["name"] for e in instants], [f["kind"] for f in findings])
        self.assertEqual((instants[0]["ts"], instants[0]["tid"], instants[0]["s"]), (1, 1, "t"))
        self.assertEqual({(e["ts"], e["s"]) for e in instants[1:]}, {(45, "p")})
        labels = [e["args"]["labels"] for e in mine if e["name"] == "process_labels"]
        self.assertEqual(labels, ["12 calls left out, the shortest ones"])
        later = [e["ts"] for e in events if e["pid"] == second and e.get("cat") == "cuda"]
        self.assertEqual(later, [2, 3.5, 4.5, 42])

    def test_size(self):
        whole, cut = REPORTS["timelines", "perfetto"], REPORTS["cut_timelines", "perfetto"]
        self.assertGreater(len(whole), 4800)
        self.assertLessEqual(len(cut), 4800)
        both = [self.events("timelines"), self.events("cut_timelines")]
        slices = [[e for e in events if e.get("cat") == "cuda"] for events in both]
        rest = [[e for e in events if e.get("cat") != "cuda" and e["name"] != "process_labels"] for events in both]
        self.assertEqual(rest[0], rest[1])
        labels = [e["args"]["labels"] for e in both[1] if e["name"] == "process_labels"]
        self.assertEqual(sum(int(label.split()[0]) for label in labels), 12 + len(slices[0]) - len(slices[1]))
        self.assertLess(len(slices[1]), len(slices[0]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv.pop(1), folder], check=True)
        for path in pathlib.Path(folder).iterdir():
            REPORTS[path.stem, path.suffix[1:]] = path.read_bytes()
    unittest.main()


if __name__ == "__main__":
    main()
