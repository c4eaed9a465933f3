# SPDX-License-Identifier: Apache-2.0
"""Which traces a job left, in which order of ranks, and on whose disks."""

import dataclasses
import glob
import os
from collections.abc import Iterator

from gpumemtrace._command import GpumemtraceError
from gpumemtrace.fleet._packs import LONGEST_INFO, is_pack, members

_MOST_DIGITS = 9  # of a rank, which has 31 bits in the tables


@dataclasses.dataclass(frozen=True, order=True)
class Trace:
    """`name` is that of its folder: with the rank it is the same process, whoever sees the folder.

    `path` is the folder, or FILE/FOLDER for one in a packed file; of a file that cannot be read, the file.
    """

    rank: int | None
    name: str
    path: str

    @property
    def key(self) -> tuple[int | None, str]:
        return self.rank, self.name


def find_traces(patterns: list[str]) -> list[Trace]:
    """Traces among the paths that the patterns match, and in the folders and packed files among them.

    In order of ranks, those without behind. A trace that is there as a folder is not taken from a packed file, too.
    """
    found: dict[str, Trace] = {}
    packs: dict[str, None] = {}
    for pattern in patterns:
        whole = os.path.expanduser(pattern)
        # A path may have what is special in patterns.
        for path in [whole] if os.path.lexists(whole) else sorted(glob.glob(whole)):
            escaped = glob.escape(path)
            inside = {name for end in ("gpumemtrace.*", "*.tar.zst") for name in glob.glob(os.path.join(escaped, end))}
            for each in [path, *sorted(inside)]:
                real = os.path.realpath(each)
                if real not in found and os.path.isfile(os.path.join(real, "info")):
                    found[real] = Trace(rank_of(real), trace_name(real), real)
                elif os.path.isfile(real) and is_pack(real):
                    packs[real] = None
    keys = {trace.key for trace in found.values()}
    for pack in packs:
        for trace in _traces_in(pack):
            if trace.key not in keys:
                keys.add(trace.key)
                found[trace.path] = trace
    return sorted(found.values(), key=lambda trace: (trace.rank is None, trace.rank or 0, trace.name))


def _traces_in(pack: str) -> Iterator[Trace]:
    try:
        for folder, info in members(pack).items():
            path = os.path.join(pack, folder)
            yield Trace(_rank_in(info), trace_name(path), path)
    except GpumemtraceError:  # which the conversion says
        yield Trace(None, trace_name(pack), pack)


def rank_of(folder: str) -> int | None:
    """What its launcher has numbered the process; it stands in the file `info`. None for what is no such number."""
    try:
        with open(os.path.join(folder, "info"), encoding="utf-8", errors="replace") as file:
            return _rank_in(file.read(LONGEST_INFO))
    except OSError:
        return None


def _rank_in(info: str) -> int | None:
    for line in info.split("\n"):
        key, _, value = line.partition("=")
        if key == "rank" and value.isdecimal() and len(value) <= _MOST_DIGITS:
            return int(value)
    return None


def trace_name(folder: str) -> str:
    """The folder's own name; bytes that are no UTF-8, which no table takes, are marks."""
    return os.fsencode(os.path.basename(os.path.normpath(folder))).decode("utf-8", "replace")
