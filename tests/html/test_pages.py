# SPDX-License-Identifier: Apache-2.0
"""Each view of a page in a browser: its figures are those of the JSON report, and nothing leaves it.

It is one file because the browser is started once for all of them."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time
import unittest

import browser

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "analyzer/report/html/page"
VIEWS = ("overview", "findings", "timeline", "flame", "kernels")
PAGES = (
    "training",
    "hostile",
    "clean",
    "nothing_seen",
    "crashed",
    "troubled",
    "accesses",
    "kernels",
    "bad_text",
    "short_of_memory",
    "ranks",
)


shutil.rmtree(browser.FOLDER, ignore_errors=True)
os.makedirs(browser.FOLDER)
subprocess.run([os.environ["GMT_WRITE_PAGES"], browser.FOLDER], check=True)
driver = browser.start()
page = browser.Page(driver)


def tearDownModule():
    driver.quit()


class RunFacts(unittest.TestCase):
    def test_date_host_device_and_driver(self):
        page.open("training", "overview")
        process = page.report["processes"][0]
        (text,) = page.texts("#run-facts")
        self.assertEqual((text.split(", ")[0], process["began"]), ("2026-11-27 06:05 UTC", "2026-11-27T06:05:36Z"))
        for word in (process["host"], *process["devices"], process["driver_version"] or ""):
            self.assertIn(word, text)
        self.assertIn(" ".join(process["arguments"]), page.texts("#subject")[0])


class Lines(unittest.TestCase):
    """Of leaks that share lines, put into the report of a page."""

    def test_with_the_callers_at_which_they_differ(self):
        text = pathlib.Path(browser.FOLDER, "training.html").read_text(encoding="utf-8")
        begin, data, end = re.search(r'(<script[^>]*id="report-data"[^>]*>)(.*?)(</script>)', text, re.S).groups()
        report = json.loads(data)
        leak = next(finding for finding in report["findings"] if finding["kind"] == "leak")
        frame = {**leak["stacks"][0]["frames"][0], "function": "a::B<c, d>(e)", "file": "x/y.cu"}

        def at(*lines):
            return {**leak, "stacks": [{**leak["stacks"][0], "frames": [{**frame, "line": line} for line in lines]}]}

        report["findings"] = [at(1, 2, 5), at(1, 3, 5), at(4, 5), at(9, 5), at(9, 5)]
        data = json.dumps(report).replace("<", "\\u003c")
        at_data = text.index(begin) + len(begin)
        changed = text[:at_data] + data + text[text.index(end, at_data) :]
        pathlib.Path(browser.FOLDER, "lines.html").write_text(changed, encoding="utf-8")
        page.open("lines", "overview")
        self.assertEqual(
            page.texts(".first-findings li > .quiet"),
            ["x/y.cu:1, called at x/y.cu:2", "x/y.cu:1, called at x/y.cu:3", "x/y.cu:4", "x/y.cu:9", "x/y.cu:9"],
        )
        page.turn_to("findings")
        name = page.run("return document.querySelector('#view-findings .function').innerHTML")
        self.assertEqual(name, "a::<wbr>B&lt;<wbr>c,<wbr> d&gt;(<wbr>e)")  # a long one breaks behind its parts


class EveryPage(unittest.TestCase):
    def test_opens_without_complaint_and_loads_nothing(self):
        page.complaints()
        page.requested()
        for name in PAGES:
            for view in VIEWS:
                # Each is a view that a page opens with; of all other pages it is the next one.
                if name == "training" or view == VIEWS[0]:
                    page.open(name, view)
                else:
                    page.turn_to(view)
                page.painted()
                self.assertEqual(page.complaints(), [], f"{name}#{view}")
                shown = page.run("return document.querySelector('#view-' + arguments[0]).textContent.length", view)
                self.assertGreater(shown, 4, f"{name}#{view} is empty")
            self.assertEqual(
                {url.split("#")[0] for url in page.requested()} - {"about:blank", "data:,"},
                {f"file://{browser.FOLDER}/{name}.html"},
            )

    def test_fits_narrow_and_wide_windows(self):
        for name in ("training", "hostile", "accesses", "troubled"):
            for width in (390, 1280):
                for view in VIEWS:
                    if view == VIEWS[0]:
                        page.open(name, view, width)
                    else:
                        page.turn_to(view)
                    page.painted()
                    wide = page.run("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{name}#{view} at {width}")

    def test_policy_forbids_all_loads(self):
        page.open("clean", "overview")
        blocked = driver.execute_async_script(
            "const done = arguments[0];"
            "document.addEventListener('securitypolicyviolation', (event) => done(event.violatedDirective));"
            "fetch('https://example.com/').catch(() => {});"
        )
        self.assertEqual(blocked, "connect-src")
        self.assertTrue(page.complaints())  # the browser says so, too

    def test_policy_forbids_other_scripts(self):
        page.open("clean", "overview")
        ran = page.run(
            "const script = document.createElement('script'); script.textContent = 'window.ran = 1';"
            "document.body.append(script); return window.ran"
        )
        self.assertIsNone(ran)
        page.complaints()

    def test_has_d3_of_version_5_to_7(self):
        page.open("clean", "overview")
        version = page.run("return d3.version")
        print(f"d3 {version}")
        self.assertIn(int(version.split(".")[0]), (5, 6, 7))

    def test_scripts_use_what_d3_has_in_versions_5_to_7(self):
        # https://observablehq.com/@d3/d3v6-migration-guide: these went, and listeners are given the event first.
        gone = r"d3\.(?:event|mouse|touch|touches|clientPoint|customEvent|nest|map|keys|values|entries|histogram|voronoi)\b"
        scripts = sorted(SCRIPTS.glob("*.js"))
        self.assertGreater(len(scripts), 10)
        for script in scripts:
            text = script.read_text(encoding="utf-8")
            self.assertEqual(re.findall(gone, text), [], script.name)
            self.assertLessEqual(set(re.findall(r"\.on\('(\w+)'", text)), {"zoom"}, script.name)

    def test_names_of_the_program_are_text(self):
        for name in ("hostile", "bad_text"):
            for view in VIEWS:
                page.open(name, view)
                page.painted()
                self.assertIsNone(page.run("return window.hacked"), f"{name}#{view}")
                self.assertEqual(page.run("return document.querySelectorAll('script').length"), 3)
                self.assertEqual(page.run("return document.querySelectorAll('img, b, iframe, object').length"), 0)
        page.open("hostile", "findings")
        messages = page.texts(".finding .message")
        self.assertEqual(messages, [finding["message"] for finding in page.report["findings"]])
        self.assertIn("</script><script>window.hacked=1</script>", messages[0])

    def test_dark_and_light(self):
        colours = []
        for scheme in ("light", "dark"):
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            )
            page.open("training", "overview")
            colours.append(page.run("return getComputedStyle(document.body).backgroundColor"))
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(20, 23, 27)"])

    def test_prints_all_views(self):
        page.open("training", "overview")
        pdf = driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
        self.assertGreater(len(pdf), 20_000)
        for view in VIEWS:
            self.assertTrue(page.run("return document.querySelector('#view-' + arguments[0]).childElementCount", view))


class Overview(unittest.TestCase):
    def test_figures_of_the_cards(self):
        for name in PAGES:
            page.open(name, "overview")
            report = page.report
            shown = dict(page.figures(".cards"))
            expected = {field: report["totals"][field] for field in shown if field in report["totals"]}
            expected.update(report["summary"])
            self.assertEqual(shown, {field: float(value) for field, value in expected.items()}, name)
            self.assertEqual(
                set(shown), {"errors", "warnings", "notes", "peak_bytes", "live_bytes", "allocations", "launches"}
            )

    def test_leads_with_findings_in_words_and_the_picture(self):
        page.open("many", "overview") if "many" in PAGES else page.open("training", "overview")
        findings = page.report["findings"]
        items = page.texts(".first-findings li")
        self.assertEqual(len(items), min(5, len(findings)))
        for item, finding in zip(items, findings):
            self.assertIn(" ".join(finding["message"].split()), " ".join(item.split()))
        page.open("training", "overview")
        self.assertEqual(page.run("return document.querySelectorAll('h1').length"), 1)
        self.assertIn("at most", page.run("return document.querySelector('.memory-picture').ariaLabel"))
        parts = page.run(
            "return [...document.querySelectorAll('.first-findings, .memory-picture, .cards')]"
            ".map((part) => part.getAttribute('class'))"
        )
        self.assertEqual(parts, ["first-findings", "memory-picture", "cards"])

    def test_verdicts(self):
        verdicts = {}
        for name in ("training", "clean", "nothing_seen", "crashed", "accesses"):
            page.open(name, "overview")
            verdicts[name] = page.texts("#verdict")[0]
        self.assertEqual(
            verdicts,
            {
                "training": "1 error found.",
                "clean": "Nothing was found.",
                "nothing_seen": "Failed: no CUDA call was seen, so nothing was checked.",
                "crashed": "Failed: the program was killed by SIGABRT (Aborted). 0 errors, 0 warnings.",
                "accesses": "No errors. 1 warning.",
            },
        )

    def test_tables_of_memory(self):
        page.open("troubled", "overview")
        report = page.report
        for process in report["processes"]:
            for row in process["memory"]["families"]:
                self.assertIn(["peak_bytes", float(row["peak_bytes"])], page.figures("#view-overview table"))
        for entry in report["not_checked"]:
            self.assertIn(f"{entry['what']}: {entry['why']}", page.texts("#view-overview li"))
        rows = page.run("return document.querySelectorAll('#view-overview table')[0].tBodies[0].rows.length")
        self.assertEqual(rows, len(report["processes"]))


class Findings(unittest.TestCase):
    def test_each_is_shown_with_its_stacks(self):
        for name in ("training", "troubled", "kernels"):
            page.open(name, "findings")
            findings = page.report["findings"]
            self.assertEqual(page.texts(".finding .message"), [finding["message"] for finding in findings])
            self.assertEqual(page.texts(".finding .kind"), [finding["kind"] for finding in findings])
            frames = sum(len(stack["frames"]) for finding in findings for stack in finding["stacks"])
            self.assertEqual(page.run("return document.querySelectorAll('.frame').length"), frames)

    def test_filters(self):
        page.open("training", "findings")
        findings = page.report["findings"]
        page.set("#filter-severity", "error", "change")
        self.assertEqual(len(page.texts(".finding")), page.report["summary"]["errors"])
        page.set("#filter-severity", "", "change")
        page.set("#filter-text", "LOAD_BATCH")
        expected = [finding["message"] for finding in findings if "load_batch" in str(finding)]
        self.assertEqual(page.texts(".finding .message"), expected)
        self.assertNotEqual(len(expected), len(findings))
        self.assertEqual(page.texts("#filter-result"), [f"{len(expected)} of {len(findings)} findings"])
        page.set("#filter-text", "nowhere at all")
        self.assertEqual(page.texts(".finding"), [])

    def test_links(self):
        page.open("training", "finding-3")
        self.assertEqual(page.run("return document.activeElement.id"), "finding-3")
        page.set("#filter-text", "nowhere at all")
        page.run("location.hash = 'finding-2'")
        page.painted()
        self.assertEqual(page.run("return document.activeElement.id"), "finding-2")

    def test_copy_as_text(self):
        page.open("training", "findings")
        page.run(
            "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => {"
            " window.copied = text; } } }); document.querySelector('.finding button').click()"
        )
        copied = page.run("return window.copied")
        finding = page.report["findings"][0]
        self.assertTrue(copied.startswith(f"{finding['severity']}  {finding['kind']}\n  {finding['message']}\n"))
        for frame in finding["stacks"][0]["frames"]:
            self.assertIn(f"{frame['function']}  {frame['file']}:{frame['line']}\n", copied)
        self.assertIn(finding["advice"], copied)

    def test_lines_of_the_source(self):
        page.open("training", "findings")
        frame = page.report["findings"][0]["stacks"][0]["frames"][0]
        with open(frame["file"], encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(page.texts("#finding-1 .source .here code")[0], lines[frame["line"] - 1])
        self.assertIn(lines[frame["line"] - 2], page.texts("#finding-1 .source code"))


class Ranks(unittest.TestCase):
    """Six ranks: five have one leak alike, one has a finding of its own, one a peak that differs."""

    def test_equal_findings_are_one(self):
        page.open("ranks", "findings")
        self.assertEqual(len(page.report["findings"]), 6)
        self.assertEqual(page.texts(".finding .kind"), ["leak", "double-free"])
        self.assertIn("in 5 of 6 ranks (rank 0 to 3, 5)", page.texts(".finding .facts")[0])
        self.assertNotIn(" of 6 ranks", page.texts(".finding .facts")[1])
        self.assertEqual(page.texts("#filter-result"), ["6 findings, 2 where those of several ranks are one"])

    def test_a_rank_by_itself(self):
        page.open("ranks", "findings")
        page.set("#filter-process", page.texts("#filter-process option")[1], "change")
        self.assertEqual(page.texts(".finding .kind"), ["leak"])
        self.assertEqual(page.texts("#filter-result"), ["1 of 6 findings"])

    def test_links_lead_to_each(self):
        page.open("ranks", "finding-4")
        self.assertEqual(page.run("return document.activeElement.id"), "finding-4")

    def test_table_of_ranks(self):
        page.open("ranks", "overview")
        rows = "[...document.querySelectorAll('#view-overview table')[0].tBodies[0].rows]"
        self.assertEqual(page.run(f"return {rows}.map((row) => row.cells[1].textContent)"), list("012345"))
        self.assertIn("rank 2 differs: peak 3.6 GiB (median 1.2 GiB)", page.texts("#view-overview li"))
        self.assertIn("What differs between ranks", page.texts("#view-overview h2"))


class Timeline(unittest.TestCase):
    def test_layers_add_up_to_the_peak(self):
        page.open("training", "timeline")
        peak = page.report["totals"]["peak_bytes"]
        history = page.history()
        self.assertEqual(max(history["columns"]["high"]), peak)
        self.assertEqual(
            [layers["by"] for layers in history["sets"]], ["kind of memory", "library", "call stack", "NVTX range"]
        )
        for i in range(4):
            page.set("#timeline-set", str(i), "change")
            page.painted()
            self.assertEqual(page.figure(".holders", "high"), peak)
            layers = history["sets"][i]["layers"]
            column = history["columns"]["high"].index(peak)
            self.assertEqual(sum(value_at(layer["steps"], column) for layer in layers), peak)
            self.assertEqual(len(page.texts(".legend li")), len(layers))

    def test_calls_are_all_counted(self):
        page.open("training", "timeline")
        columns = page.history()["columns"]
        totals = page.report["totals"]
        self.assertEqual(sum(columns["allocations"]), totals["allocations"])
        self.assertEqual(sum(columns["frees"]), totals["frees"])
        self.assertEqual(sum(columns["failures"]), 1)
        self.assertEqual(len(page.texts(".mark.failure")), 1)
        self.assertEqual(columns["last"][-1], totals["live_bytes"])

    def test_cursor_by_keys(self):
        page.open("training", "timeline")
        high = page.history()["columns"]["high"]
        peak = high.index(max(high))
        for _ in range(3):
            page.key("svg.timeline", "ArrowLeft")
        page.painted()
        step = max(1, round((len(high) - 1) / 200))
        self.assertEqual(page.figure(".holders", "high"), high[peak - 3 * step])

    def test_zoom(self):
        page.open("training", "timeline")
        whole = page.texts(".axis.time text")
        page.key("svg.timeline", "p")
        page.painted()
        self.assertNotEqual(page.texts(".axis.time text"), whole)
        page.key("svg.timeline", "+")
        page.painted()
        self.assertEqual(page.run("return document.querySelectorAll('.mark.peak').length"), 1)
        page.key("svg.timeline", "0")
        page.painted()
        self.assertEqual(page.texts(".axis.time text"), whole)

    def test_ranges(self):
        page.open("training", "timeline")
        named = set(page.texts("g.range title"))
        self.assertTrue(any(text.startswith("epoch 3, ") for text in named), named)


class CacheMap(unittest.TestCase):
    """Of PyTorch's cache, from a recording on an H100."""

    def test_segments_holes_and_the_device(self):
        (trace,) = pathlib.Path(os.environ["GMT_FIXTURES"], "..", "torch", "recordings", "too_much_held").iterdir()
        command = [os.environ["GMT_COMMAND"], "report", "--no-source", str(trace)]
        for form in ("html", "json"):
            command += ["--format", f"{form}={browser.FOLDER}/cache.{form}"]
        subprocess.run(command, check=False)
        page.open("cache", "timeline")
        self.assertEqual(page.complaints(), [])
        tensors = page.report["processes"][0]["memory"]["tensors"]
        maps = page.history()["cache_maps"]
        self.assertEqual([each["moment"] for each in maps], ["peak", "refusal"])
        for each in maps:
            segments = each["segments"]
            held = [sum(segment["tensors"][1::4]) for segment in segments]
            self.assertTrue(all(bytes <= segment["bytes"] for bytes, segment in zip(held, segments, strict=True)))
            self.assertEqual(sum(held), tensors["peak_bytes"])
            reserved = sum(segment["bytes"] for segment in segments)
            shown = page.figures(".cache")
            self.assertIn(["cache-bytes", float(reserved)], shown)
            self.assertIn(["cache-free", float(reserved - sum(held))], shown)
        # The driver was asked at the refusal: all parts of the bar are the device
        (device,) = maps[1]["devices"]
        self.assertIsNotNone(device["untraced_bytes"])
        parts = page.run(
            "return [...document.querySelectorAll('.cache:last-of-type [data-figure=device-part]')]"
            ".map((part) => Number(part.dataset.value))"
        )
        self.assertEqual(sum(parts), device["total_bytes"])
        self.assertGreater(page.run("return document.querySelectorAll('.cache-map .held').length"), 2 * len(maps))


