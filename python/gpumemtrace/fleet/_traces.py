# SPDX-License-Identifier: Apache-2.0
"""Which traces a job left, in which order of ranks, and on whose disks."""

import dataclasses
import glob
import os

_LONGEST_INFO = 1 << 20  # characters
_MOST_DIGITS = 9  # of a rank, which has 31 bits in the tables


@dataclasses.dataclass(frozen=True, order=True)
class Trace:
    """`name` is that of its folder: with the rank it is the same process, whoever sees the folder."""

    rank: int | None
    name: str
    path: str

    @property
    def key(self) -> tuple[int | None, str]:
        return self.rank, self.name


def find_traces(patterns: list[str]) -> list[Trace]:
    """Traces among the paths that the patterns match, and in the folders among them. In order of ranks, those without behind."""
    found: dict[str, Trace] = {}
    for pattern in patterns:
        whole = os.path.expanduser(pattern)
        # A path may have what is special in patterns.
        for path in [whole] if os.path.lexists(whole) else sorted(glob.glob(whole)):
            for folder in [path, *sorted(glob.glob(os.path.join(glob.escape(path), "gpumemtrace.*")))]:
                real = os.path.realpath(folder)
                if real not in found and os.path.isfile(os.path.join(real, "info")):
                    found[real] = Trace(rank_of(real), trace_name(real), real)
    return sorted(found.values(), key=lambda trace: (trace.rank is None, trace.rank or 0, trace.name))


def rank_of(folder: str) -> int | None:
    """What its launcher has numbered the process; it stands in the file `info`. None for what is no such number."""
    try:
        with open(os.path.join(folder, "info"), encoding="utf-8", errors="replace") as file:
            for line in file.read(_LONGEST_INFO).split("\n"):
                key, _, value = line.partition("=")
                if key == "rank" and value.isdecimal() and len(value) <= _MOST_DIGITS:
                    return int(value)
    except OSError:
        pass
    return None


def trace_name(folder: str) -> str:
    """The folder's own name; bytes that are no UTF-8, which no table takes, are marks."""
    return os.fsencode(os.path.basename(os.path.normpath(folder))).decode("utf-8", "replace")
