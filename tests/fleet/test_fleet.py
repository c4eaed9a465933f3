# SPDX-License-Identifier: Apache-2.0
"""A job's traces become a data set, and questions to it are answered: gpumemtrace.fleet, with DuckDB and with Dask.

The simulated device makes a trace of each kind of rank. Most ranks are copies of these with ranks, hosts and process ids
of their own. With GMT_LONG_TESTS=1 there are 1,000 of 10,000 events, and the goals of docs/fleet.md are measured.
It is one file because the traces are made once for all tests.
"""

import contextlib
import glob
import json
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = pathlib.Path(os.environ["GMT_SOURCES"])
COMMAND = os.environ["GMT_COMMAND"]
TORCH = os.environ.get("GMT_TORCH", "")
RUNTIME = os.path.dirname(os.environ["GMT_RUNTIME"])
LONG = os.environ.get("GMT_LONG_TESTS") == "1"
PAGE = (SOURCES / "docs/fleet.md").read_text(encoding="utf-8")

sys.path[:0] = [str(SOURCES / "python"), os.environ.get("GMT_FLEET_PACKAGES", "")]
os.environ["GPUMEMTRACE_COMMAND"] = COMMAND
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])

try:
    import distributed
    import pyarrow.parquet as pq
    from gpumemtrace import GpumemtraceError, fleet
    from gpumemtrace.fleet._growth import growth_of
    from gpumemtrace.fleet._tables import TABLES
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def record(folder, *words, rank=None, **more):
    """The trace of a run."""
    before = set(glob.glob(f"{folder}/gpumemtrace.*"))
    environment = {**os.environ, **more}
    if rank is not None:
        environment["RANK"] = str(rank)
    done = subprocess.run(
        [COMMAND, "record", "--device", "simulated", "--trace-dir", folder, sys.executable, "-B", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    (trace,) = set(glob.glob(f"{folder}/gpumemtrace.*")) - before
    return trace


def copy_as(trace, folder, rank):
    """The trace as that of another rank, of eight on each host."""
    host, pid = f"node{rank // 8:03}", 10_000 + rank
    copy = pathlib.Path(folder, f"gpumemtrace.train.{host}.{pid}")
    shutil.copytree(trace, copy)
    info = (copy / "info").read_text(encoding="utf-8")
    for key, value in (("rank", rank), ("host", host), ("pid", pid)):
        info = re.sub(rf"(?m)^{key}=.*$", f"{key}={value}", info)
    (copy / "info").write_text(info, encoding="utf-8")
    return copy


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gpumemtrace-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        kinds = os.path.join(cls.folder, "kinds")
        os.mkdir(kinds)
        program = HERE / "program.py"
        cls.kinds = {
            word: record(kinds, program, word, rank=7) for word in ("even", "growing", "jump", "counted", "unmarked")
        }
        # 24 ranks: rank 2 grows, 5 has no ranges, 9 fills a cache, the upper half is of the kind "counted".
        cls.traces = os.path.join(cls.folder, "traces")
        os.mkdir(cls.traces)
        special = {2: "growing", 5: "unmarked", 9: "jump"}
        for rank in range(24):
            copy_as(cls.kinds[special.get(rank, "even" if rank < 12 else "counted")], cls.traces, rank)
        cls.data = os.path.join(cls.folder, "data")
        cls.converted = fleet.convert([cls.traces], cls.data, workers=1, ranks_per_file=10)

    def ask(self, question, **parameters):
        return fleet.ask(self.data, question, **parameters)

    def run_module(self, *words, status=0):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "gpumemtrace.fleet", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_each_process_is_there_once(self):
        self.assertEqual((self.converted.traces, self.converted.problems), (24, {}))
        rows = fleet.query(self.data, "SELECT rank, host, first_rank FROM process ORDER BY rank")
        self.assertEqual(rows, [{"rank": r, "host": f"node{r // 8:03}", "first_rank": r // 10 * 10} for r in range(24)])
        files = pathlib.Path(self.data, "step").glob("first_rank=*/*.parquet")
        self.assertEqual(sorted(file.parent.name for file in files), ["first_rank=0", "first_rank=10", "first_rank=20"])

    def test_figures_are_the_report_s(self):
        """What the folding of events gives is what the command's own analysis says."""
        for word, trace in self.kinds.items():
            done = subprocess.run([COMMAND, "report", "--format", "json", trace], capture_output=True, check=False)
            process = json.loads(done.stdout)["processes"][0]
            data = os.path.join(self.folder, f"one {word}")
            fleet.convert([trace], data, workers=1)
            (row,) = fleet.query(
                data,
                "SELECT (SELECT max(device_peak_bytes) FROM memory) AS peak, (SELECT last(device_bytes ORDER BY begin_ns) FROM"
                " memory) AS live, (SELECT count(*) FROM memory) AS intervals, p.peak_bytes, p.live_bytes, p.events FROM process p",
            )
            totals = process["totals"]
            self.assertEqual((row["peak"], row["peak_bytes"]), (totals["peak_bytes"], totals["peak_bytes"]))
            self.assertEqual((row["live"], row["live_bytes"]), (totals["live_bytes"], totals["live_bytes"]))
            self.assertEqual((row["intervals"], row["events"]), (256, totals["events"]))
            held = fleet.query(data, "SELECT sum(bytes)::BIGINT AS held FROM holder WHERE moment = 'end'")
            self.assertEqual(held[0]["held"] or 0, totals["live_bytes"])

    def test_ranges_in_the_database(self):
        path = os.path.join(self.folder, "counted.db")
        words = [COMMAND, "report", "--format", "sqlite", "--output", path, self.kinds["counted"]]
        subprocess.run(words, check=False, capture_output=True)
        page = (SOURCES / "docs/report-sqlite.md").read_text(encoding="utf-8")
        question = next(text for text in re.findall(r"```sql\n(.*?)```", page, re.DOTALL) if "FROM range" in text)
        with contextlib.closing(sqlite3.connect(path)) as base:
            rows = base.execute("SELECT name, depth, begin_order, end_order FROM range ORDER BY begin_order").fetchall()
            self.assertEqual([row[:2] for row in rows[:3]], [("epoch", 0), ("iteration #0", 1), ("iteration #1", 1)])
            epochs = [row for row in rows if row[0] == "epoch"]
            self.assertEqual((len(rows), [row[1] for row in epochs]), (104, [0] * 4))
            inside = [row for row in rows if epochs[1][2] < row[2] < epochs[1][3]]
            self.assertEqual([row[0] for row in inside], [f"iteration #{i}" for i in range(25, 50)])
            (calls,) = base.execute(
                "SELECT count(*) FROM event, range r WHERE r.name = 'iteration #40' AND call_order BETWEEN begin_order AND end_order"
            ).fetchone()
            self.assertEqual(calls, 9, "five allocations and four frees")
            self.assertEqual(len(base.execute(question.replace("'step'", "'epoch'")).fetchall()), 4)

    def test_growth(self):
        rows = {row["rank"]: row for row in self.ask("growth")}
        self.assertEqual(sorted(rows), [2, 5, *range(12, 24)])
        row = rows[2]
        self.assertEqual((row["since_step"], row["until_step"], row["step_name"]), (30, 99, "step"))
        self.assertEqual((row["bytes"], row["line_bytes"], row["bytes_per_step"]), (7_000_000, 7_000_000, 100_000))
        self.assertRegex(row["stack"], r"^program\.py:\d+ allocate\nprogram\.py:\d+ keep\nprogram\.py:\d+ step\n")
        self.assertEqual((rows[13]["since_step"], rows[13]["step_name"]), (30, "iteration"))
        self.assertEqual(rows[5]["step_name"], None)
        self.assertIn(rows[5]["since_step"], range(60, 90))  # of 256 parts of the calls

    def test_growth_is_what_goes_on_rising(self):
        size = 1 << 16
        self.assertEqual(growth_of([size * max(0, i - 20) for i in range(100)]), (21, 79 * size))
        self.assertEqual(growth_of([size * (i // 5) for i in range(100)]), (5, 19 * size))
        self.assertIsNone(growth_of([size * min(i, 20) for i in range(100)]), "a warm-up")
        self.assertIsNone(growth_of([size * (i > 30) for i in range(100)]), "a jump")
        self.assertIsNone(growth_of([size * (i % 25) for i in range(100)]), "what is emptied now and then")
        self.assertIsNone(growth_of([size * (100 - i) for i in range(100)]), "what shrinks")
        self.assertIsNone(growth_of(list(range(100))), "bytes")
        self.assertIsNone(growth_of([]))
        # Dips do not hide it, and what comes back is not counted.
        self.assertEqual(growth_of([size * (i + 5 * (i % 2)) for i in range(100)])[1] // size, 104)

    def test_findings_of_many(self):
        half = self.ask("findings", share=0.5)
        self.assertTrue(all(row["ranks"] >= 12 for row in half))
        leaks = [row for row in half if row["kind"] == "leak"]
        self.assertEqual([(row["ranks"], row["share"], row["lowest_rank"]) for row in leaks], [(14, 0.5833, 2)])
        self.assertEqual(leaks[0]["count"], 14 * 70)
        few = [row for row in self.ask("findings", share=0) if row["kind"] == "leak"]
        self.assertEqual(sorted(row["ranks"] for row in few), [1, 14])

    def test_peaks(self):
        rows = self.ask("peak")
        self.assertEqual(len(rows), 24)
        self.assertEqual([row["peak_bytes"] for row in rows], sorted((row["peak_bytes"] for row in rows), reverse=True))
        hosts = {row["host"]: row for row in self.ask("hosts")}
        self.assertEqual(sorted(hosts), ["node000", "node001", "node002"])
        self.assertEqual((hosts["node001"]["ranks"], hosts["node001"]["lowest_rank"]), (8, 8))
        of_one = [row["peak_bytes"] for row in rows if row["host"] == "node001"]
        self.assertEqual(
            (max(of_one), sum(of_one)), (hosts["node001"]["largest_peak"], hosts["node001"]["peaks_added_up"])
        )

    def test_a_rank_beside_its_neighbours(self):
        rows = {(row["what"], row["line"]): row for row in self.ask("compare", rank=2, neighbours=3)}
        self.assertEqual(rows["live_bytes", None]["here"], 7_000_000)
        (leak,) = (row for (what, _), row in rows.items() if what == "finding leak")
        self.assertEqual((leak["here"], leak["median"]), (70, 0))
        self.assertIn(" keep\n", leak["stack"])
        self.assertNotIn(("allocations", None), {key for key, row in rows.items() if row["here"] == row["median"]})
        self.assertEqual(self.ask("compare", rank=7, neighbours=1), [], "both have the same trace")
        with self.assertRaisesRegex(GpumemtraceError, "no rank 99"):
            self.ask("compare", rank=99)

    def test_traces_are_added(self):
        data = os.path.join(self.folder, "added")
        half = os.path.join(self.folder, "half")
        os.mkdir(half)
        copy_as(self.kinds["even"], half, 3)
        fleet.convert([half], data, workers=1)
        with self.assertRaisesRegex(GpumemtraceError, "data set already"):
            fleet.convert([half], data, workers=1)
        damaged = copy_as(self.kinds["even"], half, 4)
        copy_as(self.kinds["growing"], half, 5)
        (damaged / "apis").unlink()
        (damaged / "info").write_text("rank=4\n", encoding="utf-8")
        words = ("convert", "--add", "--workers", "1", "--output", data)
        printed = self.run_module(*words, half, status=1)
        self.assertIn("1 traces in", printed)
        self.assertIn("1 were there, 1 could not be read", printed)
        self.assertEqual([row["trace"] for row in fleet.ask(data, "problems")], [damaged.name])
        self.assertEqual([row["rank"] for row in fleet.query(data, "SELECT rank FROM process ORDER BY 1")], [3, 5])
        printed = self.run_module(*words, f"{half}/*.10005")
        self.assertIn("0 traces in", printed)
        with self.assertRaisesRegex(GpumemtraceError, "64 ranks in a file"):
            fleet.convert([half], data, workers=1, add=True, ranks_per_file=5)

    def test_packed_files(self):
        """Files of `gpumemtrace pack`, one with several traces; a trace that is a folder, too, is converted once."""
        folder = pathlib.Path(self.folder, "packed")
        folder.mkdir()
        packed = [copy_as(self.kinds[kind], folder, rank) for rank, kind in ((2, "growing"), (3, "even"), (70, "jump"))]
        for name, traces in (("several.tar.zst", packed[:2]), (f"{packed[2].name}.tar.zst", packed[2:])):
            subprocess.run([COMMAND, "pack", "-o", folder / name, *traces], check=True, capture_output=True)
        for trace in packed[:1] + packed[2:]:
            shutil.rmtree(trace)
        (folder / "damaged.tar.zst").write_bytes((folder / "several.tar.zst").read_bytes()[:3000])
        data = os.path.join(self.folder, "packed data")
        done = fleet.convert([str(folder)], data, workers=1)
        self.assertEqual((done.traces, [os.path.basename(path) for path in done.problems]), (3, ["damaged.tar.zst"]))
        rows = fleet.query(data, "SELECT rank, trace, steps FROM process ORDER BY rank")
        self.assertEqual(
            [(row["rank"], row["trace"]) for row in rows],
            [(2, packed[0].name), (3, packed[1].name), (70, packed[2].name)],
        )
        self.assertEqual([row["rank"] for row in fleet.ask(data, "growth")], [2])
        self.assertEqual(fleet.convert([str(folder / "several.tar.zst")], data, workers=1, add=True).known, 2)

    def test_what_no_trace_has_ends_no_conversion(self):
        """A rank that is no number for the tables, and folders whose names are patterns, or no text."""
        folder = os.path.join(self.folder, "odd [1]")
        os.mkdir(folder)
        copy_as(self.kinds["even"], folder, 3)
        for rank in ("9" * 5000, "4294967296"):
            odd = copy_as(self.kinds["even"], folder, int(rank[:4]))
            info = (odd / "info").read_text(encoding="utf-8")
            (odd / "info").write_text(re.sub(r"(?m)^rank=.*$", f"rank={rank}", info), encoding="utf-8")
        os.rename(odd, os.fsencode(odd) + b"\xff")
        data = os.path.join(self.folder, "data [a-z]")
        done = fleet.convert([folder], data, workers=1)
        self.assertEqual(done.traces + len(done.problems), 3)
        self.assertIn(3, [row["rank"] for row in fleet.query(data, "SELECT rank FROM process")])
        self.assertTrue(fleet.ask(data, "peak"))
        pathlib.Path(data, "_gpumemtrace.json").write_text("[]", encoding="utf-8")
        with self.assertRaisesRegex(GpumemtraceError, "not what a data set has"):
            fleet.convert([folder], data, workers=1, add=True)

    def test_a_trace_that_takes_too_long(self):
        command = pathlib.Path(self.folder, "slow")
        command.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
        command.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"GPUMEMTRACE_COMMAND": str(command)}):
            data = os.path.join(self.folder, "slow data")
            done = fleet.convert([str(self.kinds["even"])], data, workers=1, time_limit=0.2)
        self.assertEqual(
            (done.traces, list(done.problems.values())), (0, ["it was not read within 0.2 s (--time-limit)"])
        )

    def test_workers_of_dask(self):
        data = os.path.join(self.folder, "by dask")
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            address = cluster.scheduler_address
            done = fleet.convert([self.traces], data, scheduler=address, ranks_per_file=10)
            self.assertEqual((done.traces, done.problems), (24, {}))
            for question, parameters in (
                ("growth", {}),
                ("findings", {}),
                ("hosts", {}),
                ("peak", {}),
                ("compare", {"rank": 2}),
            ):
                self.assertEqual(
                    fleet.ask(data, question, scheduler=address, **parameters), self.ask(question, **parameters)
                )

    def test_the_command_line(self):
        text = self.run_module("ask", self.data, "growth", "--limit", "2")
        self.assertRegex(
            text,
            r"(?m)^   2  node000 +30 +99 +6\.7 MiB .* program\.py:\d+ allocate, called at program\.py:\d+ keep$",
        )
        self.assertIn("and 12 more", text)
        rows = self.run_module("ask", self.data, "findings", "--share", "0.5", "--format", "json").splitlines()
        self.assertEqual([json.loads(row)["ranks"] for row in rows if json.loads(row)["kind"] == "leak"], [14])
        self.assertIn("compare", self.run_module("ask", "--help"))
        self.assertRegex(self.run_module("ask", self.data, "compare", "2"), r"(?m)^live_bytes +6\.7 MiB ")
        self.assertIn("no data set", self.run_module("ask", self.folder, "growth", status=2))
        self.assertIn(
            "no trace at", self.run_module("convert", "-o", self.folder + "/x", self.folder + "/none", status=2)
        )
        self.assertIn("DuckDB says", self.run_module("sql", self.data, "SELECT nothing", status=2))

    @unittest.skipUnless(os.path.exists(os.path.join(TORCH, "libc10.so")), "the stand-in of PyTorch is not built")
    def test_tensors_grow_inside_of_their_segments(self):
        program = SOURCES / "tests/torch/programs/tensors.py"
        trace = record(self.folder, program, "growing", LD_LIBRARY_PATH=f"{RUNTIME}:{TORCH}", GMT_TORCH=TORCH)
        data = os.path.join(self.folder, "tensors")
        fleet.convert([trace], data, workers=1)
        (row,) = fleet.ask(data, "growth")
        self.assertRegex(row["stack"], r"tensors\.py:\d+ ")
        self.assertGreater(row["bytes"], 1 << 20)
        self.assertEqual(
            fleet.query(data, "SELECT DISTINCT first_rank, rank FROM process"), [{"first_rank": -1, "rank": None}]
        )

    def test_the_page_names_every_column(self):
        for table, schema in TABLES.items():
            (file, *_) = glob.glob(f"{self.data}/{table}/*/*.parquet") or [None]
            if file is not None:
                self.assertEqual(pq.ParquetFile(file).schema_arrow.names, schema.names)
            self.assertIn(f"`{table}`", PAGE)
            for name in schema.names:
                self.assertIn(f"`{name}`", PAGE, table)

    def test_questions_of_the_page(self):
        statements = re.findall(r"fleet sql DATA \\?\n? *\"(.*?)\"\n", PAGE, re.DOTALL)
        self.assertGreaterEqual(len(statements), 2)
        for statement in statements:
            with self.subTest(statement):
                self.assertTrue(fleet.query(self.data, statement))

    @unittest.skipUnless(LONG, "scripts/test --long")
    def test_a_thousand_ranks(self):
        folder = os.path.join(self.folder, "thousand")
        os.mkdir(folder)
        program = HERE / "program.py"
        kinds = [record(self.folder, program, word, 200, 24, rank=0) for word in ("even", "growing")]
        for rank in range(1000):
            copy_as(kinds[rank == 517], folder, rank)
        data = os.path.join(self.folder, "thousand data")
        before, began = processor_time(), time.monotonic()
        done = fleet.convert([folder], data, workers=2)
        spent, waited = processor_time() - before, time.monotonic() - began
        (row,) = fleet.query(data, "SELECT count(*) AS ranks, min(events) AS events FROM process")
        self.assertEqual((done.traces, row["ranks"]), (1000, 1000))
        self.assertGreater(row["events"], 9_500)
        # On two cores that have nothing else to do; on a busy machine the same work takes more of their time.
        busy = max(1, os.getloadavg()[0] / 4)
        self.assertLess(spent / 2, 60 * busy)
        most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        self.assertLess(most, 1 << 20, "KiB")
        for question, parameters in (
            ("growth", {}),
            ("findings", {}),
            ("peak", {}),
            ("hosts", {}),
            ("compare", {"rank": 517}),
        ):
            began = (time.process_time(), time.monotonic())
            rows = fleet.ask(data, question, **parameters)
            took = (time.process_time() - began[0], time.monotonic() - began[1])
            print(f"{question}: {took[0]:.2f} s of a core, {took[1]:.2f} s")
            self.assertLess(took[0], 2, question)
            if question == "growth":
                self.assertEqual([row["rank"] for row in rows], [517])
        print(f"1,000 traces: {spent:.1f} s of a core, {waited:.1f} s, {most >> 10} MiB, load {os.getloadavg()[0]:.0f}")


def processor_time():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    unittest.main()