class FlameGraph(unittest.TestCase):
    def test_figures_are_the_totals(self):
        page.open("training", "flame")
        totals = page.report["totals"]
        for inverted in (False, True):
            page.set("#flame-inverted", inverted, "change")
            for metric in ("peak_bytes", "live_bytes", "allocated_bytes", "allocations"):
                page.set("#flame-metric", metric, "change")
                self.assertEqual(page.figure(".details", "flame-value"), totals[metric], metric)

    def test_search(self):
        page.open("training", "flame")
        page.set("#flame-search", "load_batch")
        holders = page.report["processes"][0]["memory"]["holders_at_peak"]
        expected = sum(row["bytes"] for row in holders if row["stack"]["frames"][0]["function"] == "load_batch")
        self.assertGreater(expected, 0)
        self.assertEqual(page.figure(".details", "matched"), expected)
        self.assertEqual(set(page.texts(".box.match text")), {"load_batch"})

    def test_keys_and_findings_of_a_frame(self):
        page.open("training", "flame")
        page.set("#flame-search", "load_batch")
        page.run("document.querySelector('.box.match').dispatchEvent(new MouseEvent('click'))")
        self.assertEqual(page.texts(".details strong"), ["load_batch"])
        self.assertIn("error leak", page.texts(".details a"))
        page.key("svg.flame", "ArrowUp")
        page.key("svg.flame", "Enter")
        self.assertEqual(page.texts(".details strong"), ["train_epoch"])
        page.key("svg.flame", "Escape")
        self.assertEqual(page.texts(".details strong"), ["all"])

    def test_colours_of_languages(self):
        page.open("training", "flame")
        self.assertIn("train_epoch", page.texts(".box.python text"))
        self.assertIn("nn::Tensor::allocate", page.texts(".box.native text"))
        self.assertIn("cudaMalloc", page.texts(".box.cuda text"))


