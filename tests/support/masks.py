# SPDX-License-Identifier: Apache-2.0
"""Takes out of reports and dumps what differs between two runs of one program: addresses, process ids, times, paths.

Addresses and handles become A1, A2, ... in the order in which they first appear, so that two equal ones stay equal.
Return addresses become module+offset; those in libraries of the builds, whose code may differ, only the library's name.
"""

import os
import pathlib
import re
import struct

HEX = re.compile(r"0x[0-9a-f]{6,}")
# Each begins with fixed letters, which makes it quick on large dumps.
TICKS = [re.compile(r"( ticks=)\d+"), re.compile(r"(-ns=)\d+")]
DURATION = re.compile(r"\b\d[\d,.]* (?:ns|us|ms|s|GB/s)\b")
# Where a process or thread has its number: a number elsewhere may be equal by chance.
IDS = [
    re.compile(pattern)
    for pattern in (
        r'(pid(?: |=|": ))(\d+)',
        r'(process(?: |": ))(\d+)',
        r"(thread id=)(\d+)",
        r"( text=- id=)(0x[0-9a-f]+)",
        r"( t)(\d+)(?=-\d)",
        r"""(gpumemtrace\.[^\s/"']+\.)(\d+)""",
    )
]
RUN_FACTS = re.compile(r"^(run|ppid|tsc|monotonic_ns|realtime_ns|heap_begin|heap_end|stack_begin|stack_end)=.*$", re.M)


def without_builds(text, builds):
    """Paths into the builds; the longest first, as one may lie in another."""
    for build in sorted(map(str, builds), key=len, reverse=True):
        text = text.replace(f"{build}/", "BUILD/")
    return text


class Masks:
    """For what one run of one build says. `builds` are folders whose path is no difference."""

    def __init__(self, folder, builds):
        self.folder, self.builds = str(folder), builds

    def place(self, text):
        """Paths, process ids and times."""
        text = without_builds(text, self.builds).replace(self.folder, "FOLDER")
        names = {}
        for pattern in IDS:
            text = pattern.sub(
                lambda found: found[1] + names.setdefault(int(found[2], 0), f"PID{len(names) + 1}"), text
            )
        for pattern in TICKS:
            text = pattern.sub(r"\1T", text)
        return text

    def addresses(self, text):
        names = {}
        return HEX.sub(lambda found: names.setdefault(found[0], f"A{len(names) + 1}"), text)

    def text(self, text):
        return DURATION.sub("TIME", self.addresses(self.place(text)))

    def modules(self, trace):
        """(first address, end, bias, name) of each module that the trace names; [name] for a library of ours."""
        modules = []
        for line in (pathlib.Path(trace) / "modules").read_text(errors="replace").splitlines():
            words = line.split("\t")
            if words[0] == "+" and len(words) > 6:
                begin, end, bias = (int(word, 16) for word in words[2:5])
                name = os.path.basename(words[6])
                ours = name.startswith("lib") and self.place(words[6]).startswith("BUILD/")
                modules.append((begin, end, bias, f"[{name}]" if ours else name))
        return modules

    def dump(self, text, trace):
        """As text(), with the frames of stacks named by their modules."""
        modules, known, lines = self.modules(trace), {}, []

        def name_of(address):
            for begin, end, bias, name in modules:
                if begin <= int(address, 16) < end:
                    return name if name[0] == "[" else f"{name}+{int(address, 16) - bias:#x}"
            return "elsewhere"

        for line in text.splitlines():
            if line.startswith("stack "):
                number, _, addresses = line.partition(": ")
                for address in addresses.split():
                    known.setdefault(address, name_of(address))
                # How many frames a library of ours has is its own affair.
                named = " ".join([number] + [known[address] for address in addresses.split()])
                lines.append(re.sub(r"(\[\S+\])( \1)+", r"\1", named))
            else:
                lines.append(line)
        return self.addresses(self.place("\n".join(lines)))

    def info(self, trace):
        """The text files of a trace that do not depend on what else the system maps."""
        trace = pathlib.Path(trace)
        names = sorted(path.name for path in trace.iterdir())
        texts = [(trace / name).read_text(errors="replace") for name in ("info", "complete") if name in names]
        return self.text(
            "\n".join([*(f" {name}" for name in names), *(RUN_FACTS.sub(r"\1=...", text) for text in texts)])
        )


def heads(trace):
    """Kind, slots, flags and result of each record as they lie on disk: `dump` does not show every flag."""
    lines = []
    for log in sorted(pathlib.Path(trace).glob("*.log"), key=lambda path: path.stat().st_size):
        data = log.read_bytes()
        for kind, slots, flags, result in struct.iter_unpack("<BBxxHH56x", data[4096 : len(data) // 64 * 64]):
            if kind > 1:  # neither free nor the rest of a record
                lines.append(f"kind {kind} slots {slots} flags {flags:#x} result {result}")
    return "\n".join(lines)


def without_order(text):
    """For programs with threads: the lines sorted, with numbers of events, stacks, threads and addresses left out."""
    lines = re.sub(r"\bA\d+|\bstack[ =]\d+|-\d+\.\d+|^\d+|PID\d+", "N", text, flags=re.M).splitlines()
    return "\n".join(sorted(lines))
