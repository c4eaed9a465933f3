# SPDX-License-Identifier: Apache-2.0
"""The database of `--format sqlite`, read by Python's own sqlite3: its tables against the JSON report and `dump`, the
questions of docs/report-sqlite.md, and what is refused."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import unittest

from command_case import CommandCase

SOURCES = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = SOURCES / "tests/fixtures"
PLAIN = str(FIXTURES / "first_steps.plain.static")
POOL = str(FIXTURES / "pool_loop.plain.static")
PAGE = (SOURCES / "docs/report-sqlite.md").read_text(encoding="utf-8")


class Sqlite(CommandCase):
    def database(self, *words, name="run.db"):
        result = self.run_command("report", "--format", f"sqlite={name}", "--format", "json=run.json", *words)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertIn(f"sqlite report: {name}", result.stderr)
        self.report = json.loads(pathlib.Path(self.folder, "run.json").read_text(encoding="utf-8"))
        connection = sqlite3.connect(f"file:{self.folder}/{name}?mode=ro", uri=True)
        self.addCleanup(connection.close)
        return connection

    def test_an_output_file_is_enough(self):
        trace = str(pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "first_steps.plain.static")
        result = self.run_command("report", "--format", "sqlite", "--output", "run.db", trace)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        with open(os.path.join(self.folder, "run.db"), "rb") as file:
            self.assertTrue(file.read(15).startswith(b"SQLite format 3"))

    def test_it_is_sound(self):
        for trace in (PLAIN, POOL):
            base = self.database(trace)
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(base.execute("PRAGMA foreign_key_check").fetchall(), [])
            self.assertEqual(os.listdir(self.folder).count("run.db"), 1)
            self.assertFalse([name for name in os.listdir(self.folder) if "partial" in name])

    def test_events_are_those_of_dump(self):
        base = self.database(PLAIN)
        (process,) = self.report["processes"]
        self.assertEqual(base.execute("SELECT count(*) FROM event").fetchone(), (process["totals"]["events"],))
        lines = self.run_command("dump", process["trace"]).stdout.splitlines()
        details = {match[1]: line for line in lines if (match := re.match(r"(\d+) \S+ cu", line))}
        rows = base.execute("SELECT call_order, details, result FROM event").fetchall()
        self.assertEqual(len(rows), len(details))
        for order, detail, result in rows:
            self.assertIn(detail, details[str(order)])
            self.assertEqual(f" = {result} " in details[str(order)] + " ", result == 0)
        times = [row[0] for row in base.execute("SELECT time_ns FROM event ORDER BY id")]
        self.assertEqual(times[0], 0)
        self.assertEqual(times, sorted(times))

    def test_blocks_add_up(self):
        for trace in (PLAIN, POOL):
            base = self.database(trace)
            (process,) = self.report["processes"]
            rows = base.execute(
                "SELECT memory, count(*), sum(bytes), sum(state = 'freed'), sum(state = 'live') FROM block GROUP BY 1"
            )
            families = sorted(process["memory"]["families"], key=lambda row: row["family"])
            self.assertEqual(
                sorted(rows.fetchall()),
                [(f["family"], f["allocations"], f["allocated_bytes"], f["frees"], f["live_blocks"]) for f in families],
            )
            query = (
                "SELECT count(*) FROM block b JOIN event e ON e.id = b.allocated_event"
                " WHERE e.address = b.address AND e.kind = 'alloc' AND e.stack = b.stack"
            )
            self.assertEqual(base.execute(query).fetchone()[0], process["totals"]["allocations"])

    def test_findings_and_their_frames(self):
        base = self.database(PLAIN)
        rows = base.execute("SELECT id, kind, severity, fingerprint, message, bytes, count FROM finding ORDER BY id")
        for (number, *row), finding in zip(rows.fetchall(), self.report["findings"], strict=True):
            keys = ("kind", "severity", "fingerprint", "message", "bytes", "count")
            self.assertEqual(row, [finding[key] for key in keys])
            for position, stack in enumerate(finding["stacks"]):
                frames = base.execute(
                    "SELECT f.function, f.line FROM finding_frame s JOIN frame f ON f.id = s.frame"
                    " WHERE s.finding = ? AND s.position = ? ORDER BY s.depth",
                    (number, position),
                )
                wanted = [(f["function"] or None, f["line"]) for f in stack["frames"]]
                self.assertEqual(frames.fetchall(), wanted)
        held = json.loads(base.execute("SELECT value FROM meta WHERE key = 'report'").fetchone()[0])
        self.assertEqual(held, self.report)

    def test_stacks_have_their_functions(self):
        base = self.database(PLAIN)
        query = (
            "SELECT f.function FROM block b JOIN stack_frame s ON s.stack = b.stack JOIN frame f ON f.id = s.frame"
            " WHERE b.state = 'live' AND b.memory = 'device memory' ORDER BY b.id, s.depth"
        )
        functions = [row[0] for row in base.execute(query)]
        self.assertEqual(functions[:3], ["load_batch", "train", "main"])

    def test_questions_of_the_page(self):
        base = self.database(PLAIN)
        questions = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
        self.assertGreaterEqual(len(questions), 6)
        for question in questions:
            with self.subTest(question):
                rows = base.execute(question).fetchall()
                self.assertTrue(rows or "FROM range" in question)  # no fixture has ranges; tests/fleet has

    def test_the_page_names_every_column(self):
        base = self.database(PLAIN)
        tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.assertEqual(len(tables), 12)
        for table in tables:
            self.assertIn(f"`{table}`", PAGE)
            for column in base.execute("SELECT name FROM pragma_table_info(?)", (table,)):
                self.assertIn(f"`{column[0]}`", PAGE, table)

    def test_a_part_of_a_run(self):
        whole = self.database(POOL)
        middle = whole.execute("SELECT time_ns FROM event ORDER BY id LIMIT 1 OFFSET 600").fetchone()[0]
        part = self.database("--from", f"{middle}ns", POOL, name="part.db")
        count = "SELECT count(*) FROM event"
        after = whole.execute(count + " WHERE time_ns >= ?", (middle,)).fetchone()[0]
        self.assertLessEqual(abs(part.execute(count).fetchone()[0] - after), 1)
        blocks = "SELECT count(*), sum(bytes) FROM block"
        self.assertEqual(part.execute(blocks).fetchone(), whole.execute(blocks).fetchone())

    def test_diff_takes_it(self):
        self.database(PLAIN)
        same = self.run_command("diff", "run.db", PLAIN)
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("5 unchanged", same.stdout)

    def test_damage(self):
        trace = os.path.join(self.folder, "gpumemtrace.app.host.1")
        shutil.copytree(self.one_trace(PLAIN), trace)
        for log in pathlib.Path(trace).glob("*.log"):
            data = bytearray(log.read_bytes())
            for at in range(4096, min(len(data), 9000), 7):
                data[at] ^= 0xFF
            log.write_bytes(data)
        self.run_command("report", "--format", "sqlite=run.db", trace)
        with sqlite3.connect(os.path.join(self.folder, "run.db")) as base:
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def one_trace(self, fixture):
        return self.run_command("report", "--format", "json", fixture).stdout and next(
            str(path) for path in pathlib.Path(fixture).iterdir() if path.name.startswith("gpumemtrace.")
        )

    def test_what_is_refused(self):
        self.assert_usage_error(("report", "--format", "sqlite", PLAIN), "--format sqlite=FILE")
        result = self.run_command("report", "--format", "sqlite=/dev/null", PLAIN)
        self.assertIn("no regular file", result.stderr)
        with sqlite3.connect(os.path.join(self.folder, "other.db")) as base:
            base.execute("CREATE TABLE meta (a)")
        result = self.run_command("diff", "other.db", PLAIN)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("other.db", result.stderr)
        pathlib.Path(self.folder, "old.db").write_text("not a database", encoding="utf-8")
        self.database(PLAIN, name="old.db")


if __name__ == "__main__":
    unittest.main()