class Kernels(unittest.TestCase):
    def test_figures(self):
        page.open("accesses", "kernels")
        accesses = page.report["processes"][0]["accesses"]
        shown = page.figures("#view-kernels")
        for field in ("moved_bytes", "wasted_bytes"):
            self.assertIn([field, float(accesses[field])], shown)
        for kernel in accesses["kernels"]:
            self.assertIn(["wasted_bytes", float(kernel["wasted_bytes"])], shown)
            if kernel["efficiency"] is not None:
                self.assertIn(["efficiency", float(kernel["efficiency"])], shown)
            self.assertIn(kernel["kernel"], page.texts("#view-kernels tbody th"))

    def test_simulated_device(self):
        page.open("simulated", "kernels")
        kernels = page.report["processes"][0]["kernels"]
        names = page.texts("#view-kernels tbody th")
        rows = [row["feature"] for row in kernels["fidelity"]["features"]]
        rows += ["all other instructions", *(row["kernel"] for row in kernels["left_out"])]
        self.assertEqual(names, rows)
        self.assertIn("9 of 12 launches ran to their end.", page.texts("#view-kernels p"))

    def test_findings_inside_kernels(self):
        page.open("kernels", "kernels")
        self.assertEqual(page.texts("#view-kernels .links a"), ["error device-heap-leak"])


