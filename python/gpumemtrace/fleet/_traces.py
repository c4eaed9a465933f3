# SPDX-License-Identifier: Apache-2.0
"""Which traces a job left, in which order of ranks, and on whose disks."""

import dataclasses
import glob
import os


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
        for path in sorted(glob.glob(os.path.expanduser(pattern))):
            for folder in [path, *sorted(glob.glob(os.path.join(glob.escape(path), "gpumemtrace.*")))]:
                real = os.path.realpath(folder)
                if real not in found and os.path.isfile(os.path.join(real, "info")):
                    found[real] = Trace(rank_of(real), os.path.basename(real), real)
    return sorted(found.values(), key=lambda trace: (trace.rank is None, trace.rank or 0, trace.name))


def rank_of(folder: str) -> int | None:
    """What its launcher has numbered the process; it stands in the file `info`."""
    try:
        with open(os.path.join(folder, "info"), encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.rstrip("\n").partition("=")
                if key == "rank" and value.isdecimal():
                    return int(value)
    except OSError:
        pass
    return None
