# SPDX-License-Identifier: Apache-2.0
"""Findings as the output of a test has them."""

import os
import re
from collections.abc import Iterator

from gpumemtrace._report import Finding, Frame, Stack
from gpumemtrace._snapshot import LiveTensors
from gpumemtrace._test_marks import size_text

# What runs the test, and everything that called it.
_RUNNER = re.compile(r"/(_pytest|pluggy)/|/unittest/\w+\.py$")

# What may steer a terminal, or show words in another order: controls, directions of text, separators of lines.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def _location(frame: Frame, root: str) -> str:
    if frame.file is None:
        return os.path.basename(frame.module or "")
    file = frame.file
    if file.startswith(root + os.sep):
        file = os.path.relpath(file, root)
    return f"{file}:{frame.line}" if frame.line else file


def _frames(stack: Stack) -> list[Frame]:
    """Up to the test itself."""
    ends = [i for i, frame in enumerate(stack.frames) if _RUNNER.search(frame.file or "")]
    return stack.frames[: ends[0]] if ends and ends[0] != 0 else stack.frames


def _stack_lines(stack: Stack, api: str | None, root: str) -> Iterator[str]:
    label = f"{stack.label}, {api}" if api else stack.label
    frames = [(_location(frame, root), frame.function or "") for frame in _frames(stack)]
    if not frames:
        yield f"    {label}: no call stack was recorded"
        return
    width = max(len(location) for location, _ in frames)
    for i, (location, function) in enumerate(frames):
        yield f"    {label if i == 0 else '':{len(label)}}  {location:{width}}  {function}".rstrip()


def finding_text(finding: Finding, root: str) -> str:
    times = f" ({finding.count} times)" if finding.kind != "leak" and finding.count > 1 else ""
    lines = [f"{finding.severity}: {finding.kind}{times}", f"  {finding.message}"]
    for stack, json in zip(finding.stacks, finding.json["stacks"], strict=True):
        lines += _stack_lines(stack, json.get("api"), root)
    lines.append(f"  {finding.advice}")
    return "\n".join(_UNPRINTABLE.sub("?", line) for line in lines)


def _from_python_on(frames: list[Frame]) -> list[Frame]:
    """How PyTorch allocates is the same for all tensors."""
    first = next((i for i, frame in enumerate(frames) if (frame.file or "").endswith(".py")), 0)
    return frames[first:]


def tensors_text(tensors: list[LiveTensors], root: str) -> str:
    """Who made what a test leaves behind, by line."""
    most = 5
    lines = [f"{size_text(sum(one.bytes for one in tensors))} of tensors are left behind"]
    for one in tensors[:most]:
        count = f"{one.blocks} tensors" if one.blocks != 1 else "a tensor"
        part = f" in {one.model_part}" if one.model_part else ""
        label = f"{size_text(one.bytes)} in {count}, made here{part}"
        lines += _stack_lines(Stack(label, _from_python_on(one.stack.frames)), None, root)
    if len(tensors) > most:
        lines.append(f"    and {len(tensors) - most} more call stacks")
    return "\n".join(_UNPRINTABLE.sub("?", line) for line in lines)


def summary(findings: list[Finding]) -> str:
    """ "2 findings: leak, double-free" """
    kinds = list(dict.fromkeys(finding.kind for finding in findings))
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'}: {', '.join(kinds)}"
