# SPDX-License-Identifier: Apache-2.0
"""What the folding reads of a trace's events: memory that came and went, memory over time, and steps."""

import collections
import dataclasses
import operator
import re
import sqlite3

from gpumemtrace.fleet._growth import FEWEST_STEPS

INTERVALS = 256  # of memory over time
MOST_STEPS = 1024  # rows of one process; of more steps neighbours share a row

# Kinds of memory, as the database names them, that lie in a device's memory and count there once. Tensors lie inside
# of others' blocks; mappings, imports and address space are other allocations' memory.
DEVICE_MEMORY = (
    "device memory",
    "pitched device memory",
    "managed memory",
    "stream-ordered device memory",
    "CUDA array memory",
    "mipmapped array memory",
    "physical memory (VMM handle)",
    "graph memory",
)
HOST_MEMORY = "pinned host memory"
TENSORS = "memory of tensors"

_COUNTED_NAME = re.compile(r"[\s#:_=-]*\d+$")  # "step 12", "ProfilerStep#12"


# Memory that came, or went: then its size is negative. Order, time (-1 of a pool's or context's end, which names no call),
# size, where it is, stack.
Change = tuple[int, int, int, int, int]

DEVICE, HOST, TENSOR = range(3)  # where it is
_WHERE = (
    f"CASE WHEN memory IN {DEVICE_MEMORY} AND (device IS NOT NULL OR memory = 'device memory') THEN {DEVICE}"
    f" WHEN memory = '{HOST_MEMORY}' THEN {HOST} WHEN memory = '{TENSORS}' THEN {TENSOR} END"
)
LAST = 1 << 62  # above each order, and each sum of bytes


@dataclasses.dataclass
class Step:
    first: int
    count: int
    begin: int
    end: int
    end_order: int  # of the last call that belongs to it
    bytes: int = 0
    peak: int = 0
    tensors: int = 0
    floor: int = 0  # of tensors, if there are any


def changes_of(base: sqlite3.Connection) -> list[Change]:
    """All of the process, in the order of its calls; what went in a call is before what came. SQLite makes the rows: they
    are as many as calls."""
    call = "LEFT JOIN event ON event.id ="
    gone = (
        f"SELECT freed_order, coalesce(time_ns, -1), -b.bytes, {_WHERE} AS place, coalesce(b.stack, 0) FROM block b"
        f" {call} freed_event WHERE place IS NOT NULL AND freed_order IS NOT NULL"
    )
    come = (
        f"SELECT allocated_order, coalesce(time_ns, -1), b.bytes, {_WHERE} AS place, coalesce(b.stack, 0) FROM block b"
        f" {call} allocated_event WHERE place IS NOT NULL"
    )
    changes: list[Change] = base.execute(gone).fetchall() + base.execute(come).fetchall()
    changes.sort(key=operator.itemgetter(0))
    return changes


def held_at_end(base: sqlite3.Connection) -> tuple[dict[int, list[int]], ...]:
    """By where it is, the bytes and blocks of each stack that has ever asked for memory."""
    held: tuple[dict[int, list[int]], ...] = ({}, {}, {})
    query = (
        f"SELECT {_WHERE} AS place, coalesce(stack, 0), sum(iif(freed_order IS NULL, bytes, 0)), sum(freed_order IS NULL)"
        " FROM block WHERE place IS NOT NULL GROUP BY 1, 2"
    )
    for place, stack, size, blocks in base.execute(query):
        held[place][stack] = [size, blocks]
    return held


def memory_over_time(changes: list[Change], duration: int) -> list[tuple[int, ...]]:
    """Of equal parts of the run: begin, end, bytes of the device at the end and at the peak, of the host, of tensors."""
    rows: list[tuple[int, ...]] = []
    now = [0, 0, 0]
    peak = begin = 0
    end = duration // INTERVALS
    for _, time, size, where, _ in changes:
        while time >= end and len(rows) < INTERVALS - 1:
            rows.append((begin, end, now[DEVICE], peak, now[HOST], now[TENSOR]))
            begin, end, peak = end, duration * (len(rows) + 1) // INTERVALS, now[DEVICE]
        now[where] += size
        if where == DEVICE and now[DEVICE] > peak:
            peak = now[DEVICE]
    while len(rows) < INTERVALS:
        rows.append((begin, end, now[DEVICE], peak, now[HOST], now[TENSOR]))
        begin, end, peak = end, duration * (len(rows) + 1) // INTERVALS, now[DEVICE]
    return rows


def steps_of(base: sqlite3.Connection, duration: int, steps_name: str | None) -> tuple[str | None, list[Step]]:
    """The name of the range that is a step (`steps_name`, or found), and all of them; without one, None and equal parts
    of the run."""
    ranges: dict[tuple[int, str], list[tuple[int, int, int]]] = collections.defaultdict(list)
    # What was open at the end ended there: a range's end is recorded with the next call of CUDA.
    query = "SELECT depth, name, begin_ns, coalesce(end_ns, ?), coalesce(end_order, ?) FROM range ORDER BY begin_order"
    for depth, name, begin, end, order in base.execute(query, (duration, LAST)):
        plain = name if name == steps_name else _COUNTED_NAME.sub("", name)
        ranges[depth, plain].append((begin, end, order))
    loops = [key for key, found in ranges.items() if len(found) >= FEWEST_STEPS]
    if steps_name is not None:
        loops = [key for key in ranges if key[1] == steps_name]
    if not loops:
        return None, _parts(base)
    # The outermost loop; of several there, what comes most often.
    _, name = key = min(loops, key=lambda key: (key[0], -len(ranges[key]), key[1]))
    found = ranges[key]
    share = -(-len(found) // MOST_STEPS)
    steps = []
    for first in range(0, len(found), share):
        part = found[first : first + share]
        steps.append(Step(first, len(part), part[0][0], part[-1][1], part[-1][2]))
    return name, steps


def _parts(base: sqlite3.Connection) -> list[Step]:
    """Of equally many calls: in time, a pause would be a part."""
    events = base.execute("SELECT time_ns, call_order FROM event ORDER BY id").fetchall()
    parts = min(INTERVALS, len(events))
    ends = [len(events) * (i + 1) // parts for i in range(parts)]
    return [
        Step(i, 1, events[begin][0], events[end - 1][0], events[end - 1][1])
        for i, (begin, end) in enumerate(zip([0, *ends], ends))
    ]
