# SPDX-License-Identifier: Apache-2.0
"""One trace becomes rows of the data set's tables: its events are folded to memory over time, steps and growth.

The command reads the trace (`report --format sqlite`); what is read here are the documented tables of that database.
"""

import collections
import contextlib
import glob
import json
import os
import sqlite3
import statistics
import subprocess
from typing import Any

from gpumemtrace._command import GpumemtraceError, command_path
from gpumemtrace.fleet._events import (
    DEVICE,
    LAST,
    TENSOR,
    Change,
    Step,
    changes_of,
    held_at_end,
    memory_over_time,
    steps_of,
)
from gpumemtrace.fleet._growth import FEWEST_RISES, SMALLEST_GROWTH, growth_of
from gpumemtrace.fleet._sites import Site, site_of
from gpumemtrace.fleet._traces import trace_name

MOST_SITES = 16  # that grow
MOST_HOLDERS = 10

Rows = dict[str, list[tuple[Any, ...]]]


LONGEST_REPORT = 600.0  # seconds: a trace of 10^9 calls takes less


def fold(trace: str, scratch: str, steps: str | None = None, time_limit: float = LONGEST_REPORT) -> Rows:
    """Rows of all tables for the trace, whose folder is `trace`; `scratch` is a folder for its database.

    `steps` names the NVTX range that is a step; else it is found. Raises GpumemtraceError for a trace that cannot be read
    within `time_limit` seconds.
    """
    path = os.path.join(scratch, "trace.db")
    try:
        words = [command_path(), "report", "--format", "sqlite", "--output", path, "--", trace]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=time_limit)
        if not os.path.exists(path):
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise GpumemtraceError(lines[0] if lines else f"'gpumemtrace report' ended with status {done.returncode}")
        with contextlib.closing(sqlite3.connect(path)) as base:
            return _Folder(base, trace, steps).rows()
    except subprocess.TimeoutExpired as error:
        raise GpumemtraceError(f"it was not read within {time_limit:g} s (--time-limit)") from error
    except sqlite3.Error as error:
        raise GpumemtraceError(f"its database cannot be read: {error}") from error
    finally:
        for left in glob.glob(glob.escape(path) + "*"):  # and what a command that was ended has begun
            os.remove(left)


