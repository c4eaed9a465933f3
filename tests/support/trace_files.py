# SPDX-License-Identifier: Apache-2.0
"""Reads a trace directory as trace/FORMAT.md describes it, for tests only (standard library, no analyzer).

Strict on purpose: a test wants to see what is in the files, torn slots and losses included, not a repaired view.
"""

import glob
import os
import re
import struct

from trace_schema import FIRST_WORDS, MORE_WORDS, RECORDS

HEADER_BYTES = 4096
SLOT_BYTES = 64
IN_FLIGHT = 0xFFFF
NO_API = 0xFFFF
FLAG_NESTED = 1 << 12
FLAG_NO_STACK = 1 << 13
FLAG_RUNTIME = 1 << 15
CAUSES = {1: "space", 2: "limit", 3: "reentry", 4: "no log", 5: "no ring", 6: "descriptors", 7: "refused"}
KINDS = {1: "more", 2: "abandoned", **{record.number: what for what, record in RECORDS.items()}}


class Record:
    """One record: `kind` by name, `api` and `via` by name (None if there is none), payload words in `a`.

    record["address"] is a word by its name in trace/records.def, 0 if the record has no such word;
    record["address", "bytes"] several, and record["address":"stream"] all from the first to the last of them; without a last one to the end.
    """

    def __init__(self, log, place, head, order, time, stack, context, via, words, names):
        kind, self.slots, api, self.flags, self.result = head
        self.log, self.place = log, place
        self.kind = KINDS.get(kind, kind)
        self.api = names[api] if api < len(names) else None
        self.via = names[via] if via < len(names) else None
        code = order >> 48
        self.order, self.ticks = order & ((1 << 48) - 1), (code & 0x7FF) << (code >> 11)
        self.time, self.stack, self.context = time, stack, context
        self.a = words
        self.in_flight = self.result == IN_FLIGHT
        self.is_call = self.kind in RECORDS and RECORDS[self.kind].is_call

    def __getitem__(self, name):
        if isinstance(name, tuple):
            return [self[one] for one in name]
        number = {field: known.word for field, known in RECORDS[self.kind].fields.items()}
        if isinstance(name, slice):
            last = len(self.a) - 1 if name.stop is None else number[name.stop]
            return [self.word(i) for i in range(number[name.start], last + 1)]
        return self.word(number[name])

    def word(self, number):
        return self.a[number] if number < len(self.a) else 0

    @property
    def rest(self):
        """The words behind those that have names."""
        return self.a[len(RECORDS[self.kind].in_order) :]

    @property
    def text(self):
        """The string of a text or a name."""
        return struct.pack(f"<{len(self.rest)}Q", *self.rest)[: self["length"]].decode()

    def __repr__(self):
        words = " ".join(f"{word:x}" for word in self.a[:4])
        return (
            f"<{self.order} {self.kind} {self.api} via {self.via} result {self.result} flags {self.flags:x} "
            f"stack {self.stack} context {self.context}: {words}>"
        )


class Log:
    """One log file: its records in file order, the number of torn slots, the losses by cause."""

    def __init__(self, path, names):
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        magic, major, minor, self.pid, self.tid = struct.unpack_from("<8sIIII", data)
        assert magic == b"GMTLOG1\n" and (major, minor) == (1, 6), f"{path}: {magic} {major}.{minor}"
        lost = struct.unpack_from("<8Q", data, 40)
        self.lost = {CAUSES.get(cause, cause): count for cause, count in enumerate(lost) if count}
        self.allocations_lost_from, self.releases_lost_from = struct.unpack_from("<2Q", data, 40 + 64)
        self.records, self.torn = [], 0
        self.read_slots(data, names)

    def read_slots(self, data, names):
        body = data[HEADER_BYTES : len(data) // SLOT_BYTES * SLOT_BYTES]
        end = len(body.rstrip(b"\0"))
        end = (end + SLOT_BYTES - 1) // SLOT_BYTES
        heads = [struct.unpack_from("<BBHHH", body, at * SLOT_BYTES) for at in range(end)]
        while heads and heads[-1] == (0, 0, 0, 0, 0):
            heads.pop()  # filled but never committed: the death came before the head
        at = 0
        while at < len(heads):
            head = heads[at]
            if head[0] in (0, 1):
                self.torn += head[0] == 0
                at += 1
                continue
            first = struct.unpack_from(f"<QQQIHH{FIRST_WORDS}Q", body, at * SLOT_BYTES)
            words = list(first[6:])
            if head[0] != 2:
                for more in range(1, head[1]):
                    assert heads[at + more][0] == 1, (
                        f"{self.path}: slot {at} promises {head[1]} slots: {heads[at : at + 4]}"
                    )
                    words += struct.unpack_from(f"<{MORE_WORDS}Q", body, (at + more) * SLOT_BYTES + 8)
                self.records.append(Record(self, at, head, *first[1:6], words, names))
            at += head[1]


class Trace:
    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "apis"), encoding="utf-8") as file:
            self.names = file.read().split("\n")[:-1]
        with open(os.path.join(path, "info"), encoding="utf-8") as file:
            self.info = dict(line.rstrip("\n").split("=", 1) for line in file)
        logs = sorted(glob.glob(os.path.join(glob.escape(path), "*.log")))
        self.logs = [Log(log, self.names) for log in logs]
        records = [record for log in self.logs for record in log.records]
        self.records = sorted(records, key=lambda record: record.order)
        self.torn = sum(log.torn for log in self.logs)
        self.allocations_lost_from, self.releases_lost_from = (
            min((getattr(log, name) for log in self.logs if getattr(log, name)), default=0)
            for name in ("allocations_lost_from", "releases_lost_from")
        )
        self.lost = {}
        for log in self.logs:
            for cause, count in log.lost.items():
                self.lost[cause] = self.lost.get(cause, 0) + count

    @property
    def calls(self):
        """Records of CUDA calls, in order."""
        return [record for record in self.records if record.is_call]

    def calls_of(self, *names):
        return [record for record in self.calls if record.api in names]

    def modules(self):
        """Lines of `modules`, split: ["+", order, start, end, bias, build id, path], ["=", start, begin, end], ["-", order, start]."""
        with open(os.path.join(self.path, "modules"), encoding="utf-8") as file:
            return [line.rstrip("\n").split("\t") for line in file]

    def stack(self, record):
        """Return addresses of a record's stack, innermost first; None if the log does not have it."""
        wanted = record.stack
        for other in reversed(record.log.records):
            if other.kind == "python-stack" and other["id"] == wanted:
                wanted = other["native"]
            elif other.kind == "stack" and other["id"] == wanted != 0:
                return other.rest[: other["frame_count"]]
        return None


def directories(folder):
    """Traces made under a folder, in the order of their making."""
    found = glob.glob(os.path.join(glob.escape(folder), "gpumemtrace.*"))
    return sorted((path for path in found if re.search(r"\.\d+$", path)), key=lambda path: os.stat(path).st_mtime_ns)


def traces(folder):
    return [Trace(path) for path in directories(folder)]
