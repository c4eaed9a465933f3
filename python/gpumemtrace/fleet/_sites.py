# SPDX-License-Identifier: Apache-2.0
"""Where memory was asked for: the frames of a call stack that are the program's own."""

import dataclasses
import hashlib
import os
import re
from typing import Any

MOST_FRAMES = 12

# What stands between the program's call and CUDA: no line of it says who asked for the memory.
_FOREIGN = re.compile(
    r"^(lib(c|m|dl|pthread|stdc\+\+|gcc_s|ffi|python[\d.]*|cuda|cudart|gpumemtrace\w*|unwind)[-.]"
    r"|ld-linux|_ctypes|python3?(\.\d+)?$)"
)


@dataclasses.dataclass(frozen=True)
class Site:
    """Where memory was asked for: the same number in every process of every run whose own frames are the same."""

    number: int
    line: str
    stack: str


def site_of(frames: list[dict[str, Any]]) -> Site:
    """`frames`, innermost first, have function, file, line and module; what is not known is None."""
    own = [frame for frame in frames if _is_own(frame)] or frames[:1]
    texts = [_frame_text(frame) for frame in own[:MOST_FRAMES]]
    stack = "\n".join(texts) or "no call stack"
    number = int.from_bytes(hashlib.blake2b(stack.encode(), digest_size=8).digest(), "big", signed=True)
    return Site(number, texts[0] if texts else stack, stack)


def _is_own(frame: dict[str, Any]) -> bool:
    if frame["language"] == "python":
        return not frame["function"] or "gpumemtrace/_" not in (frame["file"] or "")
    return not _FOREIGN.match(os.path.basename(frame["module"] or ""))


def _frame_text(frame: dict[str, Any]) -> str:
    where = os.path.basename(frame["module"] or "?")
    if frame["file"]:
        where = f"{os.path.basename(frame['file'])}:{frame['line'] or '?'}"
    return f"{where} {frame['function']}" if frame["function"] else where
