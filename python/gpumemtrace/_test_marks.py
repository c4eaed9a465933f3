# SPDX-License-Identifier: Apache-2.0
"""What `@pytest.mark.gpumemtrace(...)` says of a test."""

import dataclasses
import fnmatch
import re
from collections.abc import Iterable
from typing import Any

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def parse_size(size: "int | str") -> int:
    """1073741824, "1GiB", "1 GB", "1G": units are powers of 1,024. Raises ValueError."""
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", str(size), re.IGNORECASE)
    if not found or isinstance(size, bool):
        raise ValueError(f"{size!r} is no size; write one such as '512K', '64MiB' or '1GiB'")
    return int(float(found[1]) * (1 << _UNITS[found[2].lower()]))


def size_text(size: int) -> str:
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.1f} {unit}"
    return f"{size} bytes"


@dataclasses.dataclass
class Limits:
    """`allow` are kinds of findings that do not fail the test, as globs."""

    allow: list[str] = dataclasses.field(default_factory=list)
    max_peak: int | None = None
    max_growth: int | None = None  # of tensors that a test leaves behind
    skip: bool = False

    def allows(self, kind: str) -> bool:
        return any(fnmatch.fnmatchcase(kind, pattern) for pattern in self.allow)

    def check_allowed(self, kinds: Iterable[str]) -> None:
        """Raises ValueError if something is allowed that is none of these kinds: it would allow nothing."""
        for pattern in self.allow:
            if not fnmatch.filter(kinds, pattern):
                raise ValueError(f"allow={pattern!r} is no kind of finding; 'gpumemtrace help findings' lists them")


def limits_of(marks: Iterable[Any]) -> Limits:
    """Of a test's marks, the nearest first: it decides, and what is allowed adds up. Raises ValueError."""
    limits = Limits()
    for mark in reversed(list(marks)):
        unknown = set(mark.kwargs) - {"allow", "max_growth", "max_peak", "skip"}
        if mark.args or unknown:
            what = sorted(unknown)[0] if unknown else repr(mark.args[0])
            raise ValueError(f"mark gpumemtrace takes allow=, max_growth=, max_peak= and skip=, not {what}")
        allow = mark.kwargs.get("allow", [])
        limits.allow += [allow] if isinstance(allow, str) else list(allow)
        if mark.kwargs.get("max_peak") is not None:
            limits.max_peak = parse_size(mark.kwargs["max_peak"])
        if mark.kwargs.get("max_growth") is not None:
            limits.max_growth = parse_size(mark.kwargs["max_growth"])
        limits.skip = bool(mark.kwargs.get("skip", limits.skip))
    return limits
