# SPDX-License-Identifier: Apache-2.0
"""Tensors of a library that crosses as PyTorch's does are blocks of their own, and its cache is a row of a table.

It is one file because it is one list: a test for each way to use tensors in programs/tensors.py."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["GMT_COMMAND"]
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
RUNTIME = os.path.dirname(os.environ["GMT_RUNTIME"])


def line_of(text):
    with open(os.path.join(PROGRAMS, "tensors.py"), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


class Tensors(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def run_program(self, word, *options, command="run", status=0):
        """The text report, the JSON report, and what the program printed."""
        path = os.path.join(self.folder, "report.json")
        arguments = [
            COMMAND,
            command,
            "--device",
            "simulated",
            "--trace-dir",
            self.folder,
            "--format",
            "text",
            "--format",
            "json=" + path,
            *options,
        ]
        paths = RUNTIME + ":" + os.environ["GMT_TORCH"]
        result = subprocess.run(
            [*arguments, sys.executable, os.path.join(PROGRAMS, "tensors.py"), word],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**os.environ, "LD_LIBRARY_PATH": paths},
        )
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        with open(path, encoding="utf-8") as file:
            return result.stdout + result.stderr, json.load(file)

    def test_a_clean_run_says_nothing(self):
        text, report = self.run_program("clean")
        self.assertEqual(report["findings"], [])
        memory = report["processes"][0]["memory"]
        tensors = memory["tensors"]
        self.assertEqual(tensors["allocations"], 24)
        self.assertEqual(tensors["live_bytes"], 4 << 20)
        self.assertEqual(tensors["peak_bytes"], (4 << 20) + (2 << 19))
        self.assertEqual([row["owner"] for row in memory["libraries"]], ["PyTorch's caching allocator"])
        self.assertEqual(memory["libraries"][0]["bytes"], report["totals"]["peak_bytes"])
        self.assertRegex(text, r"held by libraries at the end: PyTorch's caching allocator 6\.0 MiB")
        self.assertRegex(text, r"tensors at their peak of 5\.0 MiB, by line")
        weights = line_of("weights = [Tensor(1 << 20)")
        self.assertRegex(text, rf"80\.0 %   4\.0 MiB in 4 blocks +\S*tensors\.py:{weights}")
        self.assertIn("SUMMARY: gpumemtrace: no errors\n", text)

    def test_reports_go_on(self):
        text, _ = self.run_program("clean")
        self.assertRegex(text, r"(?m)^44 0$", "24 blocks given out, 20 taken back")

    def test_past_the_end(self):
        text, report = self.run_program("past")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "copy-out-of-bounds")
        made = line_of("weight = Tensor(4096)")
        self.assertIn(f"the 4.0 KiB block of a tensor made at tensors.py:{made}", finding["message"])
        self.assertIn("40 bytes past the end", finding["message"])
        self.assertIn("allocated here", text)

    def test_use_after_free(self):
        _, report = self.run_program("after")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "use-after-free")
        made = line_of("gone = Tensor(4096)")
        self.assertIn(f"block of a tensor made at tensors.py:{made}", finding["message"])

    def test_a_block_is_given_out_again(self):
        _, report = self.run_program("again")
        self.assertEqual(report["findings"], [])

    def test_threads(self):
        text, report = self.run_program("threads")
        self.assertEqual(report["findings"], [])
        self.assertEqual(report["processes"][0]["memory"]["tensors"]["allocations"], 200)
        self.assertEqual(report["processes"][0]["memory"]["tensors"]["live_blocks"], 0)
        self.assertRegex(text, r"(?m)^400 0$")

    def test_a_forked_child(self):
        _, report = self.run_program("forked")
        self.assertEqual(report["findings"], [])
        self.assertEqual(report["processes"][0]["memory"]["tensors"]["allocations"], 1)

    def test_memory_of_the_host_is_none(self):
        text, report = self.run_program("host")
        self.assertEqual(report["processes"][0]["memory"]["tensors"]["allocations"], 1)
        self.assertRegex(text, r"(?m)^3 0$")

    def test_a_pool_that_says_nothing(self):
        text, report = self.run_program("beside_cupy")
        self.assertEqual(report["findings"], [])
        (gap,) = report["not_checked"]
        self.assertEqual(gap["what"], "arrays of CuPy")
        self.assertEqual(
            gap["why"],
            "without cupy.cuda.set_allocator(None) they lie in larger blocks, of which CuPy's memory pool reports nothing",
        )
        self.assertIn("CuPy's memory pool 1.0 MiB", text)

    def test_a_side_stream(self):
        _, report = self.run_program("side")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "stream-race")
        self.assertEqual(finding["severity"], "warning")
        made = line_of("lent = Tensor(4096)")
        self.assertIn(f"block of a tensor made at tensors.py:{made}", finding["message"])
        labels = [stack["label"] for stack in finding["stacks"]]
        self.assertEqual(labels, ["used again here", "first used here", "allocated here", "allocated again here"])

    def test_a_batch_of_another_stream(self):
        _, report = self.run_program("prefetched")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "stream-race")
        self.assertIn(f"block of a tensor made at tensors.py:{line_of('batch = Tensor(4096)')}", finding["message"])

    def test_a_side_stream_in_order(self):
        for word in ("side_waited", "side_recorded", "prefetched_recorded"):
            with self.subTest(word):
                self.assertEqual(self.run_program(word)[1]["findings"], [])

    def test_a_graph_whose_tensor_was_dropped(self):
        _, report = self.run_program("graph_without_its_tensor")
        (finding,) = report["findings"]
        self.assertEqual((finding["kind"], finding["severity"], finding["count"]), ("use-after-free", "warning", 1))
        made = line_of("given = Tensor(1 << 20)")
        self.assertRegex(
            finding["message"],
            rf"^The graph that is launched sets 0x\w+, memory that was already \w+: the 1\.0 MiB block of a tensor made at"
            rf" tensors\.py:{made}",
        )
        labels = [stack["label"] for stack in finding["stacks"]]
        self.assertEqual(labels, ["graph launched here", "captured here", "allocated here", "allocated again here"])
        self.assertEqual(self.run_program("graph_with_its_tensor")[1]["findings"], [])

    def test_growth(self):
        text, report = self.run_program("growing")
        (finding,) = report["findings"]
        self.assertEqual((finding["kind"], finding["severity"]), ("growth", "warning"))
        made, loss = line_of("activations = [Tensor(1 << 14)"), line_of("loss = Tensor(512)")
        self.assertRegex(
            finding["message"],
            r"^Each of 100 steps leaves 16\.\d KiB behind, 1\.\d MiB in all: "
            rf"tensors made at tensors.py:{made} and at tensors.py:{loss}",
        )
        self.assertRegex(text, rf"allocated here: 1\.6 MiB in 100 blocks +\S*tensors\.py:{made} ", "no frame before it")
        self.assertRegex(text, r"\(\d+ inner frames of PyTorch")
        self.assertEqual(self.run_program("bounded")[1]["findings"], [])
        self.assertEqual(self.run_program("loading")[1]["findings"], [])

    def test_a_step_of_an_optimizer(self):
        text, report = self.run_program("training")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "growth")
        made, step = line_of("seen.append(Tensor(4096))"), line_of("optimizer.step()")
        self.assertIn(
            f"Each of 50 steps (optimizer.step at tensors.py:{step}) leaves 12.0 KiB behind", finding["message"]
        )
        sites = [f"at tensors.py:{made} (in {part})" for part in ("blocks.*.conv", "head")]
        self.assertIn("tensors made " + " and ".join(sites), finding["message"])
        self.assertRegex(
            text, r"(?s)\nof these in parts of the model\n.* KiB in 10\d blocks +blocks\.\*\.conv\n.* blocks +head\n"
        )
        holders = report["processes"][0]["memory"]["tensors"]["holders_at_peak"]
        parts = {row["model_part"] for row in holders}
        self.assertLessEqual({"blocks.*.conv", "head", None}, parts)
        self.check_page(made, report["processes"][0]["memory"]["tensors"]["peak_bytes"])
        command = [COMMAND, "report", "--no-source", self.trace()]
        text = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        self.assertNotIn("in parts of the model", text, "which source lines name")
        self.assertIn("tensors at their peak", text)

    def trace(self):
        (name,) = [name for name in os.listdir(self.folder) if name.startswith("gpumemtrace.")]
        return os.path.join(self.folder, name)

    def test_a_range_of_a_profiler_is_a_step(self):
        text, report = self.run_program("in_ranges")
        (finding,) = report["findings"]
        self.assertIn("Each of 50 steps (range train) leaves 8.0 KiB behind", finding["message"])
        self.assertIn(f"tensors.py:{line_of('errors.append(Tensor(4096))')}", finding["message"])
        self.assertIn("201402", text, "201 ranges begin, each ends twice: calls go on to PyTorch")
        (trace,) = [name for name in os.listdir(self.folder) if name.startswith("gpumemtrace.")]
        command = [COMMAND, "dump", os.path.join(self.folder, trace)]
        dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.assertRegex(dump, r'push.*"train"')
        self.assertNotIn("Optimizer.step", dump)

    def test_steps_of_an_optimizer_that_end_early(self):
        (finding,) = self.run_program("evaluating")[1]["findings"]
        self.assertIn("Each of 100 steps leaves 4.0 KiB behind", finding["message"])

    def check_page(self, made, peak):
        """Forward, backward and optimizer are bands, and a layer of the picture is a part of the model."""
        command = [COMMAND, "report", "--format", "html", self.trace()]
        page = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        self.assertIn(f"tensors.py:{made} in blocks.*.conv", page)
        # The flame graph of tensors: all that were alive at their peak
        held = sum(int(each) for each in re.findall(r'"tensor_peak_bytes":(\d+)', page))
        self.assertEqual(held, peak)
        bands = re.findall(r'"name":"(forward|backward|optimizer)","begin":(\d+),"end":(\d+)', page)
        self.assertEqual([name for name, *_ in bands], (["forward", "backward"] * 4 + ["optimizer"]) * 50)
        times = [int(time) for _, *times in bands for time in times]
        self.assertEqual(times, sorted(times))

    def test_a_long_run_is_packed(self):
        text, report = self.run_program("training_for_long", "--max-trace", "4M")
        self.assertEqual(report["lost_events"], 0, text)
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "growth")
        self.assertIn(f"tensors.py:{line_of('value = Tensor(512)')}", finding["message"])
        self.assertEqual(report["processes"][0]["memory"]["tensors"]["allocations"], 50_000)
        files = {name: os.path.getsize(os.path.join(self.trace(), name)) for name in os.listdir(self.trace())}
        packed = [size for name, size in files.items() if name.endswith(".log.zst")]
        self.assertGreater(len(packed), 3)
        self.assertLess(max(packed), 200_000)
        self.assertLess(sum(size for name, size in files.items() if ".log" in name), 4 << 20)

    def test_a_refusal(self):
        text, report = self.run_program("refused")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "out-of-memory")
        self.assertIn("PyTorch found no 1.0 PiB for a tensor: 192.0 MiB were in 3 tensors", finding["message"])
        self.assertEqual(finding["held"]["holders"][0]["bytes"], 3 << 26)
        self.assertIn("Check how the size is computed", finding["advice"])
        asked = line_of("Tensor(1 << 50)")
        self.assertRegex(text, rf"(?s)failed here.*tensors\.py:{asked}")
        self.assertRegex(text, r"held here: 192\.0 MiB in 3 blocks  ")

    def test_the_free_pieces_by_size(self):
        _, report = self.run_program("refused_between_pieces")
        (finding,) = report["findings"]
        self.assertIn(
            "1.5 MiB of its cache were free in 17 pieces of at most 512.0 KiB (16 of 64.0 KiB and more, 1 of 512.0 KiB"
            " and more)",
            finding["message"],
        )

    def test_what_is_idle_longest(self):
        _, report = self.run_program("refused_while_some_rest")
        (finding,) = report["findings"]
        rests, works = line_of("resting = [Tensor"), line_of("working = [Tensor")
        self.assertRegex(
            finding["message"],
            rf"; idle longest is what was made at tensors\.py:{rests}: 4\.0 MiB in 4 tensors were given to no call"
            r" for \d+\.?\d* ms\.$",
        )
        holders = finding["held"]["holders"]
        self.assertEqual([holder["bytes"] >> 20 for holder in holders], [6, 4], "the largest comes first")
        lines = [finding["stacks"][holder["stack"]]["frames"] for holder in holders]
        lines = [next(f["line"] for f in frames if (f.get("file") or "").endswith("tensors.py")) for frames in lines]
        self.assertEqual(lines, [works, rests])

    def test_small_tensors_in_a_large_segment(self):
        _, report = self.run_program("refused_beside_small_tensors")
        (finding,) = report["findings"]
        self.assertIn("expandable_segments:True lets PyTorch put them together", finding["advice"])
        self.assertIn(
            "1 segment is large enough, but has 3.0 MiB of small tensors in it: max_split_size_mb:21 keeps such"
            " tensors out.",
            finding["advice"],
        )

    def test_a_cache_that_grows(self):
        """Its tensors do not."""
        _, report = self.run_program("fragmenting")
        (finding,) = report["findings"]
        self.assertEqual((finding["kind"], finding["severity"]), ("growth", "warning"))
        made = line_of("larger = Tensor(")
        self.assertRegex(
            finding["message"],
            r"^Each of 100 steps adds 4\.\d MiB to PyTorch's cache, which gets 39\d\.0 MiB so, while tensors"
            rf" never had more than 2\.\d MiB: segments were taken for tensors made at tensors\.py:{made}",
        )
        self.run_program("fragmenting", "--policy", "max-growth-per-step 1M", command="check", status=23)

    def test_a_cache_that_is_emptied_in_each_step(self):
        _, report = self.run_program("emptying")
        (finding,) = report["findings"]
        self.assertEqual((finding["kind"], finding["severity"]), ("churn", "warning"))
        self.assertIn("2.0 MiB of device memory was allocated and freed 1,100 times", finding["message"])
        self.assertIn("torch.cuda.empty_cache()", finding["advice"])
        lines = {frame["line"] for stack in finding["stacks"] for frame in stack["frames"] if "line" in frame}
        self.assertLessEqual({line_of("Tensor(1 << 20).fill(512)"), line_of("        empty_cache()")}, lines)

    def test_pinned_buffers_that_are_kept(self):
        _, report = self.run_program("pinned_kept")
        (finding,) = report["findings"]
        self.assertEqual(finding["kind"], "growth")
        made = line_of("kept.append(Pinned(")
        self.assertRegex(
            finding["message"],
            r"^Each of 100 steps leaves 6\d\.\d KiB behind, 6\.\d MiB in all: pinned host buffers made at"
            rf" tensors\.py:{made}\.$",
        )
        self.assertEqual(self.run_program("pinned_again")[1]["findings"], [])

    def test_a_map_of_the_cache(self):
        self.run_program("refused")
        (trace,) = [name for name in os.listdir(self.folder) if name.startswith("gpumemtrace.")]
        command = [COMMAND, "report", "--format", "html", os.path.join(self.folder, trace)]
        page = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        maps = json.loads(re.search(r'"cache_maps":(\[.*?\]),"stacks"', page)[1])
        self.assertEqual([(each["moment"], each["asked_bytes"]) for each in maps], [("peak", 0), ("refusal", 1 << 50)])
        for each in maps:
            held = [sum(segment["tensors"][1::4]) for segment in each["segments"]]
            self.assertEqual(held, [segment["bytes"] for segment in each["segments"]])
            self.assertEqual(sum(held), 3 << 26)

    def test_an_allocator_that_says_nothing(self):
        _, report = self.run_program("silent")
        self.assertIsNone(report["processes"][0]["memory"]["tensors"])
        self.assertIn("tensors of PyTorch", [entry["what"] for entry in report["not_checked"]])

    def test_records(self):
        self.run_program("refused")
        traces = [name for name in os.listdir(self.folder) if name.startswith("gpumemtrace.")]
        dump = subprocess.run(
            [COMMAND, "dump", os.path.join(self.folder, traces[0])], capture_output=True, text=True, check=True
        ).stdout
        given = re.findall(r"address=(0x\w+) bytes=67108864 op=given-out stream=0x0 .*stack=[1-9]", dump)
        self.assertEqual(len(given), 3, dump)
        self.assertRegex(dump, rf"bytes={1 << 50} op=refused .*allocated={3 << 26} reserved={3 << 26}")


if __name__ == "__main__":
    unittest.main()