class Command(unittest.TestCase):
    """Traces that were recorded on a GPU, through the command."""

    def report(self, fixture):
        trace = os.path.join(os.environ["GMT_FIXTURES"], fixture)
        for form in ("html", "json"):
            output = os.path.join(browser.FOLDER, f"{fixture}.{form}")
            command = [os.environ["GMT_COMMAND"], "report", "--format", form, "--output", output, trace]
            self.assertIn(subprocess.run(command, check=False).returncode, (0, 1))

    def test_page_holds_the_report(self):
        for fixture in ("pool_loop.plain.static", "first_steps.plain.static", "aos_soa.structs.static"):
            self.report(fixture)
            page.open(fixture, "overview")
            report = page.report
            held = page.run("return document.getElementById('report-data').textContent")
            self.assertEqual(json.loads(held), report)
            self.assertEqual(page.figure(".cards", "peak_bytes"), report["totals"]["peak_bytes"])
            self.assertEqual(max(page.history()["columns"]["high"]), report["totals"]["peak_bytes"])
            self.assertGreater(page.history()["nanoseconds_per_unit"], 0)

    def test_the_command_for_a_part_shows_that_part(self):
        self.report("pool_loop.plain.static")
        page.open("pool_loop.plain.static", "timeline")
        page.run("document.querySelector('svg.timeline').focus()")
        for key in "p++":
            page.driver.switch_to.active_element.send_keys(key)
        time.sleep(0.2)
        (command,) = page.texts("#view-timeline .part code")
        words = shlex.split(command)
        self.assertEqual(words[0], "gpumemtrace")
        whole = page.history()
        unit = whole["nanoseconds_per_unit"]
        first, last = (float(words[words.index(word) + 1].removesuffix("ns")) / unit for word in ("--from", "--to"))
        words[words.index("--output") + 1] = os.path.join(browser.FOLDER, "part.html")
        done = subprocess.run([os.environ["GMT_COMMAND"], *words[1:]], check=False)
        self.assertIn(done.returncode, (0, 1))
        shutil.copy(
            os.path.join(browser.FOLDER, "pool_loop.plain.static.json"), os.path.join(browser.FOLDER, "part.json")
        )
        page.open("part", "timeline")
        part = page.history()
        self.assertTrue(part["is_part"])
        self.assertLess(part["column_width"], whole["column_width"])
        self.assertGreaterEqual(part["begin"], first - 2)
        self.assertLessEqual(part["begin"] + (len(part["columns"]["high"]) - 1) * part["column_width"], last + 2)
        calls = sum(part["columns"]["allocations"]), sum(whole["columns"]["allocations"])
        self.assertTrue(0 < calls[0] < calls[1], calls)
        self.assertEqual(max(part["columns"]["high"]), max(whole["columns"]["high"]))
        self.assertIn("Only the part from", page.texts("#view-timeline .quiet")[0])
        self.assertEqual(page.figure("#view-timeline .holders", "high"), max(part["columns"]["high"]))

    def test_kernels_that_were_measured(self):
        self.report("aos_soa.structs.static")
        page.open("aos_soa.structs.static", "kernels")
        accesses = page.report["processes"][0]["accesses"]
        self.assertGreater(accesses["wasted_bytes"], 0)
        self.assertEqual(page.figure("#view-kernels", "wasted_bytes"), accesses["wasted_bytes"])


def value_at(steps, column):
    value = 0
    for i in range(0, len(steps), 2):
        if steps[i] <= column:
            value = steps[i + 1]
    return value


if __name__ == "__main__":
    unittest.main()