class _Folder:
    """One process: the first of the database."""

    def __init__(self, base: sqlite3.Connection, trace: str, steps: str | None):
        self.base = base
        self.steps_name = steps
        report = base.execute("SELECT value FROM meta WHERE key = 'report'").fetchone()
        self.report: dict[str, Any] = json.loads(report[0])
        if not self.report["processes"]:
            raise GpumemtraceError("no process of it can be read")
        self.process: dict[str, Any] = self.report["processes"][0]
        self.whose = (self.process["rank"], self.process["host"], trace_name(trace))
        self.grown = DEVICE  # or TENSOR: what is asked whether it grows
        self.sites: dict[int, Site] = {}  # by number
        self.stack_sites: dict[int, int] = {}  # stack of the database -> site

    def rows(self) -> Rows:
        changes = changes_of(self.base)
        (duration,) = self.base.execute("SELECT max(time_ns + coalesce(duration_ns, 0)) FROM event").fetchone()
        duration = max(duration or 0, 1)
        name, steps = steps_of(self.base, duration, self.steps_name)
        peak_time, live, live_at = self._follow(changes, steps)
        rows: Rows = {
            "memory": [(*self.whose, *row) for row in memory_over_time(changes, duration)],
            "step": [] if name is None else [self._step_row(step) for step in steps],
            "growth": self._growth(steps, live_at),
            "holder": self._holders(live),
            "finding": self._findings(),
            "process": [self._process(duration, peak_time, name, steps)],
            "problem": [],
        }
        rows["site"] = [(site.number, site.line, site.stack) for site in self.sites.values()]
        return rows

    # Memory and growth

    def _follow(
        self, changes: list[Change], steps: list[Step]
    ) -> tuple[int, dict[int, list[int]], dict[int, list[int]]]:
        """Fills the steps' bytes. Gives the time of the peak; bytes and blocks of device memory alive at the end by site;
        and, of the sites that may have grown, what they held at the end of each step: tensors, if there are any."""
        live = held_at_end(self.base)
        grown = self.grown = TENSOR if live[TENSOR] else DEVICE
        may_have = (
            stack for stack, held in live[grown].items() if held[0] >= SMALLEST_GROWTH and held[1] >= FEWEST_RISES
        )
        watched = sorted(may_have, key=lambda stack: -live[grown][stack][0])[: 4 * MOST_SITES]
        now = dict.fromkeys(watched, 0)
        series: dict[int, list[int]] = {stack: [] for stack in watched}
        peak_time = self._fill(changes, steps, now, series)
        by_site: dict[int, list[int]] = {}
        for stack, values in series.items():
            total = by_site.setdefault(self._site(stack), [0] * len(steps))
            for i, value in enumerate(values):
                total[i] += value
        ends: dict[int, list[int]] = collections.defaultdict(lambda: [0, 0])
        for stack, (size, blocks) in live[DEVICE].items():
            if blocks > 0:
                held = ends[self._site(stack)]
                held[0] += size
                held[1] += blocks
        return peak_time, ends, by_site

    def _fill(self, changes: list[Change], steps: list[Step], now: dict[int, int], series: dict[int, list[int]]) -> int:
        """Fills the steps, and `series` from what `now` holds at their ends. The time of the peak."""
        at = peak = peak_time = 0
        sums = [0, 0, 0]
        for step in (*steps, None):
            until = LAST if step is None else step.end_order
            highest = sums[DEVICE]
            while at < len(changes) and changes[at][0] <= until:
                _, time, size, where, stack = changes[at]
                at += 1
                sums[where] += size
                if where == self.grown and stack in now:
                    now[stack] += size
                if where == DEVICE and sums[DEVICE] > highest:
                    highest = sums[DEVICE]
                    if highest > peak:
                        peak, peak_time = highest, time
            if step is not None:
                step.bytes, step.peak, step.tensors = sums[DEVICE], highest, sums[TENSOR]
                for watched, held in now.items():
                    series[watched].append(held)
        floor = LAST
        for step in reversed(steps):
            step.floor = floor = min(floor, self._grown_bytes(step))
        return peak_time

    def _grown_bytes(self, step: Step) -> int:
        return step.tensors if self.grown == TENSOR else step.bytes

    def _step_row(self, s: Step) -> tuple[Any, ...]:
        return (*self.whose, s.first, s.count, s.begin, s.end, s.bytes, s.peak, s.tensors, s.floor)

    def _growth(self, steps: list[Step], by_site: dict[int, list[int]]) -> list[tuple[Any, ...]]:
        """A row for the process (site null) and one for each site of it, if the process grows."""
        whole = growth_of([self._grown_bytes(step) for step in steps])
        if whole is None:
            return []
        rows = [self._growth_row(None, steps, *whole)]
        grown = [(site, found) for site, values in by_site.items() if (found := growth_of(values)) is not None]
        grown.sort(key=lambda each: -each[1][1])
        return rows + [self._growth_row(site, steps, *found) for site, found in grown[:MOST_SITES]]

    def _growth_row(self, site: int | None, steps: list[Step], since: int, size: int) -> tuple[Any, ...]:
        last = steps[-1].first + steps[-1].count - 1
        count = last - steps[since].first + 1
        return (*self.whose, site, steps[since].first, last, steps[since].begin, size, size / count)

    # What the report says

    def _site(self, stack: int) -> int:
        known = self.stack_sites.get(stack)
        if known is None:
            frames = self.base.execute(
                "SELECT f.function, f.file, f.line, f.module, f.language FROM stack_frame s JOIN frame f ON f.id = s.frame"
                " WHERE s.stack = ? ORDER BY s.depth",
                (stack,),
            )
            names = ("function", "file", "line", "module", "language")
            known = self.stack_sites[stack] = self._number([dict(zip(names, frame)) for frame in frames])
        return known

    def _number(self, frames: list[dict[str, Any]]) -> int:
        site = site_of([{"language": None, **frame} for frame in frames])
        self.sites[site.number] = site
        return site.number

    def _holders(self, live: dict[int, list[int]]) -> list[tuple[Any, ...]]:
        rows = []
        memory = self.process["memory"]
        tensors = memory["tensors"] or {"holders_at_peak": []}
        for moment, holders in (("peak", memory["holders_at_peak"]), ("tensor peak", tensors["holders_at_peak"])):
            for row in holders[:MOST_HOLDERS]:
                site = self._number(row["stack"]["frames"])
                rows.append((*self.whose, moment, site, row["bytes"], row["blocks"]))
        most = sorted(live.items(), key=lambda each: -each[1][0])[:MOST_HOLDERS]
        return rows + [(*self.whose, "end", site, *held) for site, held in most]

    def _findings(self) -> list[tuple[Any, ...]]:
        rows = []
        for one in self.report["findings"]:
            frames = next((stack["frames"] for stack in one["stacks"] if stack["frames"]), None)
            site = None if frames is None else self._number(frames)
            keys = ("kind", "severity", "fingerprint", "message", "advice", "bytes", "count", "api", "owner", "range")
            rows.append((*self.whose, *(one[key] for key in keys), site))
        return rows

    def _process(self, duration: int, peak_time: int, name: str | None, steps: list[Step]) -> tuple[Any, ...]:
        process, totals, ended = self.process, self.process["totals"], self.process["ended"]
        (began,) = self.base.execute("SELECT begin_realtime_ns FROM process").fetchone()
        severities = collections.Counter(one["severity"] for one in self.report["findings"])
        length = None if name is None else int(statistics.median((s.end - s.begin) // s.count for s in steps))
        return (
            *self.whose,
            process["pid"],
            process["program"],
            json.dumps(process["arguments"], ensure_ascii=False),
            process["device"],
            process["driver_version"],
            began,
            duration,
            ended["how"],
            ended["status"],
            ended["signal"],
            *(
                totals[key]
                for key in ("events", "allocations", "frees", "launches", "copies", "copied_bytes", "peak_bytes")
            ),
            peak_time,
            totals["live_bytes"],
            sum(process["lost"].values()) + process["damaged"],
            severities["error"],
            severities["warning"],
            None if name is None else sum(step.count for step in steps),
            name,
            length,
        )
